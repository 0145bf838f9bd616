//! What Dwell said of a program, held against what is known of it.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{Measured, Program, Recorded};
use crate::recording::{Running, root, text};
use crate::truth::OF_THE_MACHINE;

/// Findings among which the planted cause must be.
const FIRST: usize = 3;
/// On a small machine, threads of any of the programs are more than its CPUs.
const OF_ITS_SIZE: &str = "oversubscription";
/// What the page calls a goal: programs with the right finding, and false findings for each program.
const RIGHT: f64 = 0.95;
const FALSE: f64 = 1.0 / 50.0;

/// What Dwell said of one run.
pub struct Verdict {
    /// Place of the right finding among those about the program, from 1.
    place: Option<usize>,
    /// Findings that are not true.
    false_ones: Vec<String>,
    measured: Option<(&'static str, f64, f64, bool)>,
}

/// Causes of the summary's account that are about the program: who else had the CPUs is another matter.
fn causes(recorded: &Recorded) -> Result<Vec<Value>> {
    let summary = recorded.recording.report(&["summary"])?;
    let rows = summary["explanation"].as_array();
    let of_program = |row: &&Value| !OF_THE_MACHINE.contains(&text(row, "kind")) && text(row, "kind") != OF_ITS_SIZE;
    Ok(rows.into_iter().flatten().filter(of_program).cloned().collect())
}

/// Holds the findings against what is planted.
pub fn judge(program: &Program, recorded: &Recorded) -> Result<Verdict> {
    let found = recorded.recording.findings()?;
    for row in causes(recorded)? {
        println!("     CAUSE {}: {} | {}", program.name, text(&row, "text"), text(&row, "advice"));
    }
    let is_planted = |id: &str| program.finding.is_some_and(|(planted, _)| planted == id);
    let is_of_program = |id: &str| is_planted(id) || !OF_THE_MACHINE.contains(&id) && id != OF_ITS_SIZE;
    let of_program: Vec<&Value> = found.iter().filter(|row| is_of_program(text(row, "id"))).collect();
    let is_right = |row: &Value| {
        program.finding.is_some_and(|(id, words)| text(row, "id") == id && row.to_string().contains(words))
    };
    let is_false = |row: &&&Value| !is_right(row) && !program.may_find.contains(&text(row, "id"));
    let false_ones = of_program.iter().filter(is_false);
    let measured = |it: &Measured| (it.what, it.dwell, it.truth, it.within.contains(&(it.dwell / it.truth)));
    Ok(Verdict {
        place: of_program.iter().position(|row| is_right(row)).map(|place| place + 1),
        false_ones: false_ones
            .map(|row| format!("{} of {}: {}", text(row, "id"), text(row, "subject"), text(row, "evidence")))
            .collect(),
        measured: recorded.measured.as_ref().map(measured),
    })
}

impl Verdict {
    fn is_right(&self, program: &Program) -> bool {
        program.finding.is_none() || self.place.is_some_and(|place| place <= FIRST)
    }

    /// Fails where it is wrong.
    pub fn check(&self, program: &Program) -> Result<()> {
        ensure!(
            self.is_right(program),
            "{:?} is at place {:?}; also: {:?}",
            program.finding,
            self.place,
            self.false_ones
        );
        ensure!(self.false_ones.is_empty(), "false findings: {:?}", self.false_ones);
        if let Some((what, dwell, truth, good)) = self.measured {
            ensure!(good, "{what}: {dwell} by Dwell, {truth} in truth");
        }
        Ok(())
    }

    fn cell(&self, program: &Program) -> String {
        let place = match (program.finding, self.place) {
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
        writeln!(
            page,
            "\n## {title}\n\n| program | planted | place | number (truth) | false findings |\n|---|---|---|---|---|"
        )?;
        for (program, both) in verdicts {
            let cause = if program.cause.is_empty() { "nothing: it is healthy" } else { program.cause };
            writeln!(page, "| {} | {cause} | {} |", program.name.replace('_', " "), both[which].cell(program))?;
        }
        let planted: Vec<_> = verdicts.iter().filter(|(program, _)| program.finding.is_some()).collect();
        let right = planted.iter().filter(|(program, both)| both[which].is_right(program)).count();
        let wrong: usize = verdicts.iter().map(|(_, both)| both[which].false_ones.len()).sum();
        writeln!(
            page,
            "\n{right} of {} planted causes are among the first {FIRST} findings; {wrong} false findings in {} programs. Goal: {:.0} %, and \
             1 in {:.0} programs.",
            planted.len(),
            verdicts.len(),
            RIGHT * 100.0,
            1.0 / FALSE,
        )?;
    }
    Ok(fs::write(root().join("docs/truth.md"), page)?)
}

const HEAD: &str = "# Truth\n\n\
Made by `make test-verdicts`. Each program has a known cause of its slowness, or none. *Place* is where the right finding stands among those \
about the program; findings about what else runs on the machine (`cpus-taken`, `oversubscription`) are left out. The *truth* is measured \
without Dwell: by the program itself, or by its own statistics.\n";
