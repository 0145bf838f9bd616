//! When threads ended waits of others.

use std::collections::{BTreeMap, BTreeSet};

use dwell_store::Trace;

/// When each of the threads ended waits of other threads, ns, in order.
pub fn wake_ups_by(trace: &Trace, threads: &BTreeSet<usize>) -> BTreeMap<usize, Vec<u64>> {
    let (events, mut wake_ups) = (trace.events(), BTreeMap::<usize, Vec<u64>>::new());
    if threads.is_empty() {
        return wake_ups;
    }
    let by: Vec<Option<usize>> = events
        .keys
        .iter()
        .map(|key| key.waker().get().filter(|waker| threads.contains(waker) && key.thread().get() != Some(*waker)))
        .collect();
    for thread in 0..trace.threads.tid.len() {
        for row in events.off_cpu.of(thread) {
            if let Some(Some(waker)) = by.get(events.off_cpu.key(row) as usize) {
                wake_ups.entry(*waker).or_default().push(events.off_cpu.woken_ns(row));
            }
        }
    }
    wake_ups.values_mut().for_each(|times| times.sort_unstable());
    wake_ups
}

/// Whether any of the instants, which are in order, is in a span of time, its ends included.
pub fn any_within(instants: &[u64], (from_ns, to_ns): (u64, u64)) -> bool {
    let first = instants.partition_point(|time| *time < from_ns);
    instants.get(first).is_some_and(|time| *time <= to_ns)
}
