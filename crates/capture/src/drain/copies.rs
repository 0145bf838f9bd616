//! Stacks that user space walks: of threads that waited when they were seeded, and those that the kernel side copied.

use std::collections::HashMap;

use super::drained::{EventSink, StackCopy};
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::stacks::python::Interpreter;
use crate::stacks::unwinding::UnwindTables;
use crate::stacks::waiting;

/// Copied stacks, of 28 KiB at most, that wait for the tables of large files, or for time.
const MAX_HELD_COPIES: usize = 256;
/// How long copied stacks are walked in a round: the rings fill meanwhile.
const WALKING_NS: u64 = 10_000_000;
/// How long they are walked when the collection is over.
const LAST_WALKING_NS: u64 = 1_000_000_000;

/// The stacks of the threads that waited when they were seeded, before anything that takes longer: they may move.
pub fn walk_waiting(drained: &mut EventSink, unwinding: &mut UnwindTables) {
    let processes = unwinding.interpreters().clone();
    let mut interpreters: HashMap<u32, Option<Interpreter<'_>>> = HashMap::new();
    for record in std::mem::take(&mut drained.waiting) {
        // Before it is asked whether the thread still stands there.
        let python = processes.get(&record.tgid).and_then(|process| {
            let of_process = interpreters.entry(record.tgid).or_insert_with(|| Interpreter::of(record.h.tid, process));
            of_process.as_mut()?.stack(&record)
        });
        match waiting::stack(&record, unwinding) {
            Some((stack, frames)) => {
                python.iter().for_each(|python| drained.walked_python(python));
                drained.walked(stack, &frames);
            }
            None => drained.seeded_stacks_lost += 1,
        }
    }
}

/// The stacks that the kernel side copied, when the tables are there that may have been missing. Not all wait for those,
/// and not longer than there is time. `read_ns` is when the rings began to be drained, none at the end of the collection:
/// of a later copy the process may not be known yet.
pub fn walk_copies(drained: &mut EventSink, unwinding: &mut UnwindTables, read_ns: Option<u64>) {
    let held = if unwinding.is_behind() && read_ns.is_some() { MAX_HELD_COPIES } else { 0 };
    let is_early = |(record, _): &StackCopy| read_ns.is_none_or(|read_ns| record.h.time_ns < read_ns);
    let (mut due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut drained.copies).into_iter().partition(is_early);
    let waiting = due.split_off(due.len().saturating_sub(held));
    let time_ns = if read_ns.is_some() { WALKING_NS } else { LAST_WALKING_NS };
    let mut left = walk_for(due, time_ns, drained, unwinding);
    left.extend(waiting.into_iter().chain(later));
    let lost = left.len().saturating_sub(if read_ns.is_some() { MAX_HELD_COPIES } else { 0 });
    drained.copies_lost += lost as u64;
    drained.copies = left.split_off(lost);
}

/// Those of process `tgid` from before `time_ns`, when its tables are about to go: they are made where they are still missing.
pub fn walk_copies_of(tgid: u32, time_ns: u64, drained: &mut EventSink, unwinding: &mut UnwindTables) -> Result<()> {
    let goes = |(record, _): &StackCopy| record.tgid == tgid && record.h.time_ns < time_ns;
    if !drained.copies.iter().any(goes) {
        return Ok(());
    }
    unwinding.catch_up_with(tgid)?;
    let (due, others) = std::mem::take(&mut drained.copies).into_iter().partition(goes);
    drained.copies = others;
    drained.copies_lost += walk_for(due, WALKING_NS, drained, unwinding).len() as u64;
    Ok(())
}

/// Walks the copies until the time is over. Returns those that are left.
fn walk_for(
    copies: Vec<StackCopy>,
    time_ns: u64,
    drained: &mut EventSink,
    unwinding: &mut UnwindTables,
) -> Vec<StackCopy> {
    let until = monotonic_ns() + time_ns;
    let mut copies = copies.into_iter();
    while monotonic_ns() < until {
        let Some((record, bytes)) = copies.next() else { break };
        let (stack, frames) = waiting::copied_stack(&record, bytes, unwinding);
        drained.walked(stack, &frames);
    }
    copies.collect()
}
