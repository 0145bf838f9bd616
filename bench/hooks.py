#!/usr/bin/env python3
"""Measures what each BPF hook takes, by part, and writes that into docs/benchmarks.md.

The kernel's own account (`kernel.bpf_stats_enabled`) says how long the runs of a hook took. A part's share is what a run takes
less without it: the sources of switches and wake-ups are compiled once for each part, with that part left out
(`crates/capture/src/bpf/part.bpf.h`), and put into a copy of the binary in place of its own objects. Every round measures all of
them in turn, so that a machine that changes its speed changes it for all.
"""

import argparse
import contextlib
import ctypes
import datetime
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from run import BIN, ROOT, machine, prepare, value

STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
SOURCES = ROOT / "crates" / "capture" / "src" / "bpf"
DOCUMENT = "## What each hook costs"
FAMILIES = ("switch", "waking")
HOOKS = ("on_switch", "on_waking")
# By the name that part.bpf.h gives it.
PARTS = {
    "EVERYTHING": "all of it: what is left is calling an empty hook",
    "RECORD": "the record in the ring",
    "STACK": "the user stack: recall, and walk where that fails",
    "RECALL": "recall of the last stack: all are walked",
    "SCRIPTS": "looking for frames of scripts",
    "OBJECT": "object key: without it a kernel stack is taken in its place",
    "MEMORY_LIMIT": "whether a memory limit holds it",
    "SAME_CALL": "whether it is the call of before",
    "GIL": "whether it waits for Python's GIL",
    "JAVA": "whether it waits for a Java lock",
    "OWNER": "lock owner",
    "RIVALS": "rivals: who else ran meanwhile",
    "WAKER": "whether an interrupt or a quota woke it",
}
LEAST_RUNS = 1000  # of which a time is told: what runs seldom finds nothing in the caches
BPF, GET_FD_BY_ID, GET_INFO = 321, 13, 15  # bpf(2) on x86-64 and its commands


@dataclass(frozen=True)
class Load:
    """A program that switches all the time, and its arguments."""

    name: str
    cpus: str
    command: list[str]


class ProgramInfo(ctypes.Structure):
    """struct bpf_prog_info up to verified_insns."""

    _fields_ = [("type", ctypes.c_uint32), ("id", ctypes.c_uint32), ("tag", ctypes.c_uint8 * 8),
                ("jited_bytes", ctypes.c_uint32), ("translated_bytes", ctypes.c_uint32), ("skipped", ctypes.c_uint8 * 40),
                ("name", ctypes.c_char * 16), ("skipped_too", ctypes.c_uint8 * 112), ("run_time_ns", ctypes.c_uint64),
                ("run_cnt", ctypes.c_uint64), ("misses", ctypes.c_uint64), ("verified", ctypes.c_uint32),
                ("padding", ctypes.c_uint32)]


@dataclass
class Hook:
    """What the kernel says of a loaded hook."""

    ns: int
    runs: int
    verified: int
    jited_bytes: int


Runs = dict[str, dict[str, list[dict[str, Hook]]]]
Seconds = dict[str, dict[str, list[float]]]


def info(program_id: int) -> ProgramInfo | None:
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = (ctypes.c_uint32 * 4)(program_id)
    fd = libc.syscall(BPF, GET_FD_BY_ID, ctypes.byref(wanted), ctypes.sizeof(wanted))
    if fd < 0:
        return None
    found = ProgramInfo()
    question = (ctypes.c_uint32 * 4)(fd, ctypes.sizeof(found))
    address = ctypes.addressof(found)
    question[2], question[3] = address & 0xffffffff, address >> 32
    try:
        return found if libc.syscall(BPF, GET_INFO, ctypes.byref(question), ctypes.sizeof(question)) == 0 else None
    finally:
        os.close(fd)


def hooks_of(pid: int) -> dict[str, Hook]:
    """The hooks that a process holds, by the first 15 letters of their names, which is what the kernel keeps."""
    found = {}
    for told in Path(f"/proc/{pid}/fdinfo").glob("*"):
        with contextlib.suppress(OSError):
            ids = [line.split()[1] for line in told.read_text().splitlines() if line.startswith("prog_id:")]
            program = info(int(ids[0])) if ids else None
            if program:
                found[program.name.decode()] = Hook(program.run_time_ns, program.run_cnt, program.verified, program.jited_bytes)
    return found


@contextlib.contextmanager
def kernels_account():
    """The kernel counts the time of BPF programs meanwhile, and not afterwards if it did not before."""
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        yield
    finally:
        STATISTICS.write_text(before)


def measure(dwell: Path, load: Load) -> tuple[dict[str, Hook], float]:
    """The hooks at the end of the load, and the collector's CPU seconds per million switches of the load."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        command = [str(dwell), "collect", "threading", "-q", "--finalization-mode", "none", "--result-dir", str(result), "--",
                   "taskset", "-c", load.cpus, *load.command]
        watched = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        last: dict[str, Hook] = {}
        while watched.poll() is None:
            last |= hooks_of(watched.pid)  # at the end it lets go of one after the other
            time.sleep(0.05)
        output, said = watched.communicate()
        if watched.returncode or "on_switch" not in last:
            raise RuntimeError(f"{' '.join(command)}: status {watched.returncode}, hooks {sorted(last)}\n{said}")
        manifest = json.loads((result / "manifest.json").read_text())
    return last, manifest["collector_cpu_ns"] / 1e9 / (value(output, "switches") / 1e6)


def own_objects(binary: bytes, target: Path) -> Path:
    """The folder of the objects that are in the binary, with how each was made."""
    for folder in target.glob("*/build/dwell-capture-*/out"):
        objects = [folder / f"{family}.bpf.o" for family in FAMILIES]
        if all(path.is_file() and binary.count(path.read_bytes()) == 1 for path in objects):
            return folder
    sys.exit(f"error: no objects below {target} are those of the binary\nhint: build it there with `make build`")


def compiled(family: str, part: str, objects: Path, folder: Path) -> bytes:
    """The object of a family without a part; also without the table of what the linker may fold, so that it is never the longer one."""
    compiler, *flags = (objects / f"{family}.bpf.how").read_text().splitlines()[0].split()
    made = folder / f"{family}.o"
    strip = subprocess.run([compiler, "-print-prog-name=llvm-strip"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([compiler, "-target", "bpf", "-D__TARGET_ARCH_x86", "-mcpu=v1", "-O2", "-g", "-fno-stack-protector",
                    "-fno-addrsig", f"-DWITHOUT=PART_{part}", *flags, f"-ffile-prefix-map={SOURCES.parents[1]}=/dwell/crates/capture",
                    "-c", str(SOURCES / f"{family}.bpf.c"), "-o", str(made)], check=True)
    subprocess.run([strip, "-g", str(made)], check=True)
    return made.read_bytes()


def binary_without(part: str, dwell: Path, objects: Path, folder: Path) -> Path:
    """A copy of the binary whose hooks lack a part. What is behind the end of an object file does not matter."""
    binary = dwell.read_bytes()
    for family in FAMILIES:
        own, other = (objects / f"{family}.bpf.o").read_bytes(), compiled(family, part, objects, folder)
        if len(other) > len(own):
            sys.exit(f"error: the {family} hooks without {part} are longer than with it\nhint: see what -DWITHOUT=PART_{part} adds")
        binary = binary.replace(own, other.ljust(len(own), b"\0"))
    copy = folder / f"dwell-without-{part.lower()}"
    copy.write_bytes(binary)
    copy.chmod(0o755)
    return copy


def ns_per_run(runs: list[dict[str, Hook]], hook: str) -> float | None:
    took = [found[hook].ns / found[hook].runs for found in runs if hook in found and found[hook].runs >= LEAST_RUNS]
    return statistics.median(took) if took else None


def cell(number: float | None, style: str = ",.0f") -> str:
    return "" if number is None else format(number, style)


def whole_table(runs: dict[str, list[dict[str, Hook]]]) -> list[str]:
    """Each hook that was loaded, with what the verifier and the JIT made of it."""
    lines = [f"| hook | {' | '.join(f'ns per run, {load}' for load in runs)} | verified instructions | bytes of machine code |",
             f"|---|{'---:|' * (len(runs) + 2)}"]
    for hook in sorted({hook for found in runs.values() for one in found for hook in one}):
        some = next(one[hook] for found in runs.values() for one in found if hook in one)
        times = " | ".join(cell(ns_per_run(found, hook)) for found in runs.values())
        lines.append(f"| `{hook}` | {times} | {some.verified:,} | {some.jited_bytes:,} |")
    return lines + [""]


def parts_table(runs: Runs, parts: list[str]) -> list[str]:
    """By load and part: what a run takes less without the part."""
    columns = [(load, hook) for load in runs for hook in HOOKS]
    lines = [f"| part | {' | '.join(f'`{hook}`, {load}' for load, hook in columns)} |", f"|---|{'---:|' * len(columns)}"]
    for part in parts:
        saved = []
        for load, hook in columns:
            whole, without = ns_per_run(runs[load][""], hook), ns_per_run(runs[load][part], hook)
            saved.append(cell(None if whole is None or without is None else whole - without, "+,.0f"))
        lines.append(f"| {PARTS[part]} | {' | '.join(saved)} |")
    return lines + [""]


def loads(scale: float) -> list[Load]:
    steps = lambda count: str(max(1000, int(count * scale)))
    return [Load("ping-pong", "0", [str(BIN / "pingpong"), steps(200_000)]),
            Load("locks", "0", [str(BIN / "contended"), steps(20_000), "20"])]


def interleaved(binaries: dict[str, Path], rounds: int, scale: float) -> tuple[Runs, Seconds]:
    """By load and part, the hooks and the collector's CPU seconds per million switches of each round."""
    all_loads = loads(scale)
    runs: Runs = {load.name: {part: [] for part in binaries} for load in all_loads}
    collector: Seconds = {load.name: {part: [] for part in binaries} for load in all_loads}
    for number, load, (part, binary) in itertools.product(range(rounds), all_loads, binaries.items()):
        print(f"round {number + 1}, {load.name}: {'without ' + part if part else 'whole'}", file=sys.stderr)
        hooks, seconds = measure(binary, load)
        runs[load.name][part].append(hooks)
        collector[load.name][part].append(seconds)
    return runs, collector


def section(options: argparse.Namespace, folder: Path) -> list[str]:
    dwell, parts = options.dwell.resolve(), options.only or list(PARTS)
    objects = own_objects(dwell.read_bytes(), options.target)
    binaries = {"": dwell, **{part: binary_without(part, dwell, objects, folder) for part in parts}}
    with kernels_account():
        runs, collector = interleaved(binaries, options.rounds, options.scale)
    scale = "" if options.scale == 1 else f" (`--scale {options.scale}`)"
    lines = [DOCUMENT, "", f"By `make bench-hooks`{scale} on {datetime.date.today()}, {machine()}; medians of {options.rounds} rounds, ns by the",
             "kernel's own account, whose clock is in them, of hooks that ran often. A switch's run counts for every thread of the machine,",
             "profiled or not. *Ping-pong*: two threads on one CPU wake each other in turn, with short stacks. *Locks*: four threads on one CPU",
             "contend for a mutex below 21 calls.", "", *([options.note, ""] if options.note else [])]
    lines += whole_table({load: found[""] for load, found in runs.items()})
    lines += ["What a run takes less without a part. Parts overlap, and `on_waking` has only some of them: how far the others are from 0 there",
              "is the noise.", ""]
    lines += parts_table(runs, parts)
    if "RECORD" in parts and options.scale >= 1:  # of less work the start is too large a share
        for load, seconds in collector.items():
            spent = statistics.median(seconds[""]) - statistics.median(seconds["RECORD"])
            lines.append(f"To drain, compress and write the records the collector takes {spent:.2f} s of CPU per million switches ({load}).")
        lines.append("")
    return lines


def put(lines: list[str], path: Path) -> None:
    """Replaces the section in the document, or adds it at the end."""
    before, found, after = path.read_text().partition(DOCUMENT)
    rest = after.partition("\n## ")
    kept = f"\n## {rest[2]}" if rest[1] else ""
    path.write_text(f"{before if found else before.rstrip() + chr(10) * 2}{chr(10).join(lines)}".rstrip() + "\n" + kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", required=True, type=Path, help="the dwell binary")
    parser.add_argument("--target", required=True, type=Path, help="cargo's folder in which it was built")
    parser.add_argument("--output", type=Path, help="the document whose section is written; without it the section is printed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the work, for a quick look")
    parser.add_argument("--note", default="", help="what a reader must know, such as that the machine was busy")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="leave out this part only; may be repeated")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("error: only root may read what the kernel says of hooks\nhint: sudo make bench-hooks")
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        lines = section(options, Path(folder))
    if options.output:
        put(lines, options.output)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
