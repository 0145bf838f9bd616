"""Sixty requests of an event loop share two threads; each takes one of them for as long as the backend takes."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

REQUESTS = 60
BACKEND_S = 0.05


def call_backend(request):
    time.sleep(BACKEND_S)
    return request


async def handle(pool, request):
    return await asyncio.get_running_loop().run_in_executor(pool, call_backend, request)


async def main():
    with ThreadPoolExecutor(2) as pool:
        await asyncio.gather(*(handle(pool, request) for request in range(REQUESTS)))


asyncio.run(main())
