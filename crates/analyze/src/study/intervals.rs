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
pub struct ThreadInterval {
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
pub fn for_each_interval(trace: &Trace, mut tell: impl FnMut(ThreadInterval)) {
    for thread in 0..trace.threads.tid.len() {
        for_each_of(trace, thread, &mut tell);
    }
}

fn for_each_of(trace: &Trace, thread: usize, tell: &mut impl FnMut(ThreadInterval)) {
    let (mut reached, end) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
    let off_cpu = &trace.events().off_cpu;
    let mut emit = |activity: Activity, (from, to): (u64, u64), row: Option<usize>| {
        if from < to {
            tell(ThreadInterval { thread, activity, from, to, row });
        }
    };
    for row in off_cpu.of(thread) {
        // An interval that begins inside the one before it, in a damaged trace, begins where that ends.
        let start = off_cpu.start_ns(row).clamp(reached.min(end), end);
        let woken = start.saturating_add(off_cpu.wait_ns(row)).min(end);
        let ran = woken.saturating_add(off_cpu.runnable_ns(row)).min(end);
        emit(Activity::Running, (reached, start), None);
        emit(Activity::Waiting, (start, woken), Some(row));
        emit(Activity::Runnable, (woken, ran), Some(row));
        reached = reached.max(ran);
    }
    emit(Activity::Running, (reached, end), None);
}

/// Time in which at least one of the spans is, ns.
pub fn union_ns(spans: Vec<(u64, u64)>) -> u64 {
    union(spans).iter().map(|(from, to)| to - from).sum()
}

/// How long spans are together, ns; those that overlap count twice.
pub fn length_ns(spans: &[(u64, u64)]) -> u64 {
    spans.iter().fold(0, |sum, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
}

/// The same times in order, each once: no two overlap or touch.
pub fn union(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.retain(|(from, to)| from < to);
    spans.sort_unstable();
    spans.dedup_by(|next, before| {
        let joins = next.0 <= before.1;
        if joins {
            before.1 = before.1.max(next.1);
        }
        joins
    });
    spans
}
