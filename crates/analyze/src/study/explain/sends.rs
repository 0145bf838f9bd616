//! What a process had waited for when it sent something: a timer of its loop, or what came.

use dwell_model::{Outcome, ProcessId};
use dwell_store::Trace;

use crate::study::explain::terms::is_of_event_loop;

/// Threads that hand on what the first one waited for, at most.
const HOPS: usize = 3;
/// Instants that tell anything.
const ENOUGH: usize = 5;

/// Part of the instants, by a process over connections that are as told, before which its loop had waited until a time of its own; none
/// where too few are known.
pub fn share_after_timers(
    trace: &Trace,
    process: ProcessId,
    threads: &[usize],
    is_meant: impl Fn(bool, &str) -> bool,
) -> Option<f64> {
    let sends = &trace.sampled_sends;
    let rows = (0..sends.time_ns.len()).filter(|row| sends.process[*row] == process);
    let rows = rows.filter(|row| is_meant(sends.is_incoming[*row], &sends.endpoint[*row]));
    let known: Vec<bool> = rows.filter_map(|row| is_after_timer(trace, threads, sends.time_ns[row])).collect();
    let after = known.iter().filter(|is_after| **is_after).count();
    (known.len() >= ENOUGH).then(|| after as f64 / known.len() as f64)
}

/// Whether the thread that ran at an instant had waited until a time of its loop; none where no thread is known to have run then.
fn is_after_timer(trace: &Trace, threads: &[usize], time: u64) -> Option<bool> {
    let rows = &trace.events().off_cpu;
    let running = |thread: &usize| {
        let row = last_row(trace, *thread, time)?;
        (rows.end_ns(row) <= time).then_some((*thread, row))
    };
    let (thread, row) = threads.iter().find_map(running)?;
    begun_by_timer(trace, thread, row, HOPS)
}

/// Whether the wait before a thread ran on, or one of whoever ended it, was until a time of an event loop.
fn begun_by_timer(trace: &Trace, thread: usize, mut row: usize, hops: usize) -> Option<bool> {
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    let first = rows.of(thread).start;
    while rows.wait_ns(row) == 0 {
        row = row.checked_sub(1).filter(|row| *row >= first)?;
    }
    let key = events.key(rows.key(row));
    if is_of_event_loop(key.syscall()) {
        return Some(Outcome::from_code(key.outcome()) == Outcome::TimedOut);
    }
    let waker = key.waker().get().filter(|waker| hops > 0 && *waker != thread && *waker < trace.threads.tid.len());
    match waker {
        Some(waker) => begun_by_timer(trace, waker, last_row(trace, waker, rows.woken_ns(row))?, hops - 1),
        None => Some(false),
    }
}

/// The last off-CPU row of a thread that began before an instant.
fn last_row(trace: &Trace, thread: usize, time: u64) -> Option<usize> {
    let rows = &trace.events().off_cpu;
    let all = rows.of(thread);
    let behind = rows.partition_point(all.clone(), |start| start <= time);
    behind.checked_sub(1).filter(|row| *row >= all.start)
}
