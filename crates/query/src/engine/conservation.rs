//! The law that every trace keeps: running + runnable + waiting = lifetime, to the nanosecond, with no overlap.

use dwell_store::Trace;

use crate::question::windows::{Windows, elapsed_ns};

/// Violations told at most; the rest is counted.
const TOLD: usize = 20;

/// Where the trace breaks conservation, one sentence each; empty for a sound one.
///
/// Checked: lives lie within the collection; off-CPU intervals lie within their thread's life, in order and without
/// overlap (running time is what is left, so the sum is then the lifetime); blocked and preempted are told apart; the
/// samples of a thread stand for its running time exactly, where it has any.
pub fn check_conservation(trace: &Trace) -> Vec<String> {
    let mut violations = Violations::default();
    check_lives(trace, &mut violations);
    let off_cpu_ns = check_off_cpu(trace, &mut violations);
    check_samples(trace, &off_cpu_ns, &mut violations);
    violations.told()
}

#[derive(Default)]
struct Violations {
    texts: Vec<String>,
    more: usize,
}

impl Violations {
    fn add(&mut self, text: impl FnOnce() -> String) {
        if self.texts.len() < TOLD { self.texts.push(text()) } else { self.more += 1 }
    }

    fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.texts.push(format!("{} more violations", self.more));
        }
        self.texts
    }
}

fn name(trace: &Trace, thread: usize) -> String {
    format!("thread {} ({}, row {thread})", trace.threads.tid[thread], trace.threads.name[thread])
}

fn check_lives(trace: &Trace, violations: &mut Violations) {
    let elapsed = elapsed_ns(trace);
    for (thread, (start, end)) in trace.threads.start_ns.iter().zip(&trace.threads.end_ns).enumerate() {
        if start > end || *end > elapsed {
            let text = || format!("{} lives from {start} to {end} ns of {elapsed}", name(trace, thread));
            violations.add(text);
        }
    }
}

/// Returns the time that each thread was off the CPU while the collection was not paused.
fn check_off_cpu(trace: &Trace, violations: &mut Violations) -> Vec<u64> {
    let (rows, threads) = (&trace.off_cpu, &trace.threads);
    let unpaused = Windows::whole(trace);
    let mut reached = threads.start_ns.clone();
    let mut off_cpu_ns = vec![0u64; threads.tid.len()];
    for row in 0..rows.thread.len() {
        let Some(thread) = rows.thread[row].get() else { continue };
        let start = rows.start_ns[row];
        let end = start.saturating_add(rows.wait_ns[row]).saturating_add(rows.runnable_ns[row]);
        if start < reached[thread] {
            let before = reached[thread];
            violations.add(|| format!("{}: off-CPU row {row} begins at {start}, before {before}", name(trace, thread)));
        }
        if end > threads.end_ns[thread] {
            violations.add(|| format!("{}: off-CPU row {row} ends at {end}, after the thread", name(trace, thread)));
        }
        off_cpu_ns[thread] = off_cpu_ns[thread].saturating_add(unpaused.overlap_ns(start, end));
        reached[thread] = reached[thread].max(end);
    }
    off_cpu_ns
}

fn check_samples(trace: &Trace, off_cpu_ns: &[u64], violations: &mut Violations) {
    let mut sampled: Vec<Option<u64>> = vec![None; trace.threads.tid.len()];
    for (thread, weight) in trace.samples.thread.iter().zip(&trace.samples.weight_ns) {
        let Some(thread) = thread.get() else { continue };
        sampled[thread] = Some(sampled[thread].unwrap_or(0).saturating_add(*weight));
    }
    let unpaused = Windows::whole(trace);
    for (thread, sampled) in sampled.iter().enumerate() {
        let life = unpaused.overlap_ns(trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
        let running = life.saturating_sub(off_cpu_ns[thread]);
        if let Some(sampled) = sampled.filter(|sampled| *sampled != running) {
            violations.add(|| format!("{}: ran {running} ns, its samples stand for {sampled}", name(trace, thread)));
        }
    }
}
