//! The tool `collect`: `dwell collect` in a process of its own, as whoever started the server. One at a time, since two would
//! measure each other.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::arguments::{ToolArguments, wrong};
use super::child::{RunningChild, explained};
use super::refusal::Refusal;
use super::results::ResultsFolder;

/// How long is recorded where nothing is said.
const USUAL_DURATION: &str = "10s";
/// Of what the program and the collector print, the end is kept.
const MOST_OUTPUT_BYTES: usize = 4 << 10;
/// For what was printed before the end and is not read yet.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// Those that this server makes.
#[derive(Debug, Default)]
pub struct Collections {
    one: tokio::sync::Mutex<()>,
}

impl Collections {
    /// Records what the arguments say, and answers with the result's name.
    pub async fn collect(
        &self,
        dwell: &Path,
        results: &ResultsFolder,
        given: &ToolArguments,
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
        // When nobody waits any more, it ends, and what it recorded is kept.
        let mut running = RunningChild::start(&mut command, Signal::INT)?;
        let (stdout, stderr) = running.streams();
        let (stdout, stderr) = (OutputEnd::of(stdout), OutputEnd::of(stderr));
        let status = running.wait().await?;
        tokio::time::sleep(LAST_OUTPUT).await;
        let (stdout, stderr) = (stdout.text(), stderr.text());
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
fn next_name(results: &ResultsFolder, ending: &str) -> Result<String, Refusal> {
    let names = results.folder().names();
    let names = names.map_err(|error| Refusal::new(format!("cannot list the results: {error}")))?;
    let number = |name: &str| name.strip_prefix('r')?.get(..3)?.parse::<u32>().ok();
    let last = names.iter().filter_map(|name| number(name.to_str()?)).max();
    Ok(format!("r{:03}{ending}", last.map_or(0, |last| last + 1)))
}

/// The end of what a process and those that it started print, read in a thread: a program that goes on keeps the pipe open, and
/// would stop or die if nobody read it.
struct OutputEnd {
    kept: Arc<Mutex<Vec<u8>>>,
}

impl OutputEnd {
    fn of(from: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let end = Self { kept: kept.clone() };
        // Without a thread to spare, nothing is kept.
        let _ = thread::Builder::new().name("output".into()).spawn(move || keep_end(from, &kept));
        end
    }

    fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// Reads to the end, and keeps the last bytes.
fn keep_end(mut from: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&bytes[..length]);
        let excess = kept.len().saturating_sub(MOST_OUTPUT_BYTES);
        kept.drain(..excess);
    }
}
