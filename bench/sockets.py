#!/usr/bin/env python3
"""Measures what `--analyze sockets` costs the programs that it watches: redis-server with redis-benchmark, and both ends of iperf3
over loopback, without Dwell, with `threading`, and with `threading,sockets`.

Three figures of each: CPU time, of both ends alone as the kernel counts it, the time that the client took, and how often the
server slept. The first two are relative to the same round without Dwell; what is shown is the median of the rounds, and the
lowest and highest of them. Every round runs all ways, each time from another one on. The work is always the same: so many
requests, so many bytes.

iperf3 runs with both ends on one CPU, with one on each, and where the scheduler puts them. `--peers` adds collections with a
sample every 10 ms, and perf's samples every 1 ms, without stacks.

    bench/sockets.py [--dwell PATH] [--rounds 9] [--requests 50000] [--bytes 4G] [--only redis] [--peers]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLLECT = "{dwell} collect threading --quiet --finalization-mode none --result-dir {folder}/result --analyze"
WAYS = {"nothing": "", "threading": f"{COLLECT} threading --", "threading,sockets": f"{COLLECT} threading,sockets --"}
PEERS = {"threading, sample every 10 ms": f"{COLLECT} threading --sampling-interval 10 --",
         "threading,sockets, sample every 10 ms": f"{COLLECT} threading,sockets --sampling-interval 10 --",
         "perf record -a -F 1000": "perf record -q -a -e cpu-clock -F 1000 -o {folder}/perf.data --"}
REDIS = ("redis-server --port 7990 --save ''", "redis-benchmark -p 7990 -n {requests} -c 20 -t get -q")
IPERF = ("taskset -c {server} iperf3 -s -p 7989", "taskset -c {client} iperf3 -c 127.0.0.1 -p 7989 -n {bytes}")


def run_ends(server: str, client: str) -> None:
    """Prints the CPU time of both ends and the time that the client took, in seconds, and how often the server slept."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = lambda command: subprocess.Popen(["bash", "-c", f"exec {command}"], **quiet)
    ends = start(server)
    time.sleep(0.5)
    begin = time.monotonic()
    asking = os.wait4(start(client).pid, 0)[2]
    took = time.monotonic() - begin
    ends.terminate()
    answering = os.wait4(ends.pid, 0)[2]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in (asking, answering))
    print(json.dumps([cpu, took, answering.ru_nvcsw]))


def measure(dwell: str, way: str, ends: tuple[str, str]) -> tuple[float, float, int]:
    """What run_ends prints, of ends under `way`."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = way.format(dwell=dwell, folder=folder).split()
        done = subprocess.run([*prefix, sys.executable, __file__, "--ends", *ends], stdout=subprocess.PIPE, text=True,
                              check=True, timeout=300, env={**os.environ, "LC_ALL": "C"})
    return json.loads(done.stdout.splitlines()[-1])


def show(program: str, measured: dict[str, list[tuple[float, float, int]]]) -> None:
    def ratio(way: str, figure: int) -> str:
        ratios = [it[figure] / base[figure] for it, base in zip(measured[way], measured["nothing"])]
        return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"

    for way, rounds in measured.items():
        sleeps = statistics.median(sleeps for _, _, sleeps in rounds)
        print(f"| {program} | {way} | {ratio(way, 0)} | {ratio(way, 1)} | {sleeps:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", default=os.environ.get("DWELL", "dwell"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--bytes", default="4G")
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--peers", action="store_true", help="and fewer samples, and perf")
    parser.add_argument("--ends", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ends:
        return run_ends(*options.ends)
    first, *others = sorted(os.sched_getaffinity(0))
    filled = lambda ends, **words: tuple(end.format(requests=options.requests, bytes=options.bytes, **words) for end in ends)
    programs = {"redis-benchmark": filled(REDIS), "iperf3, one CPU": filled(IPERF, server=first, client=first)}
    if others:
        programs["iperf3, two CPUs"] = filled(IPERF, server=first, client=others[0])
        anywhere = ",".join(map(str, [first, *others]))
        programs["iperf3, not pinned"] = filled(IPERF, server=anywhere, client=anywhere)
    ways = WAYS | (PEERS if options.peers else {})
    print("| program | way | CPU time | time of the client | sleeps of the server |\n|---|---|---:|---:|---:|")
    for program, ends in programs.items():
        if options.only not in program:
            continue
        measured: dict[str, list[tuple[float, float, int]]] = {way: [] for way in ways}
        for number in range(options.rounds):
            at = number % len(ways)
            for way in [*ways][at:] + [*ways][:at]:
                measured[way].append(measure(options.dwell, ways[way], ends))
        show(program, measured)


if __name__ == "__main__":
    main()
