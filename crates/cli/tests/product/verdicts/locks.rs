//! Locks of C++ libraries and of Go, which threads wait for each on an object of its own, or on several of the lock's.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::{Measured, Planted, Program, Recorded, needs_file, total};
use crate::golang::build_go;
use crate::recording::{Recording, needs_program, text};

pub const PROGRAMS: &[Program] = &[
    turns("std_mutex", "orders_lock", || locks("mutex", "orders_lock")),
    turns("std_shared_mutex", "config_lock", || locks("shared_mutex", "config_lock")),
    turns("boost_mutex", "log_lock", || locks("boost", "log_lock")),
    turns("boost_shared_mutex", "routes_lock", || locks("boost_shared", "routes_lock")),
    Program { quick: true, ..turns("absl_mutex", "Mutex in", || locks("absl", "Mutex in")) },
    // Who fills the queue sleeps, so that the program takes as long.
    Program {
        name: "condition_queue",
        planted: "",
        cause: None,
        may_tell: &[" of the program's "],
        quick: false,
        record: queue,
    },
    Program {
        name: "go_mutex",
        planted: "eight goroutines compute under one mutex",
        cause: Some(Planted::Wait("book")),
        may_tell: &[],
        quick: false,
        record: go,
    },
];

/// Threads that take turns with a lock and sleep while they have it.
const fn turns(name: &'static str, lock: &'static str, record: fn() -> Result<Recorded>) -> Program {
    Program {
        name,
        planted: "four threads sleep under one lock by turns",
        cause: Some(Planted::Wait(lock)),
        // Those that are done early leave one that sleeps again and again.
        may_tell: &[],
        quick: false,
        record,
    }
}

/// The program, with as many libraries as are installed.
fn build(folder: &Path, which: &str) -> Result<String> {
    let (compiler, source) = (needs_program("g++")?, folder.join("locks.cc"));
    std::fs::write(&source, include_str!("programs/locks.cc"))?;
    let mut flags: Vec<String> = Vec::new();
    if which.starts_with("boost") {
        needs_file("/usr/include/boost/thread/shared_mutex.hpp")?;
        needs_file("/usr/lib/x86_64-linux-gnu/libboost_thread.so")?;
        flags.extend(["-DBOOST", "-lboost_thread"].map(str::to_owned));
    }
    if which.starts_with("absl") {
        needs_file("/usr/include/absl/synchronization/mutex.h")?;
        let libraries = Command::new(needs_program("pkg-config")?).args(["--libs", "absl_synchronization"]).output()?;
        flags.push("-DABSL".into());
        flags.extend(String::from_utf8(libraries.stdout)?.split_whitespace().map(str::to_owned));
    }
    let program = folder.join("locks");
    let status = Command::new(compiler)
        .args(["-std=c++20", "-O2", "-g", "-o"])
        .args([&program, &source])
        .args(flags)
        .status()?;
    ensure!(status.success(), "it does not compile");
    Ok(program.display().to_string())
}

/// How long threads waited for the lock, they measure.
fn locks(which: &str, lock: &str) -> Result<Recorded> {
    let folder = TempDir::new()?;
    let recording = Recording::of(&[], &[&build(folder.path(), which)?, which])?;
    let truth = recording.output.truth("waited_ns").context("the program says nothing")? / 1e9;
    let dwell = total(&recording, "wait_ns", |row| text(row, "object").contains(lock))? / 1e9;
    // In the run queue, after the wait, the thread still waits as it sees it.
    let measured = Measured { what: "seconds of waits for the lock", dwell, truth, within: 0.6..1.1 };
    Ok(Recorded { recording, measured: Some(measured) })
}

fn queue() -> Result<Recorded> {
    let folder = TempDir::new()?;
    Ok(Recording::of(&[], &[&build(folder.path(), "queue")?, "queue"])?.into())
}

/// Goroutines wait for each other, not threads.
fn go() -> Result<Recorded> {
    let folder = TempDir::new()?;
    let program = build_go(folder.path(), "account", include_str!("programs/account.go"), &[])?;
    Ok(Recording::of(&[], &[&program.display().to_string()])?.into())
}
