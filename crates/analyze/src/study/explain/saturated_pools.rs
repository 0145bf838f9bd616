//! Pools that never were without work: nobody is seen to give them any, since they never wait for it, and only their answers are seen.
//! Where each of many threads has a condition variable of its own, and a few that never wait themselves end these waits, they wait for answers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::{ObjectId, ObjectType, Outcome};
use dwell_query::stacks::frames::functions;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::terms::RoleId;
use crate::study::explain::wait_ends::waker_of;
use crate::study::explain::workloads::waits_for_work;

/// Threads that make a pool: one alone may hand out work, each piece to another thread.
const POOL: usize = 2;
/// Threads that each of them must answer, on average: one that writes to a pipeline of its own has one reader.
const ASKERS: usize = 2;
/// Part of its life that a pool may be without work.
const WITHOUT_WORK: f64 = 0.05;
/// Frames at the leaf in which a runtime parks a thread.
const PARKING_DEPTH: usize = 8;
/// How functions of runtimes begin that park each thread on a condition variable of its own, whatever it waits for: HotSpot's.
const PARKS: &[&str] = &["Parker::", "PlatformEvent::", "os::PlatformEvent::", "PlatformParker::"];

/// Of each thread that waits, who ends its waits.
type EndedBy = BTreeMap<usize, BTreeSet<usize>>;

/// Of each key: whether its waits are for the answer of such a pool.
pub fn pool_answers(trace: &Trace, role_of: &dyn Fn(usize) -> RoleId) -> Vec<bool> {
    let keys = &trace.events().keys;
    let waiting = waiting_threads(trace);
    let of_key = |key: &EventKey| asker_and_pool(trace, role_of, &waiting, key);
    let mut pools: BTreeMap<(RoleId, RoleId), EndedBy> = BTreeMap::new();
    for key in keys.iter() {
        if let Some(roles) = of_key(key)
            && let Some((thread, waker)) = key.thread().get().zip(waker_of(key))
        {
            pools.entry(roles).or_default().entry(thread).or_default().insert(waker);
        }
    }
    pools.retain(|_, ended_by| have_many_askers(ended_by) && !is_without_work(trace, ended_by));
    keys.iter().map(|key| !pools.is_empty() && of_key(key).is_some_and(|roles| pools.contains_key(&roles))).collect()
}

/// The one thread that waits on each condition variable; none where several do.
fn waiting_threads(trace: &Trace) -> HashMap<ObjectId, Option<usize>> {
    let mut waiting: HashMap<ObjectId, Option<usize>> = HashMap::new();
    for key in trace.events().keys.iter() {
        if key.object().is_some() && object_type(trace, key.object()) == ObjectType::ConditionVariable {
            let known = waiting.entry(key.object()).or_insert(key.thread().get());
            *known = known.filter(|thread| key.thread().get() == Some(*thread));
        }
    }
    waiting
}

/// The roles of who waited on a condition variable of its own, and of another thread of the process that ended it.
fn asker_and_pool(
    trace: &Trace,
    role_of: &dyn Fn(usize) -> RoleId,
    waiting: &HashMap<ObjectId, Option<usize>>,
    key: &EventKey,
) -> Option<(RoleId, RoleId)> {
    let thread = waiting.get(&key.object()).copied().flatten()?;
    let waker = waker_of(key).filter(|_| Outcome::from_code(key.outcome()) == Outcome::Woken)?;
    let process = |thread: usize| trace.threads.process.get(thread);
    let (asker, pool) = (role_of(thread), role_of(waker));
    let is_runtimes = || functions(trace, key.stack()).take(PARKING_DEPTH).any(is_of_runtime);
    (asker != pool && process(thread) == process(waker) && !is_runtimes()).then_some((asker, pool))
}

fn is_of_runtime(function: &str) -> bool {
    PARKS.iter().any(|parks| function.starts_with(parks))
}

fn have_many_askers(ended_by: &EndedBy) -> bool {
    let pool = threads_of_pool(ended_by).len();
    pool >= POOL && ended_by.len() >= ASKERS * pool
}

fn threads_of_pool(ended_by: &EndedBy) -> BTreeSet<usize> {
    ended_by.values().flatten().copied().collect()
}

/// Whether the threads of the pool waited for work.
fn is_without_work(trace: &Trace, ended_by: &EndedBy) -> bool {
    let events = trace.events();
    let (mut lives_ns, mut without_work_ns) = (0u64, 0u64);
    for thread in threads_of_pool(ended_by) {
        lives_ns = lives_ns.saturating_add(trace.life_ns(thread));
        events.off_cpu.for_each_wait(events.off_cpu.of(thread), |_, wait_ns, key| {
            let is_for_work = waits_for_work(trace, &events.key(key));
            without_work_ns = without_work_ns.saturating_add(if is_for_work { wait_ns } else { 0 });
        });
    }
    without_work_ns as f64 > WITHOUT_WORK * lives_ns as f64
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    /// How many of the keys are waits for an answer, where each object is a condition variable: threads of one letter have one role.
    fn answers(picture: &str) -> usize {
        let mut trace = trace(picture);
        trace.objects.kind.fill(ObjectType::ConditionVariable.code());
        trace.tables_changed();
        let role_of = |thread: usize| RoleId::from(trace.threads.name[thread].as_bytes()[0]);
        pool_answers(&trace, &role_of).into_iter().filter(|is_answer| *is_answer).count()
    }

    #[test]
    fn many_that_wait_on_objects_of_their_own_for_few_that_never_wait_ask_them() {
        let (pool, few) = ("p1: -#-#-#-\np2: #-#-#-#", "r1: #xx#xx#\nr2: #yy#yy#");
        let askers = format!("{few}\nr3: #zz#zz#\nr4: #tt#tt#");
        assert_eq!(answers(&format!("{pool}\n{askers}")), 8);
        assert_eq!(answers(&format!("{pool}\n{few}")), 0, "each may have a pipeline of its own");
        assert_eq!(answers(&format!("p1: #1#1#1#\n{askers}")), 0, "one thread may hand out work");
        assert_eq!(answers(&format!("p1: 1#w#w#1\np2: #w#w#1#\n{askers}")), 0, "it waits for work itself");
        let consumers = "r1: #xx#xx#\nr2: #xx#xx#\nr3: #xx#xx#\nr4: #xx#xx#";
        assert_eq!(answers(&format!("{pool}\n{consumers}")), 0, "consumers share a queue");
    }
}
