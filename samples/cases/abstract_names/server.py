# Sockets with abstract names: twelve clients ask servers that take 20 ms for each answer. A name has as many bytes as the
# address's length says, and no zero at its end: what follows it in the kernel's memory is no part of it.
import socket
import threading
import time

SERVERS = 12
ROUNDS = 100


def name_thread(name):
    with open("/proc/thread-self/comm", "w") as file:
        file.write(name)


def answer_slowly():
    time.sleep(0.02)


def serve(number, listener):
    name_thread(f"serve-{number}")
    connection, _ = listener.accept()
    while connection.recv(10):
        answer_slowly()
        connection.send(b"r")


def ask(connection):
    connection.send(b"q")
    connection.recv(1)


def client(number):
    name_thread(f"client-{number}")
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"\0demo-{number}")
    begun = time.monotonic_ns()
    for _ in range(ROUNDS):
        ask(connection)
    times[number] = time.monotonic_ns() - begun
    connection.close()


times = [0] * SERVERS
for number in range(SERVERS):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"\0demo-{number}")
    listener.listen(1)
    threading.Thread(target=serve, args=(number, listener), daemon=True).start()
clients = [threading.Thread(target=client, args=(number,)) for number in range(SERVERS)]
for thread in clients:
    thread.start()
for thread in clients:
    thread.join()
print("truth asking_ns", sum(times))
