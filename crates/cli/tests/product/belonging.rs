//! Processes by what they belong to: the whole machine, a control group and what joins it, a container by its name.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::cgroup::Cgroup;
use crate::harness::Case;
use crate::recording::{
    Recording, Running, collect, dwell, needs_program, needs_recording, number, sample, text, wait_for,
};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("belonging::whole_machine", whole_machine),
        Case::new("belonging::what_joins_later", what_joins_later),
        Case::new("belonging::containers_have_names", containers_have_names),
        Case::new("belonging::what_is_not_there_is_said", what_is_not_there_is_said),
    ]
}

/// Every process but the collector; what each thread did adds up to its life.
fn whole_machine() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let sleeping = Running::start(Command::new("sleep").arg("30"))?;
    let collecting = Running::start(&mut collect(folder.path(), &["--all", "--duration", "2s"], &[]))?;
    wait_for("the collection", || has_begun(folder.path()).then_some(()))?;
    let convoy = Running::start(&mut Command::new(sample("convoy")?))?;
    let output = collecting.finish()?;
    convoy.finish()?;
    let recording = Recording::in_folder(folder, output)?;
    let threads = recording.rows(&["threads", "--include-idle"])?;
    let of = |process: &str| threads.iter().filter(|row| text(row, "process") == process).collect::<Vec<&Value>>();
    ensure!(of("dwell").is_empty(), "the collector recorded itself: {:?}", of("dwell"));
    ensure!(!of("convoy").is_empty(), "a program that a recorded one began is missing");
    let sleep = of("sleep").into_iter().find(|row| number(row, "tid").ok() == Some(f64::from(sleeping.pid())));
    let sleep = sleep.context("a sleeping process is missing")?;
    ensure!(number(sleep, "waiting_ns")? > 0.98 * number(sleep, "lifetime_ns")?, "{sleep}");
    for row in &threads {
        let parts = number(row, "running_ns")? + number(row, "runnable_ns")? + number(row, "waiting_ns")?;
        ensure!((parts - number(row, "lifetime_ns")?).abs() < 1.0, "the parts are not the life: {row}");
    }
    Ok(())
}

/// Whether the result in `folder` says when recording began.
fn has_begun(folder: &Path) -> bool {
    let manifest = fs::read(folder.join("result/manifest.json")).ok();
    let manifest: Option<Value> = manifest.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    manifest.is_some_and(|manifest| manifest["start_ns"].as_u64().is_some_and(|start| start > 0))
}

/// A group that is empty at first: what is moved into it and what that forks are recorded, others are not.
fn what_joins_later() -> Result<()> {
    needs_recording()?;
    let group = Cgroup::new("unified", &[], &[])?;
    let folder = TempDir::new()?;
    let path = group.path().display().to_string();
    let collecting = Running::start(&mut collect(folder.path(), &["--cgroup", &path, "--duration", "3s"], &[]))?;
    wait_for("the collection", || has_begun(folder.path()).then_some(()))?;
    let words = group.entering(&["sh", "-c", "sleep 0.4; sleep 0.3; :"]);
    let (program, arguments) = words.split_first().context("no command")?;
    let joined = Running::start(Command::new(program).args(arguments))?;
    let shell = f64::from(joined.pid());
    joined.finish()?;
    let recording = Recording::in_folder(folder, collecting.finish()?)?;
    let threads = recording.rows(&["threads", "--include-idle"])?;
    let names: Vec<&str> = threads.iter().map(|row| text(row, "process")).collect();
    ensure!(threads.iter().any(|row| number(row, "pid").ok() == Some(shell)), "the shell is not among {names:?}");
    ensure!(names.iter().all(|name| ["sh", "dash", "bash", "sleep"].contains(name)), "others were recorded: {names:?}");
    ensure!(names.contains(&"sleep"), "what the shell forked is not among {names:?}");
    let name = group.path().file_name().context("a name")?.to_string_lossy().into_owned();
    let rows = recording.rows(&["waits", "--group-by", "cgroup", "--include-idle"])?;
    ensure!(rows.iter().any(|row| text(row, "cgroup").ends_with(&name)), "no group is called {name}: {rows:?}");
    let filtered = recording.rows(&["waits", "--filter", "cgroup=/nowhere"])?;
    ensure!(filtered.is_empty(), "{filtered:?}");
    Ok(())
}

/// A container is found by the name that its engine's file gives it, and rows have it.
fn containers_have_names() -> Result<()> {
    needs_recording()?;
    needs_program("unshare")?;
    let id = format!("{:064x}", std::process::id());
    let group = Cgroup::named(&format!("docker-{id}.scope"), "unified", &[], &[])?;
    let folder = TempDir::new()?;
    // The engine's files are the test's own, in a mount namespace of its own.
    let state = folder.path().join("containers");
    fs::create_dir_all(state.join(&id))?;
    fs::write(state.join(&id).join("config.v2.json"), r#"{"Name":"/web","Config":{"Labels":{}}}"#)?;
    let joined = group.entering(&["sleep", "3"]);
    let joined: Vec<String> = joined.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let collecting = collect(folder.path(), &["--container", "web", "--duration", "1500ms"], &[]);
    let collecting = std::iter::once(collecting.get_program()).chain(collecting.get_args());
    let collecting: Vec<String> = collecting.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let line = format!(
        "mount -t tmpfs none /var/lib && mkdir -p /var/lib/docker && cp -r '{}' /var/lib/docker/ && {{ {} & {}; }}",
        state.display(),
        joined.join(" "),
        collecting.join(" ")
    );
    let output =
        Running::start(Command::new("unshare").args(["-m", "sh", "-c", &line]).env_remove("SUDO_USER"))?.finish()?;
    let recording = Recording::in_folder(folder, output)?;
    let rows = recording.rows(&["waits", "--group-by", "container", "--include-idle"])?;
    ensure!(rows.len() == 1 && text(&rows[0], "container") == "web", "{rows:?}");
    Ok(())
}

fn what_is_not_there_is_said() -> Result<()> {
    for (option, name, words) in [
        ("--cgroup", "no/such/group", "no control group is called no/such/group"),
        ("--unit", "nosuchunit", "no running unit is called nosuchunit"),
        ("--container", "nosuch", "no running container is called nosuch"),
    ] {
        let folder = TempDir::new()?;
        let output = Running::start(&mut collect(folder.path(), &[option, name], &[]))?.finish()?;
        ensure!(output.status.code() == Some(1), "{option}: {:?}", output.status);
        ensure!(output.stderr.contains(words) || output.stderr.contains("no cgroup file system"), "{}", output.stderr);
        ensure!(output.stderr.contains("\nhint: ") && !folder.path().join("result").exists(), "{}", output.stderr);
    }
    let output = Running::start(&mut dwell(&["collect", "threading", "--all", "-p", "1"]))?.finish()?;
    ensure!(output.status.code() == Some(2), "--all with a process: {:?}", output.status);
    Ok(())
}
