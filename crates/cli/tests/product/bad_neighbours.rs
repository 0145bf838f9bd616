//! One bad result, or a file system that hangs, keeps nobody from the other results of a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::bad_input::small_trace;
use crate::harness::{Case, Skip};
use crate::hostile_folders::{STRANGE, write};
use crate::looking::{Site, view};
use crate::recording::{Running, dwell, needs_program, needs_recording, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("hostile_folders::view_shows_the_others", view_shows_the_others),
        Case::new("hostile_folders::a_file_system_that_hangs", a_file_system_that_hangs),
    ]
}

/// A file system that never answers: FUSE without a program behind it.
struct Hung {
    at: PathBuf,
    _holder: Running,
}

impl Hung {
    fn mount(at: &Path) -> Result<Self> {
        needs_recording()?;
        needs_program("mount")?;
        if !Path::new("/dev/fuse").exists() {
            return Err(Skip("there is no /dev/fuse".into()).into());
        }
        fs::create_dir(at)?;
        let script = "exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none \"$0\" && \
                      echo mounted && exec sleep 600";
        let holder = Running::start(Command::new("sh").args(["-c", script]).arg(at))?;
        wait_for("the mount", || holder.stdout().contains("mounted").then_some(()))?;
        Ok(Self { at: at.to_owned(), _holder: holder })
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// One result lies on a file system that hangs: the others are shown, and that one with the reason.
fn a_file_system_that_hangs() -> Result<()> {
    let folder = TempDir::new()?;
    write(&folder.path().join("r000th"), small_trace())?;
    let hung = Hung::mount(&folder.path().join("r001th"))?;
    let site = Site::open(&mut view(folder.path()))?;
    for _ in 0..2 {
        let results = site.json("/api/results")?;
        let results = results.as_array().context("no list")?;
        let why = |id: &str| results.iter().find(|row| row["id"] == id).map(|row| row["problem"].to_string());
        ensure!(why("r000th").as_deref() == Some("null"), "the good one: {results:?}");
        ensure!(why("r001th").is_some_and(|why| why.contains("does not answer")), "the bad one: {results:?}");
    }
    for _ in 0..5 {
        let (head, body) = site.ask("/api/r/r001th/info")?;
        let body = String::from_utf8_lossy(&body);
        ensure!(head.starts_with("HTTP/1.1 422") && body.contains("does not answer"), "{head}\n{body}");
    }
    site.get("/api/r/r000th/info")?;
    let at = hung.at.display().to_string();
    let commands: [&[&str]; 5] = [
        &["report", "summary", &at],
        &["finalize", &at],
        &["source", &at, "main"],
        &["report", "summary"],
        &["collect", "threading", "--", "true"],
    ];
    for words in commands {
        let mut command = dwell(words);
        let output = Running::start(command.current_dir(folder.path()))?.finish_within(Duration::from_secs(60))?;
        let is_told = output.stderr.contains("does not answer") && output.stderr.contains("hint: ");
        ensure!(is_told && output.status.code() == Some(1), "{words:?}: {} {}", output.status, output.stderr);
    }
    Ok(())
}

/// A server of results among which are bad ones: its address is printed, the others are served, each bad one is in the list
/// with its reason, and Ctrl-C ends it while one is being asked for.
fn view_shows_the_others() -> Result<()> {
    let folder = TempDir::new()?;
    write(&folder.path().join("r000th"), small_trace())?;
    let pipe = write(&folder.path().join("r001th"), small_trace())?;
    let table = write(&folder.path().join("r002th"), small_trace())?;
    fs::remove_file(pipe.join("manifest.json"))?;
    STRANGE[0].1(&pipe.join("manifest.json"))?;
    fs::remove_file(table.join("tables/threads.parquet"))?;
    STRANGE[0].1(&table.join("tables/threads.parquet"))?;
    // Whoever started the tests may ignore Ctrl-C, which programs inherit.
    let mut command = Command::new("env");
    let viewing = view(folder.path());
    command.arg("--default-signal=INT").arg(viewing.get_program()).args(viewing.get_args());
    let site = Site::open(&mut command)?;
    let results = site.json("/api/results")?;
    let results = results.as_array().context("no list")?;
    let problem = |id: &str| results.iter().find(|row| row["id"] == id).map(|row| row["problem"].clone());
    ensure!(problem("r000th") == Some(Value::Null), "the good one: {results:?}");
    let why = problem("r001th").context("the bad one is not in the list")?.to_string();
    ensure!(why.contains("manifest.json") && why.contains("a pipe"), "the reason is {why}");
    for _ in 0..5 {
        let (head, body) = site.ask("/api/r/r002th/info")?;
        let body = String::from_utf8_lossy(&body);
        ensure!(head.starts_with("HTTP/1.1 422") && body.contains("threads.parquet"), "{head}\n{body}");
    }
    site.get("/api/r/r000th/info")?;
    site.running.signal(Signal::INT)?;
    site.running.finish_within(Duration::from_secs(10)).map(drop)
}
