#!/usr/bin/env python3
"""Prints how long Dwell takes until a program's first instruction, and in all where the program does nothing, beside perf.

The clock begins before a tool is started and ends where `bench/first.c` takes it. Every round runs all tools in turn; --dwell can be
given more than once, as NAME=BINARY, to compare builds.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from run import BIN, PERF, Tool, machine, prepare, value

HEAD = ["| tool | ms to the first instruction | lowest to highest | ms in all | lowest to highest |",
        "|---|---:|---:|---:|---:|"]


def tools(builds: list[str]) -> list[Tool]:
    def dwell(build: str) -> Tool:
        name, binary = build.rsplit("=", 1) if "=" in build else ("dwell", build)
        command = [os.path.abspath(binary), "collect", "threading", "-q", "--finalization-mode", "none"]
        return Tool(name, lambda out: [*command, "--result-dir", str(out / "result"), "--"])

    perf = ["perf", "record", *PERF, "-e", "sched:sched_switch"]
    beside = [Tool("nothing", lambda out: []),
              Tool("perf record -e sched:sched_switch", lambda out: [*perf, "-o", str(out / "perf.data"), "--"])]
    return [*map(dwell, builds), *(tool for tool in beside if tool.available())]


def measure(tool: Tool) -> tuple[float, float]:
    """Milliseconds to the program's first instruction, and in all."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*tool.prefix(Path(folder)), str(BIN / "first")]
        begun = time.monotonic_ns()
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        ended = time.monotonic_ns()
    return (value(done.stdout, "first_ns") - begun) / 1e6, (ended - begun) / 1e6


def row(name: str, times: list[tuple[float, float]]) -> str:
    cells = [f"{statistics.median(one):.0f} | {min(one):.0f} to {max(one):.0f}" for one in zip(*times)]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", required=True, action="append", help="the dwell binary, or NAME=BINARY")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    prepare()
    measured = tools(options.dwell)
    rounds = [[measure(tool) for tool in measured] for _ in range(options.rounds)]
    print(f"{machine()}; medians of {options.rounds} rounds.\n")
    print("\n".join([*HEAD, *(row(tool.name, list(times)) for tool, times in zip(measured, zip(*rounds)))]))


if __name__ == "__main__":
    main()
