//! Rows of the screen: threads, or groups of them, in an order.

use std::collections::BTreeMap;

use crate::activity::{ActivitySums, Interval, ThreadActivity};
use crate::wait::{WaitKind, WaitedFor};

/// What a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// A process.
    #[default]
    Process,
    /// A thread.
    Thread,
    /// A control group.
    Cgroup,
}

/// What rows are ordered by, the largest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Running and in the run queue: what wants a CPU.
    #[default]
    Cpu,
    /// The run queue.
    Queue,
    /// All waits but those for time, for several descriptors and for children: those that somebody may be at fault for.
    Blocked,
    /// All waits.
    Waiting,
    /// Switches.
    Switches,
    /// The process id, the smallest first.
    Pid,
}

impl SortBy {
    /// All of them, in the order in which a key goes through them.
    pub const ALL: &'static [Self] = &[Self::Cpu, Self::Queue, Self::Blocked, Self::Waiting, Self::Switches, Self::Pid];

    /// Its name on the screen and on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Queue => "queue",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Switches => "switches",
            Self::Pid => "pid",
        }
    }
}

/// Threads that belong together, or one.
#[derive(Clone, Debug)]
pub struct Row<'i> {
    /// They, in the order of their ids.
    pub threads: Vec<&'i ThreadActivity>,
    /// What they did.
    pub sums: ActivitySums,
    /// What they waited for longest, among what somebody may be at fault for, else at all.
    pub top: Option<Top<'i>>,
}

/// The longest wait of a row.
#[derive(Clone, Copy, Debug)]
pub struct Top<'i> {
    /// For what.
    pub waited_for: WaitedFor,
    /// How long, of all threads of the row in the same process that waited for the same.
    pub ns: u64,
    /// The one of these threads that waited longest.
    pub thread: &'i ThreadActivity,
}

/// Whether somebody may be at fault for such a wait: a sleep, an event loop, an idle worker and a shell wait as they should.
fn is_blocked(kind: WaitKind) -> bool {
    !matches!(kind, WaitKind::Condition | WaitKind::Sleep | WaitKind::Poll | WaitKind::Child | WaitKind::Signal)
}

impl<'i> Row<'i> {
    fn new(threads: Vec<&'i ThreadActivity>) -> Self {
        let mut sums = ActivitySums::default();
        threads.iter().for_each(|thread| sums.add(&thread.sums));
        let top = top(&threads);
        Self { threads, sums, top }
    }

    /// Its first thread, whose process gives a group its name.
    pub fn first(&self) -> &'i ThreadActivity {
        self.threads[0]
    }

    /// Time in waits that somebody may be at fault for.
    pub fn blocked_ns(&self) -> u64 {
        let blocked = WaitKind::ALL.iter().filter(|kind| is_blocked(**kind));
        blocked.map(|kind| self.sums.waits_ns[*kind as usize]).sum()
    }

    fn rank(&self, by: SortBy) -> u64 {
        match by {
            SortBy::Cpu => self.sums.running_ns + self.sums.runnable_ns,
            SortBy::Queue => self.sums.runnable_ns,
            SortBy::Blocked => self.blocked_ns(),
            SortBy::Waiting => self.sums.waiting_ns,
            SortBy::Switches => self.sums.switches,
            SortBy::Pid => u64::MAX - u64::from(self.first().last.pid),
        }
    }
}

fn top<'i>(threads: &[&'i ThreadActivity]) -> Option<Top<'i>> {
    let mut all: BTreeMap<(u32, WaitedFor), (u64, u64, &'i ThreadActivity)> = BTreeMap::new();
    for thread in threads {
        for &(waited_for, ns) in &thread.waited_for {
            let entry = all.entry((thread.last.pid, waited_for)).or_insert((0, 0, thread));
            entry.0 += ns;
            if ns > entry.1 {
                (entry.1, entry.2) = (ns, thread);
            }
        }
    }
    // Of waits that are nobody's fault, the one of the busiest thread says more than the longest.
    let rank = |waited_for: &WaitedFor, ns: u64, thread: &ThreadActivity| match is_blocked(waited_for.kind) {
        true => (true, ns, 0),
        false => (false, thread.sums.running_ns + thread.sums.runnable_ns, ns),
    };
    let best = all.into_iter().max_by_key(|((_, waited_for), (ns, _, thread))| rank(waited_for, *ns, thread));
    best.map(|((_, waited_for), (ns, _, thread))| Top { waited_for, ns, thread })
}

/// The rows of an interval: of the threads that `takes` takes, by process, thread, or what `cgroup` says of a process id.
pub fn group<'i>(
    interval: &'i Interval,
    by: GroupBy,
    takes: impl Fn(&ThreadActivity) -> bool,
    mut cgroup: impl FnMut(u32) -> String,
) -> Vec<Row<'i>> {
    let mut groups: BTreeMap<(String, u64), Vec<&ThreadActivity>> = BTreeMap::new();
    for thread in interval.threads.iter().filter(|thread| takes(thread)) {
        let key = match by {
            GroupBy::Process => (String::new(), u64::from(thread.last.pid)),
            GroupBy::Thread => (String::new(), u64::from(thread.last.pid) << 32 | u64::from(thread.last.tid)),
            GroupBy::Cgroup => (cgroup(thread.last.pid), 0),
        };
        groups.entry(key).or_default().push(thread);
    }
    groups.into_values().map(Row::new).collect()
}

/// A row for each thing that threads of a process waited for, the longest waits first; those that somebody may be at fault for before
/// the others. Its sums are the waits for it alone.
pub fn waited_for(interval: &Interval) -> Vec<Row<'_>> {
    let mut all: BTreeMap<(u32, WaitedFor), Vec<(&ThreadActivity, u64)>> = BTreeMap::new();
    for thread in &interval.threads {
        for &(waited_for, ns) in thread.waited_for.iter().filter(|(_, ns)| *ns > 0) {
            all.entry((thread.last.pid, waited_for)).or_default().push((thread, ns));
        }
    }
    let rows = all.into_iter().map(|((_, waited_for), waiters)| of_waiters(waited_for, &waiters));
    let mut rows: Vec<Row<'_>> = rows.collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.blocked_ns(), row.sums.waiting_ns)));
    rows
}

fn of_waiters<'i>(waited_for: WaitedFor, waiters: &[(&'i ThreadActivity, u64)]) -> Row<'i> {
    let ns = waiters.iter().map(|(_, ns)| ns).sum();
    let longest = waiters.iter().max_by_key(|(_, ns)| *ns).map(|(thread, _)| *thread);
    let mut sums = ActivitySums { waiting_ns: ns, ..ActivitySums::default() };
    sums.waits_ns[waited_for.kind as usize] = ns;
    let threads = waiters.iter().map(|(thread, _)| *thread).collect();
    Row { threads, sums, top: longest.map(|thread| Top { waited_for, ns, thread }) }
}

/// Orders rows; those that are alike stay in the order of their ids.
pub fn sort(rows: &mut [Row<'_>], by: SortBy) {
    rows.sort_by_key(|row| std::cmp::Reverse(row.rank(by)));
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_wire::TaskSnapshot;

    use super::*;

    fn thread(pid: u32, tid: u32, running_ns: u64, waits: &[(WaitKind, u64, u64)]) -> ThreadActivity {
        let mut sums = ActivitySums { running_ns, switches: 1, ..ActivitySums::default() };
        let mut waited_for = Vec::new();
        for &(kind, object, ns) in waits {
            sums.waiting_ns += ns;
            sums.waits_ns[kind as usize] += ns;
            waited_for.push((WaitedFor { kind, syscall: 202, object }, ns));
        }
        ThreadActivity { last: TaskSnapshot { pid, tid, ..TaskSnapshot::zeroed() }, sums, waited_for }
    }

    fn interval() -> Interval {
        let threads = vec![
            thread(1, 1, 5, &[(WaitKind::Poll, 0, 900)]),
            thread(1, 2, 0, &[(WaitKind::Lock, 64, 300), (WaitKind::Lock, 128, 250)]),
            thread(1, 3, 0, &[(WaitKind::Lock, 128, 200)]),
            thread(2, 2, 50, &[(WaitKind::Sleep, 0, 400)]),
        ];
        Interval { length_ns: 1000, snapshots: 2, threads, ended: 0, summed: None }
    }

    #[test]
    fn rows_are_groups_in_an_order() {
        let interval = interval();
        let of = |by, order| {
            let mut rows = group(&interval, by, |_| true, |pid| format!("/group{}", pid % 2));
            sort(&mut rows, order);
            rows.iter().map(|row| (row.first().last.pid, row.threads.len())).collect::<Vec<_>>()
        };
        assert_eq!(of(GroupBy::Process, SortBy::Cpu), [(2, 1), (1, 3)]);
        assert_eq!(of(GroupBy::Process, SortBy::Waiting), [(1, 3), (2, 1)]);
        assert_eq!(of(GroupBy::Process, SortBy::Pid), [(1, 3), (2, 1)]);
        assert_eq!(of(GroupBy::Cgroup, SortBy::Blocked), [(1, 3), (2, 1)]);
        assert_eq!(of(GroupBy::Thread, SortBy::Blocked)[0], (1, 1));
    }

    #[test]
    fn things_are_listed_with_all_who_wait_for_them() {
        let interval = interval();
        let rows = waited_for(&interval);
        let of = |row: &Row<'_>| (row.first().last.pid, row.top.expect("it").waited_for.object, row.sums.waiting_ns);
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), [(1, 128, 450), (1, 64, 300), (1, 0, 900), (2, 0, 400)]);
        assert_eq!((rows[0].threads.len(), rows[0].top.expect("it").thread.last.tid), (2, 2));
    }

    #[test]
    fn the_longest_wait_is_one_that_somebody_may_be_at_fault_for() {
        let interval = interval();
        let rows = group(&interval, GroupBy::Process, |_| true, |_| String::new());
        let top = rows[0].top.expect("a wait");
        assert_eq!((top.waited_for.object, top.ns, top.thread.last.tid), (128, 450, 2), "of two threads together");
        assert_eq!(rows[1].top.expect("a wait").waited_for.kind, WaitKind::Sleep, "if there is no other");
        let waits = rows[0].sums.waits_ns;
        assert_eq!(rows[0].blocked_ns(), waits[WaitKind::Lock as usize]);
        assert!(group(&interval, GroupBy::Process, |thread| thread.last.pid == 9, |_| String::new()).is_empty());
    }
}
