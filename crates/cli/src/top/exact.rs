//! The sums of `--exact`: read at the end of each interval.

use std::collections::HashSet;

use dwell_capture::{SumReading, SumScope, WaitSums};
use dwell_live::{ExactActivity, Interval, SumLosses};

use crate::collect::explain;
use crate::error::{Hinted, Result};

/// Hooks that sum all waits, and what they have summed.
pub struct ExactSums {
    sums: WaitSums,
    activity: ExactActivity,
}

impl ExactSums {
    /// Begins to sum, with the kernel's own threads or without.
    pub fn open(kernel_threads: bool) -> Result<Self> {
        let scope = SumScope { by_thread: true, kernel_threads };
        let sums = WaitSums::open(scope).map_err(|error| {
            let why = Hinted::new(format!("--exact needs hooks in the scheduler: {}", explain(error, None)));
            why.hint("as root it has them where dwell doctor says so; dwell top without --exact needs none")
        })?;
        Ok(Self { sums, activity: ExactActivity::default() })
    }

    /// Puts what was summed since the last call into `interval`; only of these processes, where some were chosen.
    pub fn end_interval(&mut self, interval: &mut Interval, pids: Option<&HashSet<u32>>) -> Result<()> {
        let read = self.sums.read().map_err(|error| explain(error, None))?;
        let SumReading { begin_ns, end_ns, closed, open, lost, names } = read;
        let mut threads = self.activity.take(&closed, open);
        threads.retain(|(pid, _), _| pids.is_none_or(|pids| pids.contains(pid)));
        let losses = SumLosses { waits: lost.waits, wait_ns: lost.wait_ns };
        let name = |pid, tid| names.get(&(pid, tid)).map(|name| name.thread);
        interval.replace_by(threads, end_ns.saturating_sub(begin_ns), losses, name);
        Ok(())
    }
}
