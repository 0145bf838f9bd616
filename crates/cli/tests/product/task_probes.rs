//! `--task-probe`: every pass of the probes is in the raw trace, and what cannot be set is said with the way out.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use dwell_store::raw::{Record, Records, SpoolReader, Stream};

use crate::harness::{Case, Skip};
use crate::recording::{Recording, needs_program, needs_recording, run_dwell, sample};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("task_probes::function", function),
        Case::new("task_probes::two_functions", two_functions),
        Case::new("task_probes::library", library),
        Case::new("task_probes::usdt", usdt),
        Case::new("task_probes::bad_input", bad_input),
    ]
}

/// Calls `visit` with every record of both streams of a raw trace.
pub fn each_record(result: &Path, visit: &mut dyn FnMut(&Record<'_>)) -> Result<()> {
    for stream in [Stream::Meta, Stream::Events] {
        let mut reader = SpoolReader::open(&dwell_store::Folder::open(&result.join("spool"))?, stream)?;
        let mut chunk = Vec::new();
        while reader.next_chunk(&mut chunk).is_some() {
            let mut records = Records::new(&chunk);
            records.by_ref().for_each(|record| visit(&record));
            ensure!(records.rest() == 0, "{} bytes of a chunk are no records", records.rest());
        }
    }
    Ok(())
}

/// Begins and ends of each probe, by its number.
fn passes(recording: &Recording, probes: usize) -> Result<Vec<(u64, u64)>> {
    let mut passes = vec![(0, 0); probes];
    each_record(&recording.path(), &mut |record| {
        if let Record::TaskProbe(pass) = record
            && let Some((begins, ends)) = passes.get_mut(usize::from(pass.probe))
        {
            *(if pass.end == 0 { begins } else { ends }) += 1;
        }
    })?;
    Ok(passes)
}

fn raw(options: &[&str], program: &[&str]) -> Result<Recording> {
    let options: Vec<&str> = ["--finalization-mode", "none"].iter().chain(options).copied().collect();
    Recording::of(&options, program)
}

/// A function of the program: its entry, and each of its returns.
fn function() -> Result<()> {
    let convoy = sample("convoy")?;
    all_passes(&raw(&["--task-probe", "push=uprobe:push_item"], &[&convoy])?)
}

/// Of a raw trace with a probe on a function.
pub fn all_passes(raw: &Recording) -> Result<()> {
    let passes = passes(raw, 1)?;
    ensure!(passes[0].0 > 0 && passes[0].0 == passes[0].1, "begins and ends: {passes:?}");
    Ok(())
}

fn two_functions() -> Result<()> {
    let convoy = sample("convoy")?;
    let probe = "locked=uprobe:libc.so.6:pthread_mutex_lock..pthread_mutex_unlock";
    let passes = passes(&raw(&["--task-probe", probe], &[&convoy])?, 1)?;
    ensure!(passes[0].0 > 0 && passes[0].0.abs_diff(passes[0].1) <= 1, "begins and ends: {passes:?}");
    Ok(())
}

/// A function of a library of a program that we did not write, which ends at several returns and tail calls.
fn library() -> Result<()> {
    let python = needs_program("python3.11").or_else(|_| needs_program("python3"))?;
    let probe = "allocate=uprobe:libc.so.6:malloc";
    let recording = raw(&["--task-probe", probe], &[&python, "-c", "x = [bytes(100000) for _ in range(200)]"])?;
    let passes = passes(&recording, 1)?;
    ensure!(passes[0].0 >= 200 && passes[0].0 == passes[0].1, "begins and ends: {passes:?}");
    Ok(())
}

/// Probes behind a semaphore, which only fire while somebody listens.
fn usdt() -> Result<()> {
    let python = "/usr/bin/python3"; // the distribution's, which has these probes
    if !Path::new(python).is_file() {
        return Err(Skip(format!("{python} is not installed")).into());
    }
    let script = "import gc\nfor _ in range(300): gc.collect()";
    let recording = raw(&["--task-probe", "gc=usdt:python:gc__start..gc__done"], &[python, "-c", script])?;
    let passes = passes(&recording, 1)?;
    ensure!(passes[0].0 >= 300 && passes[0].0 == passes[0].1, "begins and ends: {passes:?}");
    Ok(())
}

fn bad_input() -> Result<()> {
    needs_recording()?;
    let convoy = sample("convoy")?;
    let refused = |probe: &str| run_dwell(&["collect", "threading", "--task-probe", probe, "--", &convoy]);
    for (probe, error, hint) in [
        ("push=uprobe:push_itme", "no function \"push_itme\"", "there is push_item"),
        ("x=uprobe:/no/such:f", "no file", "/path/to/file"),
        ("x=uprobe:/etc/passwd:f", "no x86-64 ELF file", "interpreter"),
        ("x=usdt:app:a..b", "no USDT probe app:a", "uprobe"),
        ("x=uprobe:+0x10..push_item", "no code at 0x10", "objdump"),
        ("x=kprobe:f", "neither with uprobe: nor with usdt:", ""),
    ] {
        let output = refused(probe)?;
        ensure!(!output.status.success(), "{probe} was taken");
        let told = output.stderr.contains(error) && output.stderr.contains("hint: ") && output.stderr.contains(hint);
        ensure!(told, "{probe}: {}", output.stderr);
        ensure!(!output.stdout.contains("truth"), "{probe}: the program ran");
    }
    std::fs::metadata(&convoy).context("the sample")?;
    Ok(())
}
