# A loop without a pause: an asyncio server whose handler sleeps for 30 ms in a blocking way. Eight clients keep it busy all the
# time, so that it never waits for events.
import asyncio
import socket
import sys
import threading
import time

CLIENTS = 8
SECONDS = 3
PORT = 9181


def handle_blocking():
    time.sleep(0.03)


async def serve(reader, writer):
    while await reader.readline():
        handle_blocking()
        writer.write(b"r\n")


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    clients = await asyncio.create_subprocess_exec(sys.executable, __file__, "clients")
    await clients.wait()
    server.close()


def ask(connection):
    connection.send(b"q\n")
    connection.recv(10)


def client():
    connection = socket.create_connection(("127.0.0.1", PORT))
    end = time.monotonic() + SECONDS
    begun = time.monotonic_ns()
    while time.monotonic() < end:
        ask(connection)
    times.append(time.monotonic_ns() - begun)


times = []
if len(sys.argv) == 1:
    asyncio.run(main())
else:
    threads = [threading.Thread(target=client, name=f"client-{number}") for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("truth asking_ns", sum(times))
