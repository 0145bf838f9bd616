//! Sleeps by means of a timed wait, as Ruby's `sleep` is one: nobody ever ends the wait at that place, and when it is over the
//! thread mostly serves others. A timer's thread that finds nothing to do serves nobody.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{ObjectId, Outcome, StackId};
use dwell_query::stacks::object::object_type;
use dwell_store::Trace;

use crate::study::explain::terms::parks_threads;
use crate::study::explain::wake_ups::{any_within, wake_ups_by};

/// Waits at one place from which they are a habit.
const HABIT: usize = 8;
/// Part of them after which the thread ends a wait of another one.
const SERVES: f64 = 0.5;

/// Where a thread waits: the object and the stack.
type WaitPlace = (usize, ObjectId, StackId);

/// Of each key: whether its waits are such sleeps.
pub fn paced_keys(trace: &Trace) -> Vec<bool> {
    let keys = &trace.events().keys;
    let mut paced = vec![false; keys.len()];
    let mut candidates: BTreeMap<WaitPlace, Vec<u32>> = BTreeMap::new();
    let mut ended: BTreeSet<WaitPlace> = BTreeSet::new();
    for (number, key) in (0u32..).zip(keys.iter()) {
        let Some(thread) = key.thread().get().filter(|_| parks_threads(object_type(trace, key.object()))) else {
            continue;
        };
        let place = (thread, key.object(), key.stack());
        match Outcome::from_code(key.outcome()) {
            Outcome::TimedOut => candidates.entry(place).or_default().push(number),
            Outcome::Woken => _ = ended.insert(place),
            _ => {}
        }
    }
    candidates.retain(|place, _| !ended.contains(place));
    let threads: BTreeSet<usize> = candidates.keys().map(|(thread, ..)| *thread).collect();
    if threads.is_empty() {
        return paced;
    }
    let served = wake_ups_by(trace, &threads);
    for ((thread, ..), numbers) in candidates {
        let times = served.get(&thread).map_or(&[][..], Vec::as_slice);
        if serves_after(trace, thread, &numbers, times) {
            numbers.iter().for_each(|number| paced[*number as usize] = true);
        }
    }
    paced
}

/// Whether the thread mostly ends a wait of another one between such a wait and the next one that it cannot end by itself: what it
/// does meanwhile may take a disk.
fn serves_after(trace: &Trace, thread: usize, numbers: &[u32], served: &[u64]) -> bool {
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    let is_paced = |row: usize| numbers.contains(&rows.key(row));
    let is_for_others = |row: usize| events.off_cpu_key(row).waker().is_some() || is_paced(row);
    let waits: Vec<usize> = rows.of(thread).filter(|row| rows.wait_ns(*row) > 0 && is_for_others(*row)).collect();
    let (mut paced, mut followed) = (0, 0);
    for (at, row) in waits.iter().enumerate().filter(|(_, row)| is_paced(**row)) {
        let until = waits.get(at + 1).map_or(trace.threads.end_ns[thread], |next| rows.start_ns(*next));
        paced += 1;
        followed += usize::from(any_within(served, (rows.woken_ns(*row), until)));
    }
    paced >= HABIT && followed as f64 >= SERVES * paced as f64
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    /// The pictures' waits on `x` of `a` end by their time-outs.
    fn paced(picture: &str) -> bool {
        let mut trace = trace(picture);
        let of_a = |row: &usize| trace.threads.name[trace.off_cpu.thread[*row].get().unwrap()] == "a";
        let rows: Vec<usize> = (0..trace.off_cpu.thread.len()).filter(of_a).collect();
        for row in rows {
            trace.off_cpu.outcome[row] = Outcome::TimedOut.code();
            trace.off_cpu.waker[row] = dwell_model::ThreadId::NONE;
        }
        trace.tables_changed();
        paced_keys(&trace).contains(&true)
    }

    #[test]
    fn who_serves_others_after_each_timed_wait_slept() {
        let (sleeper, waiter) = ("xx#".repeat(10), format!("#{}", "cc#".repeat(10)));
        assert!(paced(&format!("a: {sleeper}\nb: {waiter}")));
        assert!(!paced(&format!("a: {sleeper}\nb: {}", "#".repeat(32))), "it serves nobody");
        assert!(!paced(&format!("a: {}\nb: #{}", "xx#".repeat(3), "cc#".repeat(3))), "three are no habit");
    }
}
