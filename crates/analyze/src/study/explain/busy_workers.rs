//! Workers that hardly ever are without work, though nobody is seen to wait for them: what they are given waits in a list of their pool, not
//! a thread (executors, schedulers, a queue without a bound).

use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_model::{Outcome, StackId};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::roles::is_first_of_process;
use crate::study::explain::roots::RootCause;
use crate::study::explain::sleeps::is_ended_sleep;
use crate::study::explain::terms::{CauseKind, RoleId, WaitClass, parks_threads};
use crate::study::explain::wait_ends::waker_of;

/// Part of its life that a thread may be without work.
const WITHOUT_WORK: f64 = 0.25;
/// Pieces of work that a worker must have been given in one stack. Who is given one that never ends may run a loop that nobody waits for.
const GIVEN: u64 = 3;
/// Part of the recording that a thread must have lived: a pool that makes a thread for each piece of work is never full.
const STAYS: f64 = 0.5;
/// Waits that are seen count where they are at least one part in so many of the workers' sleeps.
const SEEN_PART: u64 = 10;

/// The threads of roles whose threads all are such workers, and sleep in what they were given; what else they wait for is told anyway. `class_of`
/// takes a thread, one of its rows, and that one's key.
pub fn busy_workers(
    trace: &Trace,
    class_of: &dyn Fn(usize, usize, u32) -> WaitClass,
    role_of: &dyn Fn(usize) -> RoleId,
) -> HashSet<usize> {
    let sleepers = sleeping_workers(trace);
    if sleepers.is_empty() {
        return sleepers;
    }
    let mut of_role: BTreeMap<RoleId, Vec<usize>> = BTreeMap::new();
    for thread in trace.fiber_threads..trace.threads.tid.len() {
        of_role.entry(role_of(thread)).or_default().push(thread);
    }
    let stays = |thread: &&usize| trace.life_ns(**thread) as f64 >= STAYS * trace.elapsed_ns() as f64;
    let are_busy = |threads: &Vec<usize>| {
        let mut staying = threads.iter().filter(stays).peekable();
        let is_busy = |thread: usize| sleepers.contains(&thread) && is_busy(trace, class_of, thread);
        staying.peek().is_some() && staying.all(|thread| is_busy(*thread))
    };
    of_role.into_values().filter(are_busy).flatten().collect()
}

/// The threads that sleep and that others gave work: no more are looked at by rows.
fn sleeping_workers(trace: &Trace) -> HashSet<usize> {
    let (mut sleepers, mut workers) = (HashSet::new(), HashSet::new());
    for key in trace.events().keys.iter() {
        let Some(thread) = key.thread().get().filter(|thread| !is_first_of_process(trace, *thread)) else { continue };
        if is_ended_sleep(trace, key) {
            sleepers.insert(thread);
        } else if is_given_work(trace, thread, key) {
            workers.insert(thread);
        }
    }
    sleepers.retain(|thread| workers.contains(thread));
    sleepers
}

/// Where others are seen to wait for the sleeps of such workers, these waits tell what the sleeps cost. What others did meanwhile is not what they
/// sleep for.
pub fn prefer_seen_waits(causes: &mut [RootCause], busy_workers: &HashSet<RoleId>) {
    let is_theirs =
        |root: &&mut RootCause| root.cause.kind == CauseKind::Slept && busy_workers.contains(&root.cause.role);
    for root in causes.iter_mut().filter(is_theirs) {
        root.meanwhile = None;
        if root.wait_ns >= root.served_ns / SEEN_PART {
            root.served_ns = 0;
        }
    }
}

/// Whether a thread hardly ever was without work.
fn is_busy(trace: &Trace, class_of: &dyn Fn(usize, usize, u32) -> WaitClass, thread: usize) -> bool {
    let rows = &trace.events().off_cpu;
    let (mut idle_ns, mut runnable_ns, mut given) = (0u64, 0u64, HashMap::<StackId, u64>::new());
    rows.for_each(rows.of(thread), |row, key, times| {
        runnable_ns = runnable_ns.saturating_add(times.runnable_ns);
        if times.wait_ns > 0 && class_of(thread, row, key) == WaitClass::Idle {
            idle_ns = idle_ns.saturating_add(times.wait_ns);
            let key = trace.events().key(key);
            *given.entry(key.stack()).or_default() += u64::from(is_given_work(trace, thread, &key));
        }
    });
    // What it had to do while it was in the run queue nobody knows.
    let is_worker = given.values().any(|count| *count >= GIVEN);
    is_worker && idle_ns as f64 <= WITHOUT_WORK * trace.life_ns(thread).saturating_sub(runnable_ns) as f64
}

/// Whether another thread of the process ended a wait in which threads are parked.
fn is_given_work(trace: &Trace, thread: usize, key: &EventKey) -> bool {
    let process = |thread: usize| trace.threads.process.get(thread);
    let by_another = waker_of(key).is_some_and(|waker| waker != thread && process(waker) == process(thread));
    let parks = parks_threads(object_type(trace, key.object()));
    parks && by_another && Outcome::from_code(key.outcome()) == Outcome::Woken
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    /// The names of such workers, where waits on condition variables are for work: threads of one letter have one role.
    fn told(picture: &str) -> Vec<String> {
        let trace = trace(picture);
        let class_of = |_: usize, _: usize, key: u32| {
            let parks = parks_threads(object_type(&trace, trace.events().key(key).object()));
            if parks { WaitClass::Idle } else { WaitClass::Own }
        };
        let role_of = |thread: usize| RoleId::from(trace.threads.name[thread].as_bytes()[0]);
        let mut names: Vec<String> = busy_workers(&trace, &class_of, &role_of)
            .into_iter()
            .map(|thread| trace.threads.name[thread].clone())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn workers_that_are_hardly_ever_without_work_are_told() {
        let giver = format!("m: {}", "###".repeat(10));
        let busy = "cssssssss#cssssssss#cssssssss#";
        let pool = format!("{giver}\np1: {busy}\np2: {busy}");
        assert_eq!(told(&pool), ["p1", "p2"]);
        assert!(told(&format!("{pool}\np3: {}", "cccccccccccccc#".repeat(2))).is_empty(), "one of them is free");
        assert!(told(&format!("{giver}\np1: {}", "cccccsss##".repeat(3))).is_empty(), "half of its time without work");
        assert!(told(&format!("{giver}\np1: c{}", "sssssssss#".repeat(3))).is_empty(), "one task that never ends");
        assert!(told(&format!("{giver}\np1: {}", "c#########".repeat(3))).is_empty(), "what it runs is told anyway");
        assert!(
            told(&format!("{giver}\nq: {}\np1: cssssssss#{}", "#".repeat(30), " ".repeat(20))).is_empty(),
            "it does not stay"
        );
        assert!(told(&busy.replace('c', "s")).is_empty());
    }
}
