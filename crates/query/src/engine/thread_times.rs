//! What each thread did over the whole collection: the list of threads that every view begins with.

use dwell_store::Trace;

use crate::engine::fold::Fold;
use crate::measure::utilization::total;
use crate::question::query::Query;

/// One thread's times, ns, and counts, pauses left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// On a CPU.
    pub running_ns: u64,
    /// In a run queue.
    pub runnable_ns: u64,
    /// Blocked.
    pub waiting_ns: u64,
    /// Waits on an object.
    pub waits: u64,
    /// Times that it left the CPU.
    pub switches: u64,
}

/// The times of every thread, in the order of the threads table.
pub fn thread_times(trace: &Trace) -> Vec<ThreadTimes> {
    let mut times = vec![ThreadTimes::default(); trace.threads.tid.len()];
    let query = Query::default();
    // The default query has no range that could be empty.
    let Ok(fold) = Fold::new(trace, &query) else { return times };
    for (_, site, weights) in fold.selected() {
        let Some(times) = site.key.thread.get().and_then(|thread| times.get_mut(thread)) else { continue };
        times.running_ns += weights.cpu_ns();
        times.runnable_ns += total(&weights.runnable);
        times.waiting_ns += weights.wait_ns() + total(&weights.unknown);
        times.waits += weights.wait_count;
        times.switches += weights.switches;
    }
    times
}
