//! Counted events: what threads counted is what the kernel says of each by getrusage, what they did themselves, and what perf counts.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{
    Output, Recording, Running, collect, needs_program, needs_recording, number, run_dwell, sample, text,
};

/// Faults of a thread outside of what it measures: its exit, after its last getrusage.
const AT_THE_END: f64 = 3.0;
const EVENTS: &str = "minor-faults,page-faults,context-switches,task-clock,major-faults,cpu-migrations,cpu-clock";

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("counted_events::agree_with_getrusage", agree_with_getrusage),
        Case::new("counted_events::tracepoint", tracepoint),
        Case::new("counted_events::agree_with_perf", agree_with_perf),
        Case::new("counted_events::attached", attached),
        Case::new("counted_events::in_user_code_only", in_user_code_only),
        Case::new("counted_events::unknown", unknown),
        Case::new("counted_events::refused", refused),
        Case::new("counted_events::without", without),
    ]
}

/// Recordings until nothing is lost: some hypervisors' agents switch past the hook, and then the counts are too low.
const TRIES: usize = 6;

fn record(events: &str, pages: &str) -> Result<Recording> {
    let program = sample("page_faults")?;
    without_losses(|| Recording::of(&["--events", events], &[&program, pages, "3"]))
}

fn without_losses(mut record: impl FnMut() -> Result<Recording>) -> Result<Recording> {
    for _ in 0..TRIES {
        let recording = record()?;
        if !recording.rows(&["losses"])?.iter().any(|row| text(row, "loss") == "event_counts_lost") {
            return Ok(recording);
        }
    }
    Err(Skip(format!("switches passed the hook unseen in each of {TRIES} recordings")).into())
}

/// The row of an event of the thread `name`.
fn row<'r>(rows: &'r [Value], thread: &str, event: &str) -> Result<&'r Value> {
    let found = rows.iter().find(|row| text(row, "thread") == thread && text(row, "event") == event);
    found.with_context(|| format!("no {event} of {thread}"))
}

/// What the thread counted of an event.
fn count(rows: &[Value], thread: &str, event: &str) -> Result<f64> {
    number(row(rows, thread, event)?, "count")
}

fn truth(output: &Output, thread: &str, what: &str) -> Result<f64> {
    output.truth(&format!("{thread}_{what}")).with_context(|| format!("{thread} does not say its {what}"))
}

/// The faults of each thread are those of its getrusage, but for the few of its end, and its counted time is its running time.
fn agree_with_getrusage() -> Result<()> {
    let recording = record(EVENTS, "2000")?;
    let rows = recording.rows(&["events"])?;
    let threads = recording.rows(&["threads"])?;
    for thread in ["fault1", "fault2", "fault3"] {
        let (faults, said) = (count(&rows, thread, "minor-faults")?, truth(&recording.output, thread, "minor_faults")?);
        ensure!((said..=said + AT_THE_END).contains(&faults), "{thread}: {faults} faults; getrusage {said}");
        let switches = count(&rows, thread, "context-switches")?;
        let said = truth(&recording.output, thread, "switches")?;
        ensure!((said..=said + 3.0).contains(&switches), "{thread}: {switches} switches; getrusage {said}");
        let of_thread = threads.iter().find(|row| text(row, "name") == thread).context("no such thread")?;
        let running_ns = number(of_thread, "running_ns")?;
        let clock = row(&rows, thread, "task-clock")?;
        for counted in [number(clock, "count")?, number(clock, "enabled_ns")?, number(clock, "running_ns")?] {
            // Where another's time is stolen, the two clocks may differ.
            let off = (counted - running_ns).abs();
            ensure!(
                off <= 0.02 * running_ns + 200e3 + recording.output.stolen_ns,
                "{thread}: {counted} of {running_ns} ns"
            );
        }
    }
    let (minor, all) = (count(&rows, "fault3", "minor-faults")?, count(&rows, "fault3", "page-faults")?);
    ensure!(all >= minor, "{all} page faults, {minor} of them minor");
    ensure!(number(row(&rows, "fault2", "minor-faults")?, "per_s")? > 0.0, "no rate");
    ensure!(rows.len() % EVENTS.split(',').count() == 0, "a thread has not all events: {} rows", rows.len());
    Ok(())
}

/// A tracepoint counts what the threads did.
fn tracepoint() -> Result<()> {
    needs_recording()?;
    if !Path::new("/sys/kernel/tracing/events/syscalls").is_dir() {
        return Err(Skip("tracefs is not mounted".into()).into());
    }
    let recording = record("syscalls:sys_enter_write", "2000")?;
    let rows = recording.rows(&["events"])?;
    for thread in ["fault1", "fault2", "fault3"] {
        let (writes, said) =
            (count(&rows, thread, "syscalls:sys_enter_write")?, truth(&recording.output, thread, "writes")?);
        ensure!(writes == said, "{thread}: {writes} calls of write; it made {said}");
    }
    Ok(())
}

/// perf counts the same of a whole program, but for what differs from run to run.
fn agree_with_perf() -> Result<()> {
    needs_recording()?;
    let (perf, program) = (needs_program("perf")?, sample("page_faults")?);
    let recording = record("minor-faults", "3000")?;
    let ours: f64 = recording.rows(&["events"])?.iter().map(|row| number(row, "count")).sum::<Result<f64>>()?;
    let mut stat = Command::new(perf);
    stat.args(["stat", "-x", ",", "-e", "minor-faults", "--", &program, "3000", "3"]);
    let said = Running::start(&mut stat)?.finish()?;
    let perfs = said.stderr.lines().find(|line| line.contains("minor-faults")).context("perf counts nothing")?;
    let perfs: f64 = perfs.split(',').next().unwrap_or_default().parse()?;
    ensure!((ours - perfs).abs() <= 20.0, "{ours} faults; perf stat counts {perfs}");
    Ok(())
}

/// A program that runs already, and runs on: what its threads did until the end is counted, although they live and never leave the CPU.
fn attached() -> Result<()> {
    needs_recording()?;
    let recording = without_losses(record_busy)?;
    let rows = recording.rows(&["events"])?;
    let running_ns = number(&recording.rows(&["threads"])?[0], "running_ns")?;
    let clock = rows.iter().find(|row| text(row, "event") == "task-clock").context("no task-clock")?;
    let counted = number(clock, "count")?;
    let most_off = 0.02 * running_ns + 2e6 + recording.output.stolen_ns;
    ensure!((counted - running_ns).abs() <= most_off, "counted {counted} of {running_ns} ns");
    Ok(())
}

/// A second of a program that only runs.
fn record_busy() -> Result<Recording> {
    let folder = TempDir::new()?;
    let busy = Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))?;
    let pid = busy.pid().to_string();
    let options = ["--events", "task-clock,context-switches", "--target-pid", &pid, "--duration", "1s"];
    let output = Running::start(&mut collect(folder.path(), &options, &[]))?.finish();
    busy.signal(Signal::KILL)?;
    busy.finish()?;
    Recording::in_folder(folder, output?)
}

/// What is left out by `:u` and by `:k` makes the whole.
fn in_user_code_only() -> Result<()> {
    let recording = record("page-faults,page-faults:u,page-faults:k", "500")?;
    let rows = recording.rows(&["events"])?;
    for thread in ["fault1", "fault2", "fault3"] {
        let [all, user, kernel] =
            ["page-faults", "page-faults:u", "page-faults:k"].map(|event| count(&rows, thread, event));
        let (all, user, kernel) = (all?, user?, kernel?);
        ensure!(all == user + kernel && user > kernel, "{thread}: {all} is not {user} and {kernel}");
    }
    Ok(())
}

/// A name that is no event's has the nearest one for a hint.
fn unknown() -> Result<()> {
    for (name, meant) in [("page-fault", "page-faults"), ("nothing:here", "this kernel has no tracepoint")] {
        let output = run_dwell(&["collect", "threading", "--events", name, "--", "true"])?;
        ensure!(output.code() == 2 && output.stderr.contains(meant), "{name}: {}", output.stderr);
        ensure!(output.stderr.lines().any(|line| line.starts_with("hint: ")), "no hint: {}", output.stderr);
    }
    Ok(())
}

/// An event that this machine's CPUs cannot count is named, with the reason, and nothing is recorded.
fn refused() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let output = Running::start(&mut collect(folder.path(), &["--events", "cycles"], &["true"]))?.finish()?;
    if output.code() == 0 {
        let recording = Recording::in_folder(folder, output)?;
        let rows = recording.rows(&["events"])?;
        ensure!(rows.iter().any(|row| number(row, "count").is_ok_and(|cycles| cycles > 0.0)), "no cycles: {rows:?}");
        return Ok(());
    }
    let said = &output.stderr;
    ensure!(said.contains("cannot count the event cycles: "), "{said}");
    ensure!(said.contains("hint: dwell doctor"), "no hint: {said}");
    ensure!(output.code() == 77 && !folder.path().join("result").exists(), "status {}: {said}", output.code());
    Ok(())
}

/// A result without counts says how to get them.
fn without() -> Result<()> {
    let recording = Recording::of(&[], &[&sample("page_faults")?, "10", "1"])?;
    let report = recording.report(&["events"])?;
    ensure!(report["rows"].as_array().is_some_and(Vec::is_empty), "rows without --events: {report}");
    ensure!(report.to_string().contains("--events page-faults"), "no note: {report}");
    Ok(())
}
