//! What the machine gives: a quota, one CPU for many threads; and sysbench and make, which use it well or badly.

use std::fs;
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use super::{Planted, Program, Recorded, built};
use crate::cgroup::Cgroup;
use crate::recording::{Recording, Running, collect, needs_program};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "cpu_quota",
        planted: "two computing threads have a fifth of a CPU",
        cause: Some(Planted::Cause("cpu-quota", "20.0 ms of CPU time in 100 ms")),
        may_tell: &[],
        quick: true,
        record: quota,
    },
    Program {
        name: "one_cpu",
        planted: "four computing threads have one CPU",
        cause: Some(Planted::Cause("oversubscription", "behind the program's own threads")),
        may_tell: &["cpus-taken"],
        quick: false,
        record: one_cpu,
    },
    Program {
        name: "starved",
        planted: "a program with a low priority, beside three loops on its CPU",
        cause: Some(Planted::Cause("low-priority", "sh ")),
        may_tell: &[],
        quick: false,
        record: starved,
    },
    Program {
        name: "sysbench_threads",
        planted: "eight threads take one lock, and yield under it",
        cause: Some(Planted::Wait("mutex")),
        may_tell: &["fine-grained-waits", "spinning", "lock-traffic"],
        quick: false,
        record: || sysbench(&["threads", "--threads=8", "--thread-locks=1"]),
    },
    Program {
        name: "sysbench_mutex",
        planted: "",
        cause: None,
        may_tell: &[],
        quick: false,
        record: || sysbench(&["mutex", "--threads=4", "--mutex-num=4096", "--mutex-locks=50000"]),
    },
    // It does nothing but write and wait for the disk.
    Program {
        name: "sysbench_fileio",
        planted: "",
        cause: None,
        may_tell: &["waited for fsync", "waited for fdatasync"],
        quick: false,
        record: fileio,
    },
    Program {
        name: "make",
        planted: "",
        cause: None,
        // It starts a process for each file, as it is meant to.
        may_tell: &["process-churn"],
        quick: false,
        record: make,
    },
];

/// `dwell collect` in front of these words, after others that place it.
fn placed(before: &[String], program: &[&str]) -> Result<Recorded> {
    let folder = TempDir::new()?;
    let collect = collect(folder.path(), &[], program);
    let words = [collect.get_program()].into_iter().chain(collect.get_args());
    let output = Running::start(Command::new(&before[0]).args(&before[1..]).args(words))?.finish()?;
    Ok(Recording::in_folder(folder, output)?.into())
}

fn burn(folder: &TempDir) -> Result<String> {
    built(folder.path(), "gcc", include_str!("programs/burn.c"), &["-pthread"])
}

fn quota() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let version_1 = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "20000")];
    let group = Cgroup::new("cpu", &version_1, &[("cpu.max", "20000 100000")])?;
    let program = burn(&folder)?;
    placed(&group.entering(&[]), &[&program, "2", "150"])
}

fn one_cpu() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = burn(&folder)?;
    placed(&["taskset", "-c", "0"].map(str::to_owned), &[&program, "4", "400"])
}

fn starved() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = burn(&folder)?;
    let busy = || Running::start(Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]));
    let loops = [busy()?, busy()?, busy()?];
    let recorded = placed(&["taskset", "-c", "0"].map(str::to_owned), &["nice", "-n", "5", &program, "1", "150"])?;
    drop(loops);
    Ok(recorded)
}

fn sysbench(words: &[&str]) -> Result<Recorded> {
    let program = needs_program("sysbench")?;
    let whole: Vec<&str> =
        [program.as_str()].into_iter().chain(words.iter().copied()).chain(["--time=2", "run"]).collect();
    Ok(Recording::of(&[], &whole)?.into())
}

fn fileio() -> Result<Recorded> {
    let (folder, program) = (TempDir::new()?, needs_program("sysbench")?);
    let options = "--file-total-size=16M --file-num=4 --file-test-mode=rndrw --threads=4 --time=2";
    let place = folder.path().display();
    let line = format!(
        "cd {place} && {program} fileio {options} prepare > {place}/log && exec {program} fileio {options} run"
    );
    Ok(Recording::of(&[], &["sh", "-c", &line])?.into())
}

fn make() -> Result<Recorded> {
    let (folder, make) = (TempDir::new()?, needs_program("make")?);
    needs_program("gcc")?;
    for number in 0..12 {
        let source =
            format!("#include <stdlib.h>\n#include <stdio.h>\nint f{number}(int x) {{ return x * {number}; }}\n");
        fs::write(folder.path().join(format!("f{number}.c")), source)?;
    }
    let rules = "OBJ = $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJ)\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n";
    fs::write(folder.path().join("Makefile"), rules)?;
    Ok(Recording::of(&[], &[&make, "-j2", "-C", &folder.path().display().to_string()])?.into())
}
