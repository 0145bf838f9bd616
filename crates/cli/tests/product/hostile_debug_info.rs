//! Debug information made to crash, or to exhaust, who reads it: it costs itself, and the recording is whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, needs_recording, sample, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("hostile_debug_info::nested_inlines", nested_inlines),
        Case::new("hostile_debug_info::compressed_zeros", compressed_zeros),
    ]
}

/// Of the sample convoy.
const FUNCTION: &str = "burn_ns";

/// A unit, a function that is everywhere, and one that is inlined into it everywhere: each has children.
const ABBREVIATIONS: &[u8] = &[
    1, 0x11, 1, 0x11, 1, 0x12, 7, 0x10, 0x17, 0, 0, // unit: low_pc, high_pc, stmt_list
    2, 0x2e, 1, 0x11, 1, 0x12, 7, 3, 8, 0, 0, // function: low_pc, high_pc, name
    3, 0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0, // inlined: origin, low_pc, high_pc
    0,
];

/// Debug information of a function with others inlined into it, one into the other.
fn nested(depth: usize) -> Vec<u8> {
    // No function is at the beginning of a file: that is what a linker makes of those that it left out.
    let everywhere = [0x100u64.to_le_bytes(), (1u64 << 47).to_le_bytes()].concat();
    let mut unit = vec![4, 0, 0, 0, 0, 0, 8, 1];
    unit.extend(&everywhere);
    unit.extend([0; 4]);
    let origin = unit.len() as u32 + 4;
    unit.push(2);
    unit.extend(&everywhere);
    unit.extend(b"outer\0");
    let inlined = [&[3], &origin.to_le_bytes()[..], &everywhere].concat();
    unit.extend(inlined.repeat(depth));
    unit.extend(vec![0; depth + 2]);
    [&(unit.len() as u32).to_le_bytes()[..], &unit].concat()
}

/// One line that is everywhere, in version 4: without lines nobody looks for inlined functions.
fn lines() -> Vec<u8> {
    let tables =
        [&[1, 1, 1, 0xfb, 14, 13][..], &[0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1], b"/\0\0source.c\0\x01\0\0\0"].concat();
    let program =
        [&[0, 9, 2][..], &0x100u64.to_le_bytes(), &[1, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20], &[0, 1, 1]]
            .concat();
    let unit = [&[4, 0][..], &(tables.len() as u32).to_le_bytes(), &tables, &program].concat();
    [&(unit.len() as u32).to_le_bytes()[..], &unit].concat()
}

/// The sample convoy with these sections instead of its debug information.
fn with_sections(folder: &Path, options: &[&str], sections: &[(&str, Vec<u8>)]) -> Result<PathBuf> {
    needs_recording()?;
    needs_program("objcopy")?;
    let program = folder.join("program");
    let mut command = Command::new("objcopy");
    command.arg("--strip-debug");
    for (name, bytes) in sections {
        let file = folder.join(&name[1..]);
        fs::write(&file, bytes)?;
        command.arg("--add-section").arg(format!("{name}={}", file.display()));
    }
    ensure!(command.arg(sample("convoy")?).arg(&program).status()?.success(), "objcopy failed");
    if !options.is_empty() {
        ensure!(Command::new("objcopy").args(options).arg(&program).status()?.success(), "objcopy failed");
    }
    Ok(program)
}

/// A recording of the program ends well, in time; it has the function's name, and says which file it did not read, and why.
fn costs_itself(program: &Path, why: &[&str]) -> Result<()> {
    let path = program.display().to_string();
    let begun = Instant::now();
    let recording = Recording::of(&[], &[&path])?;
    let stderr = &recording.output.stderr;
    ensure!(recording.output.status.success(), "{}: {stderr}", recording.output.status);
    ensure!(begun.elapsed() < Duration::from_secs(60), "it took {:?}", begun.elapsed());
    ensure!(recording.manifest()?["state"] == "finalized", "it is not finalized");
    let said = format!("{}{stderr}", recording.output.stdout);
    let notice = said.lines().find(|line| line.contains("debug information of") && line.contains(&path));
    ensure!(notice.is_some_and(|line| why.iter().any(|why| line.contains(why))), "nobody is told why: {said}");
    let functions = recording.rows(&["hotspots", "--limit", "500"])?;
    ensure!(functions.iter().any(|row| text(row, "function") == FUNCTION), "{FUNCTION} has lost its name");
    Ok(())
}

/// The reader calls itself for each of them.
fn nested_inlines() -> Result<()> {
    let folder = TempDir::new()?;
    let sections =
        [(".debug_info", nested(300_000)), (".debug_abbrev", ABBREVIATIONS.to_vec()), (".debug_line", lines())];
    let program = with_sections(folder.path(), &[], &sections)?;
    costs_itself(&program, &["its reader crashed", "needed more than", "took longer than"])
}

/// A file of less than a MB that expands to 200.
fn compressed_zeros() -> Result<()> {
    let folder = TempDir::new()?;
    let zeros = || vec![0; 100 << 20];
    let sections = [(".debug_info", zeros()), (".debug_str", zeros()), (".debug_abbrev", ABBREVIATIONS.to_vec())];
    let program = with_sections(folder.path(), &["--compress-debug-sections=zlib"], &sections)?;
    ensure!(program.metadata()?.len() < 1 << 20, "it is not compressed");
    costs_itself(&program, &["it expands more than a hundredfold"])
}
