#!/usr/bin/env python3
"""Measures what watching the whole machine costs, live and recorded, and writes docs/benchmarks-live.md.

The load is two threads that wake each other: unpaced on one CPU it shows the slow-down, paced it switches 200,000 times a second, and
the tools' own CPU time is read from /proc. Another process has 5,000 threads that sleep. Every figure is the median of some rounds;
a round runs every tool once.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from run import BIN, PERF, ROOT, machine, prepare, run, value

SLEEPERS = 5000
SECONDS = 5
PER_MS = 100  # round trips of two switches
TICK = os.sysconf("SC_CLK_TCK")


def tools(dwell: str, out: Path) -> dict[str, list[str]]:
    found = {
        "nothing": [],
        "dwell top (passive)": [dwell, "top", "--once", "--interval", "600s"],
        "dwell top, 20 times a second": [dwell, "top", "--once", "--interval", "600s", "--rate", "20"],
        "dwell collect --all": [dwell, "collect", "threading", "--all", "--quiet", "--finalization-mode", "none",
                                "--result-dir", str(out / "result")],
        "top -H -d 1": ["top", "-b", "-H", "-d", "1"],
        "perf sched record": ["perf", "sched", "record", *PERF, "-a", "-o", str(out / "perf.data")],
        "offcputime-bpfcc": ["offcputime-bpfcc", "-f", "600"],
    }
    return {name: command for name, command in found.items() if not command or shutil.which(command[0])}


def cpu_seconds(session: int) -> float:
    """Of all processes of a session, and the children that they have waited for."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            total += sum(int(ticks) for ticks in fields[11:15])
    return total / TICK


def start(command: list[str]) -> subprocess.Popen | None:
    if not command:
        return None
    tool = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True, env={**os.environ, "TERM": "xterm"})
    time.sleep(3)
    return tool


def stop(tool: subprocess.Popen | None) -> None:
    if tool is None:
        return
    for how in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(tool.pid, how)
            tool.wait(timeout=30)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def watch(command: list[str]) -> tuple[float, float]:
    """Microseconds of a round trip on one CPU, and the part of a CPU that the tool takes beside the paced load."""
    tool = start(command)
    if tool and tool.poll() is not None:
        return float("nan"), float("nan")  # it does not run here
    try:
        free = value(run(["taskset", "-c", "0", str(BIN / "pingpong"), "200000"]), "seconds") / 200_000 * 1e6
        before, begin = cpu_seconds(tool.pid) if tool else 0.0, time.monotonic()
        run(["taskset", "-c", "0", str(BIN / "pingpong"), str(SECONDS * 1000 * PER_MS), str(PER_MS)])
        used = (cpu_seconds(tool.pid) - before if tool else 0.0) / (time.monotonic() - begin)
    finally:
        stop(tool)
    return free, used


def sleepers(folder: Path) -> subprocess.Popen:
    source = folder / "sleepers.c"
    source.write_text(
        "#include <pthread.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        "static void *sleeps(void *unused) { for (;;) sleep(1000); return unused; }\n"
        "int main(int count, char **words) { pthread_attr_t small; pthread_t thread; (void)count;\n"
        "pthread_attr_init(&small); pthread_attr_setstacksize(&small, 32768);\n"
        "for (int i = atoi(words[1]); i; i--) pthread_create(&thread, &small, sleeps, 0);\nsleep(10000); return 0; }\n")
    subprocess.run(["cc", "-O1", "-pthread", "-o", folder / "sleepers", source], check=True)
    return subprocess.Popen([folder / "sleepers", str(SLEEPERS)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dwell", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        others = sleepers(Path(folder))
        rounds: dict[str, list[tuple[float, float]]] = {}
        try:
            time.sleep(2)
            for _ in range(options.rounds):
                for name in tools(options.dwell, Path(folder)):
                    with tempfile.TemporaryDirectory() as out:
                        rounds.setdefault(name, []).append(watch(tools(options.dwell, Path(out))[name]))
        finally:
            others.kill()
            others.wait()
    median = {name: [statistics.median(column) for column in zip(*figures)] for name, figures in rounds.items()}
    base = median["nothing"][0]
    lines = [
        "# What watching a machine costs",
        "",
        f"Made by `make bench-live` on {machine()}; do not edit. Medians of {options.rounds} rounds, each with every tool in turn, beside a process of "
        f"{SLEEPERS:,} sleeping threads. The slow-down is that of two threads on one CPU that do nothing but wake each other; the CPU time is the "
        f"tool's own beside the same threads at {2 * PER_MS * 1000:,} switches a second, without what it costs inside the threads.",
        "",
        "| tool | µs per round trip | ratio | % of one CPU |",
        "|---|---:|---:|---:|",
    ]
    absent = [name for name, (free, _) in median.items() if free != free]
    median = {name: figures for name, figures in median.items() if name not in absent}
    lines += [f"| {name} | {free:.2f} | {free / base:.2f} | {used * 100:.1f} |" for name, (free, used) in median.items()]
    if absent:
        lines += ["", f"Installed, but did not run here: {', '.join(absent)}."]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        (ROOT / options.output).write_text(text)


if __name__ == "__main__":
    main()
