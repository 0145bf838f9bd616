//! Runtimes: event loops of Node and asyncio, a database in the program, OpenMP, oneTBB and the JVM.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::{Measured, Planted, Program, Recorded, built, total};
use crate::recording::{Recording, needs_program, number, text};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "node_blocked",
        planted: "each 100 ms a timer's function computes for 60 ms",
        cause: Some(Planted::Finding("event-loop-blocked", "node")),
        may_tell: &[],
        quick: false,
        record: || node("blocked"),
    },
    // It is made of timers, and ends when they have.
    Program { name: "node", planted: "", cause: None, may_tell: &["timed-out"], quick: false, record: || node("free") },
    Program {
        name: "asyncio_blocked",
        planted: "each 100 ms a coroutine sleeps for 60 ms in a blocking way",
        cause: Some(Planted::Finding("event-loop-blocked", "write_report")),
        may_tell: &[],
        quick: true,
        record: || asyncio("blocked"),
    },
    // Its loop waits for an executor that writes a report.
    Program {
        name: "asyncio",
        planted: "",
        cause: None,
        may_tell: &["slept in write_report", "timed-out"],
        quick: false,
        record: || asyncio("free"),
    },
    Program {
        name: "sqlite_busy",
        planted: "four threads write into one SQLite file, which sleeps and tries again",
        // Where they look for it; who sleeps with it is told with that.
        cause: Some(Planted::Wait("write (busy.py:12)")),
        may_tell: &[],
        quick: true,
        record: sqlite,
    },
    Program {
        name: "openmp_imbalance",
        planted: "one thread of two has eight times the work",
        cause: Some(Planted::Wait("OpenMP barrier")),
        may_tell: &["spinning"],
        quick: false,
        record: openmp,
    },
    Program { name: "tbb", planted: "", cause: None, may_tell: &[], quick: false, record: tbb },
    Program {
        name: "java_lock",
        planted: "four Java threads sleep under a ReentrantLock by turns",
        cause: Some(Planted::Wait("ReentrantLock")),
        may_tell: &[],
        quick: false,
        record: java_lock,
    },
];

fn file(folder: &Path, name: &str, source: &str) -> Result<String> {
    let file = folder.join(name);
    fs::write(&file, source)?;
    Ok(file.display().to_string())
}

/// The finding's cost against what the loop measured.
fn blocked(recording: Recording) -> Result<Recorded> {
    let truth = recording.output.truth("blocked_ns").context("the program says nothing")? / 1e9;
    if truth == 0.0 {
        return Ok(recording.into());
    }
    let found = recording.findings()?;
    let dwell = found.iter().filter(|row| text(row, "id") == "event-loop-blocked").map(|row| number(row, "cost_ns"));
    let dwell = dwell.sum::<Result<f64>>()? / 1e9;
    let measured = Measured { what: "seconds in which the loop stood still", dwell, truth, within: 0.7..1.2 };
    Ok(Recorded { recording, measured: Some(measured) })
}

fn node(what: &str) -> Result<Recorded> {
    let (folder, node) = (TempDir::new()?, needs_program("node")?);
    blocked(Recording::of(&[], &[&node, &file(folder.path(), "loop.js", include_str!("programs/loop.js"))?, what])?)
}

fn asyncio(what: &str) -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = file(folder.path(), "loop.py", include_str!("programs/loop.py"))?;
    blocked(Recording::of(&[], &["/usr/bin/python3", &program, what])?)
}

/// How long its threads waited for the file, they measure.
fn sqlite() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = file(folder.path(), "busy.py", include_str!("programs/busy.py"))?;
    let database = folder.path().join("stock.db").display().to_string();
    let recording = Recording::of(&[], &["/usr/bin/python3", &program, &database])?;
    let truth = recording.output.truth("waited_ns").context("the program says nothing")? / 1e9;
    let dwell = total(&recording, "wait_ns", |row| text(row, "object").contains("libsqlite3"))? / 1e9;
    let measured = Measured { what: "seconds of sleeps for the file", dwell, truth, within: 0.6..1.1 };
    Ok(Recorded { recording, measured: Some(measured) })
}

fn openmp() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = built(folder.path(), "gcc", include_str!("programs/omp.c"), &["-fopenmp"])?;
    Ok(Recording::of(&[], &[&program, "imbalance"])?.into())
}

fn tbb() -> Result<Recorded> {
    let (folder, compiler) = (TempDir::new()?, needs_program("g++")?);
    let source = file(folder.path(), "tbb.cc", include_str!("programs/tbb.cc"))?;
    let program = folder.path().join("tbb").display().to_string();
    let flags = ["-std=c++20", "-O2", "-g", "-o", &program, &source, "-ltbb"];
    ensure!(Command::new(compiler).args(flags).status()?.success(), "it does not compile");
    Ok(Recording::of(&[], &[&program])?.into())
}

/// How long its threads waited for the lock, they measure.
fn java_lock() -> Result<Recorded> {
    let (folder, compiler, java) = (TempDir::new()?, needs_program("javac")?, needs_program("java")?);
    let place = folder.path().display().to_string();
    let source = file(folder.path(), "Ledger.java", include_str!("programs/Ledger.java"))?;
    ensure!(Command::new(compiler).args(["-d", &place, &source]).status()?.success(), "it does not compile");
    let recording = Recording::of(&[], &[&java, "-cp", &place, "Ledger", "lock"])?;
    let truth = recording.output.truth("waited_ns").context("the program says nothing")? / 1e9;
    let waits = recording.rows(&["waits", "--filter", "object-type=jvm-monitor"])?;
    let dwell = waits.iter().map(|row| number(row, "wait_ns")).sum::<Result<f64>>()? / 1e9;
    let measured = Measured { what: "seconds of waits for the lock", dwell, truth, within: 0.6..1.1 };
    Ok(Recorded { recording, measured: Some(measured) })
}
