//! Locks: calls that blocked, wake-ups for nothing and times to acquire as a program itself counts them, and where locks were
//! created.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, collect, needs_recording, number, root, sample, text, wait_for};
use crate::top::{HELD, build};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("locks::futile_wakeups", || futile_wakeups(0)),
        Case::new("locks::futile_wakeups_beside_busy_loops", || futile_wakeups(3)),
        Case::new("locks::creation_sites", creation_sites),
        Case::new("locks::programs_that_create_without_end_are_left_alone", created_without_end),
        Case::new("locks::without_bpf_neither_is_told", without_bpf),
        Case::new("locks::held_since_before", || held_since_before("bpf")),
        Case::new("locks::held_since_before_without_bpf", || held_since_before("perf")),
    ]
}

/// Share of a lock's waits by which the calls and the wake-ups for nothing may be wrong: they are estimated where a call's
/// registers do not tell. A call that began before the collection, or a page fault in it, is one more.
const WRONG: f64 = 0.03;
const FLOOR: f64 = 3.0;
/// What a call takes before its first wait and after its last one, with Dwell's hooks: it is the program's time to acquire, not
/// Dwell's. The percentile of a few calls is one call or the next.
const AROUND_NS: f64 = 60_000.0;
const AROUND: f64 = 0.25;

fn futile_wakeups(loops: usize) -> Result<()> {
    let mut busy = Vec::new();
    for _ in 0..loops {
        busy.push(Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))?);
    }
    let recording = Recording::of(&[], &[&sample("futile_wakeups")?])?;
    drop(busy);
    let rows = recording.rows(&["waits"])?;
    for lock in ["grabbed_lock", "shared_lock", "paired_lock", "moment_lock"] {
        let truth = |what: &str| {
            let value = recording.output.truth(&format!("{lock}_{what}"));
            value.with_context(|| format!("the sample printed no {what} of {lock}"))
        };
        if truth("acquisitions")? < 1.0 {
            continue;
        }
        let row = rows.iter().find(|row| text(row, "object") == lock).with_context(|| format!("no row {lock}"))?;
        let slack = WRONG * truth("waits")? + FLOOR;
        for (column, what) in [("acquisitions", "acquisitions"), ("futile_wakeups", "futile")] {
            let (told, true_) = (number(row, column)?, truth(what)?);
            ensure!((told - true_).abs() <= slack, "{lock}: {column} are {told}, counted {true_} (within {slack:.0})");
        }
        let (told, true_) = (number(row, "acquire_p50_ns")?, truth("acquire_p50_ns")?);
        ensure!(
            (told - true_).abs() <= AROUND * true_ + AROUND_NS,
            "{lock}: half of the acquisitions took up to {told} ns, measured {true_} ns"
        );
    }
    Ok(())
}

/// `creation_sites.c:LINE` of each line of the sample that says a mark.
fn marks() -> Result<BTreeMap<String, String>> {
    let source = fs::read_to_string(root().join("samples/creation_sites.c"))?;
    let lines = source.lines().enumerate();
    let marked = lines.filter_map(|(line, text)| {
        let mark = text.split_once("/* ")?.1.strip_suffix(" */")?;
        Some((mark.to_owned(), format!("creation_sites.c:{})", line + 1)))
    });
    Ok(marked.collect())
}

fn creation_sites() -> Result<()> {
    let recording = Recording::of(&[], &[&sample("creation_sites")?])?;
    let (rows, marks) = (recording.rows(&["waits"])?, marks()?);
    for (kind, mark) in
        [("semaphore", "SEMAPHORE"), ("condition-variable", "CONDITION"), ("rwlock", "TABLE"), ("barrier", "BARRIER")]
    {
        let line = marks.get(mark).context("no such mark")?;
        let of_kind: Vec<&Value> = rows.iter().filter(|row| text(row, "type") == kind).collect();
        ensure!(of_kind.len() == 4, "{} objects of type {kind}", of_kind.len());
        for row in of_kind {
            let place = text(row, "created_at");
            ensure!(
                place.starts_with("make_locks (") && place.ends_with(line),
                "{kind} was created at {place}, not {line}"
            );
        }
    }
    let mutexes = rows.iter().filter(|row| text(row, "type") == "mutex");
    let line = marks.get("MUTEX").context("no such mark")?;
    let at_line = mutexes.filter(|row| text(row, "created_at").ends_with(line)).count();
    ensure!(at_line == 4, "{at_line} mutexes were created at {line}");
    Ok(())
}

/// A million of them take the program less than a second more, most of it in the first moments.
fn created_without_end() -> Result<()> {
    let recording = Recording::of(&[], &[&sample("creation_sites")?, "1000000"])?;
    let took_ns = recording.output.truth("many_ns").context("the sample printed no time")?;
    ensure!(took_ns < 1e9, "a million mutexes took {took_ns} ns");
    let losses = recording.rows(&["losses"])?;
    ensure!(losses.iter().any(|row| text(row, "loss") == "creations_lost"), "no loss is counted: {losses:?}");
    let barriers = recording.rows(&["waits"])?.into_iter().filter(|row| text(row, "type") == "barrier");
    ensure!(barriers.into_iter().all(|row| !text(&row, "created_at").is_empty()), "what came before is not known");
    Ok(())
}

fn without_bpf() -> Result<()> {
    let recording = Recording::of(&["--source", "perf"], &[&sample("creation_sites")?])?;
    for row in recording.rows(&["waits"])? {
        for column in ["created_at", "acquisitions", "futile_wakeups", "acquire_p50_ns"] {
            ensure!(row[column].is_null(), "{column} is {} without BPF", row[column]);
        }
    }
    Ok(())
}

/// Who attaches to a program that stands is told who has the lock, since when nobody was looking.
fn held_since_before(source: &str) -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = Running::start(&mut Command::new(build(folder.path(), "boss", HELD)?))?;
    let pid = program.pid().to_string();
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).ok().map(Iterator::count);
    wait_for("the workers", || threads().filter(|threads| *threads == 4))?;
    let options = ["--target-pid", &pid, "--duration", "1s", "--source", source];
    let output = Running::start(&mut collect(folder.path(), &options, &[]))?.finish()?;
    let recording = Recording::in_folder(folder, output)?;
    let causes = recording.rows(&["explain"])?;
    let first = causes.first().context("no cause")?;
    ensure!(text(first, "who").contains("boss") && text(first, "kind") == "slept", "{first}");
    ensure!(number(first, "wait_ns")? > 2.5e9, "three workers waited for a second: {first}");
    Ok(())
}
