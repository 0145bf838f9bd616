//! Threads that wake several others at once, again and again: they publish to all who listen, at a time of their own.

use std::collections::{BTreeMap, HashSet};

use dwell_store::Trace;

use crate::study::explain::wait_ends::waker_of;

/// Wake-ups that follow one another so soon are one broadcast, ns.
const AT_ONCE_NS: u64 = 500_000;
/// Part of a thread's wake-ups that must be of broadcasts.
const MOSTLY: f64 = 0.5;

/// Those of `threads` that broadcast.
pub fn broadcasters(trace: &Trace, threads: &HashSet<usize>) -> HashSet<usize> {
    if threads.is_empty() {
        return HashSet::new();
    }
    let events = trace.events();
    let mut woken: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
    for thread in 0..trace.threads.tid.len() {
        events.off_cpu.for_each(events.off_cpu.of(thread), |row, key, times| {
            if let Some(waker) = waker_of(&events.key(key)).filter(|waker| times.wait_ns > 0 && threads.contains(waker))
            {
                woken.entry(waker).or_default().push((events.off_cpu.woken_ns(row), thread));
            }
        });
    }
    let broadcasts = |(waker, mut woken): (usize, Vec<(u64, usize)>)| {
        woken.sort_unstable();
        let follows = |pair: &&[(u64, usize)]| pair[1].0 - pair[0].0 < AT_ONCE_NS && pair[1].1 != pair[0].1;
        let many = woken.windows(2).filter(follows).count();
        (many as f64 >= MOSTLY * woken.len() as f64).then_some(waker)
    };
    woken.into_iter().filter_map(broadcasts).collect()
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn whoever_wakes_all_at_once_broadcasts() {
        let both = HashSet::from([0]);
        assert_eq!(broadcasters(&trace("a: ####\nb: #aa#\nc: #aa#"), &both), both);
        assert!(broadcasters(&trace("a: ####\nb: #a##\nc: #aa#"), &both).is_empty());
    }
}
