//! Several collections side by side for hours, under a load that makes and drops whatever a collector could remember, while
//! process ids come round. None may grow, and all must end in a whole result.
//!
//! `DWELL_SOAK=2h` runs so long, takes a note each minute, judges them and writes docs/soak.md (`make soak`); `DWELL_SOAK=again`
//! judges what is kept of the last run. Without it a short form runs, which judges all but memory.

mod judge;
mod notes;
mod page;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use self::judge::Course;
use self::notes::{Ids, Note};
use crate::conservation;
use crate::harness::Case;
use crate::recording::{Output, Recording, Running, dwell, needs_recording, sample, text};

/// The collections, each with a load of its own.
const COLLECTIONS: [(&str, &[&str]); 4] = [
    ("plain", &["--no-itt"]),
    ("ring-buffer", &["--ring-buffer", "30"]),
    ("trigger", &["--analyze", "latency", "--trigger", "slow>20ms", "--trigger-limit", "1"]),
    ("itt", &["--analyze", "sockets,system"]),
];
/// What replaces these in the short form, for the same to happen sooner.
const SOONER: [(&str, &str); 2] = [("30", "5"), ("1", "60")];
/// How long the short form runs.
const SHORT: Duration = Duration::from_secs(25);
/// Notes are taken so often.
const NOTES_APART: Duration = Duration::from_secs(60);
/// How often in the short form.
const SHORT_NOTES: u32 = 12;
/// What a collection may take to end beyond its program.
const TO_END: Duration = Duration::from_secs(300);
/// What finalization, or the first report, of a long recording may take.
const TO_ANSWER: Duration = Duration::from_secs(3600);
const NOTES: &str = "notes.csv";
const REPORTS: [&str; 4] = ["waits", "threads", "hotspots", "losses"];

/// How a collection ended.
pub struct Ended {
    pub name: &'static str,
    /// Switches and samples.
    pub events: u64,
    /// What was lost, and when.
    pub losses: Vec<String>,
}

pub fn cases() -> Vec<Case> {
    let side_by_side = match std::env::var("DWELL_SOAK") {
        Ok(length) => Case::new("soak::long", move || long(&length)),
        Err(_) => Case::new("soak::side_by_side", short),
    };
    vec![Case::new("soak::judgement", judge::check_itself), side_by_side]
}

fn short() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    run(folder.path(), SHORT)?;
    let notes = notes::read(&folder.path().join(NOTES))?;
    let (_, mut wrong) = finish(folder.path())?;
    wrong.extend(faults(&notes));
    let outliers = fs::read_dir(folder.path().join("trigger/result/outliers"))?.count();
    ensure!(outliers >= 3, "{outliers} outliers were kept");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// `DWELL_SOAK`.
fn long(text: &str) -> Result<()> {
    needs_recording()?;
    let folder = Path::new(env!("CARGO_BIN_EXE_dwell")).parent().context("no folder")?.join("soak");
    fs::create_dir_all(&folder)?;
    if text != "again" {
        run(&folder, length(text)?)?;
    }
    let notes = notes::read(&folder.join(NOTES))?;
    let (ended, mut wrong) = finish(&folder)?;
    wrong.extend(faults(&notes));
    page::write(&notes, &ended)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// `2h`, `10m` or `30s`.
fn length(text: &str) -> Result<Duration> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let seconds = match &text[number.len()..] {
        "h" => 3600,
        "m" => 60,
        "s" => 1,
        unit => anyhow::bail!("{text}: `{unit}` is none of h, m and s"),
    };
    Ok(Duration::from_secs(number.parse::<u64>().with_context(|| format!("{text} is no length"))? * seconds))
}

/// Runs the collections to the end of their programs, with notes in `folder`.
fn run(folder: &Path, length: Duration) -> Result<()> {
    // Another build may replace the program meanwhile.
    let dwell = folder.join("dwell");
    fs::copy(env!("CARGO_BIN_EXE_dwell"), &dwell)?;
    let begun = Instant::now();
    let mut running = Vec::new();
    for (name, options) in COLLECTIONS {
        running.push((name, start(&dwell, &folder.join(name), options, length)?));
    }
    take_notes(folder, &running, begun, length)?;
    for (name, collection) in running {
        let Output { status, stderr, .. } = collection.finish_within(TO_END)?;
        ensure!(status.success(), "{name}: {status}\n{stderr}");
    }
    Ok(())
}

fn start(dwell: &Path, folder: &Path, options: &[&str], length: Duration) -> Result<Running> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let options = options.iter().map(|option| if length <= SHORT { sooner(option) } else { option });
    let mut command = Command::new(dwell);
    command.args(["collect", "threading", "--quiet", "--finalization-mode", "none", "--result-dir", "result"]);
    command.args(options).args(["--", &sample("mixed_load")?, &length.as_secs().to_string()]).current_dir(folder);
    Running::start(&mut command)
}

fn sooner(option: &str) -> &str {
    SOONER.iter().find(|(later, _)| *later == option).map_or(option, |(_, sooner)| sooner)
}

/// Takes notes until shortly before the programs end.
fn take_notes(folder: &Path, running: &[(&str, Running)], begun: Instant, length: Duration) -> Result<()> {
    let every = NOTES_APART.min(length / SHORT_NOTES);
    let (mut notes, mut ids, mut due) = (Vec::new(), Ids::default(), every);
    while due + Duration::from_secs(1) < length {
        ids.look()?;
        if begun.elapsed() >= due {
            for (name, collection) in running {
                let note = Note::of(name, collection.pid(), &folder.join(name).join("result"))?;
                notes.push(Note { at_s: begun.elapsed().as_secs(), ids_wrapped: ids.wrapped, ..note });
            }
            notes::write(&folder.join(NOTES), &notes)?;
            due += every;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// What grew.
fn faults(notes: &[Note]) -> Vec<String> {
    let of_collection = |(name, options): &(&str, &[&str])| {
        let course = Course::of(notes, name);
        let is_bounded = options.contains(&"--ring-buffer");
        let faults = course.faults().into_iter().chain(is_bounded.then(|| course.disk_fault()).flatten());
        faults.map(|fault| format!("{name}: {fault}")).collect::<Vec<_>>()
    };
    COLLECTIONS.iter().flat_map(of_collection).collect()
}

/// Finalizes the results in `folder` and asks them. Returns what is wrong, too.
fn finish(folder: &Path) -> Result<(Vec<Ended>, Vec<String>)> {
    let (mut ended, mut wrong) = (Vec::new(), Vec::new());
    for (name, _) in COLLECTIONS {
        let result = folder.join(name).join("result");
        // `again` may find it as the last time left it.
        let is_finalized = dwell_store::ResultFolder::open(&result)?.manifest()?.state == dwell_store::State::Finalized;
        let words: &[&str] = if is_finalized { &["report", "summary"] } else { &["finalize", "--quiet"] };
        let output = answer(words, &result)?;
        ensure!(output.status.success(), "{name}: {}", output.stderr);
        for report in REPORTS {
            let output = answer(&["report", report], &result)?;
            ensure!(output.status.success() && !output.stdout.is_empty(), "{name}: {report}: {}", output.stderr);
        }
        let recording = Recording::kept(result, output)?;
        wrong.extend(conservation::of_parts(&recording)?.into_iter().map(|fault| format!("{name}: {fault}")));
        wrong.extend(too_much_forgotten(&recording)?.into_iter().map(|fault| format!("{name}: {fault}")));
        ended.push(Ended { name, events: events(&recording.path())?, losses: losses(&recording)? });
    }
    Ok((ended, wrong))
}

fn answer(words: &[&str], result: &Path) -> Result<Output> {
    Running::start(dwell(words).arg(result))?.finish_within(TO_ANSWER)
}

fn events(result: &Path) -> Result<u64> {
    Ok(dwell_store::ResultFolder::open(result)?.manifest()?.events)
}

/// What events of the result name must be described there.
fn too_much_forgotten(recording: &Recording) -> Result<Option<String>> {
    let summary = recording.report(&["summary"])?;
    let (lost, threads) = (&summary["losses"], summary["threads"].as_f64().unwrap_or(0.0));
    let of = |name: &str| lost[name].as_f64().unwrap_or(0.0);
    let count = of("threads_made_up") + of("stacks_missing") + of("spool_bytes_lost");
    // A switch that no hook saw can be dated before its thread's birth.
    Ok((count > 5.0 + 0.01 * threads).then(|| format!("too much was forgotten: {lost}")))
}

/// Each with its time.
fn losses(recording: &Recording) -> Result<Vec<String>> {
    let seconds = |row: &Value, field: &str| row[field].as_f64().map(|ns| format!("{:.0} s", ns / 1e9));
    let told = |row: &Value| {
        let when = seconds(row, "from_ns").zip(seconds(row, "to_ns"));
        let when = when.map_or_else(String::new, |(from, until)| format!(" ({from} to {until})"));
        format!("{} {}{when}", text(row, "loss"), row["count"])
    };
    Ok(recording.rows(&["losses"])?.iter().map(told).collect())
}
