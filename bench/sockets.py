#!/usr/bin/env python3
"""Measures what `--analyze sockets` costs the programs that it watches: redis-server with redis-benchmark, and both ends of iperf3
over loopback, without Dwell, with `threading`, and with `threading,sockets`.

Two figures of each: CPU time, of the program's processes alone as the kernel counts it, and the time that the client took. Both are
relative to the same round without Dwell; what is shown is the median of the rounds, and the lowest and highest of them. Every round
runs all ways, each time from another one on. The work is always the same: so many requests, so many bytes.

iperf3 runs with both ends on one CPU, and with one on each: there it also counts how often an end finds nothing to do and sleeps.

    bench/sockets.py [--dwell PATH] [--rounds 9] [--requests 50000] [--bytes 4G] [--only redis]
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

WAYS = {"nothing": None, "threading": "threading", "threading,sockets": "threading,sockets"}
REDIS = """{server} redis-server --port 7990 --save '' > /dev/null & server=$!
sleep 0.5
begin=$EPOCHREALTIME
{client} redis-benchmark -p 7990 -n {requests} -c 20 -t get -q > /dev/null
end=$EPOCHREALTIME
kill $server; wait $server"""
IPERF = """{server} iperf3 -s -p 7989 -1 > /dev/null & server=$!
sleep 0.5
begin=$EPOCHREALTIME
{client} iperf3 -c 127.0.0.1 -p 7989 -n {bytes} > /dev/null
end=$EPOCHREALTIME
wait $server"""
# Two lines of user and system time, 0m1.234s each: of the shell, and of its children.
SAY = "\necho $begin $end; times"


def seconds(word: str) -> float:
    minutes, rest = word.rstrip("s").split("m")
    return 60 * float(minutes) + float(rest)


def measure(dwell: str, topics: str | None, script: str) -> tuple[float, float]:
    """CPU time of the script's programs, and the time that the client took, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = [] if topics is None else [dwell, "collect", "threading", "--analyze", topics, "--quiet",
                                            "--finalization-mode", "none", "--result-dir", str(Path(folder) / "result"), "--"]
        done = subprocess.run([*prefix, "bash", "-c", script + SAY], stdout=subprocess.PIPE, text=True, check=True,
                              timeout=300, env={**os.environ, "LC_ALL": "C"})
    words = done.stdout.split()[-6:]
    return sum(map(seconds, words[2:])), float(words[1]) - float(words[0])


def show(program: str, measured: dict[str, list[tuple[float, float]]]) -> None:
    def ratio(way: str, figure: int) -> str:
        ratios = [it[figure] / base[figure] for it, base in zip(measured[way], measured["nothing"])]
        return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"

    for way in WAYS:
        median = statistics.median(cpu for cpu, _ in measured[way])
        print(f"| {program} | {way} | {median:.2f} | {ratio(way, 0)} | {ratio(way, 1)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", default=os.environ.get("DWELL", "dwell"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--bytes", default="4G")
    parser.add_argument("--only", default="", help="programs with this in their name")
    options = parser.parse_args()
    first, *others = sorted(os.sched_getaffinity(0))
    on = lambda server, client: {"server": f"taskset -c {server}", "client": f"taskset -c {client}"}
    scripts = {"redis-benchmark": REDIS.format(requests=options.requests, server="", client=""),
               "iperf3, one CPU": IPERF.format(bytes=options.bytes, **on(first, first))}
    if others:
        scripts["iperf3, two CPUs"] = IPERF.format(bytes=options.bytes, **on(first, others[0]))
    print("| program | way | CPU time, s | CPU time | time of the client |\n|---|---|---:|---:|---:|")
    for program, script in scripts.items():
        if options.only not in program:
            continue
        measured: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for number in range(options.rounds):
            at = number % len(WAYS)
            for way in [*WAYS][at:] + [*WAYS][:at]:
                measured[way].append(measure(options.dwell, WAYS[way], script))
        show(program, measured)


if __name__ == "__main__":
    main()
