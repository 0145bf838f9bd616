//! The intervals of every thread, each with its state: the plain enumeration for what needs no utilization classes.

use dwell_store::Trace;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// On a CPU.
    Running,
    /// In a run queue.
    Runnable,
    /// Blocked.
    Waiting,
}

/// One interval of a thread; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Row of the thread.
    pub thread: usize,
    /// What it does.
    pub activity: Activity,
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// Off-CPU row that it is of; none: it runs.
    pub row: Option<usize>,
}

/// Tells every interval of every thread, each thread's in order of time, within the threads' lives.
pub fn for_each_interval(trace: &Trace, mut tell: impl FnMut(Interval)) {
    let threads = &trace.threads;
    let mut reached = threads.start_ns.clone();
    let mut emit = |thread: usize, activity: Activity, (from, to): (u64, u64), row: Option<usize>| {
        if from < to {
            tell(Interval { thread, activity, from, to, row });
        }
    };
    for row in 0..trace.off_cpu.thread.len() {
        let Some(thread) = trace.off_cpu.thread[row].get() else { continue };
        let end = threads.end_ns[thread];
        // An interval that begins inside the one before it, in a damaged trace, begins where that ends.
        let start = trace.off_cpu.start_ns[row].clamp(reached[thread].min(end), end);
        let woken = start.saturating_add(trace.off_cpu.wait_ns[row]).min(end);
        let ran = woken.saturating_add(trace.off_cpu.runnable_ns[row]).min(end);
        emit(thread, Activity::Running, (reached[thread], start), None);
        emit(thread, Activity::Waiting, (start, woken), Some(row));
        emit(thread, Activity::Runnable, (woken, ran), Some(row));
        reached[thread] = reached[thread].max(ran);
    }
    for (thread, reached) in reached.iter().enumerate() {
        emit(thread, Activity::Running, (*reached, threads.end_ns[thread]), None);
    }
}
