#!/usr/bin/env python3
"""Measures what `dwell collect latency` and its flight recorder cost a redis-server under full load and a program that
computes, beside threading alone and nothing, and writes docs/benchmarks-latency.md. The tools take turns in each round, so that
a machine that changes its speed changes it for all. With --first all of it has real-time priority: for a machine that others
use too.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from run import LIMIT_S, ROOT, free_port, machine, run, wait_until_listening

FIGURES = ["requests/s", "p50", "p99"]
Round = dict[str, float]


def tools(dwell: str) -> dict[str, list[str]]:
    collect = [dwell, "collect", "threading", "--quiet", "--finalization-mode", "none"]
    return {"nothing": [], "threading": collect, "latency": [*collect, "--analyze", "latency"],
            "latency --interval socket": [*collect, "--analyze", "latency", "--interval", "socket"],
            "latency --trigger that never fires": [*collect, "--analyze", "latency", "--trigger", "interval>10s"]}


def first(options: argparse.Namespace) -> list[str]:
    return ["chrt", "-r", "1"] if options.first else []


def redis(options: argparse.Namespace, tool: list[str]) -> Round:
    port = str(free_port())
    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        watched = [*tool, "--result-dir", f"{folder}/result", "--"] if tool else []
        server = subprocess.Popen([*first(options), *watched, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until_listening(int(port))
            lines = run([*first(options), "redis-benchmark", "-p", port, "-t", "get", "-n", str(options.requests), "-c", "20",
                         "--csv"]).splitlines()
            subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], stdout=subprocess.DEVNULL, check=False)
            server.wait(timeout=LIMIT_S)
        finally:
            if server.poll() is None:
                server.kill()
    names, values = ([cell.strip('"') for cell in line.split(",")] for line in lines[-2:])
    row = dict(zip(names, values))
    return {"requests/s": float(row["rps"]), "p50": float(row["p50_latency_ms"]), "p99": float(row["p99_latency_ms"])}


def computing(options: argparse.Namespace, tool: list[str]) -> Round:
    """A second of tasks of 100 microseconds; the program says how long they took."""
    with tempfile.TemporaryDirectory() as folder:
        watched = [*tool, "--result-dir", f"{folder}/result", "--"] if tool else []
        program = [str(ROOT / "samples" / "bin" / "delays"), "none", str(options.tasks), "1000"]
        told = run([*first(options), *watched, *program])
    return {"ns": float(next(line.split()[2] for line in told.splitlines() if line.startswith("truth tasks_ns ")))}


def rounds_of(measure: Callable[[argparse.Namespace, list[str]], Round], options: argparse.Namespace) -> dict[str, list[Round]]:
    rounds: dict[str, list[Round]] = {}
    for _ in range(options.rounds):
        for name, tool in tools(options.dwell).items():
            rounds.setdefault(name, []).append(measure(options, tool))
    return rounds


def table_of_computing(options: argparse.Namespace) -> list[str]:
    rounds = rounds_of(computing, options)
    middle = {name: statistics.median(one["ns"] for one in of) for name, of in rounds.items()}
    rows = [f"| {name} | {ns / options.tasks / 1000:.2f} | {ns / middle['nothing']:.3f} |" for name, ns in middle.items()]
    return ["| | a task, µs | slower by |", "|---|---:|---:|", *rows]


def table_of_redis(options: argparse.Namespace) -> list[str]:
    rounds = rounds_of(redis, options)
    lines = ["| | requests/s | slower by | p50, ms | p99, ms | of all rounds | p99 relative to nothing |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    middle = {name: {figure: statistics.median(one[figure] for one in of) for figure in FIGURES} for name, of in rounds.items()}
    for name, of in middle.items():
        tails = [one["p99"] for one in rounds[name]]
        lines.append(f"| {name} | {of['requests/s']:,.0f} | {middle['nothing']['requests/s'] / of['requests/s']:.3f} | {of['p50']:.3f} "
                     f"| {of['p99']:.3f} | {min(tails):.3f} to {max(tails):.3f} | {of['p99'] / middle['nothing']['p99']:.3f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dwell", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    if not shutil.which("redis-benchmark"):
        sys.exit("redis-benchmark is not installed: scripts/install-deps.sh bench")
    text = ["# Latency: what recording it costs", "", f"Made by `make bench-latency` on {machine()}; do not edit.", "",
            f"Each figure is the median of {options.rounds} rounds, in which the rows take turns."]
    text += [options.note] if options.note else []
    text += ["", "## A server under full load", "",
             f"redis-server, {options.requests:,} GETs by redis-benchmark with 20 clients, on the same CPUs as Dwell: each request costs "
             "three system calls and a soft interrupt, and every cost is visible, since no CPU is idle.", "", *table_of_redis(options), "",
             "## A program that computes", "",
             "One thread runs one task of 100 µs after the other (`samples/delays.c`): the cost of leaving Dwell on.", "",
             *table_of_computing(options), "",
             "An interval that a program announces through ITT costs the begin and end of a task in "
             "[benchmarks-itt.md](benchmarks-itt.md); recording latency adds nothing to it.", ""]
    options.output.write_text("\n".join(text))


if __name__ == "__main__":
    main()
