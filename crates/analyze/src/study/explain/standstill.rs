//! Programs that stand still: all of their threads wait for one another. Only a signal or another program could wake them, which is how
//! some daemons wait for their end; others hang.

use std::collections::HashSet;

use dwell_model::{ObjectType, Outcome};
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::frames::module_path;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::bare_stacks::is_bare;
use crate::study::explain::names::Names;
use crate::study::explain::places::is_of_program;
use crate::study::explain::terms::{Link, is_of_event_loop, parks_threads};
use crate::study::explain::waiting_calls::calls_one_of;

/// How long all must have waited, ns …
const LEAST_NS: u64 = 500_000_000;
/// … and as a part of the recording: until then a program may be about to end.
const LEAST_SHARE: f64 = 0.2;
/// How long a program takes at most to end that a signal ends, ns.
const TEARDOWN_NS: u64 = 100_000_000;
/// Waits that tell nothing of a thread, ns: for a moment it waits for the kernel's locks, say.
const SHORT_NS: u64 = 10_000_000;
/// By which threads of a program wait for one another.
const FUTEX: &[&str] = &["futex"];
/// Part of that time that threads of the runtime may run.
const RUNTIME_SHARE: f64 = 0.02;

/// Exit statuses above are of programs that a signal ended.
const KILLED: i32 = 128;

/// What is told of a program that stands still.
pub struct StandingProgram {
    /// How long all of its threads have waited, ns.
    pub wall_ns: u64,
    /// What each waits for, the first thread first; each once.
    pub waits: Vec<Link>,
}

/// A program that stands still.
pub struct Standstill {
    wall_ns: u64,
    /// Threads that wait in a function of the program, each with that row.
    threads: Vec<(usize, usize)>,
    /// The keys of these rows that are no workers' without work, and not for a thread's or process's end.
    keys: HashSet<u32>,
}

impl Standstill {
    /// That of a trace, if the program stands still at its end: each thread is in a wait that only another thread of the program can end,
    /// without a time-out, or is one of the runtime's, which have none of the program's functions and hardly run.
    pub fn new(trace: &Trace, stacks: &CallStacks<'_>, is_idle: &mut impl FnMut(&EventKey) -> bool) -> Option<Self> {
        let (threads, elapsed) = (&trace.threads, trace.elapsed_ns());
        // Goroutines may be woken by timers that are no threads; a program that ended by itself did not stand still.
        let teardown_ns = match trace.manifest.exit_status {
            Some(status) if status <= KILLED => return None,
            Some(_) => TEARDOWN_NS,
            None => 0,
        };
        if trace.fiber_threads > 0 {
            return None;
        }
        let last_ns = threads.end_ns.iter().copied().max()?;
        let end_ns = last_ns.saturating_sub(teardown_ns);
        let (mut standing, mut of_runtime) = (Vec::new(), Vec::new());
        for thread in (0..threads.tid.len()).filter(|thread| threads.end_ns[*thread] >= end_ns) {
            match endless_wait(trace, thread, end_ns) {
                Some(row) if has_function_of_program(trace, stacks, row) => standing.push((thread, row)),
                Some(_) => of_runtime.push(thread),
                None if is_of_runtime(trace, stacks, thread) => of_runtime.push(thread),
                None => return None,
            }
        }
        let rows = &trace.events().off_cpu;
        let since = standing.iter().map(|(_, row)| rows.start_ns(*row)).max()?;
        let wall_ns = elapsed.saturating_sub(since);
        let ran_ns: u64 = of_runtime.iter().map(|thread| ran_since(trace, *thread, since)).sum();
        let is_long = wall_ns >= LEAST_NS.max((elapsed as f64 * LEAST_SHARE) as u64);
        if !is_long || ran_ns as f64 > RUNTIME_SHARE * wall_ns as f64 {
            return None;
        }
        let mut is_for_others = |key: &u32| {
            let key = trace.events().key(*key);
            !waits_for_end(object_type(trace, key.object())) && !is_idle(&key)
        };
        let keys = standing.iter().map(|(_, row)| rows.key(*row)).filter(&mut is_for_others).collect();
        Some(Self { wall_ns, threads: standing, keys })
    }

    /// Whether waits of a key are such a thread's, and it is no worker without work.
    pub fn has_key(&self, key: usize) -> bool {
        u32::try_from(key).is_ok_and(|key| self.keys.contains(&key))
    }

    /// What is told of it.
    pub fn standing_program(&self, trace: &Trace, names: &mut Names<'_, '_>) -> StandingProgram {
        let mut waits: Vec<Link> = Vec::new();
        for (thread, row) in &self.threads {
            let key = trace.events().off_cpu_key(*row);
            let (role, place) = (names.role_of(*thread), names.place_of(key.stack()));
            let link = Link { role, label: names.label_of(key.object(), key.syscall()), place };
            if !waits.contains(&link) {
                waits.push(link);
            }
        }
        StandingProgram { wall_ns: self.wall_ns, waits }
    }
}

/// The longest wait of a thread that is about to end, where it went on until `end_ns` or later, nothing but the program's end ended it, and only other threads of the
/// program can.
fn endless_wait(trace: &Trace, thread: usize, end_ns: u64) -> Option<usize> {
    use ObjectType::{Barrier, Mutex, Once, OpenMpBarrier, RwLock};
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    // Who is about to end may wait for a moment for others that are.
    let at_end = rows.of(thread).rev().take_while(|row| rows.end_ns(*row) >= end_ns);
    let row = at_end.max_by_key(|row| rows.wait_ns(*row))?;
    let key = events.off_cpu_key(row);
    let kind = object_type(trace, key.object());
    let is_internal = parks_threads(kind)
        || waits_for_end(kind)
        || (kind == ObjectType::Event && calls_one_of(&key, FUTEX)) // a latch of Java's
        || matches!(kind, Barrier | Mutex | Once | OpenMpBarrier | RwLock);
    let is_open = match Outcome::from_code(key.outcome()) {
        Outcome::Unfinished => true,
        Outcome::Interrupted => trace.threads.exited[thread] && rows.woken_ns(row) >= end_ns,
        _ => false,
    };
    (is_internal && is_open).then_some(row)
}

/// Whether a wait on an object of this type is for a thread's or a process's end.
fn waits_for_end(kind: ObjectType) -> bool {
    matches!(kind, ObjectType::ChildProcess | ObjectType::ThreadJoin)
}

/// Whether a thread is one of the runtime's, as far as its longer waits tell: none is in a function of the program, and none for
/// something from outside.
fn is_of_runtime(trace: &Trace, stacks: &CallStacks<'_>, thread: usize) -> bool {
    use ObjectType::{Mutex, Signal, Sleep, Timer};
    let (events, rows) = (trace.events(), &trace.events().off_cpu);
    rows.of(thread).filter(|row| rows.wait_ns(*row) >= SHORT_NS).all(|row| {
        let key = events.off_cpu_key(row);
        let kind = object_type(trace, key.object());
        let is_internal = parks_threads(kind) || matches!(kind, Mutex | Signal | Sleep | Timer);
        is_internal
            && !is_of_event_loop(key.syscall())
            && !is_bare(trace, key.stack())
            && !has_function_of_program(trace, stacks, row)
    })
}

fn has_function_of_program(trace: &Trace, stacks: &CallStacks<'_>, row: usize) -> bool {
    // Code that a runtime made has sources, unless it is the runtime's own: its interpreter.
    let is_made = |frame: usize| module_path(trace, frame).starts_with('[') && trace.frames.file[frame].is_empty();
    let stack = trace.events().off_cpu_key(row).stack();
    stacks
        .whole_chain(stack)
        .any(|stack| is_of_program(trace, stacks, stack) && !stacks.frame(stack).is_some_and(is_made))
}

/// How long a thread ran from a time to the end, ns.
fn ran_since(trace: &Trace, thread: usize, since: u64) -> u64 {
    let rows = &trace.events().off_cpu;
    let off_ns = |row: usize| rows.end_ns(row).saturating_sub(rows.start_ns(row).max(since));
    let alive_ns = trace.threads.end_ns[thread].saturating_sub(trace.threads.start_ns[thread].max(since));
    alive_ns.saturating_sub(rows.of(thread).map(off_ns).sum())
}

#[cfg(test)]
mod tests {
    use dwell_query::engine::fold::Fold;
    use dwell_query::question::query::Query;
    use dwell_store::Trace;
    use dwell_trace_dsl::{CELL, trace};

    use super::*;
    use crate::study::explain::explain;

    const WAIT_CELLS: usize = (2 * LEAST_NS / CELL) as usize;

    /// How many things its threads wait for, and how long they do in vain, ns.
    fn found(trace: &Trace) -> Option<(usize, u64)> {
        let query = Query::default();
        let fold = Fold::new(trace, &query).expect("a fold");
        let explanation = explain(&fold);
        explanation.standstill.as_ref().map(|found| (found.waits.len(), explanation.demand_ns))
    }

    /// A main thread that waits on a condition variable beside a worker, each to the end.
    fn main_and(worker: &str, outcome: Outcome, exited: bool, exit_status: Option<i32>) -> Trace {
        let mut trace = trace(&format!("main: #{}\nworker: #{worker}", "c".repeat(WAIT_CELLS)));
        trace.manifest.exit_status = exit_status;
        trace.off_cpu.outcome.fill(outcome.code());
        trace.threads.exited.fill(exited);
        trace
    }

    #[test]
    fn all_have_to_wait_for_one_another() {
        let of_worker = |worker: &str| found(&main_and(&worker.repeat(WAIT_CELLS), Outcome::Unfinished, false, None));
        assert_eq!(of_worker("c"), Some((2, 4 * LEAST_NS)));
        assert_eq!(of_worker("s"), None, "a timer may wake the others");
    }

    #[test]
    fn a_signal_may_end_what_stands_still() {
        let waits = "c".repeat(WAIT_CELLS);
        let ended = |exited: bool, status: i32| found(&main_and(&waits, Outcome::Interrupted, exited, Some(status)));
        assert_eq!(ended(true, 130), Some((2, 4 * LEAST_NS)));
        assert_eq!(ended(false, 130), None, "the signal broke the waits off, and the threads went on");
        assert_eq!(ended(true, 0), None, "it ended by itself");
    }
}
