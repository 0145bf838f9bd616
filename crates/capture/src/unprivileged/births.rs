//! Threads that are made: every event that is inherited costs whoever creates one.

use dwell_model::{Notice, notice};

use super::events::Events;

/// What an event costs whoever creates a thread, and how much of that is borne in a second.
const NS_PER_EVENT: u64 = 15_000;
const MOST_BIRTH_NS: u64 = 100_000_000;

/// How many were made in the second that runs.
#[derive(Default)]
pub struct CreationRate {
    count: u64,
    /// CLOCK_MONOTONIC.
    since_ns: u64,
    has_shed: bool,
}

impl CreationRate {
    /// A program that creates threads without end pays for every call that is traced: the faster it does, the fewer are.
    pub fn count(&mut self, events: &mut Events, time_ns: u64, notices: &mut Vec<Notice>) {
        if time_ns.saturating_sub(self.since_ns) > 1_000_000_000 {
            (self.since_ns, self.count) = (time_ns, 0);
        }
        self.count += 1;
        if self.count * events.inherited() as u64 * NS_PER_EVENT < MOST_BIRTH_NS || !events.has_many() {
            return;
        }
        events.shed();
        if !self.has_shed {
            self.has_shed = true;
            notices.push(notice!(FEWER_CALLS_TRACED));
        }
    }
}
