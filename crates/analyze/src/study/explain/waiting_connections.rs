//! Connections that wait to be accepted for much of the time, and what the threads that should accept them do meanwhile: idle connections
//! that are kept open may have all workers, or a limit may keep a loop from accepting. No thread that is recorded waits for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::{ObjectId, Outcome, ProcessId, StackId, Syscall};
use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::Windows;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::accept_queues::{AcceptQueue, accept_queues};
use crate::study::explain::mostly_ran::mostly_ran;
use crate::study::explain::names::Names;
use crate::study::explain::roots::{RootCause, in_order};
use crate::study::explain::terms::{
    Cause, CauseKind, LabelId, NOTHING, RoleId, accepts, is_client_socket, listens, parks_threads,
};
use crate::study::explain::wait_ends::waited_for;
use crate::study::intervals::length_ns;
use crate::study::step_function::{StepFunction, overlap_ns};

/// Part of the time in which any connection must wait, and how many do on average then.
const OFTEN: f64 = 0.5;
const LEAST: f64 = 1.0;
/// The same where it is not known for how long they wait: a busy server often has one that has just come.
const LEAST_UNKNOWN: f64 = 1.5;
/// How long the one that came first has waited on average, ns: those that wait for less are accepted soon.
const SOON_NS: u64 = 5_000_000;
/// Part of the time that threads must spend with one thing for it to be what keeps them, and of that of a thread for it to be one of them.
const MOSTLY: f64 = 0.5;

/// Connections to a program that waited to be accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingConnections {
    /// Where most of them waited, as `TCP :80`.
    pub endpoint: String,
    /// At how many other addresses any did for much of the time.
    pub others: usize,
    /// How many waited at once, on average while any did.
    pub waiting: f64,
    /// The most at once.
    pub most: u32,
    /// How many may wait at most.
    pub limit: u32,
    /// How long one had waited at most, ns; none where that is not known.
    pub longest_ns: Option<u64>,
    /// Time in which any waited, ns.
    pub wall_ns: u64,
    /// What those who should accept did.
    pub acceptors: Acceptors,
}

/// Threads that should accept connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptors {
    /// What most of them did for most of the time.
    pub did: AcceptorState,
    /// How many did that.
    pub threads: u64,
    /// For what part of their time.
    pub share: f64,
}

/// What keeps threads from accepting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcceptorState {
    /// They ran, or were ready to.
    Ran,
    /// They waited in a loop of events, which could have accepted: a limit keeps it from that.
    WaitedInLoop,
    /// They waited for the next request on connections that they have accepted.
    WaitedForRequests,
    /// They waited for something else.
    WaitedForOthers,
    /// Nothing that takes most of their time.
    Mixed,
}

/// Connections that waited to be accepted, by their cause, which is added to the others: where nothing is filtered, in any part of the time.
pub fn add_waiting_connections(
    fold: &Fold<'_>,
    windows: &Windows,
    names: &mut Names<'_, '_>,
    causes: &mut Vec<RootCause>,
) -> HashMap<Cause, WaitingConnections> {
    if fold.query.is_filtered() || fold.query.waiters.is_some() {
        return HashMap::new();
    }
    let (mut roots, mut queues) = (std::mem::take(causes), HashMap::new());
    for (root, connections) in waiting_connections(fold, names, windows) {
        queues.insert(root.cause, connections);
        roots.push(root);
    }
    *causes = in_order(roots);
    queues
}

/// Each program of which connections waited to be accepted for much of the time, with its cause.
fn waiting_connections(
    fold: &Fold<'_>,
    names: &mut Names<'_, '_>,
    windows: &Windows,
) -> Vec<(RootCause, WaitingConnections)> {
    let trace = fold.trace;
    let mut programs: BTreeMap<&str, Vec<(&str, AcceptQueue)>> = BTreeMap::new();
    for ((owner, endpoint), queue) in accept_queues(trace) {
        if waits_often(&queue, windows) {
            let name = owner.get().map_or("", |row| trace.processes.name[row].as_str());
            programs.entry(name).or_default().push((endpoint, queue));
        }
    }
    programs.into_values().map(|queues| of_program(fold, names, windows, &queues)).collect()
}

/// Whether connections waited in a queue for much of the time, and for long.
fn waits_often(queue: &AcceptQueue, windows: &Windows) -> bool {
    let spans = waiting_spans(&queue.waiting, windows);
    let ages: Vec<u64> = queue.oldest.iter().filter(|(time, _)| windows.contains(*time)).map(|(_, ns)| *ns).collect();
    let mean_ns = ages.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns)) / (ages.len() as u64).max(1);
    let is_long = if ages.is_empty() { queue.waiting.mean(&spans) >= LEAST_UNKNOWN } else { mean_ns >= SOON_NS };
    is_long && length_ns(&spans) as f64 >= OFTEN * windows.length_ns() as f64 && queue.waiting.mean(&spans) >= LEAST
}

/// When any connection waited.
fn waiting_spans(waiting: &StepFunction, windows: &Windows) -> Vec<(u64, u64)> {
    let within = |span: (u64, u64)| {
        let parts = windows.parts().iter().map(move |part| (span.0.max(part.0), span.1.min(part.1)));
        parts.filter(|(from, to)| from < to)
    };
    waiting.spans(u64::MAX).into_iter().flat_map(within).collect()
}

fn of_program(
    fold: &Fold<'_>,
    names: &mut Names<'_, '_>,
    windows: &Windows,
    queues: &[(&str, AcceptQueue)],
) -> (RootCause, WaitingConnections) {
    let waiting = StepFunction::sum(queues.iter().map(|(_, queue)| &queue.waiting));
    let spans = waiting_spans(&waiting, windows);
    let wall_ns = length_ns(&spans);
    let mean = |(_, queue): &&(&str, AcceptQueue)| queue.waiting.mean(&spans);
    let most_of = queues.iter().max_by(|one, other| mean(one).total_cmp(&mean(other)));
    let (endpoint, limit) = most_of.map_or(("", 0), |(endpoint, queue)| (*endpoint, queue.limit));
    let endpoints: BTreeSet<&str> = queues.iter().map(|(endpoint, _)| *endpoint).collect();
    let ages = queues.iter().flat_map(|(_, queue)| &queue.oldest).filter(|(time, _)| windows.contains(*time));
    let processes: BTreeSet<ProcessId> = queues.iter().flat_map(|(_, queue)| &queue.processes).copied().collect();
    let times = times(fold.trace, names, (&processes, &endpoints), &spans);
    let (acceptors, activity) = acceptors(fold, names, &endpoints, &times);
    let connections = WaitingConnections {
        endpoint: endpoint.to_owned(),
        others: endpoints.len() - 1,
        waiting: waiting.mean(&spans),
        most: waiting.most(&spans),
        limit,
        longest_ns: ages.map(|(_, ns)| *ns).max(),
        wall_ns,
        acceptors,
    };
    let served_ns = (connections.waiting * wall_ns as f64) as u64;
    (root(names, &activity, served_ns), connections)
}

/// The cause, at what most of the threads did.
fn root(names: &mut Names<'_, '_>, activity: &AcceptorActivity, served_ns: u64) -> RootCause {
    let AcceptorActivity { role, label, stack } = *activity;
    let place = match label {
        _ if !stack.is_some() => NOTHING,
        NOTHING => names.run_place_of(stack).0,
        _ => names.place_of(stack),
    };
    let cause = Cause { kind: CauseKind::AcceptQueue, role, label, place, behind: NOTHING, no_work: false };
    let at = names.place(place).map_or(String::new(), |place| place.at.clone());
    RootCause { served_ns, ..RootCause::new(cause, at, stack) }
}

/// What threads of a role did: ran, where `label` is nothing, or waited for that; and where they did so for longest.
struct AcceptorActivity {
    role: RoleId,
    label: LabelId,
    stack: StackId,
}

/// What a thread did while connections waited.
struct AcceptorTimes {
    role: RoleId,
    life_ns: u64,
    /// For how long it waited for what, or ran, which has no label, ns.
    ns: BTreeMap<LabelId, u64>,
    /// How much of that ended in a time of its own: by which a runtime sleeps.
    slept_ns: BTreeMap<LabelId, u64>,
    /// The same by stack; of what ran by samples.
    of_stack: BTreeMap<(LabelId, StackId), u64>,
}

/// What each thread that may accept did: of the processes that have the socket, without those that forked others of these, the threads that
/// were seen to wait for connections with others of their role; where none was, those that were seen to serve one; else all.
fn times(
    trace: &Trace,
    names: &mut Names<'_, '_>,
    (processes, endpoints): (&BTreeSet<ProcessId>, &BTreeSet<&str>),
    spans: &[(u64, u64)],
) -> Vec<AcceptorTimes> {
    let threads = &trace.threads;
    let has_fibers: BTreeSet<ProcessId> = threads.process[..trace.fiber_threads].iter().copied().collect();
    let may_accept = |thread: &usize| {
        let process = threads.process[*thread];
        processes.contains(&process) && (*thread < trace.fiber_threads || !has_fibers.contains(&process))
    };
    let parents: BTreeSet<ProcessId> =
        processes.iter().filter_map(|process| trace.processes.parent.get(process.get()?).copied()).collect();
    let all = || (0..threads.tid.len()).filter(may_accept);
    let workers: Vec<usize> = all().filter(|thread| !parents.contains(&threads.process[*thread])).collect();
    let may_accept = if workers.is_empty() { all().collect() } else { workers };
    let seen = may_accept.iter().filter(|thread| is_seen_to_accept(trace, **thread));
    let roles: BTreeSet<RoleId> = seen.map(|thread| names.role_of(*thread)).collect();
    let serving: BTreeSet<usize> =
        may_accept.iter().copied().filter(|thread| is_seen_to_serve(trace, endpoints, *thread)).collect();
    let is_chosen = |thread: &usize| match roles.is_empty() {
        true => serving.is_empty() || serving.contains(thread),
        false => roles.contains(&names.role_of(*thread)),
    };
    let chosen: Vec<usize> = may_accept.into_iter().filter(is_chosen).collect();
    chosen.into_iter().map(|thread| times_of(trace, names, thread, spans)).filter(|it| it.life_ns > 0).collect()
}

/// Whether a thread waited for new connections at any time.
fn is_seen_to_accept(trace: &Trace, thread: usize) -> bool {
    is_seen(trace, thread, |key| {
        accepts(waited_for(trace, key)) || Syscall::name_of(key.syscall()).starts_with("accept")
    })
}

/// Whether it waited for what comes over connections that were accepted.
fn is_seen_to_serve(trace: &Trace, endpoints: &BTreeSet<&str>, thread: usize) -> bool {
    is_seen(trace, thread, |key| is_of_accepted(waited_for(trace, key), endpoints))
}

/// Whether a wait is for what comes over connections that were accepted: those of a Unix socket have its name.
fn is_of_accepted(name: &str, endpoints: &BTreeSet<&str>) -> bool {
    let is_of_unix = |endpoint: &&str| endpoint.starts_with("Unix ") && name.contains(*endpoint);
    (listens(name) || endpoints.iter().any(is_of_unix)) && !is_client_socket(name)
}

/// Whether any wait of a thread is such a one.
fn is_seen(trace: &Trace, thread: usize, is_such: impl Fn(&EventKey) -> bool) -> bool {
    let events = trace.events();
    let mut seen = false;
    events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, _| seen = seen || is_such(&events.key(key)));
    seen
}

fn times_of(trace: &Trace, names: &mut Names<'_, '_>, thread: usize, spans: &[(u64, u64)]) -> AcceptorTimes {
    let events = trace.events();
    let (mut of_key, mut waits_ns): (BTreeMap<u32, u64>, u64) = (BTreeMap::new(), 0);
    events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
        let ns = overlap_ns(spans, (times.start_ns, times.start_ns.saturating_add(times.wait_ns)));
        *of_key.entry(key).or_default() += ns;
        waits_ns = waits_ns.saturating_add(ns);
    });
    let life_ns = overlap_ns(spans, (trace.threads.start_ns[thread], trace.threads.end_ns[thread]));
    let ran = BTreeMap::from([(NOTHING, life_ns.saturating_sub(waits_ns))]);
    let mut times = AcceptorTimes {
        role: names.role_of(thread),
        life_ns,
        ns: ran,
        slept_ns: BTreeMap::new(),
        of_stack: BTreeMap::new(),
    };
    for (key, ns) in of_key {
        let key = events.key(key);
        let label = names.label_of(key.object(), key.syscall());
        *times.ns.entry(label).or_default() += ns;
        if Outcome::from_code(key.outcome()) == Outcome::TimedOut {
            *times.slept_ns.entry(label).or_default() += ns;
        }
        *times.of_stack.entry((label, key.stack())).or_default() += ns;
    }
    for row in events.samples.of(thread) {
        let time_ns = events.samples.time_ns(row);
        if overlap_ns(spans, (time_ns, time_ns.saturating_add(1))) > 0 {
            let stack = events.key(events.samples.key(row)).stack();
            *times.of_stack.entry((NOTHING, stack)).or_default() += 1;
        }
    }
    times
}

/// What takes most of the threads' time; a worker that is parked without work does not keep anybody, if others do something else.
fn acceptors(
    fold: &Fold<'_>,
    names: &Names<'_, '_>,
    endpoints: &BTreeSet<&str>,
    times: &[AcceptorTimes],
) -> (Acceptors, AcceptorActivity) {
    let mut sums: BTreeMap<(RoleId, LabelId), u64> = BTreeMap::new();
    for thread in times {
        thread.ns.iter().for_each(|(label, ns)| *sums.entry((thread.role, *label)).or_default() += ns);
    }
    let slept_ns = |role: RoleId, label: LabelId| {
        let of_role = times.iter().filter(|thread| thread.role == role);
        of_role.filter_map(|thread| thread.slept_ns.get(&label)).fold(0, |sum: u64, ns| sum.saturating_add(*ns))
    };
    let is_parked = |(role, label): (RoleId, LabelId), ns: u64| {
        let object = names.objects(label).first().copied();
        let parks = object.is_some_and(|object: ObjectId| parks_threads(object_type(fold.trace, object)));
        parks && (slept_ns(role, label) as f64) < MOSTLY * ns as f64
    };
    let most = sums.into_iter().max_by_key(|(of, ns)| (!is_parked(*of, *ns), *ns));
    let ((role, label), _) = most.unwrap_or(((NOTHING, NOTHING), 0));
    let of_role = || times.iter().filter(|thread| thread.role == role);
    let ns_of = |thread: &AcceptorTimes| thread.ns.get(&label).copied().unwrap_or(0);
    let does = |thread: &&AcceptorTimes| ns_of(thread) as f64 >= MOSTLY * thread.life_ns as f64;
    let life_ns: u64 = of_role().map(|thread| thread.life_ns).sum();
    let share = of_role().map(ns_of).sum::<u64>() as f64 / life_ns.max(1) as f64;
    let mut of_stack: BTreeMap<StackId, u64> = BTreeMap::new();
    for ((_, stack), ns) in of_role().flat_map(|thread| &thread.of_stack).filter(|((of, _), _)| *of == label) {
        *of_stack.entry(*stack).or_default() += ns;
    }
    let most = || of_stack.iter().max_by_key(|(_, ns)| **ns).map_or(StackId::NONE, |(stack, _)| *stack);
    let stack = if label == NOTHING { mostly_ran(fold, &of_stack).map(|ran| ran.stack) } else { None };
    let stack = stack.unwrap_or_else(most);
    let text = names.label(label);
    let did = match label {
        _ if share < MOSTLY => AcceptorState::Mixed,
        NOTHING => AcceptorState::Ran,
        label if names.is_of_event_loop(label) => AcceptorState::WaitedInLoop,
        _ if is_of_accepted(text, endpoints) => AcceptorState::WaitedForRequests,
        _ => AcceptorState::WaitedForOthers,
    };
    (Acceptors { did, threads: of_role().filter(does).count() as u64, share }, AcceptorActivity { role, label, stack })
}
