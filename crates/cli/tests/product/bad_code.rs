//! Programs whose files are damaged, odd or gone: they run on unharmed, recording and finalizing end in bounded time, and
//! what is missing is counted.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dwell_store::ResultFolder;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, Running, collect, needs_program, needs_recording, sample};

/// A recording of a second's program, on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);
/// Where an ELF header says where the section headers lie, how large one is and how many there are.
const SECTION_OFFSET: u64 = 0x28;
const SECTION_SIZE: u64 = 0x3a;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("bad_code::noise_for_eh_frame", || damaged_frames(|at| (at * at % 251) as u8, true)),
        Case::new("bad_code::lengths_beyond_eh_frame", || {
            damaged_frames(|at| if at % 8 == 3 { 0x7f } else { 0xf0 }, true)
        }),
        Case::new("bad_code::zeros_for_eh_frame", || damaged_frames(|_| 0, false)),
        Case::new("bad_code::sections_cut_off", sections_cut_off),
        Case::new("bad_code::two_gigabytes", two_gigabytes),
        Case::new("bad_code::debug_information_that_claims_gigabytes", debug_information_that_claims_gigabytes),
        Case::new("bad_code::replaced_while_running", replaced_while_running),
        Case::new("bad_code::deleted_while_running", deleted_while_running),
    ]
}

/// A copy of a sample that can be changed.
fn copy(folder: &TempDir, name: &str) -> Result<PathBuf> {
    let copy = folder.path().join(name);
    fs::copy(sample(name)?, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    Ok(copy)
}

/// Records `program`, which is to end well and soon.
fn record(program: &Path) -> Result<Recording> {
    let begun = Instant::now();
    let recording = Recording::of(&[], &[&program.display().to_string()])?;
    ensure!(recording.output.code() == 0, "status {}\n{}", recording.output.code(), recording.output.stderr);
    ensure!(recording.output.truth("rusage_ns").is_some(), "the program did not come to its end");
    ensure!(begun.elapsed() < LIMIT, "it took {:?}", begun.elapsed());
    Ok(recording)
}

fn loss(recording: &Recording, names: &[&str]) -> Result<f64> {
    let summary = recording.report(&["summary"])?;
    Ok(names.iter().filter_map(|name| summary["losses"][*name].as_f64()).sum())
}

/// The program's call frame information is overwritten with `byte`, by position.
fn damaged_frames(byte: impl Fn(usize) -> u8, counted: bool) -> Result<()> {
    needs_recording()?;
    let objcopy = needs_program("objcopy")?;
    let folder = TempDir::new()?;
    let (program, section) = (copy(&folder, "convoy")?, folder.path().join("section"));
    let run = |option: &str| {
        let option = format!("{option}=.eh_frame={}", section.display());
        let done = Command::new(&objcopy).arg(option).arg(&program).output()?;
        ensure!(done.status.success(), "objcopy: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    };
    run("--dump-section")?;
    let damaged: Vec<u8> = (0..fs::read(&section)?.len()).map(byte).collect();
    fs::write(&section, damaged)?;
    run("--update-section")?;
    let recording = record(&program)?;
    let lost = loss(&recording, &["unwind_entries", "unwind_files_without_table"])?;
    ensure!(!counted || lost > 0.0, "no loss was counted: {}", recording.report(&["losses"])?);
    Ok(())
}

/// The file ends where its section headers would begin.
fn sections_cut_off() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = copy(&folder, "convoy")?;
    let file = OpenOptions::new().read(true).write(true).open(&program)?;
    let mut offset = [0; 8];
    file.read_exact_at(&mut offset, SECTION_OFFSET)?;
    file.set_len(u64::from_le_bytes(offset))?;
    drop(file);
    let recording = record(&program)?;
    ensure!(
        loss(&recording, &["unwind_files_without_table"])? > 0.0,
        "not counted: {}",
        recording.report(&["losses"])?
    );
    let notes = recording.report(&["losses"])?["notes"].to_string();
    ensure!(notes.contains(&program.display().to_string()), "no notice names the file: {notes}");
    Ok(())
}

/// The section headers of a program, and the size of one.
fn section_headers(file: &File) -> Result<(Vec<u8>, usize)> {
    let (mut offset, mut sizes) = ([0; 8], [0; 4]);
    file.read_exact_at(&mut offset, SECTION_OFFSET)?;
    file.read_exact_at(&mut sizes, SECTION_SIZE)?;
    let [size, size_high, count, count_high] = sizes;
    let size = usize::from(u16::from_le_bytes([size, size_high]));
    let mut headers = vec![0; size * usize::from(u16::from_le_bytes([count, count_high]))];
    file.read_exact_at(&mut headers, u64::from_le_bytes(offset))?;
    Ok((headers, size))
}

/// Compressed debug information says that it has 8 GiB: it is not expanded, and names come from the symbol table.
fn debug_information_that_claims_gigabytes() -> Result<()> {
    const COMPRESSED: u64 = 0x800; // SHF_COMPRESSED: its header has the size at 8
    needs_recording()?;
    let objcopy = needs_program("objcopy")?;
    let folder = TempDir::new()?;
    let program = copy(&folder, "convoy")?;
    let done = Command::new(objcopy).arg("--compress-debug-sections=zlib").arg(&program).output()?;
    ensure!(done.status.success(), "objcopy: {}", String::from_utf8_lossy(&done.stderr));
    let file = OpenOptions::new().read(true).write(true).open(&program)?;
    let (headers, size) = section_headers(&file)?;
    let word = |header: &[u8], at: usize| header[at..at + 8].try_into().map(u64::from_le_bytes);
    let mut changed = 0;
    for header in headers.chunks_exact(size) {
        if word(header, 8)? & COMPRESSED != 0 {
            file.write_all_at(&(8_u64 << 30).to_le_bytes(), word(header, 24)? + 8)?;
            changed += 1;
        }
    }
    ensure!(changed > 0, "no section is compressed");
    drop(file);
    let recording = record(&program)?;
    let waits = recording.report(&["waits"])?;
    let shown = waits.to_string();
    ensure!(shown.contains("queue_lock") && shown.contains("push_item"), "no names: {shown}");
    let notes = recording.report(&["losses"])?["notes"].to_string();
    ensure!(notes.contains("without source lines"), "nothing says why there are no lines: {notes}");
    Ok(())
}

/// Two gigabytes of nothing, and the section headers behind them.
fn two_gigabytes() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = copy(&folder, "convoy")?;
    let file = OpenOptions::new().read(true).write(true).open(&program)?;
    let (headers, _) = section_headers(&file)?;
    file.write_all_at(&headers, 2 << 30)?;
    file.write_all_at(&(2_u64 << 30).to_le_bytes(), SECTION_OFFSET)?;
    drop(file);
    let recording = record(&program)?;
    let peak = ResultFolder::open(&recording.path())?.manifest()?.collector_peak_bytes;
    ensure!(peak < 500_000_000, "the collector used {peak} bytes");
    Ok(())
}

/// Attaches to a copy of a sample whose file was changed by `change` since its start.
fn attached_after(change: impl Fn(&Path) -> Result<()>) -> Result<Recording> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let program = copy(&folder, "work")?;
    let running = Running::start(Command::new(&program).arg("60"))?;
    std::thread::sleep(Duration::from_millis(300));
    change(&program)?;
    let results = TempDir::new()?;
    let pid = running.pid().to_string();
    let mut command = collect(results.path(), &["--target-pid", &pid, "--duration", "1s"], &[]);
    let begun = Instant::now();
    let output = Running::start(&mut command)?.finish()?;
    ensure!(begun.elapsed() < LIMIT, "it took {:?}", begun.elapsed());
    running.signal(Signal::TERM).context("the program has ended")?;
    Recording::in_folder(results, output)
}

/// Another program lies under its name: no name of that one is given to the code that runs.
fn replaced_while_running() -> Result<()> {
    let recording = attached_after(|program| {
        let other = program.with_extension("new");
        fs::copy(sample("convoy")?, &other)?;
        Ok(fs::rename(other, program)?)
    })?;
    let hotspots = recording.report(&["hotspots"])?.to_string();
    ensure!(!hotspots.contains("push_item"), "named by the other program: {hotspots}");
    complete(&recording)
}

fn deleted_while_running() -> Result<()> {
    complete(&attached_after(|program| Ok(fs::remove_file(program)?))?)
}

/// The stacks are walked by the file that is mapped, whatever lies under its name.
fn complete(recording: &Recording) -> Result<()> {
    let complete = recording.report(&["summary"])?["stacks_complete"].as_f64().context("stacks_complete")?;
    ensure!(complete > 0.9, "{complete} of the stacks are complete: {}", recording.report(&["losses"])?);
    Ok(())
}
