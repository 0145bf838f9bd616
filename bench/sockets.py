#!/usr/bin/env python3
"""Measures what `--analyze sockets` costs the programs that it watches: CPU time of redis-server with redis-benchmark, and of
both ends of iperf3 over loopback, without Dwell, with `threading`, and with `threading,sockets`.

Every round runs all ways in turn, and a figure is the median of the rounds, relative to the program without Dwell. CPU time is
the kernel's, of the program's processes alone: a busy machine changes it less than elapsed time.

    bench/sockets.py [--dwell PATH] [--rounds 5] [--requests 50000] [--bytes 8G]
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

WAYS = {"nothing": None, "threading": "threading", "threading,sockets": "threading,sockets"}
REDIS = """redis-server --port 7990 --save '' > /dev/null & server=$!
sleep 0.5
redis-benchmark -p 7990 -n {requests} -c 20 -t get -q > /dev/null
kill $server; wait $server"""
IPERF = """iperf3 -s -p 7989 -1 > /dev/null & server=$!
sleep 0.5
iperf3 -c 127.0.0.1 -p 7989 -n {bytes} > /dev/null; wait $server"""


def cpu_seconds(dwell: str, topics: str | None, script: str) -> float:
    """CPU time of the script and its children: the shell says at its end what they took."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = [] if topics is None else [dwell, "collect", "threading", "--analyze", topics, "--quiet",
                                            "--finalization-mode", "none", "--result-dir", str(Path(folder) / "result"), "--"]
        done = subprocess.run([*prefix, "bash", "-c", script + "\ntimes"], stdout=subprocess.PIPE, text=True, check=True,
                              timeout=300)
    # Two lines of user and system time, 0m1.234s each: of the shell, and of its children.
    words = " ".join(done.stdout.split("\n")[-3:]).split()
    seconds = lambda word: 60 * float(word.split("m")[0]) + float(word.split("m")[1].rstrip("s"))
    return sum(map(seconds, words[-4:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", default=os.environ.get("DWELL", "dwell"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--bytes", default="8G")
    options = parser.parse_args()
    scripts = {"redis-benchmark": REDIS.format(requests=options.requests), "iperf3": IPERF.format(bytes=options.bytes)}
    print("| program | way | CPU time, s | ratio |\n|---|---|---:|---:|")
    for program, script in scripts.items():
        measured: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, topics in WAYS.items():
                measured[way].append(cpu_seconds(options.dwell, topics, script))
        base = statistics.median(measured["nothing"])
        for way, seconds in measured.items():
            median = statistics.median(seconds)
            print(f"| {program} | {way} | {median:.2f} | {median / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
