#!/usr/bin/env python3
"""Asks `dwell view` what the web UI asks, over a large synthetic result, and writes docs/benchmarks-ui.md.

Every figure is from outside, over HTTP on loopback. The result is made once by `dwell-bench generate`, its index with it;
the page cache is warm. What the browser does with the answers is measured by the part of web/ that is named by --web, a
command that gets the address and prints rows of the table.
"""

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BANDS = 40
STEPS = 200
REPORTS = ["summary", "waits", "hotspots", "bottom-up", "top-down", "threads", "transitions", "findings"]
REPORTS += ["critical-path", "explain"]
# What the UI asks besides, of objects and functions that the synthetic result has.
VIEWS = [
    ("report/blame", {"subject": "worker_3"}),
    ("report/caller-callee", {"subject": "worker::level3()"}),
    ("flame", {"weight": "both"}),
    ("grid", {"group_by": "function,callers"}),
    ("grid", {"group_by": "callees"}),
    ("grid", {"group_by": "object,thread"}),
    ("stacks", {"group_by": "function,callers"}),
    ("filters", {"key": "module"}),
    ("histogram", {"object": "worker_3"}),
    ("charts", {"width": 2560}),
]


class View:
    """A running `dwell view`."""

    def __init__(self, dwell: Path, result: Path) -> None:
        self.started = time.monotonic()
        command = [str(dwell), "view", "--no-browser", str(result)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        url = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        if not url.hostname or not url.port:
            sys.exit(f"dwell view did not start: {self.process.stderr and self.process.stderr.read()}")
        self.url = url
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=600)
        self.token = url.fragment.removeprefix("token=")
        self.id = json.loads(self.get("/api/results"))[0]["id"]

    def get(self, path: str) -> bytes:
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {body[:300]!r}")
        return body

    def ask(self, route: str, **query: object) -> tuple[float, bytes]:
        """Time in ms, and the answer."""
        words = urllib.parse.urlencode({key.rstrip("_"): value for key, value in query.items()}, doseq=True)
        start = time.monotonic()
        body = self.get(f"/api/r/{self.id}/{route}?{words}")
        return (time.monotonic() - start) * 1e3, body

    def memory(self) -> dict[str, float]:
        """Resident memory of the server, MB: its own, of the mapped index, and the most that both ever were."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        kb = {name: float(size) for name, size in re.findall(r"^(Rss\w+|VmHWM):\s+(\d+) kB", status, re.M)}
        return {"own": kb["RssAnon"] / 1024, "mapped": kb["RssFile"] / 1024, "most": kb["VmHWM"] / 1024}

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def walk(view: View, elapsed: int, by: str, ids: list[int], route: str = "tile") -> tuple[list[float], float]:
    """Times of drawings along a random walk of pans and zooms, 10 ns to the whole; and of the first one."""
    dice = random.Random(3)
    times = []
    for step in range(STEPS):
        zoom = 0.0 if step == 0 else dice.random()
        span = max(10, int(elapsed ** (1 - zoom) * 10**zoom))
        start = dice.randrange(elapsed - span + 1)
        first = dice.randrange(max(1, len(ids) - BANDS))
        bands = ",".join(map(str, ids[first : first + BANDS]))
        width = dice.choice([1440, 2560])
        times.append(view.ask(route, from_=start, to=start + span, width=width, by=by, bands=bands)[0])
    return sorted(times[1:]), times[0]


def selections(elapsed: int, number: int) -> list[dict[str, object]]:
    """A range, a filter and both, which nobody asked for before."""
    cut = {"from_": elapsed // 7 + number * 1_000_003, "to": elapsed // 7 * 4 - number * 1_000_003}
    chosen = {"filter": f"thread=*-{number}"}
    return [cut, chosen, {**{key: value + 17 for key, value in cut.items()}, **chosen}]


def part(times: list[float], share: float) -> float:
    return times[int((len(times) - 1) * share)]


def measure(dwell: Path, result: Path) -> list[tuple[str, str, str]]:
    rows = []
    add = lambda name, value, goal="": rows.append((name, value, goal))
    view = View(dwell, result)
    view.ask("report/summary")
    add("Summary's data after `dwell view`", f"{(time.monotonic() - view.started) * 1e3:.0f} ms", "1000 ms")
    view.close()
    view = View(dwell, result)
    bands = json.loads(view.ask("bands", by="thread")[1])["bands"]
    ids = [band["id"] for band in bands]
    elapsed = json.loads(view.ask("info")[1])["elapsed_ns"]
    listed = ",".join(map(str, ids[:BANDS]))
    view.ask("tile", from_=0, to=elapsed, width=2560, by="thread", bands=listed)
    add("the timeline's first tile after `dwell view`", f"{(time.monotonic() - view.started) * 1e3:.0f} ms", "1500 ms")
    for by in ["thread", "process", "object", "cpu"]:
        of = ids if by == "thread" else [band["id"] for band in json.loads(view.ask("bands", by=by)[1])["bands"]]
        times, _ = walk(view, elapsed, by, of)
        add(f"tile of {BANDS} bands by {by}, p50", f"{part(times, 0.5):.1f} ms")
        add(f"tile of {BANDS} bands by {by}, p95", f"{part(times, 0.95):.1f} ms", "50 ms")
    views = [("report/" + report, {}) for report in REPORTS] + VIEWS
    for number, (route, query) in enumerate(views):
        name = route.removeprefix("report/") + "".join(f" by {word}" for word in [query.get("group_by")] if word)
        query = {key.replace("_", "-"): value for key, value in query.items()}
        times = [view.ask(route, **query, **selection)[0] for selection in selections(elapsed, number)]
        add(f"{name}: new range, new filter, both", " / ".join(f"{ms:.0f}" for ms in times) + " ms", "300 ms")
    times = [view.ask("bands", by="cpu", **selection)[0] for selection in selections(elapsed, len(views))]
    add("the list of bands by CPU: new range, new filter, both", " / ".join(f"{ms:.0f}" for ms in times) + " ms", "300 ms")
    other = {"target-concurrency": 100}
    times = [view.ask("report/waits", **other, **selection)[0] for selection in [{}, *selections(elapsed, len(views) + 1)]]
    name = "waits at another target concurrency: of all, new range, new filter, both"
    add(name, " / ".join(f"{ms:.0f}" for ms in times) + " ms", "300 ms")
    memory = view.memory()
    add("server's own memory, and of the mapped index", f"{memory['own']:.0f} + {memory['mapped']:.0f} MB", "1500 MB")
    add("its peak", f"{memory['most']:.0f} MB", "1500 MB")
    view.close()
    return rows


def measure_tasks(dwell: Path, result: Path, tasks: int) -> list[tuple[str, str, str]]:
    """What the program said, of a result with many tasks."""
    rows = []
    add = lambda name, value, goal="": rows.append((f"{tasks:,} tasks: {name}", value, goal))
    view = View(dwell, result)
    bands = json.loads(view.ask("bands", by="thread")[1])["bands"]
    ids = [band["id"] for band in bands]
    elapsed = json.loads(view.ask("info")[1])["elapsed_ns"]
    listed = ",".join(map(str, ids[:BANDS]))
    add("the first drawing", f"{view.ask('tasks', from_=0, to=elapsed, width=2560, by='thread', bands=listed)[0]:.0f} ms")
    for by in ["thread", "task"]:
        of = ids if by == "thread" else [band["id"] for band in json.loads(view.ask("bands", by=by)[1])["bands"]]
        times, _ = walk(view, elapsed, by, of, "tasks")
        add(f"drawing of {BANDS} bands by {by}, p95", f"{part(times, 0.95):.1f} ms", "50 ms")
    for number, report in enumerate(["report/tasks", "report/task-waits", "report/summary", "bands"]):
        query = {"by": "task"} if report == "bands" else {}
        times = [view.ask(report, **query, **selection)[0] for selection in selections(elapsed, number)]
        name = "the list of bands by task" if report == "bands" else report.removeprefix("report/")
        add(f"{name}: new range, new filter, both", " / ".join(f"{ms:.0f}" for ms in times) + " ms", "300 ms")
    memory = view.memory()
    add("server's own memory, and of the mapped index", f"{memory['own']:.0f} + {memory['mapped']:.0f} MB", "1500 MB")
    view.close()
    return rows


def made(result: Path, bench: Path, dwell: Path, counts: list[int]) -> str:
    """Makes a synthetic result with its index, unless it is there; how long that took."""
    if result.exists():
        return ""
    start = time.monotonic()
    subprocess.run([bench, "generate", result, *map(str, counts)], check=True)
    told = f"Made in {time.monotonic() - start:.0f} s"
    start = time.monotonic()
    subprocess.run([dwell, "report", "losses", result], check=True, stdout=subprocess.DEVNULL)
    return told + f", its index in {time.monotonic() - start:.0f} s. "


def measure_browser(dwell: Path, result: Path, command: str) -> list[tuple[str, str, str]]:
    view = View(dwell, result)
    command = [*command.split(), view.url.geturl()]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    view.close()
    return [tuple(line.split(" | ")) for line in printed.splitlines() if line.count(" | ") == 2]


def section(heading: str, rows: list[tuple[str, str, str]]) -> str:
    table = ["| | measured | goal |", "|---|---:|---:|", *(f"| {name} | {value} | {goal} |" for name, value, goal in rows)]
    return "\n".join([f"## {heading}", "", *table, ""])


def sections(text: str) -> dict[str, str]:
    """What a document has under each heading, the heading with it."""
    parts = re.split(r"^(?=## )", text, flags=re.M)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part for part in parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dwell", type=Path, required=True)
    parser.add_argument("--bench", type=Path, required=True, help="dwell-bench")
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--tasks", type=int, default=5_000_000, help="tasks, and events, of a second result")
    parser.add_argument("--folder", type=Path, required=True, help="where the synthetic result is, or is made")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--web", help="command that measures in the browser: gets the address, prints `name | value | goal`")
    parser.add_argument("--parts", default="server,browser,tasks", help="what is measured; the output keeps the rest as it is")
    args = parser.parse_args()
    result = args.folder / f"bench-{args.events}"
    with_tasks = args.folder / f"bench-tasks-{args.tasks}"
    parts = args.parts.split(",")
    told = made(result, args.bench, args.dwell, [args.events])
    known = sections(args.output.read_text() if args.output.exists() else "")
    if "server" in parts:
        known["The server"] = section("The server", measure(args.dwell, result))
    if "browser" in parts and args.web:
        known["In Chromium"] = section("In Chromium", measure_browser(args.dwell, result, args.web)) + (
            "\nWithout a GPU, the browser draws on the same CPUs.\n"
        )
    if "tasks" in parts:
        made(with_tasks, args.bench, args.dwell, [args.tasks, args.tasks])
        known["With tasks"] = section("With tasks", measure_tasks(args.dwell, with_tasks, args.tasks))
    index = (result / "index.cache").stat().st_size
    tables = sum(file.stat().st_size for file in (result / "tables").iterdir())
    head = [
        "# How fast the web UI is",
        "",
        f"`make bench-ui` measures a result of {args.events:,} off-CPU intervals and samples of 200 threads, 5,000 stacks and 300 objects"
        f" ({tables / 1e9:.2f} GB of tables, {index / 1e9:.2f} GB of index; warm page cache). {told}All times are over HTTP on loopback.",
        "",
    ]
    # What bench/peers.py wrote comes last.
    order = ["The server", "In Chromium", "With tasks", *(heading for heading in known)]
    text = "\n".join(head) + "\n" + "\n".join(known[heading].rstrip() + "\n" for heading in dict.fromkeys(order) if heading in known)
    args.output.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
