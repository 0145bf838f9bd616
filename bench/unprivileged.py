#!/usr/bin/env python3
"""Measures what recording without root costs, as user nobody: Dwell by perf events, at each kernel.perf_event_paranoid that
lets a plain user record, beside what such a user would take else, and writes docs/benchmarks-unprivileged.md. The tools take
turns in each round. Needs root, to change the level (it is restored) and to become nobody.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from run import BIN, LIMIT_S, ROOT, free_port, machine, prepare, run, value, wait_until_listening

LEVEL = Path("/proc/sys/kernel/perf_event_paranoid")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]


@dataclass(frozen=True)
class Tool:
    """What is put before a program, at which level, and how much less work the program gets when the tool is slow."""

    name: str
    level: int
    prefix: list[str]
    share: float = 1.0


def tools(dwell: str) -> list[Tool]:
    collect = [dwell, "collect", "threading", "--source", "perf", "--quiet", "--finalization-mode", "none",
               "--result-dir", "{folder}/result", "--"]
    perf = ["perf", "record", "-q", "--no-buildid", "--no-buildid-cache", "-e", "task-clock:u", "-c", "1000000",
            "--switch-events", "--call-graph", "dwarf,2048", "-o", "{folder}/perf.data", "--"]
    return [Tool("nothing", 2, []), Tool("dwell, paranoid 2", 2, collect), Tool("dwell, paranoid 1", 1, collect),
            Tool("perf record --switch-events, DWARF stacks of samples", 2, perf),
            Tool("strace -f -c", 2, ["strace", "-f", "-c", "-o", "{folder}/strace.txt"], 0.1)]


@contextmanager
def level_of(tool: Tool) -> Iterator[None]:
    before = LEVEL.read_text()
    try:
        LEVEL.write_text(str(tool.level))
        yield
    finally:
        LEVEL.write_text(before)


@contextmanager
def nobodys_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        shutil.chown(folder, 65534, 65534)
        yield Path(folder)


def as_nobody(tool: Tool, folder: Path) -> list[str]:
    words = [word.format(folder=folder) for word in tool.prefix]
    return [*NOBODY, "env", f"HOME={folder}", f"XDG_CACHE_HOME={CACHE}", f"TMPDIR={folder}", *words]


def per_step(program: Path, steps: int) -> Callable[[Tool], float]:
    """Microseconds per step of a program that prints `seconds`."""

    def measure(tool: Tool) -> float:
        count = max(1, int(steps * tool.share))
        with nobodys_folder() as folder, level_of(tool):
            output = run([*as_nobody(tool, folder), str(program), str(count)], cwd=folder)
        return value(output, "seconds") / count * 1e6

    return measure


def convoy(program: Path) -> Callable[[Tool], float]:
    """Microseconds that a program takes whose threads sleep and compute."""

    def measure(tool: Tool) -> float:
        with nobodys_folder() as folder, level_of(tool):
            inside = f"begin=$(date +%s%N); {program} > /dev/null; end=$(date +%s%N); echo seconds $(( end - begin ))"
            output = run([*as_nobody(tool, folder), "sh", "-c", inside], cwd=folder)
        return value(output, "seconds") / 1e3

    return measure


def redis(requests: int) -> Callable[[Tool], float]:
    """Microseconds per request of a redis-server under the tool, loaded from outside by redis-benchmark."""

    def measure(tool: Tool) -> float:
        port, count = str(free_port()), max(2000, int(requests * tool.share))
        with nobodys_folder() as folder, level_of(tool):
            command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
            server = subprocess.Popen([*as_nobody(tool, folder), *command], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, cwd=folder)
            try:
                wait_until_listening(int(port))
                begin = time.monotonic()
                run(["redis-benchmark", "-p", port, "-t", "get", "-n", str(count), "-c", "20", "--csv"])
                took = time.monotonic() - begin
                subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], stdout=subprocess.DEVNULL, check=False)
                server.wait(timeout=LIMIT_S)
            finally:
                if server.poll() is None:
                    server.kill()
        return took / count * 1e6

    return measure


def table(title: str, unit: str, measure: Callable[[Tool], float], all_tools: list[Tool], rounds: int) -> list[str]:
    took: dict[str, list[float]] = {tool.name: [] for tool in all_tools}
    for number in range(rounds):
        for tool in all_tools:
            print(f"{title}, round {number + 1}: {tool.name}", file=sys.stderr)
            took[tool.name].append(measure(tool))
    base = statistics.median(took["nothing"])
    lines = [f"### {title}", "", f"| | µs per {unit} | ratio | lowest to highest |", "|---|---:|---:|---:|"]
    for name, of in took.items():
        middle = statistics.median(of)
        lines.append(f"| {name} | {middle:,.2f} | {middle / base:.2f} | {min(of) / base:.2f} to {max(of) / base:.2f} |")
    return [*lines, ""]


HEADER = """# What recording without root costs

Made by `make bench-unprivileged` on {machine}; do not edit. Everything runs as user nobody. Each figure is the median of
{rounds} rounds, in which the rows take turns; ratios are to the same program without a tool. Each program
measures its own time; strace gets a tenth of the steps. [unprivileged.md](unprivileged.md) explains the levels.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dwell", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    prepare()
    global CACHE
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        CACHE = Path(place) / "cache"
        CACHE.mkdir()
        shutil.chown(CACHE, 65534, 65534)
        copied = lambda path: Path(shutil.copy(path, place))
        dwell = str(copied(Path(options.dwell)))
        pingpong, births, sample = (copied(path) for path in (BIN / "pingpong", BIN / "births", ROOT / "samples/bin/convoy"))
        all_tools = [tool for tool in tools(dwell) if not tool.prefix or shutil.which(tool.prefix[0])]
        for tool in all_tools:
            per_step(births, 1)(tool)  # finds the tracepoints, once
        # Their trial closes them when nobody records: half a minute.
        time.sleep(60)
        text = [HEADER.format(machine=machine(), rounds=options.rounds)]
        text += table("Two threads that wake each other", "round trip", per_step(pingpong, 100_000), all_tools, options.rounds)
        text += table("A lock convoy (samples/convoy.c), start to end", "run", convoy(sample), all_tools, options.rounds)
        if shutil.which("redis-benchmark"):
            text += table("redis-server, GET", "request", redis(100_000), all_tools, options.rounds)
        for threads in (200, 2000, 20_000):
            title = f"{threads:,} threads, created and joined one after the other"
            text += table(title, "thread", per_step(births, threads), all_tools, options.rounds)
    options.output.write_text("\n".join(text).rstrip() + "\n")
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
