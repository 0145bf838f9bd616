//! One command of Dwell in a process of its own, what it prints kept up to a bound.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use dwell_store::Folder;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::refusal::Refusal;

/// What an answer may have before it is cut; what is longer is no answer for an agent.
const MOST_OUTPUT_BYTES: u64 = 64 << 20;
/// Of what it says on standard error.
const MOST_ERROR_BYTES: u64 = 16 << 10;
/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What prints the JSON of an answer.
pub struct Asked<'a> {
    /// This program.
    pub dwell: &'a PathBuf,
    /// Where it begins, so that the word `.` leads nowhere else.
    pub folder: &'a Folder,
    /// The words of its command line.
    pub words: Vec<String>,
}

impl Asked<'_> {
    /// Runs it, and parses what it prints.
    pub async fn answer(self) -> Result<Value, Refusal> {
        let mut command = Command::new(self.dwell);
        command.args(&self.words).current_dir(format!("/proc/self/fd/{}", self.folder.as_fd().as_raw_fd()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let failed = |error| Refusal::new(format!("cannot run dwell: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let ended = async {
            let printed =
                async { tokio::join!(first_bytes(stdout, MOST_OUTPUT_BYTES), first_bytes(stderr, MOST_ERROR_BYTES)) };
            let (printed, said) = printed.await;
            if printed.len() as u64 > MOST_OUTPUT_BYTES {
                return Err(
                    Refusal::new("the answer is too large").hint("ask for less: a time_range, filters, or `limit`")
                );
            }
            let status = child.wait().await.map_err(failed)?;
            if status.success() { Ok(printed) } else { Err(explained(&String::from_utf8_lossy(&said), status)) }
        };
        let slow = Refusal::new(format!("the answer took more than {} s", PATIENCE.as_secs()));
        let printed =
            timeout(PATIENCE, ended).await.unwrap_or_else(|_| Err(slow.hint("ask for less: a time_range, filters")))?;
        serde_json::from_slice(&printed).map_err(|error| Refusal::new(format!("dwell printed no JSON: {error}")))
    }
}

/// What comes until the end, or one byte more than `most`.
async fn first_bytes(from: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let _ = from.take(most + 1).read_to_end(&mut bytes).await; // what came before counts
    }
    bytes
}

/// The command's own sentence and hint.
pub fn explained(said: &str, status: std::process::ExitStatus) -> Refusal {
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
