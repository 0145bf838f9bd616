//! What threads did between snapshots, summed.

use std::collections::HashMap;

use dwell_wire::{TaskSnapshot, task_flag};

use crate::wait::{Standing, WaitKind, WaitedFor};

/// Things that one thread waited for in an interval, of which each has a sum of its own.
const MOST_TARGETS: usize = 8;

/// Times of an interval, ns; running + runnable + waiting is what the threads lived in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivitySums {
    /// On a CPU.
    pub running_ns: u64,
    /// In the run queue.
    pub runnable_ns: u64,
    /// Off the CPU for any other reason.
    pub waiting_ns: u64,
    /// Of these, by [`WaitKind`]; their sum is `waiting_ns`.
    pub waits_ns: [u64; WaitKind::COUNT],
    /// Of the waiting time, what rests on what was seen at the snapshots: the thread switched in between.
    pub estimated_ns: u64,
    /// How often it left the CPU.
    pub switches: u64,
}

impl ActivitySums {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &Self) {
        self.running_ns += other.running_ns;
        self.runnable_ns += other.runnable_ns;
        self.waiting_ns += other.waiting_ns;
        self.estimated_ns += other.estimated_ns;
        self.switches += other.switches;
        self.waits_ns.iter_mut().zip(other.waits_ns).for_each(|(sum, ns)| *sum += ns);
    }

    /// The part of them that `part_ns` of `whole_ns` has, as if all went on evenly.
    pub fn part(&self, part_ns: u64, whole_ns: u64) -> Self {
        let of = |ns: u64| (u128::from(ns) * u128::from(part_ns) / u128::from(whole_ns.max(1))) as u64;
        Self {
            running_ns: of(self.running_ns),
            runnable_ns: of(self.runnable_ns),
            waiting_ns: of(self.waiting_ns),
            waits_ns: self.waits_ns.map(of),
            estimated_ns: of(self.estimated_ns),
            switches: of(self.switches),
        }
    }

    /// The kind of wait that took most of the waiting time.
    pub fn longest_wait(&self) -> Option<WaitKind> {
        let longest = WaitKind::ALL.iter().max_by_key(|kind| self.waits_ns[**kind as usize]);
        longest.copied().filter(|kind| self.waits_ns[*kind as usize] > 0)
    }

    /// What the threads lived.
    pub fn lived_ns(&self) -> u64 {
        self.running_ns + self.runnable_ns + self.waiting_ns
    }
}

/// A thread in an interval.
#[derive(Clone, Debug)]
pub struct ThreadActivity {
    /// As it stood last.
    pub last: TaskSnapshot,
    /// What it did.
    pub sums: ActivitySums,
    /// What it waited for, the longest first.
    pub waited_for: Vec<(WaitedFor, u64)>,
}

/// What all threads did.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// From the first snapshot to the last, ns.
    pub length_ns: u64,
    /// Snapshots in it.
    pub snapshots: u64,
    /// The threads that are there at its end, in the order of process and thread ids.
    pub threads: Vec<ThreadActivity>,
    /// Threads that ended in it: what they did since the snapshot before is not known.
    pub ended: u64,
    /// Where the kernel summed all waits: what it had no place for. `None`: waits are as seen at the snapshots.
    pub summed: Option<SumLosses>,
}

impl Interval {
    /// Adds the interval that follows.
    pub fn append(&mut self, next: Self) {
        self.length_ns += next.length_ns;
        self.snapshots += next.snapshots;
        self.ended += next.ended;
        let key = |thread: &ThreadActivity| (thread.last.tid, thread.last.started_ns);
        let before = std::mem::take(&mut self.threads);
        let mut before: HashMap<_, _> = before.into_iter().map(|thread| (key(&thread), thread)).collect();
        self.threads = next.threads;
        for thread in &mut self.threads {
            let Some(earlier) = before.remove(&key(thread)) else { continue };
            thread.sums.add(&earlier.sums);
            for (waited_for, ns) in earlier.waited_for {
                match thread.waited_for.iter_mut().find(|(known, _)| *known == waited_for) {
                    Some((_, sum)) => *sum += ns,
                    None => thread.waited_for.push((waited_for, ns)),
                }
            }
        }
    }
}

/// What sums of the kernel had no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SumLosses {
    /// Waits.
    pub waits: u64,
    /// How long they were, ns.
    pub wait_ns: u64,
}

/// Adds up snapshots.
#[derive(Default)]
pub struct Activity {
    threads: HashMap<(u32, u64), Watched>,
    begin_ns: u64,
    last_ns: u64,
    snapshots: u64,
    ended: u64,
}

/// A thread between snapshots.
struct Watched {
    last: TaskSnapshot,
    sums: ActivitySums,
    waited_for: Vec<(WaitedFor, u64)>,
    /// What it waited for when it was last seen to.
    last_wait: Option<WaitedFor>,
    /// Counted as running or runnable because it stood so at both snapshots; the kernel's account has it later.
    ahead_running_ns: u64,
    ahead_runnable_ns: u64,
    /// The snapshot in which it was seen last, by number.
    seen: u64,
}

impl Activity {
    /// Adds a snapshot; each task has its own time, CLOCK_MONOTONIC.
    pub fn take(&mut self, tasks: &[TaskSnapshot]) {
        let Some(now_ns) = tasks.iter().map(|task| task.time_ns).max() else { return };
        let is_first = self.last_ns == 0;
        self.snapshots += 1;
        for task in tasks {
            let key = (task.tid, task.started_ns);
            match self.threads.get_mut(&key) {
                Some(watched) => watched.go_on(task),
                // It was born since the snapshot before; of others in the first one nothing is known before.
                None if !is_first && task.started_ns > self.last_ns => {
                    let born = TaskSnapshot { time_ns: task.started_ns, ..*task };
                    let mut watched = Watched::new(&born);
                    (watched.last.running_ns, watched.last.runnable_ns, watched.last.switches) = (0, 0, 0);
                    watched.go_on(task);
                    self.threads.insert(key, watched);
                }
                None => {
                    self.threads.insert(key, Watched::new(task));
                }
            }
            if let Some(watched) = self.threads.get_mut(&key) {
                watched.seen = self.snapshots;
            }
        }
        let (before, snapshots) = (self.threads.len(), self.snapshots);
        self.threads.retain(|_, watched| watched.seen == snapshots);
        self.ended += (before - self.threads.len()) as u64;
        if is_first {
            self.begin_ns = now_ns;
        }
        self.last_ns = now_ns;
    }

    /// What happened since the last call, or the first snapshot; the next interval begins.
    pub fn end_interval(&mut self) -> Interval {
        let mut threads: Vec<ThreadActivity> = self.threads.values_mut().map(Watched::end_interval).collect();
        threads.sort_unstable_by_key(|thread| (thread.last.pid, thread.last.tid, thread.last.started_ns));
        let interval = Interval {
            length_ns: self.last_ns.saturating_sub(self.begin_ns),
            snapshots: self.snapshots,
            threads,
            ended: self.ended,
            summed: None,
        };
        (self.begin_ns, self.snapshots, self.ended) = (self.last_ns, 0, 0);
        self.threads.values_mut().for_each(|watched| watched.seen = 0);
        interval
    }
}

impl Watched {
    fn new(task: &TaskSnapshot) -> Self {
        Self {
            last: *task,
            sums: ActivitySums::default(),
            waited_for: Vec::new(),
            last_wait: None,
            ahead_running_ns: 0,
            ahead_runnable_ns: 0,
            seen: 0,
        }
    }

    /// From the snapshot before to this one.
    fn go_on(&mut self, task: &TaskSnapshot) {
        let length_ns = task.time_ns.saturating_sub(self.last.time_ns);
        let switches = task.switches.saturating_sub(self.last.switches);
        let (before, now) = (Standing::of(&self.last), Standing::of(task));
        let mut running_ns =
            caught_up(task.running_ns, self.last.running_ns, &mut self.ahead_running_ns).min(length_ns);
        let mut runnable_ns = caught_up(task.runnable_ns, self.last.runnable_ns, &mut self.ahead_runnable_ns);
        runnable_ns = runnable_ns.min(length_ns - running_ns);
        let rest_ns = length_ns - running_ns - runnable_ns;
        // The kernel adds to its accounts at ticks and switches: of a thread that has not moved, the rest is the same.
        match (before, now) {
            (Standing::Running, Standing::Running) if switches == 0 => {
                running_ns += rest_ns;
                self.ahead_running_ns += rest_ns;
            }
            (Standing::Runnable, Standing::Runnable) if switches == 0 => {
                runnable_ns += rest_ns;
                self.ahead_runnable_ns += rest_ns;
            }
            _ => self.waited(rest_ns, (before, now), switches == 0 || before == now),
        }
        self.sums.running_ns += running_ns;
        self.sums.runnable_ns += runnable_ns;
        self.sums.switches += switches;
        self.last = *task;
    }

    fn waited(&mut self, ns: u64, (before, now): (Standing, Standing), is_certain: bool) {
        const UNSEEN: WaitedFor = WaitedFor { kind: WaitKind::Other, syscall: -1, object: 0 };
        let waited_for = match (now, before) {
            (Standing::Waiting(waited_for), _) | (_, Standing::Waiting(waited_for)) => waited_for,
            // A busy thread waits shortly, mostly for the same.
            _ => self.last_wait.unwrap_or(UNSEEN),
        };
        if let Standing::Waiting(waited_for) = now {
            self.last_wait = Some(waited_for);
        }
        self.sums.waiting_ns += ns;
        self.sums.waits_ns[waited_for.kind as usize] += ns;
        self.sums.estimated_ns += if is_certain { 0 } else { ns };
        let known = self.waited_for.iter().position(|(known, _)| *known == waited_for);
        match known {
            Some(at) => self.waited_for[at].1 += ns,
            None if ns > 0 && self.waited_for.len() < MOST_TARGETS => self.waited_for.push((waited_for, ns)),
            None => {}
        }
    }

    fn end_interval(&mut self) -> ThreadActivity {
        let mut waited_for = std::mem::take(&mut self.waited_for);
        waited_for.sort_by_key(|(waited_for, ns)| (std::cmp::Reverse(*ns), *waited_for));
        ThreadActivity { last: self.last, sums: std::mem::take(&mut self.sums), waited_for }
    }
}

/// How much an account grew, less what was counted ahead of it.
fn caught_up(now: u64, before: u64, ahead: &mut u64) -> u64 {
    let grown = now.saturating_sub(before);
    let covered = grown.min(*ahead);
    *ahead -= covered;
    grown - covered
}

impl ThreadActivity {
    /// Whether it is a thread of the kernel's own.
    pub fn is_kernel_thread(&self) -> bool {
        self.last.flags & task_flag::KERNEL_THREAD != 0
    }

    /// Its name, as the kernel has it.
    pub fn name(&self) -> String {
        let bytes = &self.last.comm;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    /// What it does now.
    pub fn standing(&self) -> Standing {
        Standing::of(&self.last)
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    /// Thread 7, which began at 1 ms.
    fn at(
        time_ms: u64,
        (running_ms, runnable_ms, switches): (u64, u64, u64),
        syscall: i32,
        state: u32,
    ) -> TaskSnapshot {
        TaskSnapshot {
            time_ns: time_ms * MS,
            started_ns: MS,
            running_ns: running_ms * MS,
            runnable_ns: runnable_ms * MS,
            switches,
            tid: 7,
            pid: 7,
            state,
            syscall,
            ..TaskSnapshot::zeroed()
        }
    }

    fn sums(snapshots: &[TaskSnapshot]) -> ThreadActivity {
        let mut activity = Activity::default();
        snapshots.iter().for_each(|task| activity.take(&[*task]));
        activity.end_interval().threads.swap_remove(0)
    }

    #[test]
    fn waits_are_what_is_left_of_the_kernels_accounts() {
        let lock = |time, accounts| TaskSnapshot { arguments: [64, 128, 2], ..at(time, accounts, 202, 1) };
        let thread = sums(&[lock(100, (5, 1, 3)), lock(200, (5, 1, 3)), lock(300, (25, 11, 9))]);
        let ActivitySums { running_ns, runnable_ns, waiting_ns, estimated_ns, switches, waits_ns } = thread.sums;
        assert_eq!((running_ns, runnable_ns, waiting_ns, switches), (20 * MS, 10 * MS, 170 * MS, 6));
        assert_eq!((waits_ns[WaitKind::Lock as usize], estimated_ns), (170 * MS, 0), "the same wait at both ends");
        assert_eq!(thread.waited_for[0].1, 170 * MS);
        let thread = sums(&[lock(100, (5, 1, 3)), at(200, (15, 1, 5), 230, 1)]);
        assert_eq!((thread.sums.estimated_ns, thread.sums.waits_ns[WaitKind::Sleep as usize]), (90 * MS, 90 * MS));
    }

    #[test]
    fn what_the_account_has_not_yet_is_counted_once() {
        // It stands in the run queue for 200 ms, and the account has it when it ran.
        let queued = |time| at(time, (0, 0, 0), -1, 0);
        let thread = sums(&[queued(100), queued(200), queued(300), at(400, (50, 250, 1), 230, 1)]);
        assert_eq!((thread.sums.runnable_ns, thread.sums.running_ns, thread.sums.waiting_ns), (250 * MS, 50 * MS, 0));
    }

    #[test]
    fn threads_come_and_go() {
        let mut activity = Activity::default();
        let other = TaskSnapshot { tid: 1, pid: 1, state: 1, syscall: 232, ..at(100, (0, 0, 0), 0, 1) };
        activity.take(&[other]);
        let born = TaskSnapshot { started_ns: 150 * MS, ..at(200, (10, 5, 1), 230, 1) };
        activity.take(&[TaskSnapshot { time_ns: 200 * MS, ..other }, born]);
        let interval = activity.end_interval();
        assert_eq!((interval.length_ns, interval.threads.len(), interval.ended), (100 * MS, 2, 0));
        assert_eq!(interval.threads[1].sums.lived_ns(), 50 * MS, "since its birth");
        activity.take(&[TaskSnapshot { time_ns: 300 * MS, ..other }]);
        let interval = activity.end_interval();
        assert_eq!((interval.threads.len(), interval.ended), (1, 1));
        // The id is used again: another thread.
        activity.take(&[TaskSnapshot { time_ns: 400 * MS, started_ns: 350 * MS, ..other }]);
        let interval = activity.end_interval();
        assert_eq!((interval.threads[0].sums.lived_ns(), interval.ended), (50 * MS, 1));
    }

    proptest! {
        /// Whatever the kernel's accounts say, the parts are the life, and the kinds are the waiting time.
        #[test]
        fn parts_are_the_whole(steps in prop::collection::vec(
            (1u64..50, 0u64..80, 0u64..80, 0u64..3, -1i32..300, 0u32..4, 0u32..2), 1..40,
        )) {
            let (mut time, mut running, mut runnable, mut switches) = (100, 0, 0, 0);
            let mut activity = Activity::default();
            activity.take(&[at(time, (0, 0, 0), 202, 1)]);
            for (length, ran, queued, switched, syscall, state, flags) in steps {
                (time, running, runnable, switches) = (time + length, running + ran, runnable + queued, switches + switched);
                activity.take(&[TaskSnapshot { flags, ..at(time, (running, runnable, switches), syscall, state) }]);
            }
            let interval = activity.end_interval();
            let ActivitySums { waiting_ns, waits_ns, estimated_ns, .. } = interval.threads[0].sums;
            prop_assert_eq!(interval.threads[0].sums.lived_ns(), (time - 100) * MS);
            prop_assert_eq!(waits_ns.iter().sum::<u64>(), waiting_ns);
            prop_assert!(estimated_ns <= waiting_ns);
        }
    }
}
