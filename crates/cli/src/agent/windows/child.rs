//! Commands of this program in a process that ends with the agent: a window's recording, and the reports on it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::error::{Hinted, Result};

/// How often it is looked whether a command has ended.
const LOOK: Duration = Duration::from_millis(20);
/// What is read of what a command says.
const MOST_MESSAGE_BYTES: u64 = 4096;
/// Variables that commands do not see: results of windows are the agent's, whoever called sudo, and nothing is fetched for them.
const UNUSED: [&str; 5] = ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "DEBUGINFOD_URLS"];

/// In the process of a command: makes it end with the agent. To be called while the process has one thread.
pub fn end_with_agent(agent: u32) -> Result<()> {
    let failed = |error| Hinted::new(format!("cannot end with the agent: {error}"));
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    // It may have ended before.
    match getppid().is_some_and(|parent| parent.as_raw_nonzero().get().unsigned_abs() == agent) {
        true => Ok(()),
        false => Err(Hinted::usage("only dwell agent starts this").hint("dwell agent --store DIR")),
    }
}

/// Runs a command of this program until it ends; gives why it failed. `told_to_stop` ends it at once, with `None`.
pub fn run(words: &[OsString], most: Duration, told_to_stop: &Receiver<()>) -> Option<std::result::Result<(), String>> {
    let (mut child, messages) = match start(words) {
        Ok(started) => started,
        Err(error) => return Some(Err(error.to_string())),
    };
    let until = Instant::now() + most;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(outcome(status, messages)),
            Ok(None) => {}
            Err(error) => return Some(Err(error.to_string())),
        }
        let is_stopped = !matches!(told_to_stop.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout));
        if is_stopped || Instant::now() >= until {
            let _ = child.kill(); // it may just have ended
            let _ = child.wait();
            return if is_stopped { None } else { Some(Err(format!("it took more than {} s", most.as_secs()))) };
        }
    }
}

/// Starts it; gives also the file that it tells errors in.
fn start(words: &[OsString]) -> io::Result<(Child, File)> {
    let messages = tempfile::tempfile()?;
    let mut command = Command::new(std::env::current_exe()?);
    for variable in UNUSED {
        command.env_remove(variable);
    }
    command.args(["window", "--agent"]).arg(std::process::id().to_string()).arg("--").args(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages.try_clone()?);
    Ok((command.spawn()?, messages))
}

fn outcome(status: ExitStatus, mut messages: File) -> std::result::Result<(), String> {
    if status.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    let read = messages.rewind().and_then(|()| messages.take(MOST_MESSAGE_BYTES).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().find(|line| !line.trim().is_empty()).filter(|_| read.is_ok());
    Err(first.map_or_else(|| status.to_string(), |line| line.chars().filter(|c| !c.is_control()).collect()))
}

/// CPU time of the processes that this one awaited, and of theirs, ns; 0 where the kernel does not tell.
pub fn awaited_cpu_ns() -> u64 {
    let ticks = || {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        awaited_ticks(&stat)
    };
    ticks().unwrap_or(0) * 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// `cutime` and `cstime` of a line of `/proc/PID/stat`.
fn awaited_ticks(stat: &str) -> Option<u64> {
    // A name may have spaces and parentheses; the 14 numbers before them begin behind it.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(13);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_command_that_fails_says_why() {
        let said = |text: &str, status: i32| {
            let mut messages = tempfile::tempfile().unwrap();
            messages.write_all(text.as_bytes()).unwrap();
            outcome(ExitStatus::from_raw(status), messages)
        };
        assert_eq!(said("note: x\n", 0), Ok(()));
        assert_eq!(said("\ndwell: no \u{1b}rights\nhint: sudo\n", 256), Err("dwell: no rights".into()));
        assert_eq!(said("", 9), Err("signal: 9 (SIGKILL)".into()));
    }

    #[test]
    fn cpu_time_of_awaited_processes_is_known() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 200 0 0 11 12 13 14 20 0 1 0 5 6";
        assert_eq!(awaited_ticks(stat), Some(27));
        let before = awaited_cpu_ns();
        let burn = Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]).status();
        assert!(burn.unwrap().success());
        assert!(awaited_cpu_ns() > before, "a loop takes CPU time");
    }
}
