//! Recordings that do not run from beginning to end: killed, interrupted, limited, paused, attached late. The program
//! survives, and what was recorded is a result.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

use crate::conservation;
use crate::harness::Case;
use crate::recording::{
    Recording, Running, collect, is_type, needs_program, needs_recording, number, run_dwell, sample, text, wait_for,
};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("survival::killed_collector", killed_collector),
        Case::new("survival::interrupted", interrupted),
        Case::new("survival::exit_status", exit_status),
        Case::new("survival::data_limit", data_limit),
        Case::new("survival::ring_buffer", ring_buffer),
        Case::new("survival::start_paused", start_paused),
        Case::new("survival::duration", duration),
        Case::new("survival::attached", attached),
        Case::new("survival::attached_to_hung", attached_to_hung),
        Case::new("survival::attached_is_sampled", attached_is_sampled),
        Case::new("survival::children_left_out", children_left_out),
        Case::new("survival::strategy", strategy),
        Case::new("survival::working_directory", working_directory),
        Case::new("survival::deferred", deferred),
    ]
}

/// A shell program that writes its process id to `folder/pid` and then runs `command`.
fn with_pid_file(folder: &TempDir, command: &str) -> String {
    format!("echo $$ > {0}/pid.new; mv {0}/pid.new {0}/pid; {command}", folder.path().display())
}

fn pid_of(folder: &TempDir) -> Result<Pid> {
    let path = folder.path().join("pid");
    let read = || Pid::from_raw(fs::read_to_string(&path).ok()?.trim().parse().ok()?);
    wait_for("the program's process id", read)
}

/// The time to let a program run before something is done to it.
fn let_it_run(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// `kill -9` of Dwell: the program goes on to its end, and `dwell finalize` makes a result of what was written.
fn killed_collector() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let mark = folder.path().join("survived");
    let convoy = sample("convoy")?;
    let script = with_pid_file(&folder, &format!("{convoy}; sleep 2; {convoy}; touch {}", mark.display()));
    let running = Running::start(&mut collect(folder.path(), &[], &["sh", "-c", &script]))?;
    pid_of(&folder)?;
    let_it_run(1_500);
    running.signal(Signal::KILL)?;
    let output = running.finish()?;
    wait_for("the program to reach its end", || mark.exists().then_some(()))?;
    let result = folder.path().join("result").display().to_string();
    let finalized = run_dwell(&["finalize", &result])?;
    ensure!(finalized.status.success(), "finalize: {}", finalized.stderr);
    let recording = Recording::in_folder(folder, output)?;
    conservation::check(&recording, None)?;
    let waits = recording.rows(&["waits"])?;
    ensure!(waits.iter().any(|row| text(row, "object") == "queue_lock"), "what was written is not in the result");
    Ok(())
}

/// SIGINT ends the collection; the data is a result at once.
fn interrupted() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let script = with_pid_file(&folder, "exec sleep 60");
    let running = Running::start(&mut collect(folder.path(), &[], &["sh", "-c", &script]))?;
    let program = pid_of(&folder)?;
    let_it_run(500);
    running.signal(Signal::INT)?;
    let output = running.finish()?;
    if test_kill_process(program).is_ok() {
        kill_process(program, Signal::TERM)?;
    }
    let recording = Recording::in_folder(folder, output)?;
    conservation::check(&recording, None)?;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    ensure!((0.3e9..10e9).contains(&elapsed), "recorded {elapsed} ns");
    Ok(())
}

fn exit_status() -> Result<()> {
    for (script, expected) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let recording = Recording::of(&[], &["sh", "-c", script])?;
        let code = recording.output.code();
        ensure!(code == expected, "`{script}` gave {code}, expected {expected}");
    }
    Ok(())
}

fn data_limit() -> Result<()> {
    let recording = Recording::of(&["--data-limit", "1"], &[&sample("semaphore_pingpong")?])?;
    ensure!(recording.output.truth("ping_waits").is_some(), "the program did not reach its end");
    let threads = recording.rows(&["threads"])?;
    ensure!(threads.len() == 2, "{} threads", threads.len());
    let told = recording.report(&["summary"])?.to_string() + &recording.output.stderr;
    ensure!(told.contains("limit"), "nothing says that the limit was reached: {told}");
    Ok(())
}

fn ring_buffer() -> Result<()> {
    let sleep = sample("sleep")?;
    let script = format!("for i in 1 2 3 4 5 6 7 8 9; do {sleep}; done");
    let recording = Recording::of(&["--ring-buffer", "1"], &["sh", "-c", &script])?;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    ensure!((0.5e9..2.5e9).contains(&elapsed), "the last second is {elapsed} ns of more than 3 s");
    conservation::check(&recording, None)
}

fn start_paused() -> Result<()> {
    let program = ["sleep", "1"];
    let recording = Recording::of(&["--start-paused", "--resume-after", "300ms"], &program)?;
    let summary = recording.report(&["summary"])?;
    let paused = number(&summary, "paused_ns")?;
    ensure!((0.25e9..0.6e9).contains(&paused), "paused for {paused} ns, expected 300 ms");
    let wait = number(&summary, "wait_ns")?;
    ensure!((0.3e9..0.8e9).contains(&wait), "waited {wait} ns of the 700 ms that were recorded");
    conservation::check(&recording, None)
}

fn duration() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let script = with_pid_file(&folder, "exec sleep 60");
    let running = Running::start(&mut collect(folder.path(), &["--duration", "500ms"], &["sh", "-c", &script]))?;
    let output = running.finish()?;
    let program = pid_of(&folder)?;
    ensure!(test_kill_process(program).is_ok(), "the program did not go on");
    kill_process(program, Signal::TERM)?;
    let recording = Recording::in_folder(folder, output)?;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    ensure!((0.45e9..1.0e9).contains(&elapsed), "recorded {elapsed} ns, expected 500 ms");
    conservation::check(&recording, None)
}

/// Attaching to a running program: the threads that are already there, and what they already wait for.
fn attached() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = Running::start(std::process::Command::new(sample("condvar_queue")?).arg("250"))?;
    let tasks = PathBuf::from(format!("/proc/{}/task", program.pid()));
    wait_for("its threads", || (fs::read_dir(&tasks).ok()?.count() == 4).then_some(()))?;
    let pid = program.pid().to_string();
    let options = ["--target-pid", pid.as_str(), "--duration", "1s"];
    let output = Running::start(&mut collect(folder.path(), &options, &[]))?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let ended = program.finish().context("the profiled program")?;
    ensure!(ended.status.success(), "the program did not survive: {:?}", ended.status);
    let recording = Recording::in_folder(folder, output)?;
    let threads = recording.rows(&["threads"])?;
    let names: Vec<&str> = threads.iter().map(|row| text(row, "name")).collect();
    for name in ["condvar_queue", "worker-0", "worker-1", "worker-2"] {
        ensure!(names.contains(&name), "thread {name} is missing: {names:?}");
    }
    let waits = recording.rows(&["waits", "--include-idle"])?;
    let queue = waits.iter().find(|row| text(row, "object") == "queue_ready").context("queue_ready is missing")?;
    let waited = number(queue, "wait_ns")?;
    ensure!((2.5e9..3.1e9).contains(&waited), "three threads waited {waited} ns in one second");
    conservation::check(&recording, None)
}

/// A program that hangs: its threads wait from before the attach to after the end, and have type, name and stack all the
/// same.
fn attached_to_hung() -> Result<()> {
    needs_recording()?;
    let program = Running::start(std::process::Command::new(sample("hung")?).arg("60"))?;
    wait_for("its threads to wait", || sleepers(program.pid()).filter(|&count| count == 6))?;
    let pid = program.pid().to_string();
    check_hung(&["--target-pid", &pid, "--duration", "300ms"])?;
    check_hung(&["--target-pid", &pid, "--start-paused", "--resume-after", "200ms", "--duration", "500ms"])?;
    program.signal(Signal::KILL)
}

/// Each thread that is there when Dwell attaches is sampled while it runs.
fn attached_is_sampled() -> Result<()> {
    needs_recording()?;
    let xz = needs_program("xz")?;
    let command = format!("exec {xz} -T2 -c </dev/zero >/dev/null");
    let program = Running::start(std::process::Command::new("sh").args(["-c", &command]))?;
    let tasks = PathBuf::from(format!("/proc/{}/task", program.pid()));
    wait_for("its threads", || (fs::read_dir(&tasks).ok()?.count() == 3).then_some(()))?;
    let recording = Recording::of(&["--target-pid", &program.pid().to_string(), "--duration", "500ms"], &[])?;
    let notes = recording.report(&["hotspots"])?["notes"].to_string();
    // The thread that only hands out blocks may run too briefly for a sample.
    let is_hardly_any = |share: &str| share.starts_with("0.0 %") || share.starts_with("0.1 %");
    let shares = notes.split("it is sampled: ").skip(1).chain(notes.split(" placed where they left the CPU, ").skip(1));
    ensure!(shares.into_iter().all(is_hardly_any), "threads of xz without a sample: {notes}");
    let running_ns: f64 = recording.rows(&["threads"])?.iter().filter_map(|row| number(row, "running_ns").ok()).sum();
    ensure!(running_ns > 0.1e9, "xz ran {running_ns} ns");
    conservation::check(&recording, None)
}

/// Threads of the process that are blocked.
fn sleepers(pid: u32) -> Option<usize> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let stat = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    Some(stat.filter(|stat| stat.contains(") S ")).count())
}

fn check_hung(options: &[&str]) -> Result<()> {
    let recording = Recording::of(options, &[])?;
    let waits = recording.rows(&["waits", "--include-idle"])?;
    for (kind, name, function) in [
        ("mutex", "kept_lock", "wait_for_lock"),
        ("condition-variable", "never_ready", "wait_for_condition"),
        ("semaphore", "no_tokens", "wait_for_token"),
        ("stream", "pipe", "wait_for_data"),
        ("event", "epoll", "wait_for_event"),
        ("sleep", "Sleep", "sleep_ns"),
    ] {
        let row = waits.iter().find(|row| is_type(row, kind)).with_context(|| format!("no {kind}: {waits:?}"))?;
        ensure!(text(row, "object").starts_with(name), "the {kind} is {}", text(row, "object"));
        let stack = row["top_stack"].to_string();
        let root = if kind == "sleep" { "_start" } else { "clone" };
        ensure!(stack.contains(function) && stack.contains(root), "stack of the {kind}: {stack}");
    }
    conservation::check(&recording, None)
}

fn children_left_out() -> Result<()> {
    let recording = Recording::of(&["--no-follow-child"], &[&sample("fork_wait")?])?;
    let processes = number(&recording.report(&["summary"])?, "processes")?;
    ensure!(processes == 1.0, "{processes} processes without children");
    conservation::check(&recording, None)
}

fn strategy() -> Result<()> {
    let script = format!("{}; true", sample("sleep")?);
    let recording = Recording::of(&["--strategy", "sh:notrace:trace"], &["sh", "-c", &script])?;
    let threads = recording.rows(&["threads"])?;
    let names: Vec<&str> = threads.iter().map(|row| text(row, "name")).collect();
    ensure!(names == ["sleep"], "threads {names:?}, expected only the child's");
    conservation::check(&recording, None)
}

fn working_directory() -> Result<()> {
    let recording = Recording::of(&["--app-working-dir", "/usr"], &["pwd"])?;
    ensure!(recording.output.stdout.lines().any(|line| line == "/usr"), "ran in {}", recording.output.stdout);
    Ok(())
}

/// `--finalization-mode deferred`: reports ask for `dwell finalize`, and after it everything is there.
fn deferred() -> Result<()> {
    let recording = Recording::of(&["--finalization-mode", "deferred"], &[&sample("sleep")?])?;
    let Err(error) = recording.report(&["waits"]) else { anyhow::bail!("a report of what is not finalized") };
    ensure!(format!("{error:#}").contains("dwell finalize"), "{error:#}");
    let finalized = run_dwell(&["finalize", &recording.path().display().to_string()])?;
    ensure!(finalized.status.success(), "finalize: {}", finalized.stderr);
    conservation::check(&recording, recording.output.truth("rusage_ns"))
}
