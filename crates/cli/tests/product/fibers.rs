//! Goroutines: what they waited for is what they measured themselves, and why is what was planted.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::first_causes::expect_first;
use crate::first_causes_of_loops::slow_server;
use crate::golang::build_go;
use crate::harness::Case;
use crate::recording::{Output, Recording, Running, collect, needs_recording, number, run_dwell, text, wait_for};

/// Who waits for the lock, and for the clerk.
const LOCK: &str = "main.ledger";

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("fibers::adds_up", adds_up),
        Case::new("fibers::exact", exact),
        Case::new("fibers::exact_stripped", exact_stripped),
        Case::new("fibers::stripped", stripped),
        Case::new("fibers::position_independent", position_independent),
        Case::new("fibers::attached", attached),
        Case::new("fibers::beside_loops", beside_loops),
        Case::new("fibers::no_fibers", no_fibers),
        Case::new("fibers::asks_in_a_row", asks_in_a_row),
        Case::new("fibers::asks_in_a_row_stripped", asks_in_a_row_stripped),
    ]
}

/// The ledger, built with these flags.
fn build(folder: &Path, flags: &[&str]) -> Result<PathBuf> {
    build_source(folder, flags, include_str!("fibers.go"))
}

fn build_source(folder: &Path, flags: &[&str], text: &str) -> Result<PathBuf> {
    needs_recording()?;
    build_go(folder, "ledger", text, flags)
}

fn record(flags: &[&str]) -> Result<Recording> {
    let folder = TempDir::new()?;
    let program = build(folder.path(), flags)?;
    Recording::of(&[], &[&program.display().to_string()])
}

/// Seconds that goroutines waited for the lock, and for the clerk, as they measured it.
fn measured(output: &Output) -> Result<(f64, f64)> {
    let lock = output.truth("lock_wait_s").context("no seconds of waits for the lock")?;
    Ok((lock, output.truth("order_wait_s").context("no seconds of waits for the clerk")?))
}

/// Wait time of a type of object, ns, and its error.
fn waited(recording: &Recording, kind: &str) -> Result<(f64, f64)> {
    let rows = recording.rows(&["fiber-waits"])?;
    let of_kind = rows.iter().filter(|row| text(row, "type") == kind);
    let mut sums = (0.0, 0.0);
    for row in of_kind {
        ensure!(text(row, "exact") == "no", "a sampled row says that it is exact: {row}");
        sums.0 += number(row, "wait_ns")?;
        sums.1 += number(row, "error_ns")?;
    }
    Ok(sums)
}

/// The waits are what the program measured, within three times the error that the report states.
fn agree(recording: &Recording, output: &Output) -> Result<()> {
    let (lock_s, order_s) = measured(output)?;
    for (kind, measured_s) in [("mutex", lock_s), ("channel", order_s)] {
        let (wait_ns, error_ns) = waited(recording, kind)?;
        let off_ns = (wait_ns - measured_s * 1e9).abs();
        ensure!(wait_ns > 0.0 && off_ns <= 3.0 * error_ns, "{kind}: {wait_ns} of {measured_s} s, error {error_ns}");
    }
    Ok(())
}

/// The first two causes are what is done under the lock, and the clerk, of whom only exact recording knows that he sleeps.
fn explains(recording: &Recording, lock: &str) -> Result<()> {
    let causes = recording.rows(&["explain"])?;
    let told = |row: &&Value, who: &str, place: &str, of: &str| {
        text(row, "who") == who && text(row, "place").contains(place) && row["chains"].to_string().contains(of)
    };
    let first: Vec<&Value> = causes.iter().take(2).collect();
    let rows = || first.iter().copied();
    ensure!(rows().any(|row| told(&row, "main.book", "main.audit", lock)), "no audit: {}", text(first[0], "cause"));
    let order = rows().find(|row| told(row, "main.order", "main.order", "main.order"));
    let order = order.with_context(|| format!("no order: {}", text(first[0], "cause")))?;
    ensure!(text(order, "advice").contains("--fibers exact"), "{order}");
    Ok(())
}

fn adds_up() -> Result<()> {
    let recording = record(&[])?;
    agree(&recording, &recording.output)?;
    explains(&recording, LOCK)?;
    let fibers = recording.rows(&["fibers"])?;
    let count = |name: &str| -> Result<f64> {
        let row = fibers.iter().find(|row| text(row, "name") == name);
        number(row.with_context(|| format!("no {name} in {fibers:?}"))?, "count")
    };
    ensure!(count("main.book")? == 4.0 && count("main.order")? == 4.0 && count("main.clerk")? == 1.0, "{fibers:?}");
    for row in recording.rows(&["threads", "--fibers"])? {
        let parts = number(&row, "running_ns")? + number(&row, "runnable_ns")? + number(&row, "waiting_ns")?;
        ensure!(parts == number(&row, "lifetime_ns")?, "{parts} of {row}");
    }
    // The threads' own report is as it was.
    let of_threads = recording.rows(&["explain", "--threads"])?;
    ensure!(!of_threads.iter().any(|row| row["chains"].to_string().contains(LOCK)), "{of_threads:?}");
    Ok(())
}

fn record_exactly(flags: &[&str]) -> Result<Recording> {
    let folder = TempDir::new()?;
    let program = build(folder.path(), flags)?;
    Recording::of(&["--fibers", "exact"], &[&program.display().to_string()])
}

/// The goroutines that began with `worker` wait for nothing but what they measure, which includes the time until one that was woken
/// runs; each of their waits is told.
fn agrees_exactly(recording: &Recording, measured_s: f64, kind: &str, worker: &str) -> Result<()> {
    let rows = recording.rows(&["fibers"])?;
    let row = rows.iter().find(|row| text(row, "name") == worker).context("no such goroutine")?;
    ensure!(text(row, "exact") == "yes", "an exact row says that it is not: {row}");
    let (waiting_ns, ready_ns) = (number(row, "waiting_ns")?, number(row, "ready_ns")?);
    let measured_ns = measured_s * 1e9;
    ensure!(
        measured_ns > waiting_ns * 0.95 && measured_ns < (waiting_ns + ready_ns) * 1.05,
        "{worker} waited for {waiting_ns} and was ready for {ready_ns}, it measured {measured_ns}"
    );
    let waits = recording.rows(&["fiber-waits"])?;
    let counts = waits.iter().filter(|row| text(row, "type") == kind).map(|row| number(row, "wait_count"));
    let count = counts.sum::<Result<f64>>()?;
    ensure!(count >= 10.0, "{count} waits of {worker}");
    Ok(())
}

fn exact() -> Result<()> {
    let recording = record_exactly(&[])?;
    let (lock_s, order_s) = measured(&recording.output)?;
    agrees_exactly(&recording, lock_s, "mutex", "main.book")?;
    agrees_exactly(&recording, order_s, "channel", "main.order")?;
    let causes = recording.rows(&["explain"])?;
    let [clerk, audit] = ["main.clerk", "main.audit"].map(|place| {
        causes
            .iter()
            .take(2)
            .find(|row| text(row, "place").contains(place))
            .with_context(|| format!("no {place} first"))
    });
    let (clerk, audit) = (clerk?, audit?);
    ensure!(text(clerk, "kind") == "slept" && clerk["chains"].to_string().contains("main.order"), "{clerk}");
    ensure!(text(audit, "kind") == "running" && audit["chains"].to_string().contains(LOCK), "{audit}");
    for row in recording.rows(&["threads", "--fibers"])? {
        let parts = number(&row, "running_ns")? + number(&row, "runnable_ns")? + number(&row, "waiting_ns")?;
        ensure!(parts == number(&row, "lifetime_ns")?, "{parts} of {row}");
    }
    Ok(())
}

/// Without symbols the runtime's functions are found by Go's own table.
fn exact_stripped() -> Result<()> {
    let recording = record_exactly(&["-ldflags=-s -w"])?;
    let (_, order_s) = measured(&recording.output)?;
    agrees_exactly(&recording, order_s, "channel", "main.order")
}

fn stripped() -> Result<()> {
    let recording = record(&["-ldflags=-s -w"])?;
    agree(&recording, &recording.output)?;
    explains(&recording, "main.book")
}

fn position_independent() -> Result<()> {
    let recording = record(&["-buildmode=pie"])?;
    agree(&recording, &recording.output)?;
    explains(&recording, LOCK)
}

fn attached() -> Result<()> {
    let folder = TempDir::new()?;
    let program = build(folder.path(), &[])?;
    let running = Running::start(Command::new(program).arg("signals"))?;
    let threads = format!("/proc/{}/task", running.pid());
    wait_for("threads of Go", || (std::fs::read_dir(&threads).ok()?.count() > 2).then_some(()))?;
    let results = TempDir::new()?;
    let pid = running.pid().to_string();
    let mut attach = collect(results.path(), &["--target-pid", &pid, "--duration", "1s"], &[]);
    let output = Running::start(&mut attach)?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    let recording = Recording::in_folder(results, output)?;
    running.finish_within(Duration::from_secs(30))?;
    let fibers = recording.rows(&["fibers"])?;
    let of = |name: &str| fibers.iter().find(|row| text(row, "name") == name).with_context(|| format!("no {name}"));
    let book = of("main.book")?;
    let lived = number(book, "running_ns")? + number(book, "ready_ns")? + number(book, "waiting_ns")?;
    let elapsed = number(&recording.report(&["summary"])?, "elapsed_ns")?;
    // They were there before, and are still there.
    ensure!((lived / elapsed - 4.0).abs() < 0.01, "four live {lived} ns in {elapsed} ns");
    // Whose thread waits from the begin to the end is in its call, though that thread's stack is not known.
    let (signals, ran) = (of("os/signal.loop")?, "running_ns");
    ensure!(number(signals, ran)? < 0.1 * number(signals, "waiting_ns")?, "{signals}");
    explains(&recording, LOCK)
}

/// To look, the collector takes a CPU: where there is none to spare, that of the goroutine which it looks at. It ran all the same.
fn beside_loops() -> Result<()> {
    let folder = TempDir::new()?;
    let program = build(folder.path(), &[])?.display().to_string();
    let endless = || Running::start(Command::new("sh").args(["-c", "while :; do :; done"]));
    let _loops: Vec<Running> = (0..4).map(|_| endless()).collect::<Result<_>>()?;
    let recording = Recording::of(&[], &[&program])?;
    let sum = |rows: Vec<Value>| rows.iter().map(|row| number(row, "running_ns")).sum::<Result<f64>>();
    let (by_looks, by_switches) = (sum(recording.rows(&["fibers"])?)?, sum(recording.rows(&["threads"])?)?);
    ensure!((0.6..1.6).contains(&(by_looks / by_switches)), "{by_looks} ns by looks, {by_switches} ns by switches");
    Ok(())
}

/// Of a program without them the reports say so.
fn no_fibers() -> Result<()> {
    needs_recording()?;
    let recording = Recording::of(&[], &["/bin/true"])?;
    let path = recording.path().display().to_string();
    let output = run_dwell(&["report", "waits", "--fibers", &path])?;
    ensure!(output.code() == 2 && output.stderr.contains("hint:"), "{}", output.stderr);
    ensure!(run_dwell(&["report", "fibers", &path])?.stdout.contains("No fibers were seen"), "nothing says so");
    Ok(())
}

/// The connection for which a goroutine waits is found in the runtime's memory and in /proc.
fn asks(flags: &[&str]) -> Result<()> {
    let folder = TempDir::new()?;
    let program = build_source(folder.path(), flags, include_str!("questions.go"))?;
    let port = slow_server()?.to_string();
    let recording = Recording::of(&[], &[&program.display().to_string(), &port])?;
    let connection = format!("TCP 127.0.0.1:* -> 127.0.0.1:{port}");
    expect_first(&recording, "network", 1.4, &[&connection, "main.load", "answers took", "one at a time"])
}

fn asks_in_a_row() -> Result<()> {
    asks(&[])
}

fn asks_in_a_row_stripped() -> Result<()> {
    asks(&["-ldflags=-s -w"])
}
