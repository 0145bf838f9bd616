//! Verdicts on programs that nobody here wrote, or on small ones that use such runtimes: the planted cause is among the first
//! findings, with a number that was measured without Dwell, and nothing else is accused.
//!
//! `DWELL_VERDICTS=all` judges each program twice, on the machine as it is and beside four endless loops, and writes docs/truth.md
//! (`make test-verdicts`). Without it the quick ones are judged once.

mod healthy;
mod judge;
mod locks;
mod machine;
mod planted;
mod postgres;
mod runtimes;
mod servers;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::judge::{Verdict, busy_loops, judge, write_page};
use crate::harness::{Case, Skip};
use crate::recording::{Recording, needs_program, needs_recording, number};

/// A program with what is wrong with it.
struct Program {
    name: &'static str,
    /// What is wrong, in words; empty for a healthy one.
    planted: &'static str,
    /// How that is told; none for a healthy program.
    cause: Option<Planted>,
    /// What Dwell may tell, too, because it is true: ids of findings, or words of causes.
    may_tell: &'static [&'static str],
    /// Whether it is judged without `DWELL_VERDICTS`, too: it takes five seconds at most.
    quick: bool,
    record: fn() -> Result<Recorded>,
}

/// How a planted fault is told, and words that tell it.
#[derive(Clone, Copy, Debug)]
enum Planted {
    /// As a root cause of waits.
    Wait(&'static str),
    /// As a root cause of this kind.
    Cause(&'static str, &'static str),
    /// As a finding of this id, or as a root cause of waits.
    Finding(&'static str, &'static str),
}

/// A program's run under Dwell.
struct Recorded {
    recording: Recording,
    /// A number of Dwell's, and the same measured by the program or its own statistics.
    measured: Option<Measured>,
}

struct Measured {
    what: &'static str,
    dwell: f64,
    truth: f64,
    /// What their ratio may be.
    within: std::ops::Range<f64>,
}

impl From<Recording> for Recorded {
    fn from(recording: Recording) -> Self {
        Self { recording, measured: None }
    }
}

/// The verdicts on each program, quiet and beside loops.
type Page = Arc<Mutex<Vec<(&'static Program, [Verdict; 2])>>>;

pub fn cases() -> Vec<Case> {
    let groups = [
        planted::PROGRAMS,
        servers::PROGRAMS,
        runtimes::PROGRAMS,
        locks::PROGRAMS,
        machine::PROGRAMS,
        healthy::PROGRAMS,
    ];
    let programs = groups.into_iter().flatten();
    let name = |program: &Program| format!("verdicts::{}", program.name);
    if std::env::var_os("DWELL_VERDICTS").is_none() {
        return programs
            .filter(|program| program.quick)
            .map(|program| Case::new(name(program), || once(program)))
            .collect();
    }
    let page = Page::default();
    let twice = |program: &'static Program| {
        let page = Arc::clone(&page);
        Case::new(name(program), move || note(program, &page))
    };
    let mut cases: Vec<Case> = programs.map(twice).collect();
    cases.push(Case::new("verdicts::table", move || write_page(&page.lock().unwrap_or_else(PoisonError::into_inner))));
    cases
}

/// The sum of `field` over the rows of `waits` that `chosen` chooses.
fn total(recording: &Recording, field: &str, chosen: impl Fn(&Value) -> bool) -> Result<f64> {
    recording.rows(&["waits", "--include-idle"])?.iter().filter(|row| chosen(row)).map(|row| number(row, field)).sum()
}

/// A C program of these lines, built in `folder`.
fn built(folder: &Path, compiler: &str, source: &str, flags: &[&str]) -> Result<String> {
    let compiler = needs_program(compiler)?;
    let (file, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&file, source)?;
    let status = Command::new(compiler).args(["-O2", "-g", "-o"]).args([&program, &file]).args(flags).status()?;
    ensure!(status.success(), "it does not compile");
    Ok(program.display().to_string())
}

/// Skips the case unless a file of a package is there.
fn needs_file(path: &str) -> Result<()> {
    if Path::new(path).is_file() { Ok(()) } else { Err(Skip(format!("{path} is not installed")).into()) }
}

fn once(program: &Program) -> Result<()> {
    needs_recording()?;
    judge(program, &(program.record)()?)?.check(program)
}

/// Judges a program quiet and beside loops, for the page.
fn note(program: &'static Program, page: &Page) -> Result<()> {
    needs_recording()?;
    let quiet = judge(program, &(program.record)()?).context("quiet")?;
    let loops = busy_loops()?;
    let beside = judge(program, &(program.record)()?).context("beside loops")?;
    drop(loops);
    page.lock().unwrap_or_else(PoisonError::into_inner).push((program, [quiet, beside]));
    Ok(())
}
