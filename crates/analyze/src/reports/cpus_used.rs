//! On how many CPUs the program's threads ran, and whether other programs had those that were left.

use std::collections::{BTreeMap, BTreeSet};

use dwell_query::engine::fold::Fold;
use dwell_store::Trace;

use crate::study::explain::{NO_CPU, STRAY_SHARE, machine_use};

/// Part of the time for which other programs must have had the other CPUs, if that is why threads were not there.
const TAKEN_SHARE: f64 = 0.2;
/// The CPUs of so many samples are looked at, evenly spread, or of up to twice as many.
const LOOKED_AT: usize = 100_000;
/// CPU time after which the kernel has spread threads over the CPUs that they may use, ns.
const SPREAD_NS: u64 = 500_000_000;

/// The CPUs on which all of the program's threads ran, where that was for long enough: else they would have been spread.
pub fn cpus_used(fold: &Fold<'_>) -> Option<u32> {
    // Which CPU a goroutine ran on is not known; and a part of the threads or of the time tells nothing of all.
    if !fold.query.is_of_all() || fold.trace.fiber_threads > 0 || fold.shown().cpu_ns() < SPREAD_NS {
        return None;
    }
    let (trace, samples) = (fold.trace, &fold.trace.events().samples);
    let of_thread = || (0..trace.threads.tid.len()).map(|thread| samples.of(thread));
    let all: usize = of_thread().map(|rows| rows.len()).sum();
    let step = (all / LOOKED_AT).max(1);
    let mut of_cpu: BTreeMap<u16, usize> = BTreeMap::new();
    of_thread()
        .flat_map(|rows| rows.step_by(step))
        .for_each(|row| *of_cpu.entry(samples.cpu(row)).or_default() += step);
    let is_much = |count: usize| count as f64 >= STRAY_SHARE * all as f64;
    let used: BTreeSet<u16> = of_cpu.into_iter().filter(|(_, count)| is_much(*count)).map(|(cpu, _)| cpu).collect();
    let runs = |thread: &usize| is_much(samples.of(*thread).len());
    let is_bound = !(0..trace.threads.tid.len()).filter(runs).any(|thread| strays(trace, thread, &used));
    (!used.is_empty() && is_bound).then_some(used.len() as u32)
}

/// Whether other programs had the CPUs that are left beside `used` of them: then the scheduler kept the program's threads from there.
pub fn are_taken(fold: &Fold<'_>, used: u32) -> bool {
    let left = fold.trace.manifest.cpus.usable.max(1).saturating_sub(used);
    if left == 0 {
        return false;
    }
    cpus_of_others(fold) >= TAKEN_SHARE * f64::from(left)
}

/// How many CPUs other programs had on average, as far as that is known.
pub fn cpus_of_others(fold: &Fold<'_>) -> f64 {
    let seen = fold.trace.manifest.taken.seen_ns() as f64 / fold.trace.elapsed_ns().max(1) as f64;
    let machine = machine_use(fold, &fold.sums.windows);
    machine.map_or(seen, |machine| seen.max(machine.others_ns as f64 / fold.sums.windows.length_ns().max(1) as f64))
}

/// Whether a thread was on another CPU than these after the first half of its life: it may run there, though the kernel hardly puts it there.
fn strays(trace: &Trace, thread: usize, used: &BTreeSet<u16>) -> bool {
    let rows = &trace.events().off_cpu;
    let (start, end) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
    let is_late = |row: usize| rows.start_ns(row) > start.midpoint(end.max(start));
    rows.of(thread)
        .rev()
        .take_while(|row| is_late(*row))
        .any(|row| rows.cpu(row) != NO_CPU && !used.contains(&rows.cpu(row)))
}
