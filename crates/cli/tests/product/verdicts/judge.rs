//! What Dwell said of a program, held against what is known of it.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{Measured, Planted, Program, Recorded};
use crate::recording::{Running, root, text};

/// Causes and findings among which the planted cause must be.
const FIRST: usize = 3;
/// What the page calls a goal: programs whose cause is told first, and healthy ones of which anything is told.
const RIGHT: f64 = 0.95;
const FALSE: f64 = 1.0 / 50.0;

/// What Dwell said of one run.
pub struct Verdict {
    /// Place of the planted cause among what the summary tells about the program, from 1.
    place: Option<usize>,
    /// What it tells that is not true.
    false_ones: Vec<String>,
    measured: Option<(&'static str, f64, f64, bool)>,
}

/// What the summary tells: causes and findings in its own order. On a small machine, threads of any of the
/// programs are more than its CPUs, and others have them: that is told of a program only where it is planted.
fn told(program: &Program, recorded: &Recorded) -> Result<Vec<Value>> {
    let summary = recorded.recording.report(&["summary"])?;
    let entry = |entry: &Value| {
        let row = usize::try_from(entry["row"].as_u64()?).ok()?;
        Some(&summary[text(entry, "list")][row])
    };
    let order = summary["order"].as_array().map_or(&[][..], Vec::as_slice);
    let listed: usize =
        ["explanation", "findings"].iter().filter_map(|list| summary[*list].as_array()).map(Vec::len).sum();
    ensure!(order.len() == listed, "the order of the summary leaves something out: {summary}");
    let is_planted = |id: &str| matches!(program.cause, Some(Planted::Cause(kind, _)) if kind == id);
    let of_program = |row: &&Value| match id(row) {
        "cpus-taken" | "low-priority" | "cpu-quota" | "oversubscription" => is_planted(id(row)),
        // Who has no CPU beside neighbours is no fault of the program, unless others wait for what it holds, as planted.
        "run-queue" => !row["behind"].is_null() || program.cause.is_some_and(|planted| planted.is_told_by(row)),
        // What a program ran for most of its time is no fault.
        "running" => row["wait_ns"] != 0,
        _ => true,
    };
    Ok(order.iter().filter_map(entry).filter(of_program).cloned().collect())
}

/// The id of a finding, or a cause's kind.
fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap_or_else(|| text(row, "kind"))
}

impl Planted {
    fn is_told_by(self, row: &Value) -> bool {
        let is_cause = row["id"].is_null();
        let (is_it, words) = match self {
            Self::Wait(words) => (is_cause, words),
            Self::Cause(kind, words) => (is_cause && id(row) == kind, words),
            Self::Finding(planted, words) => (is_cause || id(row) == planted, words),
        };
        is_it && row.to_string().contains(words)
    }
}

/// Holds what is told against what is planted.
pub fn judge(program: &Program, recorded: &Recorded) -> Result<Verdict> {
    let told = told(program, recorded)?;
    let is_right = |row: &Value| program.cause.is_some_and(|planted| planted.is_told_by(row));
    let is_allowed = |row: &Value| {
        let by_words = |it: &&str| id(row) == *it || text(row, "text").contains(it);
        program.may_tell.iter().any(by_words) || (program.cause.is_some() && row["id"].is_null())
    };
    let false_ones = told.iter().filter(|row| !is_right(row) && !is_allowed(row));
    let say = |row: &Value| match text(row, "text") {
        "" => format!("{} of {}: {}", id(row), text(row, "subject"), text(row, "evidence")),
        words => format!("{} of {}: {words}", id(row), text(row, "who")),
    };
    let measured = |it: &Measured| (it.what, it.dwell, it.truth, it.within.contains(&(it.dwell / it.truth)));
    Ok(Verdict {
        place: told.iter().position(is_right).map(|place| place + 1),
        false_ones: false_ones.map(say).collect(),
        measured: recorded.measured.as_ref().map(measured),
    })
}

impl Verdict {
    fn is_right(&self, program: &Program) -> bool {
        program.cause.is_none() || self.place.is_some_and(|place| place <= FIRST)
    }

    /// Fails where it is wrong.
    pub fn check(&self, program: &Program) -> Result<()> {
        ensure!(
            self.is_right(program),
            "{:?} is at place {:?}; also: {:?}",
            program.cause,
            self.place,
            self.false_ones
        );
        ensure!(self.false_ones.is_empty(), "told, and not true: {:?}", self.false_ones);
        if let Some((what, dwell, truth, good)) = self.measured {
            ensure!(good, "{what}: {dwell} by Dwell, {truth} in truth");
        }
        Ok(())
    }

    fn cell(&self, program: &Program) -> String {
        let place = match (program.cause, self.place) {
            (None, _) => "–".to_owned(),
            (_, Some(place)) => format!("{place}."),
            (_, None) => "silent".to_owned(),
        };
        let number = match self.measured {
            Some((what, dwell, truth, _)) => format!("{what}: {dwell:.2} ({truth:.2})"),
            None => String::new(),
        };
        let wrong: Vec<&str> = self.false_ones.iter().filter_map(|it| Some(it.split_once(": ")?.0)).collect();
        format!("{place} | {number} | {}", if wrong.is_empty() { "none".to_owned() } else { wrong.join(", ") })
    }
}

/// Four programs that compute without end.
pub fn busy_loops() -> Result<Vec<Running>> {
    (0..4).map(|_| Running::start(Command::new("sh").args(["-c", "while :; do :; done"]))).collect()
}

/// Writes docs/truth.md.
pub fn write_page(verdicts: &[(&Program, [Verdict; 2])]) -> Result<()> {
    let mut page = HEAD.to_owned();
    for (which, title) in ["On the machine as it is", "Beside four endless loops"].iter().enumerate() {
        // What was planted stands in the first table.
        let (head, rule) = if which == 0 { ("planted | ", "---|") } else { ("", "") };
        writeln!(page, "\n## {title}\n\n| program | {head}place | number (truth) | false |\n|---|{rule}---|---|---|")?;
        for (program, both) in verdicts {
            let cause = match (which, program.planted) {
                (0, "") => "nothing: it is healthy | ".to_owned(),
                (0, planted) => format!("{planted} | "),
                _ => String::new(),
            };
            writeln!(page, "| {} | {cause}{} |", program.name.replace('_', " "), both[which].cell(program))?;
        }
        let (planted, healthy): (Vec<_>, Vec<_>) = verdicts.iter().partition(|(program, _)| program.cause.is_some());
        let first = planted.iter().filter(|(_, both)| both[which].place == Some(1)).count();
        let right = planted.iter().filter(|(program, both)| both[which].is_right(program)).count();
        let misled = healthy.iter().filter(|(_, both)| !both[which].false_ones.is_empty()).count();
        writeln!(
            page,
            "\n{first} of {} planted causes are told first, {right} among the first {FIRST}; {misled} of {} healthy programs are accused. Goal: \
             {:.0} %, and 1 in {:.0} runs.",
            planted.len(),
            healthy.len(),
            RIGHT * 100.0,
            1.0 / FALSE,
        )?;
    }
    Ok(fs::write(root().join("docs/truth.md"), page)?)
}

const HEAD: &str = "# Truth\n\n\
Made by `make test-verdicts`. Each program has a known cause of its slowness, or none. *Place* is where that cause stands in what the summary tells \
about the program: causes and findings in one list, the largest first. What else runs on the machine (run queues behind other programs, more threads \
than CPUs) is left out, unless it is what was planted. *False* is what is told beside it and not true; of a healthy program, anything. The *truth* \
is measured without Dwell: by the program itself, or by its own statistics.\n";
