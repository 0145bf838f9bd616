#!/usr/bin/env python3
"""Measures what ITT calls cost with Dwell's library, what it loses under load, and how much longer inference takes; writes
docs/benchmarks-itt.md.

Each call is made 200 times in blocks of 1,000: the shortest block is what it costs, the mean has the machine's other work in
it. Other collectors come beside it with --peer NAME=LIBRARY, which is loaded the same way. Under load two threads make
task pairs at a given rate while the drainer, another process, empties their rings every 20 ms as the collector does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run import BIN, ROOT, machine

INFERENCES = 300
ROUNDS = 5
FINALIZED_SECONDS, FINALIZED_RATE = 4, 5_000_000
RATES = [2_000_000, 10_000_000, 0]
SECONDS = 5


def build() -> Path:
    BIN.mkdir(exist_ok=True)
    calls = BIN / "itt_calls"
    samples = ROOT / "samples"
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-pthread", f"-I{samples}", "-o", calls, ROOT / "bench/itt/calls.c",
                    samples / "itt_stub.c", "-ldl"], check=True)
    return calls


def clean(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if "ITT" not in name} | more


def costs(output: str) -> dict[str, tuple[float, float]]:
    rows = [line.rsplit(maxsplit=2) for line in output.splitlines()]
    return {name.strip(): (float(best), float(mean)) for name, best, mean in rows}


def alone(calls: Path, library: str | None = None) -> dict[str, tuple[float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        environment = clean() if library is None else clean(INTEL_LIBITTNOTIFY64=library, INTEL_LIBITTNOTIFY_LOG_DIR=folder)
        done = subprocess.run([calls], env=environment, check=True, capture_output=True, text=True, cwd=folder)
        return costs(done.stdout)


def drained(options: argparse.Namespace, state: str, command: list) -> tuple[str, dict]:
    done = subprocess.run([options.drain, options.library, state, *command], env=clean(), check=True,
                          capture_output=True, text=True)
    return done.stdout, json.loads(done.stderr)


def call_table(options: argparse.Namespace, calls: Path) -> list[str]:
    columns = {"no collector": alone(calls), "nobody listens": costs(drained(options, "listening-off", [calls])[0]),
               "Dwell": costs(drained(options, "recording", [calls])[0])}
    for peer in options.peer:
        name, _, library = peer.partition("=")
        columns[name] = alone(calls, library)
    lines = ["| call | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for call in columns["Dwell"]:
        cells = [f"{column[call][0]:.1f} ({column[call][1]:.1f})" for column in columns.values()]
        lines.append(f"| {call} | " + " | ".join(cells) + " |")
    return lines


def load_table(options: argparse.Namespace, calls: Path) -> list[str]:
    lines = ["| requested, events/s | announced, events/s | drained | lost |", "|---:|---:|---:|---:|"]
    for rate in RATES:
        output, counts = drained(options, "recording", [calls, "flood", str(SECONDS), str(rate)])
        announced, seconds = output.split()
        assert int(announced) == counts["events"] + counts["lost"], (output, counts)
        asked = f"{rate:,}" if rate else "unlimited"
        lines.append(f"| {asked} | {int(announced) / float(seconds):,.0f} | {counts['events']:,} | {counts['lost']:,} |")
    return lines


def inference_table(options: argparse.Namespace) -> list[str]:
    """What an inference takes: in each run the median of all and their mean CPU time; of some runs, which take turns, the median."""
    program = [options.python, ROOT / "ecosystem/openvino_infer.py", str(INFERENCES)]
    ways = {"without Dwell": None, "`collect threading --no-itt`": ["--no-itt"], "`collect threading`": []}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, flags in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                watch = [] if flags is None else [options.dwell, "collect", "threading", "--finalization-mode", "deferred",
                                                  "--result-dir", f"{folder}/r", *flags, "--"]
                done = subprocess.run([*watch, *program], env=clean(), check=True, capture_output=True, text=True)
                wall, cpu = done.stdout.split()
                times[name].append((float(wall), float(cpu)))
    lines = ["| OpenVINO | inference, ms | of all runs | ratio | CPU time, ms | ratio |", "|---|---:|---:|---:|---:|---:|"]
    bases = [statistics.median(column) for column in zip(*times["without Dwell"])]
    for name, runs in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*runs))
        spread = f"{min(runs)[0]:.2f} to {max(runs)[0]:.2f}"
        lines.append(f"| {name} | {wall:.2f} | {spread} | {wall / bases[0]:.3f} | {cpu:.2f} | {cpu / bases[1]:.3f} |")
    return lines


def finalizing(options: argparse.Namespace, calls: Path) -> str:
    """What it takes to make a result of some seconds of task pairs."""
    with tempfile.TemporaryDirectory() as folder:
        result = f"{folder}/r"
        subprocess.run([options.dwell, "collect", "threading", "--quiet", "--finalization-mode", "deferred", "--result-dir",
                        result, "--", calls, "flood", str(FINALIZED_SECONDS), str(FINALIZED_RATE)],
                       env=clean(), check=True, capture_output=True)
        raw = sum(file.stat().st_size for file in Path(result).rglob("*") if file.is_file())
        with subprocess.Popen([options.dwell, "finalize", result], stdout=subprocess.DEVNULL) as finalize:
            _, status, usage = os.wait4(finalize.pid, 0)
            finalize.returncode = os.waitstatus_to_exitcode(status)
        assert finalize.returncode == 0, finalize.returncode
        rows = subprocess.run([options.dwell, "report", "tasks", "--format", "json", result], check=True,
                              capture_output=True, text=True).stdout
        tasks = sum(row["count"] for row in json.loads(rows)["rows"])
    cpu = usage.ru_utime + usage.ru_stime
    return (f"{tasks / 1e6:.1f} million tasks of two threads, two events each ({raw / 1e6:.0f} MB): `dwell finalize` takes "
            f"{cpu:.1f} s of CPU time and {usage.ru_maxrss / 1e3:.0f} MB of memory.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True, help="libdwell_itt.so")
    parser.add_argument("--drain", type=Path, required=True, help="the example `drain` of dwell-itt-wire")
    parser.add_argument("--dwell", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True, help="one that has ecosystem/requirements.txt installed")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=LIBRARY", help="another collector")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    calls = build()
    lines = ["# ITT: what a call costs, and what is lost under load", "",
             f"Made by `make bench-itt` on {machine()}; do not edit.", "", "## A call, in ns", "",
             "The shortest of 200 blocks of 1,000 calls, in brackets their mean. The functions are called through the pointers of a",
             "static part. *Nobody listens*: the program was started with the variables of `dwell env`, and no collection runs.", "",
             *call_table(options, calls), "", "## Under load", "",
             f"Two threads, {SECONDS} s each time, and the drainer on the same CPUs. Each thread counts its losses: every announced event",
             "is either drained or counted as lost.", "", *load_table(options, calls), "", "## Inference", "",
             f"A chain of 8 convolutions, {INFERENCES} times, with Dwell recording on the same CPUs; the table has the median over {ROUNDS} runs of each run's median",
             "inference; the runs take turns. OpenVINO announces about 20 tasks for each inference.",
             f"Other programs' load on the machine's CPUs beforehand: {os.getloadavg()[0]:.1f}.", "", *inference_table(options), "",
             "## Finalizing", "", finalizing(options, calls), ""]
    options.output.write_text("\n".join(lines))
    print(options.output.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
