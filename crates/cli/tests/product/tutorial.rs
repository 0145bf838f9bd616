//! docs/tutorial.md: its program, its commands in their order, and the cause that it reads from the first recording.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Output, Running, needs_recording, root, text};

const PYTHON: &str = "/usr/bin/python3";
/// Commands that end only when somebody ends them, or say what the machine is like.
const NOT_RUN: [&str; 2] = ["dwell view", "dwell doctor"];
/// Causes that depend on what else the machine does, and on whether the files are in memory.
const OF_THE_MACHINE: [&str; 6] =
    ["cpus-taken", "low-priority", "cpu-quota", "oversubscription", "run-queue", "device"];

pub fn cases() -> Vec<Case> {
    vec![Case::new("tutorial::as_it_stands", as_it_stands)]
}

/// A command of the page, and the status that it shows.
struct Step {
    command: String,
    status: i32,
}

fn as_it_stands() -> Result<()> {
    needs_recording()?;
    if !Path::new(PYTHON).exists() {
        return Err(Skip(format!("{PYTHON} is not installed")).into());
    }
    let page = fs::read_to_string(root().join("docs/tutorial.md"))?;
    let program = block(&page, "```python\n").context("no program on the page")?;
    let folder = TempDir::new()?;
    let file = folder.path().join("words.py");
    fs::write(&file, program)?;
    let steps = steps(&page);
    ensure!(steps.len() >= 8, "only {} commands on the page", steps.len());
    let mut recordings = 0;
    for Step { command, status } in &steps {
        if command.starts_with("dwell collect") {
            recordings += 1;
            if recordings == 2 {
                // The page's diff: one word, twice.
                fs::write(&file, program.replace("ThreadPoolExecutor", "ProcessPoolExecutor"))?;
            }
        }
        let output = run(folder.path(), command)?;
        ensure!(output.code() == *status, "`{command}` ended with {}: {}", output.code(), output.stderr);
        if recordings == 1 && command.starts_with("dwell collect") {
            first_cause_is_the_lock(folder.path())?;
        }
    }
    ensure!(recordings == 2, "{recordings} recordings");
    Ok(())
}

/// Threads that ran `count` made others wait for the GIL: of what the program did itself, the largest cause.
fn first_cause_is_the_lock(folder: &Path) -> Result<()> {
    let told = run(folder, "dwell report explain r000th --format json")?.stdout;
    let told: Value = serde_json::from_str(&told)?;
    let mut rows = told["rows"].as_array().into_iter().flatten();
    let first = rows.find(|row| !OF_THE_MACHINE.contains(&text(row, "kind"))).context("no cause")?;
    let is_count = text(first, "kind") == "running" && text(first, "place").starts_with("count (words.py:");
    ensure!(is_count && text(first, "text").contains("waited for GIL"), "the first cause is {first}");
    Ok(())
}

/// Runs a command of the page as a shell does, with this build of Dwell.
fn run(folder: &Path, command: &str) -> Result<Output> {
    let bin = Path::new(env!("CARGO_BIN_EXE_dwell")).parent().context("no folder")?;
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path);
    shell.env_remove("SUDO_USER").env_remove("SUDO_UID").env_remove("SUDO_GID");
    Running::start(&mut shell)?.finish()
}

/// What stands between `head` and the end of its block.
fn block<'p>(page: &'p str, head: &str) -> Option<&'p str> {
    page.split_once(head)?.1.split_once("```").map(|(block, _)| block)
}

/// The commands of the console blocks that are run, without `sudo`; `echo $?` below one shows its status.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for console in page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let mut lines = console.lines();
        while let Some(line) = lines.next() {
            match line.strip_prefix("$ ") {
                Some("echo $?") => {
                    let shown = lines.next().and_then(|status| status.parse().ok());
                    if let (Some(step), Some(status)) = (steps.last_mut(), shown) {
                        step.status = status;
                    }
                }
                Some(command) => {
                    let command = command.strip_prefix("sudo ").unwrap_or(command);
                    if !NOT_RUN.iter().any(|other| command.starts_with(other)) {
                        steps.push(Step { command: command.to_owned(), status: 0 });
                    }
                }
                None => {}
            }
        }
    }
    steps
}
