//! `dwell pt`: a trace that libipt's encoder made, in a file as perf writes it, and files that are none.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{root, run_dwell};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("pt::a_trace_is_a_timeline_of_functions", a_trace_is_a_timeline_of_functions),
        Case::new("pt::what_is_no_trace_is_an_error", what_is_no_trace_is_an_error),
    ]
}

/// Where the recorded program lay: a name as long as this, which is written over with another one.
const PLACE: usize = 200;

/// Two rounds through main, which calls f and g, which calls f: as in the tests of crates/pt.
fn a_trace_is_a_timeline_of_functions() -> Result<()> {
    let folder = TempDir::new()?;
    let program = folder.path().join("program");
    let mut code = vec![0u8; 0x1040];
    code[0x1000..0x100e].copy_from_slice(&[0xe8, 0x1b, 0, 0, 0, 0xe8, 0x26, 0, 0, 0, 0x75, 0xf4, 0x90, 0x90]);
    code[0x1020..0x1022].copy_from_slice(&[0x90, 0xc3]);
    code[0x1030..0x1036].copy_from_slice(&[0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3]);
    fs::write(&program, code)?;
    let mut trace = fs::read(root().join("crates/cli/tests/product/traces/two-rounds.perf-data"))?;
    let at = trace.windows(2).position(|pair| pair == b"/x").context("the program's place")?;
    let mut place = program.display().to_string().into_bytes();
    if place.len() >= PLACE {
        return Err(Skip("the path of the temporary folder is too long".into()).into());
    }
    place.resize(PLACE, 0);
    trace[at..at + PLACE].copy_from_slice(&place);
    let file = folder.path().join("perf.data");
    fs::write(&file, &trace)?;
    let output = run_dwell(&["pt", &file.display().to_string(), "--format", "json"])?;
    if output.stderr.contains("libipt2") {
        return Err(Skip("libipt2 is not installed".into()).into());
    }
    let answer: Value = serde_json::from_str(&output.stdout).context(output.stderr)?;
    let rows = answer["rows"].as_array().context("no rows")?;
    let counts: Vec<u64> = rows.iter().filter_map(|row| row["instructions"].as_u64()).collect();
    ensure!(counts == [1, 2, 1, 1, 2, 1, 2, 2, 1, 1, 2, 1, 2], "{answer}");
    let depths: Vec<i64> = rows.iter().filter_map(|row| row["depth"].as_i64()).collect();
    ensure!(depths == [0, 1, 0, 1, 2, 1, 0, 1, 0, 1, 2, 1, 0], "{answer}");
    ensure!(rows.iter().all(|row| row["module"] == "program"), "{answer}");
    Ok(())
}

fn what_is_no_trace_is_an_error() -> Result<()> {
    let folder = TempDir::new()?;
    let file = folder.path().join("perf.data");
    fs::write(&file, "no file of perf")?;
    for path in [file.display().to_string(), "/no/such/file".into(), "/dev/zero".into()] {
        let output = run_dwell(&["pt", &path])?;
        ensure!(output.code() == 1 && output.stderr.contains("hint: "), "{path}: {}", output.stderr);
        ensure!(!output.stderr.contains("panicked"), "{}", output.stderr);
    }
    Ok(())
}
