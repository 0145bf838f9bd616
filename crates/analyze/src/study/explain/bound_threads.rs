//! Threads that may run on some of the CPUs only: `sched_setaffinity`, `taskset`, a library that pins its threads.

use dwell_store::Trace;

/// Part of the samples below which a CPU is one where a thread began before it was bound to others, and a thread one that hardly runs.
pub const STRAY_SHARE: f64 = 0.02;

/// Whether all threads that run for long are bound to so many CPUs, or to fewer.
pub fn are_bound(trace: &Trace, used: u32) -> bool {
    let samples = |thread: usize| trace.events().samples.of(thread).len();
    let threads = 0..trace.threads.tid.len();
    let all: usize = threads.clone().map(samples).sum();
    let mut running = threads.filter(|thread| samples(*thread) as f64 >= STRAY_SHARE * all as f64);
    all > 0 && running.all(|thread| (1..=used).contains(&trace.threads.cpus_allowed[thread]))
}
