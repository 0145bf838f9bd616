# A program for the tests of the screens: TCP requests on loopback of which some wait for a delayed acknowledgement
# (two small writes, Nagle's algorithm) and the others do not; a lock that threads share; names that are not to be trusted.
import ctypes
import socket
import threading
import time

PR_SET_NAME = 15
libc = ctypes.CDLL(None)


def called(name, work):
    def run():
        libc.prctl(PR_SET_NAME, name.encode())
        work()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def serve(listener):
    connection, _ = listener.accept()
    with connection:
        waiting = 0
        while data := connection.recv(64):
            waiting += len(data)
            while waiting >= 8:
                waiting -= 8
                connection.sendall(b"k")


def request(address):
    with socket.create_connection(address) as connection:
        for turn in range(120):
            if turn % 6 == 0:
                connection.sendall(b"1234")
                connection.sendall(b"5678")
            else:
                connection.sendall(b"12345678")
            connection.recv(1)


def share(lock):
    for _ in range(15):
        with lock:
            time.sleep(0.002)


listener = socket.create_server(("127.0.0.1", 0))
lock = threading.Lock()
threads = [
    called("server", lambda: serve(listener)),
    called("client", lambda: request(listener.getsockname())),
    called("<b>x</b>\"'&", lambda: share(lock)),
    called("sharer", lambda: share(lock)),
]
for thread in threads:
    thread.join()
