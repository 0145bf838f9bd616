//! Programs that stand still: all of their threads wait for one another. Only a signal or another program could wake them, which is how
//! some daemons wait for their end; others hang.

use dwell_model::{ObjectType, Outcome};
use dwell_store::Trace;

use crate::engine::fold::Fold;
use crate::stacks::object::object_type;
use crate::study::explain::names::Names;
use crate::study::explain::terms::{Link, parks_threads};

/// How long all must have waited, ns …
const LEAST_NS: u64 = 500_000_000;
/// … and as a part of the recording: until then a program may be about to end.
const LEAST_SHARE: f64 = 0.2;

/// Exit statuses above are of programs that a signal ended.
const KILLED: i32 = 128;

/// A program that stands still.
pub struct Standstill {
    /// How long all of them have waited, ns.
    pub wall_ns: u64,
    /// What each waits for, the first thread first; each once.
    pub waits: Vec<Link>,
}

/// Whether the recorded program stands still at the end of the recording: each of its threads is in a wait that only another thread of
/// the program can end, without a time-out. Of a part of what was recorded that is not told.
pub fn standstill(fold: &Fold<'_>, names: &mut Names<'_, '_>) -> Option<Standstill> {
    let (trace, threads, elapsed) = (fold.trace, &fold.trace.threads, fold.trace.elapsed_ns());
    // Goroutines may be woken by timers that are no threads; a program that ended did not stand still.
    let ended = trace.manifest.exit_status.is_some_and(|status| status <= KILLED);
    if trace.fiber_threads > 0 || ended || !fold.query.explains_all() {
        return None;
    }
    let there: Vec<usize> = (0..threads.tid.len()).filter(|thread| threads.end_ns[*thread] >= elapsed).collect();
    let rows: Vec<usize> = there.iter().map(|thread| endless_wait(trace, *thread)).collect::<Option<_>>()?;
    let events = trace.events();
    let since = rows.iter().map(|row| events.off_cpu.start_ns(*row)).max()?;
    let wall_ns = elapsed.saturating_sub(since);
    if wall_ns < LEAST_NS.max((elapsed as f64 * LEAST_SHARE) as u64) {
        return None;
    }
    let mut waits: Vec<Link> = Vec::new();
    for (thread, row) in there.iter().zip(&rows) {
        let key = events.off_cpu_key(*row);
        let (role, place) = (names.role_of(*thread), names.place_of(key.stack()));
        let link = Link { role, label: names.label_of(key.object(), key.syscall()), place };
        if !waits.contains(&link) {
            waits.push(link);
        }
    }
    Some(Standstill { wall_ns, waits })
}

/// The last row of a thread, where it is a wait that goes on and only other threads of the program can end.
fn endless_wait(trace: &Trace, thread: usize) -> Option<usize> {
    use ObjectType::{Barrier, ChildProcess, Mutex, Once, OpenMpBarrier, RwLock, ThreadJoin};
    let events = trace.events();
    let row = events.off_cpu.of(thread).next_back()?;
    let key = events.off_cpu_key(row);
    let kind = object_type(trace, key.object());
    let is_internal = parks_threads(kind)
        || matches!(kind, Barrier | ChildProcess | Mutex | Once | OpenMpBarrier | RwLock | ThreadJoin);
    (is_internal && Outcome::from_code(key.outcome()) == Outcome::Unfinished).then_some(row)
}

#[cfg(test)]
mod tests {
    use dwell_store::Trace;

    use super::*;
    use crate::engine::fold::Fold;
    use crate::question::query::Query;
    use crate::test_support::trace_dsl::{CELL, trace};

    const WAIT_CELLS: usize = (2 * LEAST_NS / CELL) as usize;

    /// How many things its threads wait for.
    fn found(trace: &Trace) -> Option<usize> {
        let query = Query::default();
        let fold = Fold::new(trace, &query).expect("a fold");
        standstill(&fold, &mut Names::new(trace, &fold.stacks)).map(|found| found.waits.len())
    }

    #[test]
    fn all_have_to_wait_for_one_another() {
        let waits = "c".repeat(WAIT_CELLS);
        let with = |worker: &str| {
            let mut trace = trace(&format!("main: #{waits}\nworker: #{worker}"));
            trace.manifest.exit_status = None;
            trace.off_cpu.outcome.fill(Outcome::Unfinished.code());
            trace
        };
        let mut still = with(&waits);
        assert_eq!(found(&still), Some(2));
        still.manifest.exit_status = Some(0);
        assert_eq!(found(&still), None, "it ended");
        assert_eq!(found(&with(&"s".repeat(WAIT_CELLS))), None, "a timer may wake the others");
    }
}
