# An event loop that answers every 5 ms, and each 100 ms writes a report: in a blocking way, or in a thread.
import asyncio, sys, time

blocked = 0

def write_report():
    time.sleep(0.06)

async def answer():
    for _ in range(300):
        await asyncio.sleep(0.005)

async def report():
    global blocked
    for _ in range(15):
        await asyncio.sleep(0.05)
        if sys.argv[1] == "blocked":
            begun = time.perf_counter_ns()
            write_report()
            blocked += time.perf_counter_ns() - begun
        else:
            await asyncio.to_thread(write_report)

async def main():
    await asyncio.gather(answer(), report())

asyncio.run(main())
print("truth blocked_ns", blocked)
