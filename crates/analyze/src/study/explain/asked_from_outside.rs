//! Who is asked by programs that are not recorded: they wait unseen for what these threads do.

use std::collections::{HashMap, HashSet};

use dwell_model::{ObjectType, ProcessId, WakerKind};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::open_requests::answered_requests;
use crate::study::explain::terms::{RoleId, is_of_event_loop, listens};
use crate::study::explain::wait_ends::{waited_for, waker_of};

/// Sleeps in a row that are of a stream.
const STREAM: u32 = 4;
/// Waits for questions that make a role one that is asked.
const USUAL: u64 = 5;

/// How the end of a terminal is called through which another program reads what runs in it.
const TERMINAL: &str = "/dev/ptmx";

/// Requests that a process must have answered, for its only thread or those of its connections to be asked.
const ANSWERED: u64 = 8;

/// See the module.
#[derive(Default)]
pub struct AskedFromOutside {
    /// Roles whose waits for questions ended from outside often enough …
    asked: HashSet<RoleId>,
    /// … and the processes in which such a wait did: a server's master is no worker, though it may be called like one.
    processes: HashSet<ProcessId>,
    /// Roles that work for these.
    workers: HashSet<RoleId>,
    /// Threads that sleep again and again within one request: they write in between, as to whoever listens to a stream.
    streaming: HashSet<usize>,
    /// Threads of roles that have one for each connection, in processes that answer requests.
    connection_threads: HashSet<usize>,
}

impl AskedFromOutside {
    /// Those of a trace. `is_idle` tells of a key, by number, whether its waits are for whatever comes; `has_one_per_connection` of a role
    /// whether each connection has a thread of its own.
    pub fn new(
        trace: &Trace,
        role_of: &dyn Fn(usize) -> RoleId,
        is_idle: &dyn Fn(usize) -> bool,
        has_one_per_connection: &dyn Fn(RoleId) -> bool,
    ) -> Self {
        let mut processes = HashSet::new();
        let mut asked = usual_roles(trace, |number, key| {
            let thread = key.thread().get().filter(|_| is_idle(number) && is_question(trace, key))?;
            processes.insert(trace.threads.process[thread]);
            Some(role_of(thread))
        });
        // A thread that never waits for a question, since it looks for them, is asked all the same.
        for thread in single_servers(trace) {
            asked.insert(role_of(thread));
            processes.insert(trace.threads.process[thread]);
        }
        let is_asked = |thread: usize| asked.contains(&role_of(thread));
        let of_one_process = |one: usize, other: usize| trace.threads.process[one] == trace.threads.process[other];
        // Those to which these hand on what they were asked, and those that tell their loops that something is done: workers that are
        // never without work are never seen to be given any.
        let workers = usual_roles(trace, |number, key| {
            let (thread, waker) = key.thread().get().zip(waker_of(key))?;
            let worker = match (is_asked(thread), is_asked(waker)) {
                (false, true) if is_idle(number) => thread,
                (true, false) if is_of_event_loop(key.syscall()) && of_one_process(thread, waker) => waker,
                _ => return None,
            };
            Some(role_of(worker))
        });
        let answered = answered_requests(trace);
        let answers = |process: &ProcessId| answered.get(process).is_some_and(|requests| *requests >= ANSWERED);
        let mut connection_threads = HashSet::new();
        for thread in trace.fiber_threads..trace.threads.tid.len() {
            let process = trace.threads.process[thread];
            if answers(&process) && has_one_per_connection(role_of(thread)) {
                connection_threads.insert(thread);
                asked.insert(role_of(thread));
                processes.insert(process);
            }
        }
        // The only thread of a connection keeps nobody else.
        let roles: HashSet<RoleId> =
            asked.union(&workers).copied().filter(|role| has_one_per_connection(*role)).collect();
        let streams = |thread: &usize| roles.contains(&role_of(*thread)) && streams(trace, *thread);
        let streaming = (0..trace.threads.tid.len()).filter(streams).collect();
        Self { asked, processes, workers, streaming, connection_threads }
    }

    /// Whether the thread does nothing but answer the requests of one connection.
    pub fn has_connection(&self, thread: usize) -> bool {
        self.connection_threads.contains(&thread) && !self.streaming.contains(&thread)
    }

    /// Whether a thread of the role and the process is asked from outside, or works for those that are, and does one thing after the
    /// other.
    pub fn has(&self, thread: usize, role: RoleId, process: ProcessId) -> bool {
        let is_asked = self.asked.contains(&role) && self.processes.contains(&process);
        (is_asked || self.workers.contains(&role)) && !self.streaming.contains(&thread)
    }
}

/// The only threads of processes that answered requests over TCP.
fn single_servers(trace: &Trace) -> Vec<usize> {
    let (threads, answered) = (&trace.threads, answered_requests(trace));
    let mut of_process: HashMap<ProcessId, Vec<usize>> = HashMap::new();
    for thread in (trace.fiber_threads..threads.tid.len()).filter(|thread| !threads.ignored[*thread]) {
        of_process.entry(threads.process[thread]).or_default().push(thread);
    }
    let is_server = |process: &ProcessId| answered.get(process).is_some_and(|requests| *requests >= ANSWERED);
    let single = of_process.into_iter().filter(|(process, threads)| threads.len() == 1 && is_server(process));
    single.flat_map(|(_, threads)| threads).collect()
}

/// Threads that wait for new connections in a loop of events.
pub fn listening_loops(trace: &Trace) -> HashSet<usize> {
    let listens = |key: &&EventKey| is_of_event_loop(key.syscall()) && listens(waited_for(trace, key));
    trace.events().keys.iter().filter(listens).filter_map(|key| key.thread().get()).collect()
}

/// Whether a thread sleeps again and again and waits for nothing else in between.
fn streams(trace: &Trace, thread: usize) -> bool {
    let events = trace.events();
    let (mut in_a_row, mut most) = (0, 0);
    events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
        if times.wait_ns > 0 {
            let sleeps = object_type(trace, events.key(key).object()) == ObjectType::Sleep;
            in_a_row = if sleeps { in_a_row + 1 } else { 0 };
            most = most.max(in_a_row);
        }
    });
    most >= STREAM
}

fn is_question(trace: &Trace, key: &EventKey) -> bool {
    let name = waited_for(trace, key);
    // What a terminal's programs write comes by a thread of the kernel.
    is_from_outside(key) && listens(name) && !name.contains(TERMINAL)
}

/// Whether the network or a program that is not recorded ended a key's waits.
pub fn is_from_outside(key: &EventKey) -> bool {
    matches!(WakerKind::from_code(key.waker_kind()), WakerKind::Network | WakerKind::OtherThread)
}

/// Roles with enough waits, by the role that a key's waits tell of, if any.
fn usual_roles(trace: &Trace, mut role_of_key: impl FnMut(usize, &EventKey) -> Option<RoleId>) -> HashSet<RoleId> {
    let mut counts: HashMap<RoleId, u64> = HashMap::new();
    for (number, (key, waits)) in trace.events().keys.iter().zip(&*trace.events().key_waits).enumerate() {
        if let Some(role) = role_of_key(number, key) {
            *counts.entry(role).or_default() += waits.count;
        }
    }
    counts.retain(|_, count| *count >= USUAL);
    counts.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use dwell_store::tables::OpenRequestRow;
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn the_only_thread_of_a_process_that_answers_is_asked() {
        let single = |picture: &str, requests: u32| {
            let mut trace = trace(picture);
            let look = |time_ns| OpenRequestRow {
                time_ns,
                process: ProcessId::new(0),
                is_incoming: true,
                endpoint: "TCP :80".into(),
                connections: 3,
                open: 2,
                requests,
                answers: requests,
            };
            (0..4).for_each(|time_ns| {
                trace.open_requests.push(look(time_ns));
            });
            single_servers(&trace)
        };
        assert_eq!(single("a: #ssss#ssss", 2), [0]);
        assert!(single("a: #ssss#ssss", 1).is_empty(), "four requests are few");
        assert!(single("a: #ssss#ssss\nb: #########", 2).is_empty(), "who of two answers is not known");
    }
}
