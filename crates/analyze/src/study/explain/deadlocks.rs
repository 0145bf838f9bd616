//! Deadlocks: threads that wait to the end for locks which the next of them has, in a circle.

use std::collections::HashSet;

use dwell_model::{Outcome, ThreadId};
use dwell_store::{EventKey, Trace};

use crate::study::explain::names::Names;
use crate::study::explain::terms::{GOES_ON_NS, Link};

/// How long each has waited at least, ns: sampling may take two short waits for a circle.
const LEAST_NS: u64 = 50_000_000;

/// The waits of each circle, each for a lock that the next one's thread has; the last one's is the first one's thread's.
pub fn deadlocks(trace: &Trace, names: &mut Names<'_, '_>) -> Vec<Vec<Link>> {
    // Few threads have such a wait, by its key, and many rows.
    let keys = trace.events().keys.iter().filter(|key| key.holder().is_some() && may_be_open(key));
    let waiting: HashSet<usize> = keys.filter_map(|key| key.thread().get()).collect();
    let last_wait = |thread: usize| waiting.contains(&thread).then(|| LastWait::of(trace, thread)).flatten();
    let last: Vec<Option<LastWait>> = (0..trace.threads.tid.len()).map(last_wait).collect();
    let holders: Vec<Option<usize>> = last.iter().map(|wait| wait.map(|wait| wait.holder)).collect();
    let mut link = |thread: &usize| {
        let key = trace.events().off_cpu_key(last[*thread]?.row);
        let (role, place) = (names.role_of(*thread), names.place_of(key.stack()));
        Some(Link { role, label: names.label_of(key.object(), key.syscall()), place })
    };
    circles(&holders).iter().map(|circle| circle.iter().filter_map(&mut link).collect()).collect()
}

/// Whether nobody ended a wait.
fn may_be_open(key: &EventKey) -> bool {
    matches!(Outcome::from_code(key.outcome()), Outcome::Unfinished | Outcome::Interrupted | Outcome::TimedOut)
}

/// A thread's wait for a lock that had not ended when all else did.
#[derive(Clone, Copy)]
struct LastWait {
    row: usize,
    holder: usize,
}

impl LastWait {
    fn of(trace: &Trace, thread: usize) -> Option<Self> {
        let (events, rows) = (trace.events(), &trace.events().off_cpu);
        let all = rows.of(thread);
        // A thread that ends waits for other things for a moment.
        let is_for_lock = |row: &usize| rows.wait_ns(*row) > 0 && events.off_cpu_key(*row).holder().is_some();
        let row = all.clone().rev().find(is_for_lock)?;
        let key = events.off_cpu_key(row);
        let is_open = match Outcome::from_code(key.outcome()) {
            Outcome::Unfinished => true,
            // The end of the process broke it off, or the JVM looked once more before.
            Outcome::Interrupted | Outcome::TimedOut => {
                trace.threads.end_ns[thread].saturating_sub(rows.woken_ns(row)) <= LEAST_NS
            }
            _ => false,
        };
        let holder = key.holder().get().filter(|holder| is_open && *holder < trace.threads.tid.len())?;
        // The JVM looks again from time to time.
        let mut began = rows.start_ns(row);
        for before in (all.start..row).rev() {
            let same = events.off_cpu_key(before).object() == key.object();
            if !same || began.saturating_sub(rows.end_ns(before)) > GOES_ON_NS {
                break;
            }
            began = rows.start_ns(before);
        }
        (rows.woken_ns(row).saturating_sub(began) >= LEAST_NS).then_some(Self { row, holder })
    }
}

/// The circles among these: each thread's next one.
fn circles(next: &[Option<usize>]) -> Vec<Vec<usize>> {
    let (mut found, mut seen_from) = (Vec::new(), vec![ThreadId::NONE; next.len()]);
    for first in 0..next.len() {
        let mut at = first;
        while !seen_from[at].is_some() {
            seen_from[at] = ThreadId::new(first);
            let Some(following) = next[at] else { break };
            at = following;
            if seen_from[at] == ThreadId::new(first) {
                let rest = std::iter::successors(next[at], |thread| next[*thread]).take_while(|thread| *thread != at);
                found.push(std::iter::once(at).chain(rest).collect());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_once() {
        // 0 -> 1 -> 2 -> 1; 3 -> itself; 4 -> 0; 5 -> 6, which waits for nobody.
        let next = [Some(1), Some(2), Some(1), Some(3), Some(0), Some(6), None];
        assert_eq!(circles(&next), [vec![1, 2], vec![3]]);
        assert_eq!(circles(&[None, Some(0)]), Vec::<Vec<usize>>::new());
    }
}
