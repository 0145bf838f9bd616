//! Threads that ran all the time: nobody who is recorded may wait for them, but they may be as fast as their program can be.

use crate::engine::fold::Fold;

/// Part of the recording for which a thread lives and has something to do, …
const ALWAYS: f64 = 0.9;
/// … and of that in which it runs: else it is others that keep it.
const MOSTLY: f64 = 0.5;

/// Those of a recording that the program's end did not end: to that leads a path. Of threads that are `is_known` others tell, and so they do
/// of a part of the time or of the threads; goroutines share their threads.
pub fn always_running(fold: &Fold<'_>, is_known: impl Fn(&usize) -> bool) -> Vec<usize> {
    let trace = fold.trace;
    let is_of_all = !fold.query.is_cut() && !fold.query.is_filtered() && fold.query.waiters.is_none();
    if trace.manifest.exit_status.is_some() || !is_of_all || trace.fiber_threads > 0 {
        return Vec::new();
    }
    let always_ns = ALWAYS * trace.elapsed_ns() as f64;
    let does = |thread: &usize| {
        let life_ns = trace.threads.end_ns[*thread].saturating_sub(trace.threads.start_ns[*thread]);
        if (life_ns as f64) < always_ns {
            return false;
        }
        let (mut waits_ns, mut queued_ns) = (0u64, 0u64);
        let rows = &trace.events().off_cpu;
        rows.for_each(rows.of(*thread), |_, _, times| {
            waits_ns = waits_ns.saturating_add(times.wait_ns);
            queued_ns = queued_ns.saturating_add(times.runnable_ns);
        });
        let busy_ns = life_ns.saturating_sub(waits_ns);
        let ran_ns = busy_ns.saturating_sub(queued_ns);
        busy_ns as f64 >= always_ns && ran_ns as f64 >= MOSTLY * busy_ns as f64
    };
    let threads = (0..trace.threads.tid.len()).filter(|thread| !trace.threads.ignored[*thread] && !is_known(thread));
    threads.filter(does).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::query::Query;
    use crate::test_support::trace_dsl::trace;

    fn always(picture: &str, exit_status: Option<i32>, query: &Query) -> Vec<usize> {
        let mut trace = trace(picture);
        trace.manifest.exit_status = exit_status;
        always_running(&Fold::new(&trace, query).unwrap(), |_| false)
    }

    #[test]
    fn a_thread_that_hardly_ever_waits_runs_always() {
        let (busy, all) = ("a: 1111111111111111111e\nb: #eeeeeeeeeeeeeeeeee#", &Query::default());
        assert_eq!(always(busy, None, all), [0]);
        assert!(always(busy, Some(0), all).is_empty(), "the way to its end tells what it ran");
        assert!(always("a: 1111111111111111eee#", None, all).is_empty());
        assert_eq!(always("a: 11-11-11-11-11-11-11", None, all), [0], "others have its CPU at times");
        assert!(always("a: 1---1---1---1---1---", None, all).is_empty(), "others have it mostly");
        let cut = Query { range: Some((0, 5_000_000)), ..Query::default() };
        assert!(always(busy, None, &cut).is_empty());
    }
}
