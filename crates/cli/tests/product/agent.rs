//! `dwell agent`: rows of time in the store of a fleet, beside programs that know how long they waited.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, dwell, needs_recording, number, run_dwell, sample, text, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("agent::rows_have_every_wait", rows_have_every_wait),
        Case::new("agent::killed_it_leaves_whole_files", killed_it_leaves_whole_files),
        Case::new("agent::a_store_that_cannot_be_written", a_store_that_cannot_be_written),
    ]
}

/// An agent with such rows.
fn agent(store: &Path, row: &str) -> Result<Running> {
    let store = store.display().to_string();
    Running::start(&mut dwell(&["agent", "--store", &store, "--row", row, "--host", "web-1"]))
}

/// The files of a store, those that are half written, too.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

pub fn is_whole(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "parquet")
}

/// One row of a file.
pub struct FleetRow {
    pub service: String,
    cells: Vec<(String, Field)>,
}

impl FleetRow {
    pub fn text(&self, column: &str) -> String {
        match self.cell(column) {
            Some(Field::Str(text)) => text.clone(),
            other => format!("{other:?}"),
        }
    }

    pub fn number(&self, column: &str) -> f64 {
        match self.cell(column) {
            Some(Field::Long(number)) => *number as f64,
            _ => f64::NAN,
        }
    }

    fn cell(&self, column: &str) -> Option<&Field> {
        self.cells.iter().find(|(name, _)| name == column).map(|(_, cell)| cell)
    }
}

/// All rows of all files; fails where one is no table.
pub fn rows(store: &Path) -> Result<Vec<FleetRow>> {
    let mut rows = Vec::new();
    for file in files(store).into_iter().filter(|file| is_whole(file)) {
        let folder = file.parent().and_then(Path::file_name).context("no folder")?.to_string_lossy().into_owned();
        let service = folder.strip_prefix("service=").with_context(|| folder.clone())?.to_owned();
        for row in SerializedFileReader::new(File::open(&file)?)?.get_row_iter(None)? {
            let row = row.with_context(|| file.display().to_string())?;
            let cells = row.into_columns();
            rows.push(FleetRow { service: service.clone(), cells });
        }
    }
    Ok(rows)
}

fn sum(rows: &[FleetRow], process: &str, kind: &str, column: &str) -> f64 {
    let of_process = rows.iter().filter(|row| row.text("process") == process && row.text("kind") == kind);
    of_process.map(|row| row.number(column)).sum()
}

/// Against what the program and `dwell collect` say of the same run.
fn rows_have_every_wait() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let store = folder.path().join("fleet");
    let agent = agent(&store, "1s")?;
    wait_for("a row", || files(&store).iter().any(|file| is_whole(file)).then_some(()))?;
    let recorded = Recording::of(&[], &[&sample("convoy")?])?;
    let has_convoy = |rows: Vec<_>| rows.iter().any(|row: &FleetRow| row.text("process") == "convoy");
    wait_for("a row of convoy while the agent runs", || rows(&store).is_ok_and(has_convoy).then_some(()))?;
    let _late = Running::start(std::process::Command::new("sleep").arg("60"))?;
    sleep(Duration::from_millis(200));
    agent.signal(Signal::TERM)?;
    let output = agent.finish()?;
    ensure!(output.code() == 0 && output.stderr.contains("files written to"), "{} {}", output.code(), output.stderr);

    let rows = rows(&store)?;
    let waits = recorded.rows(&["waits"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "queue_lock").context("no lock")?;
    let (wanted, shown) = (number(lock, "wait_ns")?, sum(&rows, "convoy", "lock", "wait_ns"));
    ensure!((shown / wanted - 1.0).abs() < 0.05, "{shown} ns in locks, and collect has {wanted}");
    let (wanted, shown) = (number(lock, "wait_count")?, sum(&rows, "convoy", "lock", "waits"));
    ensure!((shown / wanted - 1.0).abs() < 0.05, "{shown} waits for locks, and collect has {wanted}");
    let threads = recorded.rows(&["threads"])?;
    let wanted = threads.iter().map(|row| number(row, "running_ns")).sum::<Result<f64>>()?;
    let shown = sum(&rows, "convoy", "cpu", "running_ns");
    // The agent has the time of the program before its first instruction, too.
    ensure!(shown >= wanted * 0.95 && shown <= wanted + 1e8, "{shown} ns running, and collect has {wanted}");
    ensure!(sum(&rows, "sleep", "sleep", "wait_ns") > 1.5e8, "SIGTERM writes what goes on");
    for row in &rows {
        ensure!(row.text("host") == "web-1" && !row.service.is_empty(), "{}", row.text("host"));
        let (length_ns, t) = (row.number("length_ns"), row.number("t"));
        // Beside a collection that begins, a row may end at a later second.
        ensure!(length_ns > 0.0 && length_ns < 4.5e9, "a row of {length_ns} ns");
        ensure!(t > 1.7e18 && row.number("longest_ns") >= 0.0, "a row at {t}");
        ensure!(row.text("kind") != "lost", "{} waits are lost", row.number("waits"));
    }
    Ok(())
}

fn killed_it_leaves_whole_files() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let agent = agent(folder.path(), "20ms")?;
    wait_for("some rows", || (files(folder.path()).len() > 20).then_some(()))?;
    agent.signal(Signal::KILL)?;
    let output = agent.finish()?;
    ensure!(output.code() == 137, "{}", output.code());
    // What was half written has no name of a table.
    ensure!(!rows(folder.path())?.is_empty(), "no rows");
    let partial = files(folder.path()).into_iter().filter(|file| !is_whole(file)).count();
    ensure!(partial <= 1, "{partial} files are half written");
    Ok(())
}

fn a_store_that_cannot_be_written() -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("file");
    fs::write(&file, "")?;
    let output = run_dwell(&["agent", "--store", &file.display().to_string()])?;
    ensure!(output.code() == 1 && output.stderr.contains("cannot be written"), "{}", output.stderr);
    ensure!(output.stderr.contains("hint: --store names"), "{}", output.stderr);
    needs_recording()?;
    let store = folder.path().join("fleet");
    let buffer = folder.path().join("buffer").display().to_string();
    let words = ["agent", "--store", &store.display().to_string(), "--row", "1s", "--buffer", &buffer];
    let agent = Running::start(&mut dwell(&words))?;
    wait_for("a row", || files(&store).iter().any(|file| is_whole(file)).then_some(()))?;
    // The agent may write into it meanwhile.
    wait_for("an end of the store", || {
        let _ = fs::remove_dir_all(&store);
        (!store.exists()).then_some(())
    })?;
    sleep(Duration::from_millis(1_500));
    agent.signal(Signal::INT)?;
    let output = agent.finish()?;
    ensure!(output.code() == 1 && output.stderr.contains("files could not be written"), "{}", output.stderr);
    ensure!(output.stderr.contains("hint: start the agent again with the same --store"), "{}", output.stderr);
    ensure!(!store.exists() && output.stderr.contains("is away, and files wait in"), "{}", output.stderr);
    // The next one writes them.
    let waiting = files(Path::new(&buffer)).len();
    ensure!(waiting > 0, "nothing waits");
    fs::create_dir(&store)?;
    let output = run_dwell(&[&words[..], &["--duration", "1s"]].concat())?;
    ensure!(output.code() == 0 && files(Path::new(&buffer)).is_empty(), "{}", output.stderr);
    ensure!(files(&store).len() > waiting, "{waiting} waited, and {} are there", files(&store).len());
    rows(&store)?;
    Ok(())
}
