//! The flight recorder: `--trigger` keeps what is around an outlier as a result of its own, bounded in number, disk and time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{
    Recording, Running, collect, needs_program, needs_recording, number, run_dwell, sample, wait_for,
};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("flight::an_outlier_is_a_result", an_outlier_is_a_result),
        Case::new("flight::what_probes_make_is_watched", what_probes_make_is_watched),
        Case::new("flight::many_outliers_are_few_results", many_outliers_are_few_results),
        Case::new("flight::killed_collector", killed_collector),
        Case::new("flight::results_that_cannot_be_written", results_that_cannot_be_written),
    ]
}

/// Sleeps of 400 ms, each a wait of the shell's, too.
fn sleeps(count: usize) -> String {
    vec!["sleep 0.4"; count].join("; ")
}

/// The results that were kept, in order.
fn kept(result: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(result.join("outliers")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn notices(result: &Path) -> Result<String> {
    let manifest = dwell_store::ResultFolder::open(result)?.manifest()?;
    Ok(manifest.notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Loss counter `name` of a result.
fn loss(recording: &Recording, name: &str) -> Result<f64> {
    let rows = recording.rows(&["losses"])?;
    let row = rows.iter().find(|row| row["loss"].as_str() == Some(name) || row["name"].as_str() == Some(name));
    row.map_or(Ok(0.0), |row| number(row, "count"))
}

/// With a limit of one: one result, which ends soon after its outlier and has it.
fn an_outlier_is_a_result() -> Result<()> {
    let options = ["--trigger", "wait>200ms", "--trigger-limit", "1", "--ring-buffer", "2"];
    let recording = Recording::of(&options, &["sh", "-c", &sleeps(4)])?;
    let results = kept(&recording.path());
    ensure!(results.len() == 1, "{results:?}");
    let path = results[0].display().to_string();
    let said = notices(&results[0])?;
    ensure!(said.contains("Kept because an interval of thread"), "{said}");
    let output = run_dwell(&["report", "waits", &path, "--format", "json", "--include-idle"])?;
    let answer: serde_json::Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    let longest = answer["rows"].as_array().into_iter().flatten().filter_map(|row| row["max_wait_ns"].as_f64());
    ensure!(longest.fold(0.0, f64::max) >= 200e6, "{answer}");
    ensure!(loss(&recording, "outliers_over_limit")? >= 1.0, "three more outliers came than the limit lets through");
    Ok(())
}

/// Visits of a function, from one function to another, and periods.
fn what_probes_make_is_watched() -> Result<()> {
    let (sleeps, convoy) = (sample("sleep")?, sample("convoy")?);
    let asked = [
        (["--task-probe", "polls=uprobe:poll_flag", "--trigger", "interval>50ms"], &sleeps),
        (["--interval", "name=naps,begin=uprobe:take_naps,end=uprobe:poll_flag", "--trigger", "naps>50ms"], &sleeps),
        (["--interval", "period:push_item", "--trigger", "interval>1us"], &convoy),
    ];
    for (options, program) in asked {
        let recording = Recording::of(&options, &[program])?;
        ensure!(!kept(&recording.path()).is_empty(), "{options:?}: {}", recording.output.stderr);
    }
    let others = ["--interval", "name=naps,begin=uprobe:take_naps,end=uprobe:poll_flag", "--trigger", "polls>1us"];
    let recording = Recording::of(&others, &[&sleeps])?;
    ensure!(kept(&recording.path()).is_empty(), "nothing is called polls");
    Ok(())
}

/// A thousand wake-ups a second, each an outlier: as many results as the limit says, and an end.
fn many_outliers_are_few_results() -> Result<()> {
    let program = "import time\nfor _ in range(1500): time.sleep(0.001)";
    let options = ["--trigger", "wait>1us", "--trigger-limit", "3", "--ring-buffer", "1"];
    let recording = Recording::of(&options, &[&needs_program("python3")?, "-c", program])?;
    let results = kept(&recording.path());
    ensure!((1..=3).contains(&results.len()), "{results:?}");
    for result in &results {
        let output = run_dwell(&["report", "summary", &result.display().to_string()])?;
        ensure!(output.code() == 0, "{}", output.stderr);
    }
    Ok(())
}

/// `kill -9` of Dwell: the program goes on, and what was kept can be finalized.
fn killed_collector() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let options = ["--trigger", "wait>200ms"];
    let mark = folder.path().join("survived");
    let script = format!("{}; touch \"$0\"", sleeps(8));
    let command = ["sh", "-c", &script, &mark.display().to_string()];
    let running = Running::start(&mut collect(folder.path(), &options, &command))?;
    let manifest = folder.path().join("result/outliers/0000/manifest.json");
    wait_for("an outlier's result", || manifest.exists().then_some(()))?;
    running.signal(Signal::KILL)?;
    ensure!(running.finish()?.code() == 137);
    let result = folder.path().join("result/outliers/0000").display().to_string();
    let output = run_dwell(&["finalize", &result])?;
    ensure!(output.code() == 0, "{}", output.stderr);
    let shown = run_dwell(&["report", "threads", &result])?;
    ensure!(shown.code() == 0 && shown.stdout.contains("sleep"), "{}{}", shown.stdout, shown.stderr);
    wait_for("the program to reach its end", || mark.exists().then_some(()))?;
    Ok(())
}

/// A folder that nothing can be made in: outliers are counted as not kept, and the recording goes on to its end.
fn results_that_cannot_be_written() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let blocked = folder.path().join("result/outliers");
    let script = format!("sleep 0.1; echo no folder > \"$0\"; {}", sleeps(3));
    let command = ["sh", "-c", &script, &blocked.display().to_string()];
    let output = Running::start(&mut collect(folder.path(), &["--trigger", "wait>200ms"], &command))?;
    let output = output.finish()?;
    ensure!(output.stderr.contains("Not every outlier could be kept"), "{}", output.stderr);
    let recording = Recording::in_folder(folder, output)?;
    ensure!(loss(&recording, "outliers_not_kept")? >= 1.0);
    Ok(())
}
