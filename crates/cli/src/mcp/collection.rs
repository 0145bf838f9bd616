//! The tool `collect`: `dwell collect` in a process of its own, as whoever started the server. One at a time, since two would
//! measure each other.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::arguments::{Arguments, wrong};
use super::child::explained;
use super::refusal::Refusal;
use super::results::Results;

/// How long is recorded where nothing is said.
const USUAL_DURATION: &str = "10s";
/// Of what the program and the collector print, the end is kept.
const MOST_OUTPUT_BYTES: usize = 4 << 10;
/// For what was printed before the end and is not read yet.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Those that this server makes.
#[derive(Debug, Default)]
pub struct Collections {
    one: Mutex<()>,
}

/// A collection that runs. Dropped, it is asked to end, and what it recorded is kept.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.0.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT); // it has ended by itself
        }
    }
}

impl Collections {
    /// Records what the arguments say, and answers with the result's name.
    pub async fn collect(
        &self,
        dwell: &Path,
        results: &Results,
        given: &Arguments,
        hint: &str,
    ) -> Result<Value, Refusal> {
        let program = program(given.needed_text("program", hint)?)?;
        let (analysis, ending) = match given.text("analysis")? {
            None | Some("threading") => ("threading", "th"),
            Some("latency") => ("latency", "la"),
            Some(_) => return Err(wrong("analysis", "threading or latency")),
        };
        let duration = given.text("duration")?.unwrap_or(USUAL_DURATION);
        let _one = self.one.lock().await;
        let name = next_name(results, ending)?;
        let mut command = Command::new(dwell);
        command.args(["collect", analysis, "--quiet"]).arg(format!("--duration={duration}"));
        command.arg("--result-dir").arg(results.path().join(&name));
        command.arg("--").arg(program).args(given.texts("arguments")?);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error| Refusal::new(format!("cannot run dwell: {error}"));
        let mut running = Running(command.spawn().map_err(failed)?);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let printing = (running.0.stdout.take(), running.0.stderr.take());
        let status = {
            let mut reading = std::pin::pin!(async {
                tokio::join!(keep_end(printing.0, &mut stdout), keep_end(printing.1, &mut stderr))
            });
            let mut all_is_read = false;
            let status = tokio::select! {
                biased;
                status = running.0.wait() => status,
                _ = &mut reading => {
                    all_is_read = true;
                    running.0.wait().await
                }
            };
            // A program that goes on keeps them open.
            if !all_is_read {
                let _ = tokio::time::timeout(LAST_OUTPUT, reading).await;
            }
            status.map_err(failed)?
        };
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        if results.find(&name).is_err() {
            return Err(explained(&stderr, status));
        }
        Ok(json!({ "result": name, "exit_status": status.code(), "stdout_end": stdout, "stderr_end": stderr }))
    }
}

/// A path from where the server runs, since the collection may begin elsewhere; a name as it is.
fn program(word: &str) -> Result<PathBuf, Refusal> {
    let path = PathBuf::from(word);
    if !word.contains('/') || path.is_absolute() {
        return Ok(path);
    }
    std::path::absolute(&path).map_err(|error| Refusal::new(format!("there is no working directory: {error}")))
}

/// The next free name: r000th, r001th, ….
fn next_name(results: &Results, ending: &str) -> Result<String, Refusal> {
    let names = results.folder().names();
    let names = names.map_err(|error| Refusal::new(format!("cannot list the results: {error}")))?;
    let number = |name: &str| name.strip_prefix('r')?.get(..3)?.parse::<u32>().ok();
    let last = names.iter().filter_map(|name| number(name.to_str()?)).max();
    Ok(format!("r{:03}{ending}", last.map_or(0, |last| last + 1)))
}

/// Reads to the end, and keeps the last bytes.
async fn keep_end(from: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        kept.extend_from_slice(&bytes[..length]);
        kept.drain(..kept.len().saturating_sub(MOST_OUTPUT_BYTES));
    }
}
