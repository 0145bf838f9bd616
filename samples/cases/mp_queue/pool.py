# One pipe for all: four worker processes take items of 32 MB from one multiprocessing.Queue. Who receives an item keeps
# the queue's lock until all of it came through the pipe, and the others wait for the lock.
import multiprocessing
import os
import time

ITEM = os.urandom(32 << 20)
ITEMS = 16
WORKERS = 4


def handle(item):
    time.sleep(0.02)


def worker(queue, results):
    waited = 0
    while True:
        begun = time.monotonic_ns()
        item = queue.get()
        waited += time.monotonic_ns() - begun
        if item is None:
            break
        handle(item)
    results.put(waited)


def main():
    multiprocessing.set_start_method("fork")
    queue, results = multiprocessing.Queue(), multiprocessing.SimpleQueue()
    workers = [multiprocessing.Process(target=worker, args=(queue, results)) for _ in range(WORKERS)]
    for process in workers:
        process.start()
    for item in [ITEM] * ITEMS + [None] * WORKERS:
        queue.put(item)
    waited = sum(results.get() for _ in workers)
    for process in workers:
        process.join()
    print("truth get_ns", waited)


if __name__ == "__main__":
    main()
