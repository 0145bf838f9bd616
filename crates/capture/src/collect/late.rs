//! Rounds that came late: what Dwell's own thread waited for a CPU.

use dwell_model::{Notice, notice};

/// A round that begins so much later than it should was kept from the CPU. The rings hold about a second of the fastest switching.
const LATE_NS: u64 = 200_000_000;

/// How often and how long the collector waited for a CPU, as it does behind real-time threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    count: u64,
    longest_ns: u64,
}

impl Late {
    /// A round began so much later than it should.
    pub fn note(&mut self, late_ns: u64) {
        if late_ns >= LATE_NS {
            self.count += 1;
            self.longest_ns = self.longest_ns.max(late_ns);
        }
    }

    /// What the reader of the result should know of it.
    pub fn notice(self) -> Option<Notice> {
        let seconds = || format!("{:.3}", self.longest_ns as f64 / 1e9);
        (self.count > 0).then(|| notice!(COLLECTOR_LATE, count = self.count, seconds = seconds()))
    }
}
