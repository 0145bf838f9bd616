//! The processes that can be attached to: what `dwell top` sees in a second, and their command lines.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use dwell_server::ProcessInfo;
use serde::Deserialize;

use crate::error::{Hinted, Result};

/// Bytes of a command line that are read …
const MOST_BYTES: u64 = 4 << 10;
/// … and letters of it that are of use in a list.
const LONGEST_COMMAND: usize = 300;

/// What `dwell top --format json` prints, as far as it matters here.
#[derive(Deserialize)]
struct Snapshot {
    rows: Vec<ProcessRow>,
}

#[derive(Deserialize)]
struct ProcessRow {
    process: String,
    pid: u32,
    threads: u64,
    running_ns: u64,
    runnable_ns: u64,
    waiting_ns: u64,
    explanation: Option<String>,
}

/// All of them, those that run most first.
pub fn processes() -> Result<Vec<ProcessInfo>> {
    let failed = |error: String| Hinted::new(format!("cannot look at the processes: {error}")).hint("dwell top --once");
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["top", "--once", "--interval=1s", "--format=json", "--limit=0"]).stdin(Stdio::null());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let snapshot: Snapshot = serde_json::from_slice(&output.stdout).map_err(|error| {
        let message = String::from_utf8_lossy(&output.stderr);
        failed(message.lines().next().map_or_else(|| error.to_string(), str::to_owned))
    })?;
    let own = std::process::id();
    let mut processes: Vec<ProcessInfo> = snapshot.rows.into_iter().filter(|row| row.pid != own).map(info).collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.running_ns));
    Ok(processes)
}

fn info(row: ProcessRow) -> ProcessInfo {
    ProcessInfo {
        pid: row.pid,
        command: command_of(row.pid),
        name: row.process,
        threads: row.threads,
        running_ns: row.running_ns,
        runnable_ns: row.runnable_ns,
        waiting_ns: row.waiting_ns,
        explanation: row.explanation.unwrap_or_default(),
    }
}

/// Its words, with spaces between; empty where it is gone or not ours to read.
fn command_of(pid: u32) -> String {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/cmdline"));
    let read = file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    let text = if read.is_ok() { String::from_utf8_lossy(&bytes) } else { "".into() };
    text.trim_end_matches('\0').replace('\0', " ").chars().take(LONGEST_COMMAND).collect()
}
