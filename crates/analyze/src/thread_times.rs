//! What each thread did over the whole collection: the list of threads that every view begins with.

use dwell_model::Reason;
use dwell_store::Trace;

use crate::intervals::{Activity, for_each_interval};

/// One thread's times, ns, and counts. Pauses are not left out: it runs or waits in them as it was seen to before.
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

/// The times of every thread, in the order of the threads table: one pass over the intervals.
pub fn thread_times(trace: &Trace) -> Vec<ThreadTimes> {
    let mut times = vec![ThreadTimes::default(); trace.threads.tid.len()];
    for_each_interval(trace, |interval| {
        let (times, ns) = (&mut times[interval.thread], interval.to - interval.from);
        match interval.activity {
            Activity::Running => times.running_ns += ns,
            Activity::Runnable => times.runnable_ns += ns,
            Activity::Waiting => times.waiting_ns += ns,
        }
    });
    for (thread, reason) in trace.off_cpu.thread.iter().zip(&trace.off_cpu.reason) {
        if let Some(times) = thread.get().and_then(|thread| times.get_mut(thread)) {
            times.switches += 1;
            times.waits += u64::from(Reason::from_code(*reason) == Reason::Waiting);
        }
    }
    times
}
