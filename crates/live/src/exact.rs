//! What threads did in an interval, from sums that the kernel made of all their waits: nothing is estimated.
//!
//! A sum holds waits that ended in the interval, with all of their length, and the kernel says of each thread what is in no sum yet at
//! the end. So what an interval has is its sums, and what is open at its end, without what was open at its begin: that was counted before.

use std::collections::HashMap;

use dwell_wire::{OpenSum, SumKey, SumValue, TaskSnapshot};

use crate::activity::{ActivitySums, Interval, SumLosses, ThreadActivity};
use crate::wait::{Standing, WaitedFor};

/// What expects a lock in the word of a futex, for a wait of which only that is known.
const EXPECTS_LOCK: u64 = 2;

/// Sums of one interval after the other.
#[derive(Clone, Debug, Default)]
pub struct ExactActivity {
    waits: HashMap<SumOf, WaitSum>,
    others: HashMap<(u32, u32), [i64; 3]>,
    open: Vec<OpenSum>,
}

/// A thread's wait of some kind: what a sum is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SumOf {
    pid: u32,
    tid: u32,
    waited_for: WaitedFor,
}

/// Of one kind of wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WaitSum {
    /// What is not taken yet.
    wait_ns: i64,
    waits: u64,
    longest_ns: u64,
}

/// What a thread waited for in an interval, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactWait {
    /// For what.
    pub waited_for: WaitedFor,
    /// How long in the interval, ns.
    pub wait_ns: u64,
    /// Waits that ended in it.
    pub waits: u64,
    /// The longest one that ended in it or went on at its end, ns from where it began, be that before the interval.
    pub longest_ns: u64,
}

/// What a thread did in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactThread {
    /// Its times.
    pub sums: ActivitySums,
    /// What it waited for, the longest first.
    pub waits: Vec<ExactWait>,
}

/// What all threads did, by process and thread.
pub type ExactThreads = HashMap<(u32, u32), ExactThread>;

impl ExactActivity {
    /// Adds the sums of an interval and what was open at its end, CLOCK_MONOTONIC nanoseconds. Returns what the threads did in it.
    pub fn take(&mut self, closed: &[(SumKey, SumValue)], open: Vec<OpenSum>) -> ExactThreads {
        closed.iter().for_each(|(key, value)| self.add(key, value, 1));
        open.iter().for_each(|it| self.add(&it.key, &it.value, 1));
        for it in std::mem::replace(&mut self.open, open) {
            self.add(&it.key, &it.value, -1);
        }
        self.end_interval()
    }

    fn add(&mut self, key: &SumKey, value: &SumValue, sign: i64) {
        let other = self.others.entry((key.pid, key.tid)).or_default();
        let parts = [value.running_ns, value.runnable_ns + value.queued_ns, value.switches];
        other.iter_mut().zip(parts).for_each(|(sum, part)| *sum += sign * part as i64);
        if let Standing::Waiting(waited_for) = Standing::of(&as_snapshot(key)) {
            let sum = SumOf { pid: key.pid, tid: key.tid, waited_for };
            self.waits.entry(sum).or_default().add(value, sign);
        }
    }

    /// Takes what there is. What was counted too early, because a thread went on just when the interval ended, is left for the next.
    fn end_interval(&mut self) -> ExactThreads {
        let mut threads = ExactThreads::new();
        for (&thread, parts) in &mut self.others {
            let [running_ns, runnable_ns, switches] = parts.each_mut().map(taken);
            let sums = ActivitySums { running_ns, runnable_ns, switches, ..ActivitySums::default() };
            if sums != ActivitySums::default() {
                threads.entry(thread).or_default().sums = sums;
            }
        }
        for (of, sum) in &mut self.waits {
            let wait = sum.take(of.waited_for);
            if wait.wait_ns > 0 || wait.waits > 0 {
                let thread = threads.entry((of.pid, of.tid)).or_default();
                thread.sums.waiting_ns += wait.wait_ns;
                thread.sums.waits_ns[of.waited_for.kind as usize] += wait.wait_ns;
                thread.waits.push(wait);
            }
        }
        self.others.retain(|_, parts| parts.iter().any(|part| *part != 0));
        self.waits.retain(|_, sum| sum.wait_ns != 0);
        for thread in threads.values_mut() {
            thread.waits.sort_by_key(|wait| (std::cmp::Reverse(wait.wait_ns), wait.waited_for));
        }
        threads
    }
}

impl WaitSum {
    /// What was open before takes its time away again; it has been no wait that ended.
    fn add(&mut self, value: &SumValue, sign: i64) {
        self.wait_ns += sign * value.wait_ns as i64;
        if sign > 0 {
            self.waits += value.waits;
            self.longest_ns = self.longest_ns.max(value.longest_ns);
        }
    }

    fn take(&mut self, waited_for: WaitedFor) -> ExactWait {
        let Self { waits, longest_ns, .. } = *self;
        (self.waits, self.longest_ns) = (0, 0);
        ExactWait { waited_for, wait_ns: taken(&mut self.wait_ns), waits, longest_ns }
    }
}

impl ExactThread {
    /// What it waited for and how long, the longest first.
    fn waited_for(&self) -> Vec<(WaitedFor, u64)> {
        let waited = self.waits.iter().filter(|wait| wait.wait_ns > 0);
        waited.map(|wait| (wait.waited_for, wait.wait_ns)).collect()
    }
}

fn taken(sum: &mut i64) -> u64 {
    let taken = (*sum).max(0);
    *sum -= taken;
    taken as u64
}

/// A thread that waits as `key` says.
fn as_snapshot(key: &SumKey) -> TaskSnapshot {
    let expected = if key.is_lock == 0 { 0 } else { EXPECTS_LOCK };
    TaskSnapshot {
        arguments: [key.object, 0, expected],
        state: key.state.into(),
        flags: key.flags.into(),
        syscall: key.syscall,
        ..ended(key.pid, key.tid)
    }
}

/// A thread that has ended: its ids are all that is known.
fn ended(pid: u32, tid: u32) -> TaskSnapshot {
    TaskSnapshot {
        time_ns: 0,
        started_ns: 0,
        running_ns: 0,
        runnable_ns: 0,
        switches: 0,
        arguments: [0; 3],
        tid,
        pid,
        state: dwell_wire::STATE_DEAD,
        syscall: -1,
        flags: 0,
        parent: 0,
        comm: [0; dwell_wire::COMM_BYTES],
    }
}

impl Interval {
    /// Puts what the kernel summed over `length_ns` in place of what the snapshots showed; `losses` are in no sum. Threads that no snapshot showed have the
    /// name that `name` gives for their process and thread.
    pub fn replace_by(
        &mut self,
        mut exact: ExactThreads,
        length_ns: u64,
        losses: SumLosses,
        name: impl Fn(u32, u32) -> Option<[u8; dwell_wire::COMM_BYTES]>,
    ) {
        (self.length_ns, self.ended, self.summed) = (length_ns, 0, Some(losses));
        for thread in &mut self.threads {
            let of_sums = exact.remove(&(thread.last.pid, thread.last.tid)).unwrap_or_default();
            (thread.sums, thread.waited_for) = (of_sums.sums, of_sums.waited_for());
        }
        self.threads.extend(exact.into_iter().map(|((pid, tid), of_sums)| {
            let last = TaskSnapshot { comm: name(pid, tid).unwrap_or_default(), ..ended(pid, tid) };
            ThreadActivity { last, sums: of_sums.sums, waited_for: of_sums.waited_for() }
        }));
        self.threads.sort_unstable_by_key(|thread| (thread.last.pid, thread.last.tid, thread.last.started_ns));
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use proptest::prelude::*;

    use super::*;
    use crate::wait::WaitKind;

    fn lock(object: u64) -> SumKey {
        SumKey { pid: 5, tid: 6, syscall: 202, state: 1, object, is_lock: 1, ..SumKey::zeroed() }
    }

    fn waited(waits: u64, wait_ns: u64) -> SumValue {
        SumValue { waits, wait_ns, ..SumValue::zeroed() }
    }

    #[test]
    fn a_wait_over_two_intervals_is_in_both() {
        let mut activity = ExactActivity::default();
        let open = |wait_ns| vec![OpenSum { key: lock(64), value: waited(0, wait_ns) }];
        let first = activity.take(&[(lock(128), waited(1, 10))], open(70));
        let thread = &first[&(5, 6)];
        assert_eq!((thread.sums.waiting_ns, thread.sums.waits_ns[WaitKind::Lock as usize]), (80, 80));
        assert_eq!((thread.waits[0].waited_for.object, thread.waits[0].wait_ns), (64, 70));
        let second = activity.take(&[(lock(64), SumValue { running_ns: 9, ..waited(1, 100) })], Vec::new());
        let sums = &second[&(5, 6)].sums;
        assert_eq!((sums.waiting_ns, sums.running_ns), (30, 9), "70 of the 100 ns were before");
        let counts = |thread: &ExactThread| thread.waits.iter().map(|wait| wait.waits).sum::<u64>();
        assert_eq!((counts(thread), counts(&second[&(5, 6)])), (1, 1), "a wait counts where it ends");
        assert!(activity.take(&[], Vec::new()).is_empty());
    }

    #[test]
    fn threads_that_no_snapshot_showed_are_there() {
        let exact = ExactActivity::default().take(&[(lock(64), waited(3, 10))], Vec::new());
        let mut interval = Interval { ended: 7, ..Interval::default() };
        interval.replace_by(exact, 100, SumLosses::default(), |pid, tid| (pid == 5 && tid == 6).then_some([b'a'; 16]));
        let thread = &interval.threads[0];
        assert_eq!((thread.last.tid, thread.last.comm[0], thread.sums.waiting_ns), (6, b'a', 10));
        assert_eq!(interval.ended, 0, "what they did is there");
    }

    proptest! {
        /// However a life is cut into intervals, and whichever part comes late, all of them together are the life.
        #[test]
        fn intervals_are_the_life(cuts in prop::collection::vec((0u64..50, 0u64..50, any::<bool>()), 1..30)) {
            let (mut activity, mut total, mut began, mut at) = (ExactActivity::default(), 0, 0, 0);
            for (before, after, is_missed) in cuts {
                // A wait ends, another begins and is open at the end of the interval; the walk may miss it.
                let closed = [(lock(64), waited(1, at + before - began))];
                (began, at) = (at + before, at + before + after);
                let open = vec![OpenSum { key: lock(64), value: waited(0, at - began) }];
                let threads = activity.take(&closed, if is_missed { Vec::new() } else { open });
                total += threads.get(&(5, 6)).map_or(0, |thread| thread.sums.waiting_ns);
            }
            let last = activity.take(&[(lock(64), waited(1, at - began))], Vec::new());
            total += last.get(&(5, 6)).map_or(0, |thread| thread.sums.waiting_ns);
            prop_assert_eq!(total, at);
        }
    }
}
