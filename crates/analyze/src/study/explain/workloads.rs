//! How much work each role had: what tells a client from its server where both were there before the recording began, so that nobody
//! saw who spoke first. Who waits for others that always have something to do waits for them; who waits for others that wait
//! themselves has nothing to do.

use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_model::{ObjectType, Outcome};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::roles::is_first_of_process;
use crate::study::explain::terms::{RoleId, hands_over, is_of_event_loop};

/// Part of their lives from which on threads mostly have work.
const MOSTLY: f64 = 0.5;
/// And from which on they always have.
const ALWAYS: f64 = 0.9;

/// So often must another process give a first thread something to do, if that does not pace itself: a helper that a server asks.
const ASKED: u32 = 8;

/// The part of its life in which each role that was there at the begin did not wait for others to give it something.
pub struct Workloads {
    of_role: HashMap<RoleId, f64>,
    /// The same of roles whose threads are first ones of their processes, where sleeps are no work either: `main` paces itself.
    of_first_threads: HashMap<RoleId, f64>,
    /// The same of each thread that began with the recording or before.
    of_thread: BTreeMap<usize, f64>,
    /// First threads of processes to which threads of others gave something to do.
    helpers: HashSet<usize>,
    /// And their roles.
    helper_roles: HashSet<RoleId>,
}

impl Workloads {
    /// Those of a trace: one pass over its rows, where any thread was there before.
    pub fn new(trace: &Trace, role_of: &dyn Fn(usize) -> RoleId) -> Self {
        let (threads, manifest) = (&trace.threads, &trace.manifest);
        // A made-up result without a source is of a whole life.
        let attached = manifest.command.is_empty() && !manifest.source.is_empty();
        let was_there = |thread: &usize| attached && threads.start_ns[*thread] == 0;
        let were_there: Vec<usize> = (0..threads.tid.len()).filter(was_there).collect();
        let (mut of_thread, mut helpers) = (BTreeMap::new(), HashSet::new());
        let mut lives: HashMap<RoleId, (u64, u64)> = HashMap::new();
        let mut first_lives: HashMap<RoleId, (u64, u64, bool)> = HashMap::new();
        let events = trace.events();
        let sleeps: Vec<bool> = events.keys.iter().map(|key| is_sleep(object_type(trace, key.object()))).collect();
        let for_others: Vec<bool> = events.keys.iter().map(|key| waits_for_work(trace, key)).collect();
        let by_another = |key: &EventKey| {
            let process = |thread: usize| trace.threads.process.get(thread).copied();
            let (own, waker) = (key.thread().get().and_then(process), key.waker().get().and_then(process));
            waker.is_some() && waker != own && Outcome::from_code(key.outcome()) == Outcome::Woken
        };
        let by_another_process: Vec<bool> =
            events.keys.iter().zip(&for_others).map(|(key, for_others)| *for_others && by_another(key)).collect();
        for &thread in &were_there {
            let life = trace.life_ns(thread);
            let (mut without_work, mut slept, mut questions) = (0, 0, 0);
            events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
                without_work += if for_others[key as usize] { times.wait_ns } else { 0 };
                slept += if sleeps[key as usize] { times.wait_ns } else { 0 };
                questions += u32::from(by_another_process[key as usize]);
            });
            of_thread.insert(thread, share((life, without_work)));
            let of_role = lives.entry(role_of(thread)).or_default();
            *of_role = (of_role.0 + life, of_role.1 + without_work);
            let of_first = first_lives.entry(role_of(thread)).or_insert((0, 0, true));
            let is_helper = is_first_of_process(trace, thread) && questions >= ASKED;
            helpers.extend(is_helper.then_some(thread));
            let is_first = of_first.2 && is_first_of_process(trace, thread) && !is_helper;
            *of_first = (of_first.0 + life, of_first.1 + without_work + slept, is_first);
        }
        first_lives.retain(|_, (.., are_first)| *are_first);
        let of_first_threads = first_lives.into_iter().map(|(role, (life, idle, _))| (role, share((life, idle))));
        Self {
            of_role: lives.into_iter().map(|(role, times)| (role, share(times))).collect(),
            of_first_threads: of_first_threads.collect(),
            of_thread,
            helper_roles: helpers.iter().map(|thread| role_of(*thread)).collect(),
            helpers,
        }
    }

    /// Whether the role, which was there, always has work.
    pub fn is_overloaded(&self, role: RoleId) -> bool {
        self.of_role.get(&role).is_some_and(|share| *share >= ALWAYS)
    }

    /// Whether a process has the thread as its first one, and threads of others gave it something to do: it does not pace itself.
    pub fn is_helper(&self, thread: usize) -> bool {
        self.helpers.contains(&thread)
    }

    /// Whether such threads have the role.
    pub fn has_helpers(&self, role: RoleId) -> bool {
        self.helper_roles.contains(&role)
    }

    /// Whether the thread began with the recording or before.
    pub fn was_there(&self, thread: usize) -> bool {
        self.of_thread.contains_key(&thread)
    }

    /// The threads that were there and always have work.
    pub fn never_without_work(&self) -> impl Iterator<Item = usize> {
        self.of_thread.iter().filter(|(_, share)| **share >= ALWAYS).map(|(thread, _)| *thread)
    }

    /// Whether a thread that was there asks the role, which was there, too: that one mostly has work, and more than the thread's own
    /// has; none where either came later.
    pub fn asks(&self, thread: usize, own: RoleId, role: RoleId) -> Option<bool> {
        let (own, other) = (self.of_role.get(&own)?, self.of_first_threads.get(&role).or(self.of_role.get(&role))?);
        self.was_there(thread).then_some(*other >= MOSTLY && other > own)
    }
}

/// Whether waits of a key are for what others give a thread to do.
pub fn waits_for_work(trace: &Trace, key: &EventKey) -> bool {
    hands_over(object_type(trace, key.object())) || is_of_event_loop(key.syscall())
}

fn is_sleep(kind: ObjectType) -> bool {
    matches!(kind, ObjectType::Sleep | ObjectType::Timer)
}

/// The part of a life in which there was work.
fn share((life_ns, without_work_ns): (u64, u64)) -> f64 {
    1.0 - without_work_ns as f64 / life_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use dwell_model::ProcessId;
    use dwell_store::tables::ProcessRow;
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn who_waits_for_threads_that_have_work_asks_them() {
        let mut trace = trace("loop: eeeeeee#ee \npool: #sss#sss##");
        trace.threads.start_ns.fill(0);
        trace.manifest.source = "bpf".into();
        trace.manifest.command.clear();
        let role_of = |thread: usize| thread as RoleId;
        let workloads = Workloads::new(&trace, &role_of);
        assert_eq!(workloads.asks(0, 0, 1), Some(true));
        assert_eq!(workloads.asks(1, 1, 0), Some(false));
        let pool = trace.threads.tid[1];
        trace.processes.pid[0] = pool;
        assert_eq!(Workloads::new(&trace, &role_of).asks(0, 0, 1), Some(false), "the first thread paces itself");
        trace.processes.pid[0] = 0;
        trace.threads.start_ns[1] = 5;
        assert_eq!(Workloads::new(&trace, &role_of).asks(0, 0, 1), None, "it came later");
    }

    #[test]
    fn a_helper_that_a_server_asks_does_not_pace_itself() {
        let asks = |questions: usize| {
            let mut trace =
                trace(&format!("loop: {} \nhelper: {}", "1eee".repeat(questions), "nsss".repeat(questions)));
            let other = trace.processes.pid.len();
            let row = ProcessRow { pid: trace.threads.tid[1], ..trace.processes.row(0).unwrap() };
            trace.processes.push(row);
            trace.threads.process[1] = ProcessId::new(other);
            trace.threads.start_ns.fill(0);
            trace.manifest.source = "bpf".into();
            trace.manifest.command.clear();
            trace.tables_changed();
            let workloads = Workloads::new(&trace, &|thread| thread as RoleId);
            (workloads.is_helper(1), workloads.asks(0, 0, 1))
        };
        assert_eq!(asks(20), (true, Some(true)));
        assert_eq!(asks(4), (false, Some(false)), "it may be anything that sleeps");
    }
}
