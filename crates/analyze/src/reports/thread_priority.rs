//! How threads are scheduled.

use std::fmt;

use dwell_model::SchedulingPolicy;
use dwell_store::tables::Threads;

/// How a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadPriority {
    policy: SchedulingPolicy,
    nice: i32,
}

impl ThreadPriority {
    /// That of a thread, by its row.
    pub fn of(threads: &Threads, thread: usize) -> Self {
        Self { policy: SchedulingPolicy::from_code(threads.policy[thread]), nice: threads.nice[thread] }
    }

    /// Whether others that run as usual get more CPU time.
    pub fn is_low(self) -> bool {
        match self.policy {
            SchedulingPolicy::Idle => true,
            SchedulingPolicy::Other | SchedulingPolicy::Batch => self.nice > 0,
            SchedulingPolicy::Fifo | SchedulingPolicy::RoundRobin | SchedulingPolicy::Deadline => false,
        }
    }
}

/// As commands that set it say: `nice 19`, `SCHED_IDLE`.
impl fmt::Display for ThreadPriority {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.policy {
            SchedulingPolicy::Other | SchedulingPolicy::Batch => write!(out, "nice {}", self.nice),
            policy => out.write_str(policy.title()),
        }
    }
}
