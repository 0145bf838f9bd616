//! A collection is steered from another terminal.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Output, Recording, Running, collect, dwell, needs_program, needs_recording, number, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("control::paused_marked_and_stopped", paused_marked_and_stopped),
        Case::new("control::a_snapshot_is_a_result", a_snapshot_is_a_result),
        Case::new("control::cancelled", cancelled),
        Case::new("control::begins_at_an_instant", begins_at_an_instant),
        Case::new("control::others_are_refused", others_are_refused),
        Case::new("control::wrong_words", wrong_words),
    ]
}

/// A program that sleeps 10 ms again and again, for a minute.
const SLEEPS: [&str; 3] = ["sh", "-c", "for i in $(seq 6000); do sleep 0.01; done"];

struct Steered {
    folder: TempDir,
    collecting: Running,
    _program: Running,
}

impl Steered {
    fn start(options: &[&str]) -> Result<Self> {
        needs_recording()?;
        let folder = TempDir::new()?;
        let program = Running::start(Command::new(SLEEPS[0]).args(&SLEEPS[1..]))?;
        let pid = program.pid().to_string();
        let options = [options, &["--target-pid", &pid]].concat();
        let collecting = Running::start(&mut collect(folder.path(), &options, &[]))?;
        let steered = Self { folder, collecting, _program: program };
        wait_for("the collection", || steered.status().ok().filter(|status| status["events"].as_u64() > Some(100)))?;
        Ok(steered)
    }

    fn result(&self) -> String {
        self.folder.path().join("result").display().to_string()
    }

    fn ask(&self, words: &[&str]) -> Result<Output> {
        let result = self.result();
        Running::start(dwell(&["control", &result]).args(words))?.finish()
    }

    /// What was asked is done.
    fn tell(&self, words: &[&str]) -> Result<String> {
        let output = self.ask(words)?;
        ensure!(output.status.success(), "{words:?}: {}", output.stderr);
        Ok(output.stdout)
    }

    fn status(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.tell(&["status", "--format", "json"])?)?)
    }

    fn recording(self) -> Result<Recording> {
        let output = self.collecting.finish()?;
        Recording::in_folder(self.folder, output)
    }
}

fn paused_marked_and_stopped() -> Result<()> {
    let steered = Steered::start(&[])?;
    steered.tell(&["mark", "before the pause"])?;
    steered.tell(&["pause"])?;
    let paused = steered.status()?;
    ensure!(paused["paused"] == true && number(&paused, "threads")? > 1.0, "{paused}");
    let again = steered.ask(&["pause"])?;
    ensure!(!again.status.success() && again.stderr.contains("it is paused already"), "{}", again.stderr);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let later = steered.status()?;
    ensure!(later["events"] == steered.status()?["events"], "it goes on recording: {later}");
    steered.tell(&["resume"])?;
    wait_for("events", || steered.status().ok().filter(|status| status["events"] != later["events"]))?;
    steered.tell(&["mark", "after", "it"])?;
    let text_status = steered.tell(&["status"])?;
    ensure!(text_status.contains(": recording ") && text_status.contains(" events, "), "{text_status}");
    steered.tell(&["stop"])?;
    let recording = steered.recording()?;
    let markers = recording.rows(&["markers"])?;
    let named = |name: &str| markers.iter().any(|row| row.to_string().contains(name));
    ensure!(named("before the pause") && named("after it"), "{markers:?}");
    let over = Running::start(&mut dwell(&["control", &recording.path().display().to_string(), "status"]))?.finish()?;
    ensure!(!over.status.success() && over.stderr.contains(" is over\nhint: dwell report"), "{}", over.stderr);
    ensure!(!recording.path().join("control").exists(), "the socket is left behind");
    Ok(())
}

/// What was recorded so far becomes a result, and the collection goes on.
fn a_snapshot_is_a_result() -> Result<()> {
    let steered = Steered::start(&[])?;
    let first = steered.tell(&["snapshot"])?;
    let before = steered.status()?;
    wait_for("events", || steered.status().ok().filter(|status| status["events"] != before["events"]))?;
    let second = steered.tell(&["snapshot"])?;
    let waits = |path: &str| -> Result<f64> {
        let recording = Recording::kept(path.trim().into(), steered.ask(&["status"])?)?;
        let rows = recording.rows(&["waits", "--include-idle", "--filter", "object-type=sleep"])?;
        rows.iter().map(|row| number(row, "wait_count")).sum()
    };
    let (early, late) = (waits(&first)?, waits(&second)?);
    ensure!(0.0 < early && early < late, "{early} sleeps in the first result, {late} in the second");
    steered.tell(&["stop"])?;
    let last = steered.recording()?.rows(&["waits", "--include-idle", "--filter", "object-type=sleep"])?;
    let last: f64 = last.iter().map(|row| number(row, "wait_count")).sum::<Result<f64>>()?;
    ensure!(late <= last, "{late} sleeps in a snapshot, {last} in all");
    Ok(())
}

fn cancelled() -> Result<()> {
    let steered = Steered::start(&[])?;
    steered.tell(&["cancel"])?;
    let path = steered.result();
    let output = steered.collecting.finish()?;
    ensure!(output.status.success() && output.stderr.contains("cancelled"), "{}", output.stderr);
    ensure!(!Path::new(&path).exists(), "the result is still there");
    Ok(())
}

/// Everything before the instant is left out.
fn begins_at_an_instant() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let options = ["--start-at", "+700ms", "--duration", "1500ms"];
    let program = Running::start(Command::new(SLEEPS[0]).args(&SLEEPS[1..]))?;
    let pid = program.pid().to_string();
    let options = [&options[..], &["--target-pid", &pid]].concat();
    let output = Running::start(&mut collect(folder.path(), &options, &[]))?.finish()?;
    let recording = Recording::in_folder(folder, output)?;
    let sleeps = recording.rows(&["waits", "--include-idle", "--filter", "object-type=sleep"])?;
    let slept: f64 = sleeps.iter().map(|row| number(row, "wait_ns")).sum::<Result<f64>>()?;
    ensure!(0.2e9 < slept && slept < 1.2e9, "{slept} ns of sleeps in the recorded part of 1.5 s");
    let wrong = Running::start(&mut dwell(&["collect", "threading", "--start-at", "soon", "--", "true"]))?.finish()?;
    ensure!(wrong.status.code() == Some(2) && wrong.stderr.contains("is no instant"), "{}", wrong.stderr);
    Ok(())
}

fn others_are_refused() -> Result<()> {
    let setpriv = needs_program("setpriv")?;
    let steered = Steered::start(&[])?;
    let mut nobody = Command::new(setpriv);
    nobody.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_dwell"), "control"]);
    let output = Running::start(nobody.arg(steered.result()).arg("stop"))?.finish();
    // Where the binary itself cannot be run by others, nothing was asked.
    let refused = output.is_ok_and(|output| !output.status.success());
    ensure!(refused && steered.status()?["paused"] == false, "another user ended the collection");
    steered.tell(&["stop"])?;
    steered.recording().map(drop)
}

fn wrong_words() -> Result<()> {
    let folder = TempDir::new()?;
    for (words, code, said) in [
        (&["mark"][..], 2, "a mark has a text"),
        (&["jump"][..], 2, "`jump` is nothing that a collection can be asked"),
        (&["status", "now"][..], 2, "`now` is too much"),
        (&["status"][..], 1, "there is no result in this folder"),
        (&["/nowhere", "status"][..], 1, "no such folder"),
    ] {
        let output = Running::start(dwell(&["control"]).args(words).current_dir(folder.path()))?.finish()?;
        ensure!(output.status.code() == Some(code), "{words:?}: {:?}", output.status);
        ensure!(output.stderr.contains(said) && output.stderr.contains("hint: "), "{words:?}: {}", output.stderr);
    }
    let help = Running::start(&mut dwell(&["control", "--help"]))?.finish()?;
    let has = |word: &&str| help.stdout.contains(*word);
    let missing = ["status", "pause", "resume", "stop", "cancel", "mark", "snapshot"].iter().find(|word| !has(word));
    ensure!(missing.is_none(), "the help lacks {missing:?}");
    Ok(())
}
