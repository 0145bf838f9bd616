//! Each instruction of a function or a call with its events: the third phase of the annotated trace.

use dwell_machine::{Instruction, Level, TICKS_PER_CYCLE};
use dwell_view::{Column, Prose, Row as Line, Value, View};

use super::columns::{FUNCTION, named};
use crate::annotate::{Anatomy, Sum};

const ADDRESS: Column = named("address", "Address", "Where it is.");
const INSTRUCTION: Column = named("instruction", "Instruction", "In Intel's syntax.");

const COLUMNS: &[Column] = &[
    FUNCTION,
    ADDRESS,
    INSTRUCTION,
    named("clock", "Clock", "Cycles from the first one's dispatch to this one's."),
    named("instruction_cycles", "Cycles", "Cycles from the dispatch of the one before to its own."),
    named("latency", "Latency", "Cycles from its dispatch until its result was there."),
    named("load", "Load", "Where what it loads was found."),
    named("store", "Store", "Where the line that it stores to was found."),
    named("events", "Events", "What held it up."),
];

/// The requested instructions, as they were executed.
pub fn instructions(anatomy: &Anatomy) -> View {
    let Some(detail) = &anatomy.detail else { return unasked("Instructions", COLUMNS) };
    let first = detail.executed.first().map_or(0, |executed| executed.seen.dispatched);
    let rows = detail.executed.iter().map(|executed| {
        let (address, text) = detail.text(executed);
        let seen = &executed.seen;
        let values = vec![
            function(anatomy, detail.function(executed)),
            Value::Text(format!("{address:#x}")),
            Value::Text(text),
            Value::Count(cycles(seen.dispatched.saturating_sub(first))),
            real(seen.dispatched.saturating_sub(seen.begun)),
            Value::Count(cycles(seen.executed.saturating_sub(seen.dispatched))),
            level(seen.load),
            level(seen.store),
            Value::Text(events(seen, executed.mispredicted)),
        ];
        Line { depth: 0, values }
    });
    let rows: Vec<Line> = rows.collect();
    let mut notes = unknown(&rows);
    notes.extend((detail.more > 0).then(|| told_of_more(detail.more)));
    View { title: "Instructions".into(), columns: COLUMNS.to_vec(), rows, notes, ..View::default() }
}

fn told_of_more(instructions: u64) -> Prose {
    Prose::plain(format!("{instructions} more instructions follow; --limit shows more."))
}

/// What a column of [`code`] shows of all executions of an instruction.
type Summed = fn(&Sum) -> Value;

const SUMS: &[(Column, Summed)] = &[
    (named("executions", "Executions", "How often it was executed."), |sum| Value::Count(sum.executions)),
    (named("instruction_cycles", "Cycles", "Cycles from the dispatch of the one before to its own."), |sum| {
        Value::Count(cycles(sum.ticks))
    }),
    (named("cycles_each", "Cycles each", "Cycles of one execution, on average."), |sum| {
        Value::Real(sum.ticks as f64 / TICKS_PER_CYCLE as f64 / sum.executions.max(1) as f64)
    }),
    (named("l1_misses", "L1 misses", "Loads and stores that L1 did not serve."), |sum| Value::Count(sum.l1_misses)),
    (named("l2_misses", "L2 misses", "Loads and stores that L2 did not serve either."), |sum| {
        Value::Count(sum.l2_misses)
    }),
    (named("llc_misses", "LLC misses", "Loads and stores that memory served."), |sum| Value::Count(sum.llc_misses)),
    (named("dtlb_misses", "DTLB misses", "The DTLB lacked its page."), |sum| Value::Count(sum.dtlb_misses)),
    (named("stalls", "Window full", "It waited for room in the window or the store buffer."), |sum| {
        Value::Count(sum.stalls)
    }),
    (named("mispredicts", "Mispredicted", "Wrong predictions of the branch."), |sum| Value::Count(sum.mispredicts)),
];

/// The code of the requested functions: each instruction with the sum of its executions.
pub fn code(anatomy: &Anatomy, limit: usize) -> View {
    let mut columns = vec![FUNCTION, ADDRESS, INSTRUCTION];
    columns.extend(SUMS.iter().map(|sum| sum.0.clone()));
    let Some(detail) = &anatomy.detail else { return unasked("Code", &columns) };
    let (all, more) = detail.code(limit);
    let rows = all.into_iter().map(|(number, address, text, sum)| {
        let place = [function(anatomy, Some(number)), Value::Text(format!("{address:#x}")), Value::Text(text)];
        Line { depth: 0, values: place.into_iter().chain(SUMS.iter().map(|column| (column.1)(&sum))).collect() }
    });
    let rows: Vec<Line> = rows.collect();
    let mut notes = unknown(&rows);
    notes.extend((more > 0).then(|| told_of_more(more as u64)));
    View { title: "Code".into(), columns, rows, notes, ..View::default() }
}

fn unasked(title: &str, columns: &[Column]) -> View {
    let notes = vec![Prose::plain("Which function? --function FUNCTION names it.")];
    View { title: title.into(), columns: columns.to_vec(), notes, ..View::default() }
}

fn unknown(rows: &[Line]) -> Vec<Prose> {
    let note = "Nothing of that name was executed in this trace; dwell anatomy report hotspots lists its functions.";
    rows.is_empty().then(|| Prose::plain(note)).into_iter().collect()
}

fn function(anatomy: &Anatomy, number: Option<u32>) -> Value {
    let known = number.and_then(|number| anatomy.functions.get(number as usize));
    known.map_or(Value::None, |function| Value::Text(function.name.clone()))
}

fn cycles(ticks: u64) -> u64 {
    (ticks + TICKS_PER_CYCLE / 2) / TICKS_PER_CYCLE
}

/// Cycles of one instruction, as a fraction: several are dispatched in a cycle.
fn real(ticks: u64) -> Value {
    Value::Real(ticks as f64 / TICKS_PER_CYCLE as f64)
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
