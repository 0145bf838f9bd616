//! Programs that live for some milliseconds, before whose end there may be no unwind table: their stacks are whole all the same.

use std::fs;

use anyhow::{Result, ensure};

use crate::harness::Case;
use crate::recording::{Recording, needs_program, needs_recording, number};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("young_processes::of_a_script", of_a_script),
        Case::new("young_processes::start_of_node", start_of_node),
    ]
}

/// The losses that are stacks which were cut for lack of a table or of memory.
const CUT: [&str; 2] = ["stacks_cut_no_table", "stacks_cut_unreadable"];

fn of_a_script() -> Result<()> {
    needs_recording()?;
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script");
    fs::write(&script, "for number in $(seq 150); do /bin/ls / > /dev/null; done\n")?;
    let recording = Recording::of(&[], &["bash", &script.display().to_string()])?;
    ensure!(number(&recording.report(&["summary"])?, "processes")? >= 150.0, "the script's processes are missing");
    stacks_are_whole(&recording)
}

fn start_of_node() -> Result<()> {
    needs_recording()?;
    needs_program("node")?;
    stacks_are_whole(&Recording::of(&[], &["node", "-e", "1"])?)
}

/// No more than one of twenty waits and samples (one a millisecond) has a stack that is cut; a third of them were.
fn stacks_are_whole(recording: &Recording) -> Result<()> {
    let summary = recording.report(&["summary"])?;
    let count = |name: &str| summary["losses"][name].as_f64().unwrap_or(0.0);
    let cut: f64 = CUT.iter().map(|name| count(name)).sum();
    let stacks = number(&summary, "wait_count")? + number(&summary, "cpu_ns")? / 1e6;
    ensure!(cut <= stacks / 20.0, "{cut} of {stacks:.0} stacks are cut: {}", summary["losses"]);
    Ok(())
}
