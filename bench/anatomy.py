#!/usr/bin/env python3
"""Compares the machine model with cachegrind on real programs, and how fast instructions are recorded and replayed with
what other tools need for the same programs; writes docs/benchmarks-anatomy.md.

Each program runs under Dwell's recorder, under cachegrind and under callgrind with the same caches.
The C library and OpenSSL choose their routines by the processor, which QEMU and Valgrind do not present alike: both are
told to take the plain ones. QEMU's own plug-ins (contrib/plugins of its source) come beside them with --qemu-plugins FOLDER.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from run import ROOT, machine

# What cachegrind simulates: two levels, LRU, no prefetching.
MACHINE = """base = "skylake-sp"
l2 = false

[l1i]
size-kib = 32
ways = 8
replacement = "lru"
prefetch = []

[l1d]
size-kib = 32
ways = 8
replacement = "lru"
prefetch = []

[llc]
size-kib = 256
slices = 1
ways = 8
inclusion = "non-inclusive"
"""
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=262144,8,64"]

PLAIN = {
    "PATH": "/usr/bin:/bin",
    "LC_ALL": "C",
    "PERL_HASH_SEED": "0",
    "PERL_PERTURB_KEYS": "0",
    "PYTHONHASHSEED": "0",
    "OPENSSL_ia32cap": "0:0",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-BMI2,-BMI1,"
                      "-LZCNT,-MOVBE,-ERMS,-FSRM,-SSE4_2,-SSE4_1,-SSSE3,-Fast_Unaligned_Copy,-Slow_BSF,-XSAVEC,-XSAVE"
                      ":glibc.cpu.x86_non_temporal_threshold=0xc0000000",
}

LOOP = "BEGIN{s=0;for(i=0;i<300000;i++){s=(s*31+i)%1000003;a[s%5000]+=i};print s}"
QUERY = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<60000)
SELECT count(*), sum(x.i%7) FROM (SELECT i, (i*7919)%60000 k FROM n ORDER BY k) x;"""
PERL = "my %h; for my $i (1..60000) { $h{($i*7919)%30011} .= chr(97+$i%26) } print scalar(keys %h), length(join '', sort values %h), qq(\\n)"
PYTHON = "d={}\nfor i in range(120000):\n k=(i*7919)%20011\n d[k]=d.get(k,0)+i\nprint(sum(sorted(d.values())[:1000]))"


# execlog writes a line of text for each instruction: minutes for more than these.
MOST_LOGGED = 60e6


def programs(text: Path, words: Path) -> dict[str, list[str]]:
    """Programs by name, single-threaded and without randomness."""
    return {
        "gzip": ["/usr/bin/gzip", "-c", str(text)],
        "bzip2": ["/usr/bin/bzip2", "-c", str(text)],
        "xz": ["/usr/bin/xz", "-1", "-T1", "-c", str(text)],
        "zstd": ["/usr/bin/zstd", "-5", "--single-thread", "-c", str(text)],
        "sort": ["/usr/bin/sort", "--parallel=1", "-S", "64M", str(words)],
        "grep": ["/usr/bin/grep", "-Ec", "(a|e)[b-f]+.*[0-4]{2}", *[str(words)] * 10],
        "mawk": ["/usr/bin/mawk", LOOP],
        "sqlite3": ["/usr/bin/sqlite3", ":memory:", QUERY],
        "perl": ["/usr/bin/perl", "-e", PERL],
        "python3": ["/usr/bin/python3", "-Sc", PYTHON],
        "objdump": ["/usr/bin/objdump", "-d", "/usr/bin/gzip"],
        "jq": ["/usr/bin/jq", "-n", "[range(20000)|{a:(.*7919%20011),b:tostring}]|sort_by(.a)|map(.b|length)|add"],
        "sha256sum": ["/usr/bin/sha256sum", str(text)],
        "cc1": ["/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "-quiet", "-O1", "-imultiarch", "x86_64-linux-gnu", "-o", "/dev/null", str(ROOT / "bench/pingpong.c")],
    }


def inputs(folder: Path) -> tuple[Path, Path]:
    """A text that compresses somewhat, and lines of words: the same each time."""
    state, rows = 12345, []
    for _ in range(40000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        rows.append(f"{state >> 33:x} {state >> 50} {'abc' * (state >> 61)}")
    text, words = folder / "text", folder / "words"
    text.write_text("\n".join(rows))
    words.write_text("\n".join(rows))
    return text, words


def timed(command: list[str], **more: str) -> tuple[float, str]:
    """CPU seconds of a command and its children, and what it wrote to stderr."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=PLAIN | more, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 and "grep" not in str(command):
        raise SystemExit(f"{' '.join(command)[:200]}: {done.stderr.decode(errors='replace')[-500:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done.stderr.decode(errors="replace")


def cachegrind(program: list[str]) -> dict[str, float]:
    # With chasing, Valgrind 3.16 and newer run the second half of `a && b` whatever the first was, and cachegrind counts it.
    spent, said = timed(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--vex-guest-chase=no",
                         "--cachegrind-out-file=/dev/null", *CACHES, *program])

    def number(name: str) -> int:
        found = re.search(rf"{name}\s*:\s*([\d,]+)", said)
        if found is None:
            raise SystemExit(f"cachegrind said no {name}: {said[-500:]}")
        return int(found[1].replace(",", ""))

    return {"I": number(r"I\s+refs"), "D1": number(r"D1\s+misses"), "LL": number(r"LL misses"), "seconds": spent}


def replayed(replay: Path, depth: str, model: str, trace: Path) -> dict[str, float]:
    done = subprocess.run([replay, depth, model, trace], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def misses(counts: dict[str, float], level: str, kinds: tuple[str, ...]) -> float:
    return sum(counts[f"{level}_{kind}_misses"] for kind in kinds)


def measure(name: str, program: list[str], arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    trace, file = folder / "trace", folder / "machine.toml"
    file.write_text(MACHINE)
    recorded, _ = timed([str(arguments.replay), "record", str(trace), *program])
    same = replayed(arguments.replay, "caches", str(file), trace)
    theirs = cachegrind(program)
    row = {
        "instructions": same["instructions"] + same["string_iterations"],
        "their_instructions": theirs["I"],
        "d1": misses(same, "l1d", ("load", "store")),
        "their_d1": theirs["D1"],
        "ll": misses(same, "llc", ("code", "load", "store")),
        "their_ll": theirs["LL"],
        "bytes": trace.stat().st_size,
        "record": recorded,
        "cachegrind": theirs["seconds"],
    }
    if not arguments.truth:
        row |= speeds(program, arguments, trace, row["instructions"])
    print(f"{name:10} {row['instructions'] / 1e6:8.1f} M instructions {difference(row, 'instructions'):+.3f} %, "
          f"D1 {difference(row, 'd1'):+.2f} %, LL {difference(row, 'll'):+.2f} %, "
          f"caches {shown(row, 'caches')} M/s, full {shown(row, 'full')} M/s", flush=True)
    return row


def speeds(program: list[str], arguments: argparse.Namespace, trace: Path, instructions: float) -> dict[str, float]:
    """CPU seconds of the replays and of the other tools."""
    spent = {depth: replayed(arguments.replay, depth, "skylake-sp", trace)["seconds"] for depth in ("caches", "full")}
    spent["callgrind"], _ = timed(["valgrind", "--tool=callgrind", "--cache-sim=yes", "--callgrind-out-file=/dev/null",
                                   *CACHES, *program])
    for plugin in arguments.plugins:
        if plugin.stem != "libexeclog" or instructions <= MOST_LOGGED:
            spent[plugin.stem], _ = timed(["qemu-x86_64", "-d", "plugin", "-D", "/dev/null", "-plugin", str(plugin), *program])
    return spent


def difference(row: dict[str, float], what: str) -> float:
    return (row[what] / max(row[f"their_{what}"], 1) - 1) * 100


def speed(row: dict[str, float], tool: str) -> float:
    return row["instructions"] / max(row[tool], 1e-3) / 1e6


def shown(row: dict[str, float], tool: str) -> str:
    return f"{speed(row, tool):.0f}" if tool in row else "–"


def truth_table(rows: dict[str, dict[str, float]]) -> str:
    head = "| program | M instructions | difference | D1 misses | difference | LL misses | difference |\n|---|--:|--:|--:|--:|--:|--:|\n"
    return head + "".join(
        f"| {name} | {row['their_instructions'] / 1e6:.1f} | {difference(row, 'instructions'):+.3f} % "
        f"| {row['their_d1']:,.0f} | {difference(row, 'd1'):+.2f} % | {row['their_ll']:,.0f} | {difference(row, 'll'):+.2f} % |\n"
        for name, row in rows.items())


def agreeing(rows: dict[str, dict[str, float]]) -> int:
    """Programs whose instructions agree to 0.1 %, and both misses to 2 %."""
    limits = {"instructions": 0.1, "d1": 2, "ll": 2}
    return sum(all(abs(difference(row, what)) <= limit for what, limit in limits.items()) for row in rows.values())


def speed_table(rows: dict[str, dict[str, float]], plugins: list[Path]) -> str:
    tools = {"record": "record", "caches": "replay, caches", "full": "replay, full model", "cachegrind": "cachegrind",
             "callgrind": "callgrind --cache-sim"}
    # Those of this run, and those that rows of an earlier one have.
    others = sorted({plugin.stem for plugin in plugins} | {tool for row in rows.values() for tool in row if tool.startswith("lib")})
    tools |= {tool: f"QEMU's {tool.removeprefix('lib')}" for tool in others}
    head = f"| program | {' | '.join(tools.values())} | bytes per instruction |\n|---|{'--:|' * (len(tools) + 1)}\n"
    return head + "".join(
        f"| {name} | {' | '.join(shown(row, tool) for tool in tools)} | {row['bytes'] / row['instructions']:.2f} |\n"
        for name, row in rows.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replay", type=Path, required=True, help="the example `replay` of crates/anatomy")
    parser.add_argument("--qemu-plugins", type=Path, help="folder with libcache.so and libexeclog.so of QEMU's contrib/plugins")
    parser.add_argument("--truth", action="store_true", help="only what a loaded machine does not change: no speeds")
    parser.add_argument("--only", nargs="*", help="names of programs")
    parser.add_argument("--rows", type=Path, help="keep what was measured in this file, and add what is there already")
    parser.add_argument("--output", type=Path, help="the page whose tables are made anew")
    arguments = parser.parse_args()
    arguments.plugins = sorted(arguments.qemu_plugins.glob("*.so")) if arguments.qemu_plugins else []
    begun = time.strftime("%Y-%m-%d")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chosen = {name: program for name, program in programs(*inputs(folder)).items()
                  if Path(program[0]).exists() and (not arguments.only or name in arguments.only)}
        rows = {name: measure(name, program, arguments, folder) for name, program in chosen.items()}
    if arguments.rows:
        before = json.loads(arguments.rows.read_text()) if arguments.rows.exists() else {}
        rows = before | rows
        arguments.rows.write_text(json.dumps(rows))
    if arguments.output:
        arguments.output.write_text(page(rows, arguments, begun))


def page(rows: dict[str, dict[str, float]], arguments: argparse.Namespace, begun: str) -> str:
    """The page with what was measured put in; whatever else it says stays."""
    found = [(r"^\| program \| M instructions \|.*\n(\|.*\n)+", truth_table(rows)),
             (r"\d+ of \d+ programs", f"{agreeing(rows)} of {len(rows)} programs"),
             (r"(?<=^Made by `make bench-anatomy` on )[\d-]+(.*); [^;\n]*$", rf"{begun}\1; {machine()}.")]
    if not arguments.truth:
        found.append((r"^\| program \| record \|.*\n(\|.*\n)+", speed_table(rows, arguments.plugins)))
    text = arguments.output.read_text()
    for pattern, new in found:
        text, count = re.subn(pattern, new, text, count=1, flags=re.MULTILINE)
        if count == 0:
            raise SystemExit(f"{arguments.output} has no place for {new[:60]!r}")
    return text


if __name__ == "__main__":
    main()
