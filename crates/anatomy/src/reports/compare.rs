//! Two traces, or one trace on two machines, side by side.

use std::collections::HashMap;

use dwell_machine::{Counts, Level};
use dwell_view::{Prose, Row as Line, Value, View};

use super::columns::{FUNCTION, PHASE, named};
use super::losses::losses;
use super::sums::sums;
use crate::annotate::{Anatomy, Row};

/// What the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Functions.
    Function,
    /// Phases.
    Phase,
}

/// The parts of both, by name, the largest difference of cycles first.
pub fn compare(first: &Anatomy, second: &Anatomy, by: By, limit: usize) -> View {
    let (before, after) = (named_sums(first, by), named_sums(second, by));
    let mut names: Vec<&String> =
        before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))).collect();
    let counts = |sums: &HashMap<String, Counts>, name: &str| sums.get(name).copied().unwrap_or_default();
    let change = |name: &str| i128::from(counts(&after, name).ticks()) - i128::from(counts(&before, name).ticks());
    names.sort_by(|a, b| change(b).abs().cmp(&change(a).abs()).then(a.cmp(b)));
    let line = |name: &str, a: Counts, b: Counts| {
        let cycles = |counts: &Counts| counts.cycles().round() as u64;
        let ratio = if a.ticks() > 0 { Value::Real(b.cycles() / a.cycles()) } else { Value::None };
        let values = vec![
            Value::Text(name.to_owned()),
            Value::Count(cycles(&a)),
            Value::Count(cycles(&b)),
            Value::CountChange(cycles(&b) as i64 - cycles(&a) as i64),
            ratio,
            Value::Count(a.instructions),
            Value::Count(b.instructions),
            Value::Real(a.cpi()),
            Value::Real(b.cpi()),
            Value::Real(a.mpi(Level::L1)),
            Value::Real(b.mpi(Level::L1)),
        ];
        Line { depth: 0, values }
    };
    let mut rows = vec![line("(all)", first.total(), second.total())];
    rows.extend(names.into_iter().take(limit).map(|name| line(name, counts(&before, name), counts(&after, name))));
    let columns = vec![
        if by == By::Phase { PHASE } else { FUNCTION },
        named("cycles_first", "Cycles, first", "Cycles in the first trace."),
        named("cycles_second", "second", "Cycles in the second trace."),
        named("cycles_change", "Change", "Second - first."),
        named("cycles_ratio", "Ratio", "Second / first."),
        named("instructions_first", "Instructions, first", "Instructions in the first trace."),
        named("instructions_second", "second", "Instructions in the second trace."),
        named("cpi_first", "CPI, first", "Cycles per instruction in the first trace."),
        named("cpi_second", "second", "Cycles per instruction in the second trace."),
        named("l1_mpi_first", "L1 MPI, first", "L1 misses per instruction in the first trace."),
        named("l1_mpi_second", "second", "L1 misses per instruction in the second trace."),
    ];
    let sides = [("First", first), ("Second", second)];
    let notes = sides.iter().flat_map(|(which, anatomy)| {
        losses(anatomy).into_iter().map(move |loss| Prose::plain(format!("{which}: {loss}")))
    });
    let notes = notes.collect();
    View { title: "Comparison".into(), columns, rows, notes, ..View::default() }
}

fn named_sums(anatomy: &Anatomy, by: By) -> HashMap<String, Counts> {
    let name = |row: &Row| match by {
        By::Function => anatomy.functions[row.function as usize].name.clone(),
        By::Phase => anatomy.phases[usize::from(row.phase)].clone(),
    };
    sums(anatomy, |row| Some(name(row)))
}
