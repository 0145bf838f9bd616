//! Each instruction of a function with its events: the third phase of the annotated trace.

use dwell_analyze::{Column, Prose, Row as Line, Value, View};
use dwell_machine::{Instruction, Level, TICKS_PER_CYCLE};

use super::named;
use crate::annotate::Anatomy;

const COLUMNS: &[Column] = &[
    named("address", "Address", "Where it is."),
    named("instruction", "Instruction", "In Intel's syntax."),
    named("clock", "Clock", "Cycles from the first one's dispatch to this one's."),
    named("instruction_cycles", "Cycles", "Cycles from the dispatch of the one before to its own."),
    named("latency", "Latency", "Cycles from its dispatch until its result was there."),
    named("load", "Load", "Where what it loads was found."),
    named("store", "Store", "Where the line that it stores to was found."),
    named("events", "Events", "What held it up."),
];

/// The instructions that were asked for.
pub fn instructions(anatomy: &Anatomy) -> View {
    let Some(detail) = &anatomy.detail else {
        let notes = vec![Prose::plain("Which function? --function FUNCTION names it.")];
        return View { title: "Instructions".into(), columns: COLUMNS.to_vec(), notes, ..View::default() };
    };
    let first = detail.executed.first().map_or(0, |executed| executed.seen.dispatched);
    let rows = detail.executed.iter().map(|executed| {
        let (address, text) = detail.text(executed);
        let seen = &executed.seen;
        let values = vec![
            Value::Text(format!("{address:#x}")),
            Value::Text(text),
            Value::Count(cycles(seen.dispatched.saturating_sub(first))),
            Value::Count(cycles(seen.dispatched.saturating_sub(seen.begun))),
            Value::Count(cycles(seen.executed.saturating_sub(seen.dispatched))),
            level(seen.load),
            level(seen.store),
            Value::Text(events(seen, executed.mispredicted)),
        ];
        Line { depth: 0, values }
    });
    let rows: Vec<Line> = rows.collect();
    let notes = match rows.is_empty() {
        true => {
            vec![Prose::plain("No function of that name is in this trace; dwell anatomy report hotspots lists them.")]
        }
        false => Vec::new(),
    };
    View { title: "Instructions".into(), columns: COLUMNS.to_vec(), rows, notes, ..View::default() }
}

fn cycles(ticks: u64) -> u64 {
    (ticks + TICKS_PER_CYCLE / 2) / TICKS_PER_CYCLE
}

fn level(level: Option<Level>) -> Value {
    let name = match level {
        None => return Value::None,
        Some(Level::L1) => "L1",
        Some(Level::L2) => "L2",
        Some(Level::Llc) => "LLC",
        Some(Level::Memory) => "memory",
    };
    Value::Text(name.to_owned())
}

fn events(seen: &Instruction, mispredicted: bool) -> String {
    let all = [(seen.dtlb_miss, "DTLB miss"), (seen.stalled, "window full"), (mispredicted, "mispredicted")];
    all.iter().filter(|event| event.0).map(|event| event.1).collect::<Vec<_>>().join(", ")
}
