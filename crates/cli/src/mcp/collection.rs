//! The tool `collect`: `dwell collect` in a process of its own, as whoever started the server. One at a time, since two would
//! measure each other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dwell_store::ResultFolder;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::arguments::{ToolArguments, wrong};
use super::child::{RunningChild, explained};
use super::refusal::Refusal;
use super::results::ResultsFolder;
use crate::output_end::OutputEnd;

/// How long is recorded where nothing is said.
const USUAL_DURATION: &str = "10s";
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
        let name = ResultFolder::next_name(results.path(), ending);
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
