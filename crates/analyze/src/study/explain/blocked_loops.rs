//! Event loops that one callback keeps for long, again and again: whatever else comes waits until it is done. Who asks from outside is not
//! seen to wait; that the loop was never without work need not be.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use dwell_query::stacks::call_stacks::{CallStacks, FunctionId};
use dwell_store::Trace;

use crate::study::explain::classes::Classes;
use crate::study::explain::terms::{is_of_event_loop, listens};
use crate::study::explain::wait_ends::waited_for;

/// How long a callback keeps a loop at least, ns, and how many samples tell that it is one.
const LONG_NS: u64 = 10_000_000;
const SAMPLES: usize = 5;
/// Part of the samples between two waits that one function has where they are one callback.
const NEARLY_ALL: f64 = 0.9;
/// Part of that time in which the loop itself runs: what it waits for there has causes of its own.
const MOSTLY: f64 = 0.5;
/// Part of the thread's life that such callbacks take from which on they are told.
const MUCH: f64 = 0.4;
/// Waits in a loop that make it one.
const USUAL: usize = 5;

/// The times in which one callback kept a loop that others from outside ask, with its thread.
pub fn blocked_spans(trace: &Trace, stacks: &CallStacks<'_>, classes: &Classes<'_, '_>) -> Vec<(usize, (u64, u64))> {
    let threads = (0..trace.threads.tid.len()).filter(|thread| classes.serves_outside(*thread));
    threads.flat_map(|thread| of_thread(trace, stacks, thread).into_iter().map(move |span| (thread, span))).collect()
}

fn of_thread(trace: &Trace, stacks: &CallStacks<'_>, thread: usize) -> Vec<(u64, u64)> {
    let rows = &trace.events().off_cpu;
    let mut of_loop: HashSet<FunctionId> = HashSet::new();
    let (mut spans, mut loops, mut from, mut waits_ns) = (Vec::new(), 0, None, 0u64);
    rows.for_each(rows.of(thread), |row, number, times| {
        let key = trace.events().key(number);
        if times.wait_ns == 0 {
            return;
        }
        if !is_of_event_loop(key.syscall()) && !listens(waited_for(trace, &key)) {
            waits_ns = waits_ns.saturating_add(times.wait_ns);
            return;
        }
        if loops < USUAL {
            of_loop.extend(stacks.whole_chain(key.stack()).map(|stack| stacks.function(stack)));
        }
        let to = times.start_ns;
        let is_long = |from: &u64| to.saturating_sub(*from) >= LONG_NS;
        if let Some(from) = from.filter(is_long).filter(|from| waits_ns as f64 <= MOSTLY * (to - from) as f64) {
            spans.push((from, to));
        }
        (loops, waits_ns, from) = (loops + 1, 0, Some(rows.end_ns(row)));
    });
    spans.retain(|span| is_one_callback(trace, stacks, (thread, *span), &of_loop));
    let kept_ns: u64 = spans.iter().map(|(from, to)| to - from).sum();
    let life_ns = trace.life_ns(thread);
    if loops >= USUAL && kept_ns as f64 >= MUCH * life_ns as f64 { spans } else { Vec::new() }
}

/// Whether nearly all samples of a span are in one function that is not the loop's.
fn is_one_callback(
    trace: &Trace,
    stacks: &CallStacks<'_>,
    (thread, (from, to)): (usize, (u64, u64)),
    of_loop: &HashSet<FunctionId>,
) -> bool {
    let samples = &trace.events().samples;
    let at = |time: u64| samples.partition_point(samples.of(thread), |other| other <= time);
    let within: Range<usize> = at(from)..at(to);
    let mut counts: HashMap<FunctionId, usize> = HashMap::new();
    for row in within.clone() {
        let stack = trace.events().key(samples.key(row)).stack();
        let functions: HashSet<FunctionId> = stacks.whole_chain(stack).map(|stack| stacks.function(stack)).collect();
        functions.difference(of_loop).for_each(|function| *counts.entry(*function).or_default() += 1);
    }
    let most = counts.values().copied().max().unwrap_or(0);
    within.len() >= SAMPLES && most as f64 >= NEARLY_ALL * within.len() as f64
}
