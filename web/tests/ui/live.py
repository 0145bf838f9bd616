"""A thread sleeps with a mutex held, another waits for it: what the page shows of a collection that runs."""

import ctypes
import threading
import time

LIBC = ctypes.CDLL(None)
PR_SET_NAME = 15
MUTEX = ctypes.create_string_buffer(64)  # all zero is PTHREAD_MUTEX_INITIALIZER


def take_turns(name, seconds):
    LIBC.prctl(PR_SET_NAME, name, 0, 0, 0)
    while True:
        LIBC.pthread_mutex_lock(MUTEX)
        time.sleep(seconds)
        LIBC.pthread_mutex_unlock(MUTEX)
        time.sleep(0.001)


threading.Thread(target=take_turns, args=(b"holder", 1.0), daemon=True).start()
time.sleep(0.1)
threading.Thread(target=take_turns, args=(b"waiter", 0.0), daemon=True).start()
time.sleep(60)
