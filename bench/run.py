#!/usr/bin/env python3
"""Measures what Dwell costs, beside the other tools on the same machine in the same run, and writes docs/benchmarks.md.

Every figure is the median of some rounds; a round runs every tool once, so that a machine that changes its speed changes
it for all. A program's time is what it measures itself, from inside: starting and ending a tool is not counted.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "bench" / "bin"
LIMIT_S = 300
# Without build ids, which perf gathers when the program has ended, and crashes over when their files are gone.
PERF = ["-q", "--no-buildid", "--no-buildid-cache"]


@dataclass(frozen=True)
class Tool:
    """A way to watch a program: what to put before its command, and how much less work it gets when the tool is slow."""

    name: str
    prefix: Callable[[Path], list[str]]
    share: float = 1.0

    def available(self) -> bool:
        first = self.prefix(Path("/"))[:1]
        return not first or shutil.which(first[0]) is not None


def tools(dwell: str) -> list[Tool]:
    return [
        Tool("nothing", lambda out: []),
        Tool("dwell", lambda out: [dwell, "collect", "threading", "--quiet", "--finalization-mode", "none",
                                   "--result-dir", str(out / "result"), "--"]),
        Tool("perf record -e sched:sched_switch -g",
             lambda out: ["perf", "record", *PERF, "-e", "sched:sched_switch", "-g", "-o", str(out / "perf.data"), "--"]),
        Tool("perf sched record", lambda out: ["perf", "sched", "record", *PERF, "-o", str(out / "perf.data"), "--"]),
        Tool("strace -f -c", lambda out: ["strace", "-f", "-c", "-o", str(out / "strace.txt")], share=0.1),
        Tool("valgrind --tool=none", lambda out: ["valgrind", "-q", "--tool=none"], share=0.1),
    ]


def run(command: list[str], **options) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def value(output: str, key: str) -> float:
    for line in output.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == key:
            return float(words[1])
    raise RuntimeError(f"no `{key} NUMBER` in the output:\n{output}")


def pinned(cpus: str | None) -> list[str]:
    return ["taskset", "-c", cpus] if cpus else []


def time_per_step(program: str, steps: int) -> Callable[[Tool, str | None], float]:
    """Seconds per step of a program that prints `seconds`."""

    def measure(tool: Tool, cpus: str | None) -> float:
        count = max(1, int(steps * tool.share))
        with tempfile.TemporaryDirectory() as folder:
            output = run(tool.prefix(Path(folder)) + pinned(cpus) + [str(BIN / program), str(count)])
        return value(output, "seconds") / count

    return measure


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_listening(port: int) -> None:
    for _ in range(2000):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError("the server does not listen")


def time_per_request(requests: int) -> Callable[[Tool, str | None], float]:
    """Seconds per request of a redis-server under the tool, loaded from outside by redis-benchmark."""

    def measure(tool: Tool, cpus: str | None) -> float:
        port, count = str(free_port()), max(2000, int(requests * tool.share))
        with tempfile.TemporaryDirectory() as folder:
            server_command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder]
            command = tool.prefix(Path(folder)) + pinned(cpus and "0") + server_command
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_until_listening(int(port))
                load = ["redis-benchmark", "-p", port, "-t", "get", "-n", str(count), "-c", "20", "--csv"]
                lines = run(pinned(cpus and "1") + load).splitlines()
                subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], stdout=subprocess.DEVNULL, check=False)
                server.wait(timeout=LIMIT_S)
            finally:
                if server.poll() is None:
                    server.kill()
        return 1.0 / float(lines[-1].split(",")[1].strip('"'))

    return measure


@dataclass(frozen=True)
class Workload:
    name: str
    unit: str
    measure: Callable[[Tool, str | None], float]
    cpus: str


def workloads(scale: float) -> list[Workload]:
    steps = lambda count: max(100, int(count * scale))
    return [
        Workload("futex ping-pong", "round trip", time_per_step("pingpong", steps(200_000)), "0"),
        Workload("contended mutex", "round", time_per_step("contended", steps(8_000)), "0,1"),
        Workload("creating threads", "thread", time_per_step("births", steps(20_000)), "0"),
        Workload("redis-benchmark get", "request", time_per_request(steps(100_000)), "0,1"),
    ]


def slow_downs(all_tools: list[Tool], scale: float, rounds: int) -> list[str]:
    lines = []
    for workload in workloads(scale):
        if workload.name.startswith("redis") and not shutil.which("redis-benchmark"):
            continue
        for placement, cpus in (("pinned", workload.cpus), ("unpinned", None)):
            lines += table(workload, placement, cpus, all_tools, rounds)
    return lines


def table(workload: Workload, placement: str, cpus: str | None, all_tools: list[Tool], rounds: int) -> list[str]:
    times: dict[str, list[float]] = {tool.name: [] for tool in all_tools}
    for number in range(rounds):
        for tool in all_tools:
            print(f"{workload.name}, {placement}, round {number + 1}: {tool.name}", file=sys.stderr)
            try:
                times[tool.name].append(workload.measure(tool, cpus))
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"  {error}", file=sys.stderr)
    where = f"pinned to CPU {cpus}" if cpus else "unpinned"
    lines = [f"### {workload.name}, {where}", "", f"| tool | µs per {workload.unit} | ratio | lowest to highest |",
             "|---|---:|---:|---:|"]
    base = statistics.median(times["nothing"])
    for tool in all_tools:
        got = sorted(times[tool.name])
        if not got:
            lines.append(f"| {tool.name} | does not run | | |")
            continue
        middle = statistics.median(got)
        spread = f"{got[0] / base:.2f} to {got[-1] / base:.2f}"
        lines.append(f"| {tool.name} | {middle * 1e6:.2f} | {middle / base:.2f} | {spread} |")
    return lines + [""]


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def timed(command: list[str]) -> tuple[float, str]:
    begun = time.monotonic()
    output = run(command)
    return time.monotonic() - begun, output


def record(dwell: str, result: Path, program: list[str]) -> str:
    options = ["--quiet", "--finalization-mode", "deferred", "--result-dir", str(result), "--"]
    return run([dwell, "collect", "threading"] + options + program)


def lost_and_unseen(losses: dict[str, int]) -> tuple[int, int]:
    """Events lost, and switches that the kernel did not show to any tool (see the losses report)."""
    unseen = sum(losses.get(name, 0) for name in ("switches_unseen", "repaired_intervals"))
    return sum(losses.values()) - unseen, unseen


def sustained(dwell: str, scale: float) -> list[str]:
    """200,000 switches a second for ten seconds: what is lost, and what the collector needs for it."""
    seconds = max(1, int(10 * scale))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        output = record(dwell, result, ["taskset", "-c", "0", str(BIN / "pingpong"), str(seconds * 100_000), "100"])
        run([dwell, "finalize", "--quiet", str(result)])
        manifest = json.loads((result / "manifest.json").read_text())
        summary = json.loads(run([dwell, "report", "summary", str(result), "--format", "json"]))
        switches, took = value(output, "switches"), value(output, "seconds")
        lost, unseen = lost_and_unseen(summary["losses"])
        return [
            "## Sustained rate", "", "| | |", "|---|---:|",
            f"| switches per second, for {took:.1f} s | {switches / took:,.0f} |",
            f"| events lost | {lost:,} |",
            f"| switches hidden by the hypervisor, put back | {unseen:,} |",
            f"| Dwell's own CPU time | {manifest['collector_cpu_ns'] / took / 1e9:.1%} of one CPU |",
            f"| Dwell's peak memory | {manifest['collector_peak_bytes'] / 1e6:.0f} MB |",
            f"| bytes of result per context switch, stacks included | {folder_bytes(result) / switches:.1f} |", "",
        ]


def large_result(dwell: str, scale: float) -> list[str]:
    """Ten million switches: how long finalization and a report take."""
    round_trips = int(5_000_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        output = record(dwell, result, ["taskset", "-c", "0", str(BIN / "pingpong"), str(round_trips)])
        switches, raw = value(output, "switches"), folder_bytes(result)
        finalizing, _ = timed([dwell, "finalize", "--quiet", str(result)])
        reporting, _ = timed([dwell, "report", "waits", str(result)])
        losses = json.loads(run([dwell, "report", "summary", str(result), "--format", "json"]))["losses"]
        return [
            "## A large result", "", "| | |", "|---|---:|",
            f"| context switches | {switches:,.0f} |",
            f"| events lost | {lost_and_unseen(losses)[0]:,} |",
            f"| raw data | {raw / 1e6:.0f} MB |",
            f"| `dwell finalize` | {finalizing:.1f} s |",
            f"| result | {folder_bytes(result) / 1e6:.0f} MB, {folder_bytes(result) / switches:.1f} bytes per switch |",
            f"| `dwell report waits` | {reporting:.1f} s |", "",
        ]


def machine() -> str:
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} CPUs ({model}), Linux {platform.release()}"


def prepare() -> None:
    BIN.mkdir(parents=True, exist_ok=True)
    for source in (ROOT / "bench").glob("*.c"):
        run(["gcc", "-std=gnu11", "-O2", "-g", "-pthread", "-o", str(BIN / source.stem), str(source)])
    tracing = Path("/sys/kernel/tracing")
    if tracing.is_dir() and not any(tracing.iterdir()):
        subprocess.run(["mount", "-t", "tracefs", "nodev", str(tracing)], check=False)


def kept(document: str, made: list[str]) -> list[str]:
    """The sections of the old document that are made otherwise, such as by `make bench-hooks`."""
    headings = {line for line in made if line.startswith("## ")}
    sections = [f"## {section.rstrip()}\n" for section in document.split("\n## ")[1:]]
    return [section for section in sections if section.splitlines()[0] not in headings]


HEADER = """# What Dwell costs

Made by `make bench`{scale} on {date}, on {machine}; do not edit. Figures are medians of {rounds}
rounds; every round runs all tools in turn. Each program measures its own time. Ratios are to the same
program without a tool; slow tools get a tenth of the steps. Differences below a tenth are noise here. An unpinned
ping-pong spends most of its time in idle CPUs' wake-ups, which hide the cost of any tool: read it together with the pinned one.

## Slow-down of the profiled program
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dwell", required=True, help="the dwell binary")
    parser.add_argument("--output", required=True, type=Path, help="where the tables go")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work, for a quick look")
    options = parser.parse_args()
    dwell = str(Path(options.dwell).resolve())
    prepare()
    scale = "" if options.scale == 1.0 else f" (`--scale {options.scale}`)"
    lines = [HEADER.format(date=datetime.date.today(), machine=machine(), rounds=options.rounds, scale=scale)]
    lines += slow_downs([tool for tool in tools(dwell) if tool.available()], options.scale, options.rounds)
    lines += sustained(dwell, options.scale)
    lines += large_result(dwell, options.scale)
    lines += kept(options.output.read_text() if options.output.exists() else "", "\n".join(lines).splitlines())
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text("\n".join(lines).rstrip() + "\n")
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
