#!/usr/bin/env python3
"""Records programs of PyPI's ITT-instrumented packages, which nobody here wrote, and checks what Dwell says of them.

Run it with the Python that has ecosystem/requirements.txt installed, as root: `make test-ecosystem` does both.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
LIMIT_S = 300

Rows = list[dict]


@dataclass(frozen=True)
class Case:
    """A program, and what has to be true of a report's rows."""

    package: str
    program: str
    argument: int
    report: str
    check: Callable[[Rows, int], None]
    environment: tuple[str, ...] = field(default=())


def one(rows: Rows, **wanted: str) -> dict:
    """The row with these values, the only one."""
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    assert len(found) == 1, f"{len(found)} rows with {wanted} among {[row[key] for row in rows for key in wanted]}"
    return found[0]


def ittapi(rows: Rows, count: int) -> None:
    outer, inner = one(rows, task="outer", domain="example.python"), one(rows, task="inner", domain="example.python")
    work = one(rows, task="sum")
    assert [row["count"] for row in (outer, inner, work)] == [count] * 3, rows
    assert outer["total_ns"] >= inner["total_ns"] >= work["total_ns"] > 0, rows
    assert outer["cpu_ns"] > 0.9 * work["cpu_ns"] > 0, rows


def openvino(rows: Rows, count: int) -> None:
    inferences = one(rows, task="Inference::pipeline", kind="region")
    assert inferences["count"] == count, inferences
    for layer in range(7):  # the last one has its result's name too
        operator = one(rows, task=f"conv{layer}")
        assert operator["count"] == count and operator["cpu_ns"] > 0, operator
    assert one(rows, task="Compile model", kind="region")["count"] == 1
    assert one(rows, task="tbb_parallel_for", domain="tbb")["count"] >= count


def opencv(rows: Rows, count: int) -> None:
    for function in ("void cv::Canny(", "void cv::GaussianBlur(", "void cv::resize(", "void cv::cvtColor("):
        found = [row for row in rows if row["task"].startswith(function)]
        assert [row["count"] for row in found] == [count], (function, found, [row["task"] for row in rows])
        assert found[0]["cpu_ns"] > 0, found


def numba(rows: Rows, _count: int) -> None:
    first = rows[0]
    assert "longest_collatz" in first["function"], [row["function"] for row in rows[:5]]
    assert first["module"].startswith("[jit]"), first


CASES = [
    Case("ittapi", "ittapi_tasks.py", 200, "tasks", ittapi),
    Case("openvino", "openvino_infer.py", 100, "tasks", openvino),
    Case("opencv-python-headless", "opencv_filter.py", 40, "tasks", opencv),
    Case("numba", "numba_loop.py", 2_000_000, "hotspots", numba, ("NUMBA_ENABLE_PROFILING=1",)),
]


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def report(dwell: str, name: str, result: str) -> Rows:
    return json.loads(run([dwell, "report", name, result, "--format", "json"]))["rows"]


def check(dwell: str, case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = f"{folder}/result"
        program = [sys.executable, str(HERE / case.program), str(case.argument)]
        run([dwell, "collect", "threading", "--result-dir", result, "--", "env", *case.environment, *program])
        case.check(report(dwell, case.report, result), case.argument)
        lost = [row for row in report(dwell, "losses", result) if row["loss"].startswith("itt_")]
        assert not lost, lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", required=True)
    options = parser.parse_args()
    failed = 0
    for case in CASES:
        try:
            check(options.dwell, case)
            print(f"ok   {case.package} {version(case.package)}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAIL {case.package} {version(case.package)}: {error}", flush=True)
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
