//! Threads that run nearly all the time while requests of others wait for their process, one after the other: they never wait for the next
//! one, so that nobody is seen to ask them.

use dwell_store::Trace;

use crate::study::explain::open_requests::{WaitingRequests, waiting_requests};
use crate::study::intervals::length_ns;
use crate::study::step_function::overlap_ns;

/// Requests that wait at once, on average, and for how long each does at least, ns: one that is answered sooner does not wait for the others.
const ASKED: f64 = 1.5;
const LONG_NS: u64 = 500_000;
/// The same of requests that take so long that those who wait to be accepted are not seen.
const ONE: f64 = 0.9;
const VERY_LONG_NS: u64 = 10_000_000;
/// Part of the recording in which any wait, and of that in which the thread has something to do, …
const OFTEN: f64 = 0.5;
const NEARLY_ALWAYS: f64 = 0.8;
/// … and in which it runs: else it is others that keep them.
const MOSTLY: f64 = 0.5;

/// Each such thread, with the times in which requests waited.
pub fn busy_servers(trace: &Trace) -> Vec<(usize, Vec<(u64, u64)>)> {
    let elapsed_ns = trace.elapsed_ns() as f64;
    let is_often = |spans: &[(u64, u64)]| length_ns(spans) as f64 >= OFTEN * elapsed_ns;
    let are_kept = |it: &WaitingRequests| {
        (it.asked >= ASKED && it.each_ns >= LONG_NS) || (it.asked >= ONE && it.each_ns >= VERY_LONG_NS)
    };
    let is_kept = |it: &WaitingRequests| are_kept(it) && is_often(&it.spans);
    let of = |it: WaitingRequests| {
        let threads = trace.fiber_threads..trace.threads.tid.len();
        let members = threads.filter(|thread| trace.threads.process[*thread] == it.process);
        let (busy_ns, ran_ns, thread) = members.map(|thread| worked_ns(trace, thread, &it.spans)).max()?;
        let asked_ns = length_ns(&it.spans) as f64;
        let is_busy = busy_ns as f64 >= NEARLY_ALWAYS * asked_ns && ran_ns as f64 >= MOSTLY * asked_ns;
        is_busy.then_some((thread, it.spans))
    };
    waiting_requests(trace).into_iter().filter(is_kept).filter_map(of).collect()
}

/// How long a thread ran or was ready within spans, how long it ran, ns, and the thread.
fn worked_ns(trace: &Trace, thread: usize, spans: &[(u64, u64)]) -> (u64, u64, usize) {
    let (threads, rows) = (&trace.threads, &trace.events().off_cpu);
    let (mut waited_ns, mut off_ns) = (0u64, 0u64);
    rows.for_each(rows.of(thread), |_, _, times| {
        let woken = times.start_ns.saturating_add(times.wait_ns);
        waited_ns = waited_ns.saturating_add(overlap_ns(spans, (times.start_ns, woken)));
        off_ns = off_ns.saturating_add(overlap_ns(spans, (times.start_ns, woken.saturating_add(times.runnable_ns))));
    });
    let life_ns = overlap_ns(spans, (threads.start_ns[thread], threads.end_ns[thread]));
    (life_ns.saturating_sub(waited_ns), life_ns.saturating_sub(off_ns), thread)
}

#[cfg(test)]
mod tests {
    use dwell_model::ProcessId;
    use dwell_store::tables::OpenRequestRow;
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    /// The threads that are told, where `open` requests wait at each millisecond of which `answered` get their answers.
    fn told(picture: &str, open: u32, answered: u32) -> Vec<usize> {
        let mut trace = trace(picture);
        for cell in 0..20 {
            trace.open_requests.push(OpenRequestRow {
                time_ns: cell * CELL,
                process: ProcessId::new(0),
                is_incoming: true,
                endpoint: "TCP :80".into(),
                connections: 8,
                open,
                requests: answered,
                answers: answered,
            });
        }
        busy_servers(&trace).into_iter().map(|(thread, _)| thread).collect()
    }

    #[test]
    fn a_thread_that_runs_all_the_time_keeps_those_who_ask() {
        let busy = "a: e###################\nb: eeeeeeeeeeeeeeeeeee#";
        assert_eq!(told(busy, 3, 2), [0]);
        assert!(told(busy, 3, 9).is_empty(), "each is answered soon");
        assert!(told(busy, 1, 1).is_empty(), "only one asks");
        assert_eq!(told("a: #--##--##--##--##--#", 3, 2), [0], "others have its CPU at times");
        assert!(told("a: #---#---#---#---#---", 3, 2).is_empty(), "others have it mostly");
        assert!(told("a: eeee#eeee#eeee#eeee#", 3, 2).is_empty(), "it waits for the next");
    }
}
