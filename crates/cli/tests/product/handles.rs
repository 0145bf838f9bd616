//! Handles: an answer's short names are what the next question takes, in every answer about one result.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::Case;
use crate::recording::{Recording, number, run_dwell, sample, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("handles::questions_take_what_answers_have", questions_take_what_answers_have),
        Case::new("handles::stay_whatever_is_asked", stay_whatever_is_asked),
        Case::new("handles::show_one_thing_whole", show_one_thing_whole),
        Case::new("handles::of_nothing_are_refused", of_nothing_are_refused),
    ]
}

fn convoy() -> Result<Recording> {
    Recording::of(&["--analyze", "latency"], &[&sample("convoy")?])
}

/// The rows of a report.
fn rows(result: &Path, words: &[&str]) -> Result<Vec<Value>> {
    let path = result.display().to_string();
    let all = [&["report", &path, "--format=json"], words].concat();
    let output = run_dwell(&all)?;
    let answer: Value =
        serde_json::from_str(&output.stdout).with_context(|| format!("{words:?}: {}", output.stderr))?;
    Ok(answer["rows"].as_array().context("no rows")?.clone())
}

fn row_of<'a>(rows: &'a [Value], column: &str, value: &str) -> Result<&'a Value> {
    rows.iter().find(|row| text(row, column) == value).with_context(|| format!("no row has {column} {value}"))
}

fn questions_take_what_answers_have() -> Result<()> {
    let recording = convoy()?;
    let result = recording.path();
    let of = |words: &[&str]| rows(&result, words);
    let waits = of(&["waits"])?;
    let lock = row_of(&waits, "object", "queue_lock")?;
    let handle = text(lock, "handle");
    ensure!(handle.starts_with('w'), "{lock}");

    let by_handle = of(&["waits", &format!("--filter=object={handle}")])?;
    ensure!(by_handle.len() == 1 && number(&by_handle[0], "wait_ns")? == number(lock, "wait_ns")?, "{by_handle:?}");
    let others = of(&["waits", &format!("--exclude=object={handle}")])?;
    ensure!(others.len() + 1 == waits.len(), "{others:?}");
    ensure!(of(&["blame", handle])? == of(&["blame", "queue_lock"])?, "blame {handle} is not blame queue_lock");
    ensure!(of(&["explain", "--for", handle])? == of(&["explain", "--for", "queue_lock"])?, "explain --for {handle}");
    let causes = of(&["explain"])?;
    row_of(&causes, "handle", handle)?;

    let threads = of(&["threads"])?;
    let worker = row_of(&threads, "name", "worker-1")?;
    let thread = text(worker, "handle");
    let by_thread = of(&["threads", &format!("--filter=thread={thread}")])?;
    ensure!(by_thread.len() == 1 && by_thread[0]["tid"] == worker["tid"], "{by_thread:?}");
    ensure!(!of(&["explain", "--for", thread])?.is_empty(), "nothing is explained for {thread}");

    let latency = of(&["latency"])?;
    let worst = latency.iter().filter_map(|row| row["worst"].as_array()).flatten().next().context("no outlier")?;
    let (outlier, id) = (text(worst, "handle"), text(worst, "id"));
    ensure!(of(&["outlier", outlier])? == of(&["outlier", id])?, "outlier {outlier} is not outlier {id}");
    Ok(())
}

fn stay_whatever_is_asked() -> Result<()> {
    let recording = convoy()?;
    let result = recording.path();
    let of = |words: &[&str]| rows(&result, words);
    let all = of(&["waits"])?;
    for words in [&["waits", "--filter=thread=worker-2"][..], &["waits", "--time-range=50ms-"], &["waits", "--limit=2"]]
    {
        let some = of(words)?;
        ensure!(!some.is_empty(), "{words:?} shows nothing");
        for row in &some {
            ensure!(row_of(&all, "object", text(row, "object"))?["handle"] == row["handle"], "{words:?}: {row}");
        }
    }
    let nested = of(&["waits", "--group-by=thread,object"])?;
    let threads = of(&["threads", "--filter=object=queue_lock"])?;
    for row in &threads {
        let named = format!("{} ({})", text(row, "name"), row["tid"]);
        ensure!(row_of(&nested, "name", &named)?["handle"] == row["handle"], "{row}");
    }
    Ok(())
}

fn show_one_thing_whole() -> Result<()> {
    let recording = convoy()?;
    let result = recording.path();
    for (report, column) in [("waits", "object"), ("threads", "name"), ("findings", "title")] {
        let all = rows(&result, &[report])?;
        for row in &all {
            let handle = text(row, "handle");
            ensure!(rows(&result, &[report, handle])? == [row.clone()], "{report} {handle} is not its row");
            ensure!(rows(&result, &[handle])? == [row.clone()], "{handle} is not its row");
            let shown = run_dwell(&["report", &result.display().to_string(), handle])?.stdout;
            ensure!(shown.contains(text(row, column)), "{handle} as text: {shown}");
        }
        ensure!(!all.is_empty() || report == "findings", "no {report}");
    }
    let latency = rows(&result, &["latency"])?;
    let worst = latency.iter().filter_map(|row| row["worst"].as_array()).flatten().next().context("no outlier")?;
    let outlier = text(worst, "handle");
    let story = rows(&result, &["outlier", outlier])?;
    ensure!(rows(&result, &["latency", outlier])? == story && rows(&result, &[outlier])? == story, "{outlier}");
    Ok(())
}

fn of_nothing_are_refused() -> Result<()> {
    let recording = convoy()?;
    let path = recording.path().display().to_string();
    let refused = [
        (&["report", "waits", "--filter=object=w999"][..], "there is no object `w999`", "dwell report waits"),
        (&["report", "waits", "--exclude=object=w999"], "there is no object `w999`", "dwell report waits"),
        (&["report", "blame", "w999"], "there is no object `w999`", "dwell report waits"),
        (&["report", "threads", "--filter=thread=t999"], "there is no thread `t999`", "dwell report threads"),
        (&["report", "waits", "w999"], "there is no object `w999`", "dwell report waits"),
        (&["report", "t999"], "there is no thread `t999`", "dwell report threads"),
        (&["report", "findings", "f999"], "there is no finding `f999`", "dwell report findings"),
        (&["report", "waits", "t0"], "`t0` is the handle of nothing that waits shows", "dwell report threads t0"),
        (&["report", "explain", "--for=t999"], "there is no thread `t999`", "dwell report threads"),
        (&["compare", &path, "--filter=object=w0"], "`w0` is the handle of a row of one result", "filter by the name"),
    ];
    for (words, sentence, hint) in refused {
        let output = run_dwell(&[words, &[&path]].concat())?;
        let told = &output.stderr;
        ensure!(
            !output.status.success() && told.contains(sentence) && told.contains(&format!("hint: {hint}")),
            "{words:?}: {told}"
        );
    }
    Ok(())
}
