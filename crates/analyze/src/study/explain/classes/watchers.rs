//! Threads that do nothing but wait for the end of what others do, or for a time: no work of theirs is held up.

use dwell_model::ObjectType;
use dwell_query::stacks::frames::functions;
use dwell_query::stacks::go_runtime::GO_MAIN;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use super::Classes;
use crate::study::explain::terms::is_internal;
use crate::study::explain::wait_ends::waited_for;
use crate::study::explain::waiting_calls::calls_one_of;

/// Part of its life, and of the elapsed time, that a goroutine must wait for others to do nothing else.
const MOST: f64 = 0.5;
/// Part of its life that a thread runs at most which only watches the clock.
const HARDLY_RUNS: f64 = 0.01;
/// How functions are called that wait for a mutex until a time.
const TIMED_LOCKS: &[&str] = &["pthread_mutex_clocklock", "pthread_mutex_timedlock"];

impl Classes<'_, '_> {
    /// Whether threads wait for a set of pipes, and mostly until a time of their own: for whatever their children write, not for an answer.
    pub(super) fn supervises(&self, key: &EventKey) -> bool {
        let name = waited_for(self.trace, key);
        let of_pipes = is_internal(name) && name.contains("pipe");
        let Some(thread) = key.thread().get().filter(|_| of_pipes) else { return false };
        let role = (self.role_of)(thread);
        let answers: u64 = self.dialogues.enders(role, key.object()).into_iter().flat_map(|it| it.values()).sum();
        self.dialogues.time_outs(role, key.object()) > answers
    }
}

/// Whether waits of a key are for no work of the thread's own.
pub fn only_watches(trace: &Trace, key: &EventKey) -> bool {
    let Some(thread) = key.thread().get() else { return false };
    match object_type(trace, key.object()) {
        ObjectType::WaitGroup => closes_behind_others(trace, thread),
        ObjectType::Mutex => {
            let is_timed = |function: &str| TIMED_LOCKS.iter().any(|name| function.contains(name));
            calls_one_of(key, &["futex"]) && functions(trace, key.stack()).any(is_timed) && hardly_runs(trace, thread)
        }
        _ => false,
    }
}

/// Whether the thread is a goroutine that waits once, and for most of the time: for others, behind which it closes a channel.
fn closes_behind_others(trace: &Trace, thread: usize) -> bool {
    let is_fiber = thread < trace.fiber_threads;
    let is_main = trace.threads.name.get(thread).is_some_and(|name| name == GO_MAIN);
    let rows = &trace.events().off_cpu;
    let mut waits = rows.of(thread).map(|row| rows.wait_ns(row)).filter(|ns| *ns > 0);
    let least_ns = MOST * trace.elapsed_ns() as f64;
    is_fiber && !is_main && waits.next().is_some_and(|ns| ns as f64 >= least_ns) && waits.next().is_none()
}

/// Whether the thread hardly does anything, in all its life.
fn hardly_runs(trace: &Trace, thread: usize) -> bool {
    let rows = &trace.events().off_cpu;
    let life_ns = trace.life_ns(thread);
    let off_cpu_ns: u64 = rows.of(thread).map(|row| rows.end_ns(row).saturating_sub(rows.start_ns(row))).sum();
    life_ns.saturating_sub(off_cpu_ns) as f64 <= HARDLY_RUNS * life_ns as f64
}
