//! Threads that always have the next request: nobody is seen to ask them, since they never wait for one, and what they do keeps
//! whoever asks from outside the recording.

use std::collections::{HashMap, HashSet};

use dwell_model::{Outcome, ProcessId, StackId};
use dwell_query::stacks::object::object_type;
use dwell_store::Trace;

use crate::study::explain::children::is_for_child;
use crate::study::explain::names::Names;
use crate::study::explain::roles::is_first_of_process;
use crate::study::explain::terms::{LabelId, RoleId, parks_threads};
use crate::study::explain::workloads::Workloads;

/// Part of a thread's life that must be within requests.
const MOSTLY: f64 = 0.5;

/// The threads that were there before the recording, were never without work in it, and mostly were within requests that a library
/// took.
pub fn saturated_threads(trace: &Trace, workloads: &Workloads, names: &Names<'_, '_>) -> Vec<usize> {
    let mut known: HashMap<StackId, bool> = HashMap::new();
    let mut answers = |stack: StackId| *known.entry(stack).or_insert_with(|| names.answers_request(stack));
    let (events, threads) = (trace.events(), &trace.threads);
    let life_ns = |thread: usize| trace.life_ns(thread);
    let is_within_requests = |thread: &usize| {
        let life_ns = life_ns(*thread);
        let (mut off_cpu_ns, mut runnable_ns, mut waits_ns) = (0u64, 0u64, 0u64);
        events.off_cpu.for_each(events.off_cpu.of(*thread), |_, key, times| {
            off_cpu_ns = times.wait_ns.saturating_add(times.runnable_ns).saturating_add(off_cpu_ns);
            runnable_ns = times.runnable_ns.saturating_add(runnable_ns);
            waits_ns = if answers(events.key(key).stack()) { times.wait_ns.saturating_add(waits_ns) } else { waits_ns };
        });
        let samples = events.samples.of(*thread);
        let of_requests = samples.clone().filter(|row| answers(events.key(events.samples.key(*row)).stack())).count();
        let ran_ns = life_ns.saturating_sub(off_cpu_ns) as f64 * of_requests as f64 / samples.len().max(1) as f64;
        // What it had to do while it was in the run queue nobody knows.
        waits_ns as f64 + ran_ns >= MOSTLY * life_ns.saturating_sub(runnable_ns) as f64
    };
    let parked_ns = |thread: usize| {
        let mut parked_ns = 0u64;
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            let key = events.key(key);
            let is_own = Outcome::from_code(key.outcome()) == Outcome::TimedOut;
            let parks = parks_threads(object_type(trace, key.object()));
            parked_ns = parked_ns.saturating_add(if parks && !is_own { times.wait_ns } else { 0 });
        });
        parked_ns
    };
    // Where a thread of the same pool is without work, or each connection has one of its own, nobody else waits for one that is not.
    let is_of_pool = |thread: &usize| {
        let role = names.role_of(*thread);
        let is_mate = |other: &usize| other != thread && threads.process[*other] == threads.process[*thread];
        let is_free = |other: usize| parked_ns(other) as f64 >= MOSTLY * life_ns(other) as f64;
        let is_alone = || is_first_of_process(trace, *thread) || !names.members_of(role).filter(is_mate).any(is_free);
        !names.has_one_per_connection(role) && is_alone()
    };
    workloads.never_without_work().filter(is_within_requests).filter(is_of_pool).collect()
}

/// The threads that were there before the recording and were never without work in it, or are the first one of a program that it did not see
/// end, and mostly waited for children that ended: a script, a worker that forks for each job, a handler that calls `system`.
pub fn waiting_parents(trace: &Trace, workloads: &Workloads) -> HashSet<usize> {
    let (events, threads) = (trace.events(), &trace.threads);
    let waits_for_children = |thread: &usize| {
        let mut waits_ns = 0u64;
        events.off_cpu.for_each(events.off_cpu.of(*thread), |_, key, times| {
            waits_ns = waits_ns.saturating_add(if is_for_child(trace, &events.key(key)) { times.wait_ns } else { 0 });
        });
        waits_ns as f64 >= MOSTLY * trace.life_ns(*thread) as f64
    };
    // To the end of one that was seen leads a path.
    let is_cut = trace.manifest.exit_status.is_none();
    let first = (trace.fiber_threads..threads.tid.len()).find(|thread| is_cut && is_first_of_process(trace, *thread));
    workloads.never_without_work().chain(first).filter(waits_for_children).collect()
}

/// The threads of a role that wait at a place for what has a label for most of their lives, and the part that these do; none where another
/// one of the role and process mostly is parked without work.
pub fn kept_at(trace: &Trace, names: &Names<'_, '_>, (role, label): (RoleId, LabelId), at: &str) -> Option<(u64, f64)> {
    let (events, threads) = (trace.events(), &trace.threads);
    let (mut kept, mut waits_ns, mut lives_ns) = (Vec::new(), 0.0, 0.0);
    let mut free: Vec<ProcessId> = Vec::new();
    for thread in names.members_of(role) {
        let life_ns = trace.life_ns(thread) as f64;
        let (mut here_ns, mut parked_ns) = (0.0, 0.0);
        events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
            let key = events.key(key);
            if names.has_label(&key, label) && names.is_at(key.stack(), at) {
                here_ns += times.wait_ns as f64;
            } else if parks_threads(object_type(trace, key.object())) {
                parked_ns += times.wait_ns as f64;
            }
        });
        if here_ns >= MOSTLY * life_ns {
            kept.push(threads.process[thread]);
            (waits_ns, lives_ns) = (waits_ns + here_ns, lives_ns + life_ns);
        } else if parked_ns >= MOSTLY * life_ns {
            free.push(threads.process[thread]);
        }
    }
    let are_all = !kept.is_empty() && !kept.iter().any(|process| free.contains(process));
    are_all.then(|| (kept.len() as u64, waits_ns / lives_ns.max(1.0)))
}
