#!/usr/bin/env python3
"""Measures how many stacks are complete, and what they cost, and writes docs/benchmarks-stacks.md.

Each program is recorded by Dwell, by `perf record --call-graph fp` and by `perf record --call-graph dwarf`, one after the
other in the same run. A stack of perf's counts as complete when its outermost user frame is where threads and programs
begin; Dwell says it itself (`stacks_complete`), by the same places. The slow-down is of a futex ping-pong on one CPU, the
worst case, each tool in turn.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from run import BIN, PERF, ROOT, free_port, machine, prepare, run, value, wait_until_listening

SAMPLES = ROOT / "samples" / "bin"
PERF_HZ = 199
# Where stacks begin, looked for in the two outermost frames, as stripped programs have no name for _start: programs, threads of libc, of Go, and what Go's scheduler runs on.
ENTRIES = re.compile(r"^(_start|_dl_start_user|_dl_start|(__)?clone3?|__GI___clone3?|thread_start|_rt0_amd64.*"
                     r"|__libc_start_(main|call_main).*|runtime\.(goexit|mstart|rt0_go|mcall|morestack|clone).*)$")
PYTHON = """
import json, time, threading
end = time.monotonic() + float({seconds})
def work(depth, data):
    return work(depth - 1, data) if depth else json.loads(json.dumps(sorted(data.items(), key=lambda item: -item[1])))
def loop():
    while time.monotonic() < end:
        work(10, {{str(i): i * 7 % 101 for i in range(300)}}); time.sleep(0.0005)
threads = [threading.Thread(target=loop) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
GO = """package main

import (
	"crypto/sha256"
	"strings"
	"sync"
	"time"
)

type node struct{ left, right *node }

func build(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{build(depth - 1), build(depth - 1)}
}

func main() {
	var wait sync.WaitGroup
	var lock sync.Mutex
	total, end := 0, time.Now().Add(SECONDS * time.Second)
	for i := 0; i < 6; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for time.Now().Before(end) {
				tree := build(10)
				lock.Lock()
				if tree.left != nil {
					total += int(sha256.Sum256([]byte(strings.Repeat("x", 2000)))[0])
				}
				lock.Unlock()
				time.Sleep(50 * time.Microsecond)
			}
		}()
	}
	wait.Wait()
}
"""
TBB = """#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <chrono>
#include <vector>
int main() {
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(SECONDS);
	std::vector<double> values(200000);
	while (std::chrono::steady_clock::now() < end) {
		tbb::parallel_for(std::size_t(0), values.size(), [&](std::size_t i) { values[i] = double(i * 7919 % 100003); });
		tbb::parallel_sort(values.begin(), values.end());
	}
}
"""


@dataclass
class Program:
    """A program to record; a server has a load that runs beside it and ends with it."""

    name: str
    command: list[str]
    load: list[str] = field(default_factory=list)
    port: int = 0
    named: bool = True  # whether perf has names for where its stacks begin


def compile_programs(seconds: int) -> None:
    BIN.mkdir(parents=True, exist_ok=True)
    source = BIN / "work_tbb.cpp"
    source.write_text(TBB.replace("SECONDS", str(seconds)))
    run(["g++", "-O3", "-fomit-frame-pointer", "-o", str(BIN / "work_tbb"), str(source), "-ltbb"])
    if shutil.which("go"):
        source = BIN / "work.go"
        source.write_text(GO.replace("SECONDS", str(seconds)))
        run(["go", "build", "-o", str(BIN / "work_go"), str(source)])
        run(["go", "build", "-ldflags=-s -w", "-o", str(BIN / "work_go_stripped"), str(source)])


def programs(seconds: int, folder: Path) -> list[Program]:
    redis, nginx = free_port(), free_port()
    site = f"server {{ listen 127.0.0.1:{nginx}; location / {{ return 200 'hello'; }} }}"
    config = folder / "nginx.conf"
    config.write_text(f"pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {site} }}")
    time_limit = ["timeout", "--preserve-status", str(seconds)]
    found = [
        Program("C++ at -O3 -fomit-frame-pointer", [str(SAMPLES / "work"), str(seconds)]),
        Program("Rust, release build", [str(SAMPLES / "work_rs"), str(seconds)]),
        Program("oneTBB", [str(BIN / "work_tbb")]),
        Program("Go", [str(BIN / "work_go")]),
        Program("Go, stripped", [str(BIN / "work_go_stripped")], named=False),
        Program("python3", ["python3", "-c", PYTHON.format(seconds=seconds)]),
        Program("openssl speed", ["openssl", "speed", "-seconds", "1", "rsa2048", "ecdsap256", "aes-256-cbc", "sha256"]),
        Program("redis-server", [*time_limit, "redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", ""],
                ["redis-benchmark", "-p", str(redis), "-t", "set,get,lpush,zadd", "-n", "100000000", "-c", "10", "-q"],
                redis),
        Program("nginx", [*time_limit, "nginx", "-c", str(config), "-g", "daemon off; master_process off;"],
                ["wrk", "-d", "600", "-t", "1", "-c", "8", f"http://127.0.0.1:{nginx}/"], nginx),
    ]
    return [it for it in found if shutil.which(it.command[0]) and (not it.load or shutil.which(it.load[0]))]


def watch(prefix: list[str], program: Program) -> None:
    """Runs the program to its end behind `prefix`, with its load."""
    watched = subprocess.Popen(prefix + program.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    load = None
    try:
        if program.load:
            wait_until_listening(program.port)
            load = subprocess.Popen(program.load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        watched.wait(timeout=120)
    finally:
        for process in (load, watched):
            if process and process.poll() is None:
                process.kill()
                process.wait()


@dataclass
class Share:
    """Stacks and complete ones."""

    stacks: int = 0
    complete: int = 0
    size: int = 0

    def __str__(self) -> str:
        return f"{self.complete / self.stacks:.2%} of {self.stacks:,}" if self.stacks else "–"


def by_dwell(dwell: str, program: Program) -> tuple[Share, str]:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        watch([dwell, "collect", "threading", "--quiet", "--result-dir", str(result), "--"], program)
        size = sum(path.stat().st_size for path in result.rglob("*") if path.is_file())
        summary = json.loads(run([dwell, "report", "summary", str(result), "--format", "json"]))
    cut = {name[len("stacks_cut_"):].replace("_", " "): count for name, count in summary["losses"].items()
           if name.startswith("stacks_cut_")}
    stacks = int(summary["stacks"])
    share = Share(stacks, stacks - sum(cut.values()), size)
    return share, ", ".join(f"{name} {count}" for name, count in cut.items())


def by_perf(mode: str, program: Program) -> Share:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        watch(["perf", "record", *PERF, "-F", str(PERF_HZ), "-e", "cpu-clock", "--call-graph", mode, "-o", str(data), "--"],
              program)
        share = Share(size=data.stat().st_size if data.exists() else 0)
        script = subprocess.Popen(["perf", "script", "-i", str(data), "-F", "comm,ip,sym,dso", "--no-inline"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        begun, user = time.monotonic(), []
        for line in script.stdout or []:
            words = line.split(maxsplit=1)
            if not line.startswith(("\t", " ")) or not words:
                if user:
                    share.stacks += 1
                    share.complete += any(ENTRIES.match(name) for name in user[-2:])
                user = []
            elif not words[0].startswith("ffff"):
                user.append(words[1].split("+")[0].split(" (")[0].strip() if len(words) > 1 else "")
            if time.monotonic() - begun > 40:
                break
        script.kill()
        script.wait()
    return share


def completeness(dwell: str, seconds: int) -> list[str]:
    lines = ["## Complete stacks", "",
             "| program | Dwell: samples and waits | cut | `perf --call-graph fp` | `perf --call-graph dwarf` "
             "| MB of Dwell | of perf fp | of perf dwarf |", "|---|---:|---|---:|---:|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        for program in programs(seconds, Path(folder)):
            print(program.name, file=sys.stderr)
            own, cut = by_dwell(dwell, program)
            pointers, dwarf = (by_perf(mode, program) if program.named else Share() for mode in ("fp", "dwarf"))
            sizes = " | ".join(f"{share.size / 1e6:.1f}" for share in (own, pointers, dwarf))
            lines.append(f"| {program.name} | {own} | {cut} | {pointers} | {dwarf} | {sizes} |")
    return lines + ["", f"Dwell takes the stack of every wait, and of samples at 1,000 Hz; perf only of samples, at {PERF_HZ} Hz. "
                    "The sizes include all written files. –: unknown, because names are missing or "
                    "`perf script` took more than 40 s.", ""]


def slow_down(dwell: str, rounds: int, steps: int) -> list[str]:
    tools = {
        "nothing": lambda folder: [],
        "Dwell": lambda folder: [dwell, "collect", "threading", "--quiet", "--finalization-mode", "none", "--result-dir",
                                 str(folder / "result"), "--"],
        "perf record -e sched:sched_switch --call-graph fp":
            lambda folder: ["perf", "record", *PERF, "-e", "sched:sched_switch", "--call-graph", "fp", "-o",
                            str(folder / "perf.data"), "--"],
        "perf record -e sched:sched_switch --call-graph dwarf":
            lambda folder: ["perf", "record", *PERF, "-e", "sched:sched_switch", "--call-graph", "dwarf,4096", "-o",
                            str(folder / "perf.data"), "--"],
    }
    times: dict[str, list[float]] = {name: [] for name in tools}
    for _ in range(rounds):
        for name, prefix in tools.items():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    output = run(prefix(Path(folder)) + ["taskset", "-c", "0", str(BIN / "pingpong"), str(steps)])
                    times[name].append(value(output, "seconds") / steps)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"  {name}: {error}", file=sys.stderr)
    base = statistics.median(times["nothing"])
    lines = ["## Futex ping-pong, pinned to one CPU", "", "| tool | µs per round trip | ratio |", "|---|---:|---:|"]
    for name, got in times.items():
        middle = statistics.median(got) if got else None
        lines.append(f"| {name} | {middle * 1e6:.2f} | {middle / base:.2f} |" if middle else f"| {name} | does not run | |")
    return lines + [""]


def hook_times(dwell: str, steps: int) -> list[str]:
    """What a run of each hook costs, by the kernel's own account, stacks included."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    lines = ["## Time in the hooks, stacks included", "", "| program | hook | runs | ns per run |", "|---|---|---:|---:|"]
    try:
        switch.write_text("1")
        for name, command in (("ping-pong", [str(BIN / "pingpong"), str(steps)]), ("C++", [str(SAMPLES / "work"), "3"])):
            with tempfile.TemporaryDirectory() as folder:
                watched = subprocess.Popen([dwell, "collect", "threading", "--quiet", "--finalization-mode", "none",
                                            "--result-dir", f"{folder}/result", "--", *command], stdout=subprocess.DEVNULL)
                last: dict[str, tuple[int, int]] = {}
                while watched.poll() is None:
                    last = programs_of(watched.pid) or last
                    time.sleep(0.1)
            for hook, (count, ns) in sorted(last.items()):
                if count > 100:
                    lines.append(f"| {name} | {hook} | {count:,} | {ns / count:.0f} |")
    finally:
        switch.write_text(before)
    return lines + ["", "A switch's run counts for every thread of the machine, profiled or not.", ""]


def programs_of(pid: int) -> dict[str, tuple[int, int]]:
    """Runs and ns of the BPF programs that a process holds, by type and tag."""
    found = {}
    for info in Path(f"/proc/{pid}/fdinfo").glob("*"):
        try:
            fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if "run_cnt" in fields:
            key = f"{PROGRAM_TYPES.get(fields['prog_type'].strip(), fields['prog_type'].strip())} {fields['prog_tag'].strip()[:6]}"
            found[key] = (int(fields["run_cnt"]), int(fields["run_time_ns"]))
    return found


PROGRAM_TYPES = {"7": "sample", "26": "tracepoint"}


def tables(example: str | None) -> list[str]:
    files = ["/usr/lib/chromium/chromium", "/usr/bin/node", *map(str, Path("/usr/lib").glob("*/libLLVM-*.so*")),
             "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libc.so.6"]
    files = [name for name in files if Path(name).is_file() and not Path(name).is_symlink()]
    if not example or not files:
        return []
    run([example, *files])  # into the page cache
    lines = ["## Making a file's table, once for all processes that map it", "", "| file | MB | table |", "|---|---:|---|"]
    for line in run([example, *files]).splitlines():
        name, told = line.split(": ", 1)
        lines.append(f"| {Path(name).name} | {Path(name).stat().st_size / 1e6:.0f} | {told} |")
    return lines + [""]


HEADER = """# Stacks: how many are complete, and what they cost

Made by `make bench-stacks`{mark} on {machine}; do not edit. Each program runs {seconds} s under each tool, one after the other.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dwell", required=True, help="the dwell binary")
    parser.add_argument("--tables", help="the example unwind-table of the unwind crate")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--seconds", type=int, default=4, help="how long each program runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--note", default="", help="what a reader must know, such as that the machine was busy")
    options = parser.parse_args()
    dwell = str(Path(options.dwell).resolve())
    prepare()
    compile_programs(options.seconds)
    note = f" ({options.note})" if options.note else ""
    lines = [HEADER.format(mark=note, machine=machine(), seconds=options.seconds)]
    lines += completeness(dwell, options.seconds)
    lines += slow_down(dwell, options.rounds, 100_000)
    lines += hook_times(dwell, 300_000)
    lines += tables(options.tables)
    options.output.write_text("\n".join(lines).rstrip() + "\n")
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
