//! docs/kernels.md: what was seen on which kernel. What a guest showed is kept beside the kernels, so that one guest can be run
//! again and the rest of the page stays.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::guest;
use crate::recording::{Output, root};

/// A capability on a kernel.
#[derive(Clone, Debug)]
pub enum Cell {
    Yes,
    /// It is missing, and Dwell says so.
    LeftOut(String),
    /// Dwell says in one sentence why it records nothing.
    Refused(String),
    /// It is wrong.
    No(String),
}

/// A kernel.
pub struct Row {
    pub name: &'static str,
    pub release: String,
    /// By capability, those of several steps more than once.
    pub cells: Vec<(&'static str, Cell)>,
}

impl Cell {
    /// `collect` has to end with 77 after an error and a hint, and `doctor` has to know it as well.
    pub fn of_refusal(collect: &Output, doctor: &Output, why: &str) -> Self {
        let error = collect.stderr.lines().find(|line| line.contains("error: ")).unwrap_or_default();
        let told = collect.code() == 77 && error.contains(why) && collect.stderr.contains("hint: ");
        if !told {
            return Self::No(format!("expected is a refusal for {why}, status {}: {}", collect.code(), collect.stderr));
        }
        if !doctor.stdout.contains(why) {
            return Self::No(format!("doctor does not say {why}:\n{}", doctor.stdout));
        }
        Self::Refused(error.trim_start_matches("dwell: ").trim_start_matches("error: ").to_owned())
    }
}

impl Cell {
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Yes => ("yes", ""),
            Self::LeftOut(why) => ("left out", why),
            Self::Refused(why) => ("refused", why),
            Self::No(why) => ("no", why),
        }
    }

    fn of_parts(kind: &str, why: &str) -> Self {
        match kind {
            "yes" => Self::Yes,
            "left out" => Self::LeftOut(why.to_owned()),
            "refused" => Self::Refused(why.to_owned()),
            _ => Self::No(why.to_owned()),
        }
    }
}

impl Row {
    fn path(name: &str) -> Result<PathBuf> {
        Ok(guest::kernels().context("no folder of kernels")?.join("rows").join(format!("{name}.json")))
    }

    /// Keeps it for the page.
    pub fn keep(&self) -> Result<()> {
        let path = Self::path(self.name)?;
        fs::create_dir_all(path.parent().context("no folder")?)?;
        let cells: Vec<Value> =
            self.cells.iter().map(|(of, cell)| json!([of, cell.parts().0, cell.parts().1])).collect();
        Ok(fs::write(path, json!({ "release": self.release, "cells": cells }).to_string())?)
    }

    /// What was kept of a guest; none when it never ran. `capabilities` are those that steps show.
    fn kept(name: &'static str, capabilities: &[&'static str]) -> Result<Option<Self>> {
        let Ok(text) = fs::read_to_string(Self::path(name)?) else { return Ok(None) };
        let value: Value = serde_json::from_str(&text)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let cell = |value: &Value| {
            let of = text(&value[0]);
            let capability = capabilities.iter().find(|it| **it == of).copied().unwrap_or_default();
            (capability, Cell::of_parts(&text(&value[1]), &text(&value[2])))
        };
        let cells = value["cells"].as_array().map(|cells| cells.iter().map(cell).collect()).unwrap_or_default();
        Ok(Some(Self { name, release: text(&value["release"]), cells }))
    }

    /// Of a guest that did not do what it should.
    pub fn of_failure(name: &'static str, error: &anyhow::Error) -> Self {
        Self { name, release: String::new(), cells: vec![("", Cell::No(format!("{error:#}")))] }
    }

    /// What is wrong, a line each.
    pub fn wrong(&self) -> Vec<String> {
        let of_cell = |(_, cell): &(&str, Cell)| match cell {
            Cell::No(why) => Some(why.clone()),
            Cell::LeftOut(why) if !is_known(self.name, why) => Some(format!("left out: {why}")),
            _ => None,
        };
        self.cells.iter().filter_map(of_cell).collect()
    }

    /// The worst of a capability's cells.
    fn of(&self, capability: &str) -> Option<&Cell> {
        let of_it = self.cells.iter().filter(|(of, _)| *of == capability).map(|(_, cell)| cell);
        of_it.max_by_key(|cell| (matches!(cell, Cell::No(_)), matches!(cell, Cell::LeftOut(_))))
    }
}

/// Parts that kernels lack whose names begin so, and words of Dwell's notice.
const KNOWN: &[(&str, &str)] = &[];

fn is_known(machine: &str, notice: &str) -> bool {
    KNOWN.iter().any(|(begin, words)| machine.starts_with(begin) && notice.contains(words))
}

const HEAD: &str = "# Kernels

`make test-kernels` makes this page: it boots each of these Debian kernels in QEMU, records samples there and compares counts, types and
names with the samples' own figures. The first guest of each version records all samples, the others one per
column. *Yes*: all are right. A number refers to Dwell's message below, in the result or instead of one;
an empty cell was not tested. The last rows are a kernel that is locked down or has no type information.

";

/// Writes the page, of what was kept of these guests.
pub fn write(guests: &[&'static str], capabilities: &[&'static str]) -> Result<()> {
    let kept = guests.iter().map(|guest| Row::kept(guest, capabilities)).collect::<Result<Vec<_>>>()?;
    let rows: Vec<Row> = kept.into_iter().flatten().collect();
    let mut remarks = Remarks::default();
    let mut page = HEAD.to_owned();
    writeln!(page, "| guest | kernel | {} |", capabilities.join(" | "))?;
    writeln!(page, "|---|---|{}", "---|".repeat(capabilities.len()))?;
    for row in &rows {
        let cells: Vec<String> = capabilities.iter().map(|capability| remarks.text(row.of(capability))).collect();
        let cells = match row.of("") {
            Some(cell) => vec![remarks.text(Some(cell)); capabilities.len()],
            None => cells,
        };
        writeln!(page, "| {} | {} | {} |", row.name, row.release, cells.join(" | "))?;
    }
    page.push('\n');
    for (at, remark) in remarks.0.iter().enumerate() {
        writeln!(page, "{}. {remark}", at + 1)?;
    }
    Ok(fs::write(root().join("docs/kernels.md"), page)?)
}

/// The sentences below the table, each once.
#[derive(Default)]
struct Remarks(Vec<String>);

impl Remarks {
    fn text(&mut self, cell: Option<&Cell>) -> String {
        match cell {
            None => String::new(),
            Some(Cell::Yes) => "yes".to_owned(),
            Some(Cell::LeftOut(why)) => format!("left out ({})", self.number(why)),
            Some(Cell::Refused(why)) => format!("refused ({})", self.number(why)),
            Some(Cell::No(why)) => format!("**no** ({})", self.number(why.lines().next().unwrap_or_default())),
        }
    }

    fn number(&mut self, remark: &str) -> usize {
        let known = self.0.iter().position(|other| other == remark);
        known.unwrap_or_else(|| {
            self.0.push(remark.to_owned());
            self.0.len() - 1
        }) + 1
    }
}
