//! What quotas of control groups do to the program while it is recorded. A program is moved into its group after its start (every
//! container is), and the group can be gone when the collection ends: groups are looked up at each exec and by turns, and what they
//! count is kept while they are there.

use std::collections::{BTreeMap, HashSet};

use dwell_doctor::{Machine, Quota, Throttling, cpu_groups, quota_uses, throttling};
use dwell_store::QuotaUse;

/// How often processes are asked for their groups, and groups for what they count, ns.
const LOOK_NS: u64 = 200_000_000;
/// How many processes are asked at a time.
const MOST_LOOKS: usize = 16;

/// How many groups are looked up in a collection: a program that may make groups can make any number of them.
const MOST_GROUPS: usize = 4096;

/// What a quota had done when it was first seen, and has done by now.
struct Watched {
    runtime_us: u64,
    period_us: u64,
    first: Throttling,
    last: Throttling,
}

/// See the module.
pub(super) struct QuotaWatch {
    machine: Machine,
    /// By the group's folder.
    watched: BTreeMap<String, Watched>,
    /// The texts of `/proc/PID/cgroup` whose groups are known.
    known: HashSet<String>,
    looked_ns: u64,
    /// The last process that was asked.
    last_pid: u32,
}

impl QuotaWatch {
    /// Watches the groups of process `pid` (0 = this one).
    pub(super) fn new(pid: u32) -> Self {
        let (watched, known) = (BTreeMap::new(), HashSet::new());
        let mut watch = Self { machine: Machine::here(), watched, known, looked_ns: 0, last_pid: 0 };
        watch.look(pid);
        watch
    }

    /// Looks process `pid` up, which began, joined or ran exec.
    pub(super) fn look(&mut self, pid: u32) {
        let Some(groups) = cpu_groups(&self.machine, pid) else { return };
        if self.known.len() >= MOST_GROUPS || !self.known.insert(groups) {
            return;
        }
        for (Quota { folder, runtime_us, period_us, .. }, first) in quota_uses(&self.machine, pid) {
            self.watched.entry(folder).or_insert(Watched { runtime_us, period_us, first, last: first });
        }
    }

    /// Looks at some of the `living` processes by turns, and at what the groups count, when that is due at `now_ns`.
    pub(super) fn round(&mut self, now_ns: u64, living: impl FnOnce() -> Vec<u32>) {
        if now_ns.saturating_sub(self.looked_ns) < LOOK_NS {
            return;
        }
        self.looked_ns = now_ns;
        let mut pids = living();
        pids.sort_unstable();
        let next = pids.partition_point(|pid| *pid <= self.last_pid);
        pids.rotate_left(next);
        for &pid in pids.iter().take(MOST_LOOKS) {
            self.look(pid);
            self.last_pid = pid;
        }
        self.count();
    }

    /// What each group's quota has done since it was first seen.
    pub(super) fn finish(&mut self) -> Vec<QuotaUse> {
        self.count();
        let used = |(group, watched): (&String, &Watched)| {
            let Watched { runtime_us, period_us, first, last } = *watched;
            QuotaUse {
                group: group.clone(),
                runtime_us,
                period_us,
                periods: last.periods.saturating_sub(first.periods),
                throttled_periods: last.throttled_periods.saturating_sub(first.throttled_periods),
                throttled_ns: last.throttled_ns.saturating_sub(first.throttled_ns),
            }
        };
        self.watched.iter().map(used).collect()
    }

    /// A group that is gone keeps what it counted last.
    fn count(&mut self) {
        for (group, watched) in &mut self.watched {
            if let Some(now) = throttling(&self.machine, group) {
                watched.last = now;
            }
        }
    }
}
