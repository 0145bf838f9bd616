# Synchronous calls: four threads call a D-Bus service that takes 30 ms for each answer, one after the other. GLib waits for an
# answer in poll of an eventfd, as a loop without work does.
import threading
import time

from gi.repository import Gio

SECONDS = 3


def call_look_up():
    bus.call_sync("org.example.Names", "/", "org.example.Names", "LookUp", None, None, 0, -1, None)


def client():
    begun = time.monotonic_ns()
    while time.monotonic_ns() < begun + SECONDS * 10**9:
        call_look_up()
    times.append(time.monotonic_ns() - begun)


times = []
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
threads = [threading.Thread(target=client, name=f"client-{number}") for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("truth calling_ns", sum(times))
