//! One command of Dwell in a process of its own, what it prints kept up to a bound.
//!
//! Ends of processes are looked for in turn, not told by a signal: tokio's handler of signals would be part of every runtime of this
//! program, and the confined one of `dwell view` may not make its sockets.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use dwell_store::Folder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::refusal::Refusal;

/// What an answer may have before it is cut; what is longer is no answer for an agent.
const MOST_OUTPUT_BYTES: u64 = 64 << 20;
/// Of what it says on standard error.
const MOST_ERROR_BYTES: u64 = 16 << 10;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at whether a process has ended.
const LOOK: Duration = Duration::from_millis(3);

/// A process that gets a signal when nobody waits for it any more.
pub struct RunningChild {
    child: Option<Child>,
    abandoned_by: Signal,
}

impl RunningChild {
    /// Starts it without standard input.
    pub fn start(command: &mut Command, abandoned_by: Signal) -> Result<Self, Refusal> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.map_err(|error| Refusal::new(format!("cannot run dwell: {error}")))?;
        Ok(Self { child: Some(child), abandoned_by })
    }

    /// What it prints, and what it says on standard error.
    pub fn streams(&mut self) -> (impl Read + use<>, impl Read + use<>) {
        let child = self.child.as_mut();
        let (stdout, stderr) = child.map(|child| (child.stdout.take(), child.stderr.take())).unwrap_or_default();
        (Stream(stdout), Stream(stderr))
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> Result<ExitStatus, Refusal> {
        loop {
            let status = self.child.as_mut().map(Child::try_wait);
            match status.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into())) {
                Ok(None) => sleep(LOOK).await,
                Ok(Some(status)) => {
                    self.child = None;
                    return Ok(status);
                }
                Err(error) => return Err(Refusal::new(format!("cannot await dwell: {error}"))),
            }
        }
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = kill_process(Pid::from_child(&child), self.abandoned_by); // it may have ended
            // Nobody waits for the thread; without one, the process stays a zombie while the server runs.
            let _ = thread::Builder::new().spawn(move || child.wait());
        }
    }
}

/// A pipe, or nothing.
struct Stream<P>(Option<P>);

impl<P: Read> Read for Stream<P> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |pipe| pipe.read(bytes))
    }
}

/// What prints the JSON of an answer.
pub struct JsonCommand<'a> {
    /// This program.
    pub dwell: &'a Path,
    /// Where it begins, so that the word `.` leads nowhere else.
    pub folder: &'a Folder,
    /// The words of its command line.
    pub words: Vec<String>,
}

impl JsonCommand<'_> {
    /// Runs it, and parses what it prints.
    pub async fn answer(self) -> Result<Value, Refusal> {
        let mut command = Command::new(self.dwell);
        command.args(&self.words).current_dir(format!("/proc/self/fd/{}", self.folder.as_fd().as_raw_fd()));
        let mut child = RunningChild::start(&mut command, Signal::KILL)?;
        let (stdout, stderr) = child.streams();
        let printed = spawn_blocking(move || first_bytes(stdout, MOST_OUTPUT_BYTES));
        let said = spawn_blocking(move || first_bytes(stderr, MOST_ERROR_BYTES));
        let ended = async {
            let unread = |error: JoinError| Refusal::new(format!("cannot read the answer: {error}"));
            let (printed, said) = (printed.await.map_err(unread)?, said.await.map_err(unread)?);
            if printed.len() as u64 > MOST_OUTPUT_BYTES {
                let refusal = Refusal::new("the answer is too large");
                return Err(refusal.hint("ask for less: a time_range, filters, or a report's option `limit`"));
            }
            let status = child.wait().await?;
            if status.success() { Ok(printed) } else { Err(explained(&String::from_utf8_lossy(&said), status)) }
        };
        let slow = || Refusal::new(format!("the answer took more than {} s", PATIENCE.as_secs()));
        let answered = timeout(PATIENCE, ended).await;
        let printed = answered.unwrap_or_else(|_| Err(slow().hint("ask for less: a time_range, filters")))?;
        serde_json::from_slice(&printed).map_err(|error| Refusal::new(format!("dwell printed no JSON: {error}")))
    }
}

/// What comes until the end, or one byte more than `most`.
fn first_bytes(from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.take(most + 1).read_to_end(&mut bytes); // what came before counts
    bytes
}

/// The command's own sentence and hint.
pub fn explained(said: &str, status: ExitStatus) -> Refusal {
    let line = |start: &str| said.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
    let details: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    match line("error: ") {
        Some(sentence) => {
            let details = if details.is_empty() { String::new() } else { format!(": {}", details.join("; ")) };
            Refusal { sentence: sentence + &details, hint: line("hint: ").unwrap_or_default() }
        }
        None => Refusal::new(format!("the result may be damaged: its reader ended with {status}"))
            .hint("dwell finalize makes it anew where its raw data is kept; else record again"),
    }
}
