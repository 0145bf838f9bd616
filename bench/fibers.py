#!/usr/bin/env python3
"""What looking at goroutines costs: CPU time of a channel round trip and of an HTTP request, without Dwell, with the threads
alone, with sampled and with exact goroutines, interleaved; and what the collector takes for many goroutines that wait.

Prints a table for docs/fibers.md."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

MODES = {
    "nothing": None,
    "threads alone": ["--fibers", "none"],
    "sampled goroutines": ["--fibers", "sampled"],
    "exact goroutines": ["--fibers", "exact"],
}
LOADS = {
    "channel round trip, one CPU": (["taskset", "-c", "0"], ["pingpong", "200000"]),
    "HTTP request": ([], ["http", "4"]),
}


def run(dwell, options, pinned, load, folder):
    """CPU time of a unit of work, ns, and the result's manifest."""
    result = pathlib.Path(folder) / "result"
    subprocess.run(["rm", "-rf", result], check=True)
    command = [*pinned, *load]
    if options is not None:
        command = [dwell, "collect", "threading", "--result-dir", result, *options, "--", *command]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    unit = next(float(line) for line in output.splitlines() if line.replace(".", "", 1).replace("e+", "").isdigit())
    return unit, json.loads((result / "manifest.json").read_text()) if options is not None else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dwell", required=True)
    parser.add_argument("--go", default="go")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/load"
        source = pathlib.Path(__file__).parent / "fibers" / "load.go"
        subprocess.run([arguments.go, "build", "-o", program, source], check=True)
        print("| load | " + " | ".join(MODES) + " |")
        print("|---|" + "---|" * len(MODES))
        for name, (pinned, load) in LOADS.items():
            units = {mode: [] for mode in MODES}
            for _ in range(arguments.rounds):
                for mode, options in MODES.items():
                    units[mode].append(run(arguments.dwell, options, pinned, [program, *load], folder)[0])
            medians = {mode: statistics.median(values) for mode, values in units.items()}
            cells = [f"{medians[mode] / 1000:.2f} µs ({medians[mode] / medians['nothing']:.2f})" for mode in MODES]
            print(f"| {name} | " + " | ".join(cells) + " |")
        for count in [1_000, 10_000, 100_000]:
            shares = {}
            for mode in ["threads alone", "sampled goroutines"]:
                _, manifest = run(arguments.dwell, MODES[mode], [], [program, "parked", str(count)], folder)
                shares[mode] = manifest["collector_cpu_ns"]
                interval = manifest["fiber_interval_ns"] / 1e6
            more = (shares["sampled goroutines"] - shares["threads alone"]) / 5e9
            print(f"{count} goroutines that wait: {more:.1%} of a CPU for looking at them, each {interval:.0f} ms")


main()
