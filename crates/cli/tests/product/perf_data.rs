//! `dwell import` of files that perf writes: the same numbers as perf's own reports, and files that are none.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use dwell_model::{ThreadId, WakerKind};
use dwell_store::{ResultFolder, Trace};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{needs_program, needs_recording, number, run_dwell, sample};

/// What running times may differ by from perf's, as a part of the whole: it loses some arrivals on a machine under load, and its own
/// sums and ours fill the gaps otherwise.
const TOLERANCE_OF_GAPS: f64 = 0.005;
/// What shares of functions may differ by: perf counts periods, and here a function has the time before its samples, which comes to
/// less where a clock's interrupt was late and the next one was not.
const TOLERANCE_OF_SAMPLES: f64 = 0.01;
const CLOCK: [&str; 4] = ["-g", "-q", "-e", "cpu-clock"];
const SCHEDULER: [&str; 4] = ["-e", "sched:sched_switch", "-e", "sched:sched_waking"];

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("perf_data::running_times_are_those_of_perf", running_times_are_those_of_perf),
        Case::new("perf_data::shares_of_functions_are_those_of_perf", shares_of_functions_are_those_of_perf),
        Case::new("perf_data::switch_events_tell_of_waits", switch_events_tell_of_waits),
        Case::new("perf_data::a_pipe_is_imported", a_pipe_is_imported),
        Case::new("perf_data::what_is_no_perf_data_is_an_error", what_is_no_perf_data_is_an_error),
    ]
}

/// Runs perf and returns what it prints; skips where it records nothing here.
fn perf(arguments: &[&str]) -> Result<String> {
    needs_recording()?;
    let output = Command::new(needs_program("perf")?).args(arguments).stdin(Stdio::null()).output()?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if arguments.first() == Some(&"record") && !output.status.success() {
        return Err(Skip(format!("perf records nothing here: {}", errors.lines().next().unwrap_or_default())).into());
    }
    ensure!(output.status.success(), "perf {arguments:?}: {errors}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Records the sample `convoy` into `file`.
fn record(file: &str, options: &[&[&str]]) -> Result<()> {
    let program = sample("convoy")?;
    let arguments = [&["record", "-o", file], &options.concat()[..], &["--", &program]].concat();
    perf(&arguments).map(drop)
}

fn import(file: &str, folder: &Path) -> Result<String> {
    let result = folder.join("result").display().to_string();
    let output = run_dwell(&["import", file, "--result-dir", &result])?;
    ensure!(output.status.success(), "{}", output.stderr);
    Ok(result)
}

fn rows(arguments: &[&str]) -> Result<Vec<Value>> {
    let output = run_dwell(&[arguments, &["--format", "json"]].concat())?;
    let answer: Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    answer["rows"].as_array().cloned().context("no rows")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The running time of each thread, ms, as `perf sched timehist` sums it: its first number behind the counts.
fn scheduled(summary: &str) -> Vec<(u64, f64)> {
    let line = |line: &str| {
        let (_, rest) = line.trim().split_once('[')?;
        let (ids, rest) = rest.split_once(']')?;
        let tid = ids.split('/').next()?.parse().ok()?;
        let running_ms = rest.split_whitespace().nth(2)?.parse().ok()?;
        Some((tid, running_ms))
    };
    summary.lines().filter_map(line).collect()
}

/// Threads that left a CPU on which another one had come last: an event is missing there, and perf's sum is a guess.
fn with_missing_events(switches: &str) -> HashSet<u64> {
    let mut on_cpu: HashMap<&str, u64> = HashMap::new();
    let mut found = HashSet::new();
    for line in switches.lines() {
        let number = |name: &str| line.split_once(name)?.1.split_whitespace().next()?.parse::<u64>().ok();
        let cpu = line.split_whitespace().next().unwrap_or_default();
        let (Some(out), Some(next)) = (number("prev_pid="), number("next_pid=")) else { continue };
        if on_cpu.insert(cpu, next).is_some_and(|last| last != out) {
            found.insert(out);
        }
    }
    found
}

fn running_times_are_those_of_perf() -> Result<()> {
    let folder = TempDir::new()?;
    let file = text(&folder.path().join("perf.data"));
    record(&file, &[&["-a"], &CLOCK, &SCHEDULER])?;
    let result = import(&file, folder.path())?;
    let threads = rows(&["report", "threads", &result, "--filter", "process=convoy", "--limit", "1000000"])?;
    let mut expected = scheduled(&perf(&["sched", "timehist", "-s", "-i", &file])?);
    expected.retain(|(tid, _)| threads.iter().any(|thread| thread["tid"].as_u64() == Some(*tid)));
    ensure!(expected.len() > 3, "perf knows of {} threads", expected.len());
    let gaps = with_missing_events(&perf(&["script", "-F", "cpu,event,trace", "-i", &file])?);
    expected.retain(|(tid, _)| !gaps.contains(tid));
    if expected.is_empty() {
        return Err(Skip("perf lost events of every thread".into()).into());
    }
    let whole: f64 = expected.iter().map(|(_, running_ms)| running_ms).sum();
    for (tid, expected_ms) in expected {
        let thread = threads.iter().find(|thread| thread["tid"].as_u64() == Some(tid));
        let Some(thread) = thread else {
            ensure!(expected_ms < whole * TOLERANCE_OF_GAPS, "thread {tid} is missing");
            continue;
        };
        let ms = number(thread, "running_ns")? / 1e6;
        ensure!(
            (ms - expected_ms).abs() <= whole * TOLERANCE_OF_GAPS,
            "thread {tid}: {ms} ms, perf {expected_ms} of {whole}"
        );
    }
    let trace = Trace::read(&ResultFolder::open(Path::new(&result))?)?;
    let woken = trace.off_cpu.waker.iter().filter(|waker| **waker != ThreadId::NONE).count();
    ensure!(woken > 10, "{woken} waits were ended by threads");
    let by_thread = WakerKind::Thread.code();
    ensure!(trace.off_cpu.waker_kind.contains(&by_thread), "no waker is a thread");
    Ok(())
}

/// Share and name of each function, as `perf report` prints them.
fn reported(report: &str) -> Vec<(f64, String)> {
    let line = |line: &str| {
        let (share, rest) = line.trim().split_once('%')?;
        let name = rest.split_once("[.]").or_else(|| rest.split_once("[k]"))?.1;
        // Columns behind the name belong to branch records.
        let name = name.trim().split("  ").next().unwrap_or_default();
        Some((share.parse().ok()?, name.to_owned()))
    };
    report.lines().filter_map(line).collect()
}

fn shares_of_functions_are_those_of_perf() -> Result<()> {
    let folder = TempDir::new()?;
    let file = text(&folder.path().join("perf.data"));
    record(&file, &[&CLOCK])?;
    let report = reported(&perf(&[
        "report",
        "--stdio",
        "--no-children",
        "--sort",
        "dso,symbol",
        "-g",
        "none",
        "--no-inline",
        "-i",
        &file,
    ])?);
    let (share, name) = report.first().context("perf reports nothing")?;
    let result = import(&file, folder.path())?;
    let functions = rows(&["report", "hotspots", &result, "--limit", "1000000", "--inline-mode", "off"])?;
    let whole: f64 = functions.iter().map(|row| number(row, "cpu_ns").unwrap_or(0.0)).sum();
    let same = functions.iter().find(|row| row["function"] == name.as_str()).with_context(|| format!("no {name}"))?;
    let found = number(same, "cpu_ns")? / whole;
    ensure!((found - share / 100.0).abs() <= TOLERANCE_OF_SAMPLES, "{name}: {found} of the whole, perf {share} %");
    let output = run_dwell(&["report", "losses", &result])?;
    ensure!(output.stdout.contains("The file has samples only"), "{}", output.stdout);
    Ok(())
}

fn switch_events_tell_of_waits() -> Result<()> {
    let folder = TempDir::new()?;
    let file = text(&folder.path().join("perf.data"));
    record(&file, &[&CLOCK, &["--switch-events"]])?;
    let result = import(&file, folder.path())?;
    let threads = rows(&["report", "threads", &result])?;
    let sum = |field| threads.iter().map(|row| number(row, field)).sum::<Result<f64>>();
    let (life, waiting) = (sum("lifetime_ns")?, sum("waiting_ns")?);
    ensure!(life == sum("running_ns")? + sum("runnable_ns")? + waiting, "{threads:?}");
    ensure!(waiting > life / 10.0, "threads of a convoy wait: {threads:?}");
    Ok(())
}

fn a_pipe_is_imported() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let (perf, program) = (needs_program("perf")?, sample("convoy")?);
    let file = folder.path().join("piped");
    let options = [&["record", "-o", "-", "-a"], &CLOCK[..], &SCHEDULER, &["--", &program]].concat();
    let recorded = Command::new(perf).args(options).stdout(File::create(&file)?).stderr(Stdio::null()).status()?;
    if !recorded.success() {
        return Err(Skip("perf records nothing here".into()).into());
    }
    let result = folder.path().join("result").display().to_string();
    let dwell = env!("CARGO_BIN_EXE_dwell");
    let output =
        Command::new(dwell).args(["import", "-", "--result-dir", &result]).stdin(File::open(&file)?).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let threads = rows(&["report", "threads", &result, "--filter", "process=convoy"])?;
    ensure!(threads.len() > 3, "{threads:?}");
    for thread in threads.iter().take(3) {
        ensure!(number(thread, "running_ns")? > 0.0 && number(thread, "waiting_ns")? > 0.0, "{thread}");
    }
    Ok(())
}

fn what_is_no_perf_data_is_an_error() -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("perf.data");
    let header = |size: u64| [b"PERFILE2".as_slice(), &size.to_le_bytes(), &[0xff; 300]].concat();
    for bytes in [b"no file of perf".to_vec(), Vec::new(), header(104), header(16), b"2ELIFREP12345678".to_vec()] {
        fs::write(&file, bytes)?;
        refused(&text(&file), folder.path())?;
    }
    for path in ["/no/such/file", "/dev/zero", "/tmp"] {
        refused(path, folder.path())?;
    }
    Ok(())
}

/// The file is refused in one sentence, and no result is left.
fn refused(path: &str, folder: &Path) -> Result<()> {
    let result = folder.join("result");
    let output = run_dwell(&["import", path, "--result-dir", &text(&result)])?;
    ensure!(output.status.code() == Some(1), "{path}: {:?} {}", output.status, output.stderr);
    ensure!(output.stderr.starts_with("error: ") && output.stderr.contains("hint: "), "{path}: {}", output.stderr);
    ensure!(!result.exists(), "{path}: a result is left");
    Ok(())
}
