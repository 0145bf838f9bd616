//! What Dwell's own thread waited for a CPU, and what it does about that: it runs ahead of real-time threads that are profiled.

use std::fs::File;
use std::os::unix::fs::FileExt;

use dwell_model::{Notice, notice};

use crate::priority::raise_priority;

/// Who waits so long for a CPU in a round was kept from it. The rings hold about a second of the fastest switching.
const LATE_NS: u64 = 200_000_000;

/// How often and how long the collector waited for a CPU, as it does behind real-time threads, and its own priority.
#[derive(Debug, Default)]
pub struct SchedulingDelay {
    /// The kernel's account of this thread; none without CONFIG_SCHED_INFO.
    account: Option<File>,
    /// What it said before, ns.
    waited_ns: u64,
    count: u64,
    longest_ns: u64,
    /// The highest real-time priority of a profiled thread that was seen.
    urgency: u32,
    /// This thread's own, once there was such a thread and it could be set.
    own_priority: Option<u32>,
}

impl SchedulingDelay {
    /// Begins for this thread.
    pub fn begin() -> Self {
        let account = File::open("/proc/thread-self/schedstat").ok();
        Self { waited_ns: account.as_ref().and_then(waited_ns).unwrap_or(0), account, ..Self::default() }
    }

    /// Notes what this thread has waited since the last round.
    pub fn note(&mut self) {
        let Some(waited_ns) = self.account.as_ref().and_then(waited_ns) else { return };
        let lately_ns = waited_ns.saturating_sub(std::mem::replace(&mut self.waited_ns, waited_ns));
        if lately_ns >= LATE_NS {
            self.count += 1;
            self.longest_ns = self.longest_ns.max(lately_ns);
        }
    }

    /// Profiled threads have real-time priorities up to this one.
    pub fn stay_ahead(&mut self, urgency: u32) {
        if urgency > self.urgency {
            self.urgency = urgency;
            self.own_priority = raise_priority(urgency);
        }
    }

    /// What the reader of the result should know of it.
    pub fn notices(&self) -> Vec<Notice> {
        let seconds = || format!("{:.3}", self.longest_ns as f64 / 1e9);
        let late = (self.count > 0).then(|| notice!(COLLECTOR_LATE, count = self.count, seconds = seconds()));
        let ahead = self.own_priority.map(|own| notice!(COLLECTOR_AHEAD, own = own, theirs = self.urgency));
        late.into_iter().chain(ahead).collect()
    }
}

/// How long the thread has waited for a CPU in its life: the second number (Documentation/scheduler/sched-stats.rst).
fn waited_ns(account: &File) -> Option<u64> {
    let mut bytes = [0; 64];
    let length = account.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}
