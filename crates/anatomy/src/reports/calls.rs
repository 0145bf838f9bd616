//! The annotated trace, and the life of a packet.

use std::collections::HashMap;

use dwell_machine::{Counts, TICKS_PER_CYCLE};
use dwell_view::{Column, Prose, Row as Line, Value, View, glob};

use super::columns::{FUNCTION, MODULE, PHASE, named};
use super::sums::sums;
use crate::annotate::{Anatomy, Call, LATER, MOST_CALLS};

/// What is asked of a report.
#[derive(Clone, Debug)]
pub struct Asked {
    /// At most so many rows.
    pub limit: usize,
    /// Of the annotated trace: only calls of functions that match, and what they call.
    pub function: Option<String>,
    /// Of the annotated trace: calls no deeper than this below the first one shown.
    pub depth: u16,
}

/// The annotated trace.
pub fn trace(anatomy: &Anatomy, asked: &Asked) -> View {
    let mut rows = Vec::new();
    let mut shown = 0;
    // On each thread the call that is shown with what it calls: until when, how deep, and its clock.
    let mut within: HashMap<u32, (Call, u64)> = HashMap::new();
    for (number, call) in anatomy.calls.iter().enumerate() {
        let inside = within.get(&call.thread).copied();
        let inside = inside.filter(|(outer, _)| call.begin < outer.end && call.depth > outer.depth);
        let (outer, clock) = match (inside, &asked.function) {
            (Some(inside), _) => inside,
            (None, None) => {
                (Call { depth: 0, end: u64::MAX, ..*call }, anatomy.calls.first().map_or(0, |first| first.begin))
            }
            (None, Some(pattern)) if glob(pattern, name(anatomy, call)) => (*call, call.begin),
            (None, Some(_)) => continue,
        };
        if asked.function.is_some() {
            within.insert(call.thread, (outer, clock));
        }
        let depth = call.depth.saturating_sub(outer.depth);
        if depth > asked.depth {
            continue;
        }
        shown += 1;
        if rows.len() < asked.limit {
            rows.push(line(anatomy, (number, call), clock, depth));
        }
    }
    let mut notes = Vec::new();
    if shown > rows.len() {
        notes.push(format!("{} of {shown} calls; --limit shows more, --function FUNCTION those of one.", rows.len()));
    }
    if let (0, Some(function)) = (shown, &asked.function) {
        notes.push(format!(
            "No call of {function} is in this trace; dwell anatomy report hotspots lists its functions."
        ));
    }
    if anatomy.more_calls > 0 {
        let more = anatomy.more_calls;
        notes.push(format!("Of calls, the first {MOST_CALLS} are kept; {more} follow them: --window records a part."));
    }
    View {
        title: "Annotated trace".into(),
        columns: COLUMNS.to_vec(),
        rows,
        notes: notes.into_iter().map(Prose::plain).collect(),
        ..View::default()
    }
}

const COLUMNS: &[Column] = &[
    FUNCTION,
    MODULE,
    PHASE,
    named("clock", "Clock", "Cycles since the beginning, when the call began."),
    named("call_cycles", "Cycles", "Cycles of the call, with what it called."),
    named("call_instructions", "Instructions", "Instructions of the call, with what it called."),
    named("thread", "Thread", "The thread, or the virtual CPU."),
    Column { detail: true, ..named("call", "Call", "Its number: --call shows its instructions.") },
];

fn name<'a>(anatomy: &'a Anatomy, call: &Call) -> &'a str {
    &anatomy.functions[call.function as usize].name
}

fn line(anatomy: &Anatomy, (number, call): (usize, &Call), clock: u64, depth: u16) -> Line {
    let function = &anatomy.functions[call.function as usize];
    let values = vec![
        Value::Text(function.name.clone()),
        Value::Text(function.module.clone()),
        Value::Text(anatomy.phases[usize::from(call.phase)].clone()),
        Value::Count(cycles(call.begin - clock.min(call.begin))),
        Value::Count(cycles(call.end.saturating_sub(call.begin))),
        Value::Count(call.instructions),
        Value::Count(u64::from(call.thread)),
        Value::Count(number as u64),
    ];
    Line { depth: usize::from(depth), values }
}

/// Whole cycles.
pub fn cycles(ticks: u64) -> u64 {
    (ticks + TICKS_PER_CYCLE / 2) / TICKS_PER_CYCLE
}

/// The stages of a packet's life: the phases that take the cycles of a soft interrupt, in the order of their names here.
const STAGES: &[(&str, Column)] = &[
    ("device", named("device", "Device", "Cycles in the driver and the device layer.")),
    ("IP", named("ip", "IP", "Cycles in IP.")),
    ("TCP", named("tcp", "TCP", "Cycles in TCP.")),
    ("UDP", named("udp", "UDP", "Cycles in UDP.")),
    ("socket", named("socket", "Socket", "Cycles in sockets.")),
    ("scheduler", named("scheduler", "Wake-up", "Cycles of the wake-up.")),
];

/// The first packets, stage by stage.
pub fn packets(anatomy: &Anatomy) -> View {
    let by_packet = sums(anatomy, |row| (row.packet > 0 && row.packet < LATER).then_some(row.packet));
    let by_stage = sums(anatomy, |row| (row.packet > 0).then_some((row.packet, row.phase)));
    let first = anatomy.packets.first().copied().unwrap_or(0);
    let mut numbers: Vec<u16> = by_packet.keys().copied().collect();
    numbers.sort_unstable();
    let mut columns = vec![
        named("packet", "Packet", "The number of the packet."),
        named("clock", "Clock", "Cycles from the first packet's begin to this one's."),
        named("packet_cycles", "Cycles", "Cycles in soft interrupts until work on the next packet began."),
        named("packet_instructions", "Instructions", "Instructions of these."),
        named("cpi", "CPI", "Cycles per instruction."),
    ];
    columns.extend(STAGES.iter().map(|stage| stage.1.clone()));
    columns.push(named("other", "Other", "Cycles in anything else."));
    let rows = numbers.iter().map(|number| {
        let counts = &by_packet[number];
        let begin = anatomy.packets.get(usize::from(*number) - 1).map_or(0, |begin| begin - first);
        let stage = |name: &str| {
            let phase = anatomy.phases.iter().position(|phase| phase == name)?;
            by_stage.get(&(*number, phase as u16)).map(Counts::cycles)
        };
        let stages: Vec<f64> = STAGES.iter().map(|(name, _)| stage(name).unwrap_or(0.0)).collect();
        let other = counts.cycles() - stages.iter().sum::<f64>();
        let mut values = vec![
            Value::Count(u64::from(*number)),
            Value::Count(cycles(begin)),
            Value::Count(counts.cycles().round() as u64),
            Value::Count(counts.instructions),
            Value::Real(counts.cpi()),
        ];
        values.extend(stages.into_iter().chain([other]).map(|cycles| Value::Count(cycles.max(0.0).round() as u64)));
        Line { depth: 0, values }
    });
    let rows: Vec<Line> = rows.collect();
    let notes = if rows.is_empty() {
        vec!["No packet was received in this trace.".to_owned()]
    } else {
        vec!["Where GRO joins packets, the stack's work is the last one's of those that it joined.".to_owned()]
    };
    View {
        title: "Life of a packet".into(),
        columns,
        rows,
        notes: notes.into_iter().map(Prose::plain).collect(),
        ..View::default()
    }
}
