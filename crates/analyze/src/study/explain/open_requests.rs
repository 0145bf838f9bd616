//! Loops of events that wait for whatever comes while requests of others wait for their answers: not idle, but kept, by those whom they ask
//! in turn, by a limit of how many they ask at once, or by timers of their own. Whoever has a queue inside of a loop has no thread that
//! waits there: only the connections tell of it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dwell_model::{Outcome, ProcessId};
use dwell_store::Trace;

use crate::study::explain::terms::{is_internal, is_of_event_loop};
use crate::study::explain::wait_ends::waited_for;
use crate::study::step_function::{StepFunction, overlap_ns};

/// Part of a process's time in which requests must wait for their answers, and of that in which its loops must wait meanwhile.
const OFTEN: f64 = 0.3;
/// Part of a wait in which they must, for it to be one for which they wait.
const MOSTLY: f64 = 0.5;
/// Part of the time in which other threads of the process may be at work, at most: else the requests may wait for these.
const HARDLY: f64 = 0.2;
/// Part of what keeps a loop that those whom it asks, or its own timers, must be.
const ENOUGH: f64 = 0.5;
/// How many more requests must wait than there are connections over which their process asks, for that to be a limit, and how many of these
/// must wait for an answer: what comes in parts is no answer that is awaited, though nothing else can be asked.
const MORE: f64 = 1.0;
const IN_USE: f64 = 0.25;
/// Connections beyond which no limit is told: so many are no small pool.
const MANY: u32 = 64;
/// A request that waits for longer asks for what is still to happen, ns.
const LONG_POLL_NS: f64 = 5e9;

/// What keeps a loop of events from answering.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRequests {
    /// Requests to its process that waited for an answer at once, on average while any did.
    pub asked: f64,
    /// How long each of them waited, ns, by how many came.
    pub each_ns: u64,
    /// Whom it asked meanwhile.
    pub asks: Option<AskedEndpoint>,
}

/// Whom a process asks over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedEndpoint {
    /// Its address, as `TCP 10.0.0.1:5432`.
    pub endpoint: String,
    /// Requests that waited for its answer at once, on average.
    pub asked: f64,
    /// The most connections at once.
    pub connections: u32,
    /// Whether all of these were in use while more requests waited: a limit.
    pub is_limit: bool,
}

/// The loops of a trace that requests wait for.
#[derive(Default)]
pub struct KeptLoops {
    rows: HashSet<usize>,
    of_thread: HashMap<usize, OpenRequests>,
}

/// The connections of a process, as they were looked at.
#[derive(Default)]
struct Connections<'t> {
    /// Requests to it, by the port.
    incoming: BTreeMap<&'t str, StepFunction>,
    /// Requests of its own, by whom it asks.
    outgoing: BTreeMap<&'t str, StepFunction>,
    /// Connections over which it asks, likewise.
    made: BTreeMap<&'t str, StepFunction>,
    /// When requests to it came, and how many.
    requests: Vec<(u64, u32)>,
}

impl KeptLoops {
    /// Those of a trace.
    pub fn new(trace: &Trace) -> Self {
        let mut kept = Self::default();
        for (process, connections) in connections(trace) {
            kept.add(trace, process, &connections);
        }
        kept
    }

    /// Whether requests waited for the thread during most of the wait of an off-CPU row.
    pub fn has_row(&self, row: usize) -> bool {
        self.rows.contains(&row)
    }

    /// What keeps the loop of a thread.
    pub fn of_thread(&self, thread: usize) -> Option<&OpenRequests> {
        self.of_thread.get(&thread)
    }

    fn add(&mut self, trace: &Trace, process: ProcessId, connections: &Connections<'_>) {
        let asked = StepFunction::sum(connections.incoming.values());
        let spans = asked.spans(trace.elapsed_ns());
        let threads = &trace.threads;
        let of_process = |thread: &usize| threads.process[*thread] == process;
        let all: Vec<usize> = (trace.fiber_threads..threads.tid.len()).filter(of_process).collect();
        // Where goroutines stand for threads, they have waits of their own.
        let has_fibers = (0..trace.fiber_threads).any(|thread| of_process(&thread));
        let life_ns = all.iter().map(|thread| threads.end_ns[*thread].saturating_sub(threads.start_ns[*thread])).max();
        let asked_ns: u64 = spans.iter().map(|(from, to)| to - from).sum();
        if has_fibers || (asked_ns as f64) < OFTEN * life_ns.unwrap_or(u64::MAX) as f64 {
            return;
        }
        let looks: Vec<LoopWaits> = all.iter().map(|thread| LoopWaits::of(trace, *thread, &spans)).collect();
        let at_work_ns: u64 = looks.iter().map(|waits| waits.at_work_ns).sum();
        let kept_ns: u64 = looks.iter().map(|waits| waits.kept_ns).sum();
        let own_ns: u64 = looks.iter().map(|waits| waits.own_ns).sum();
        let is_own = own_ns as f64 >= ENOUGH * kept_ns as f64;
        let asks = if is_own { None } else { asks(connections, &asked, &spans) };
        let is_known = asks.is_some() || is_own;
        let is_kept = kept_ns > 0 && kept_ns as f64 >= OFTEN * asked_ns as f64;
        if !is_kept || at_work_ns as f64 > HARDLY * asked_ns as f64 || !is_known {
            return;
        }
        let came: u64 = connections.requests.iter().map(|(_, requests)| u64::from(*requests)).sum();
        let each_ns = asked.mean(&spans) * asked_ns as f64 / came.max(1) as f64;
        if came == 0 || each_ns > LONG_POLL_NS {
            return;
        }
        let requests = OpenRequests { asked: asked.mean(&spans), each_ns: each_ns as u64, asks };
        for (thread, waits) in all.into_iter().zip(looks).filter(|(_, waits)| !waits.rows.is_empty()) {
            self.rows.extend(waits.rows);
            self.of_thread.insert(thread, requests.clone());
        }
    }
}

/// What a thread did while requests waited.
#[derive(Default)]
struct LoopWaits {
    /// Rows in its loop whose waits are mostly then.
    rows: Vec<usize>,
    /// Their waits, ns.
    kept_ns: u64,
    /// Those of them that ended at a time of its own, ns.
    own_ns: u64,
    /// Of a thread that has no loop: how long it neither was parked nor waited for whatever comes, at most, ns.
    at_work_ns: u64,
}

impl LoopWaits {
    fn of(trace: &Trace, thread: usize, spans: &[(u64, u64)]) -> Self {
        let (events, mut waits) = (trace.events(), Self::default());
        let (mut in_loop, mut longest_ns, mut off_cpu_ns) = (false, 0u64, 0u64);
        let mut of_object: HashMap<u32, u64> = HashMap::new();
        events.off_cpu.for_each(events.off_cpu.of(thread), |row, number, times| {
            let key = events.key(number);
            let within_ns = overlap_ns(spans, (times.start_ns, times.start_ns.saturating_add(times.wait_ns)));
            off_cpu_ns += overlap_ns(spans, (times.start_ns, events.off_cpu.end_ns(row)));
            if is_of_event_loop(key.syscall()) && !is_internal(waited_for(trace, &key)) {
                in_loop |= times.wait_ns > 0;
                if within_ns as f64 >= MOSTLY * times.wait_ns as f64 && times.wait_ns > 0 {
                    let is_own = Outcome::from_code(key.outcome()) == Outcome::TimedOut;
                    waits.own_ns += if is_own { times.wait_ns } else { 0 };
                    waits.kept_ns += times.wait_ns;
                    waits.rows.push(row);
                }
            } else {
                let sum = of_object.entry(key.object().get().map_or(u32::MAX, |row| row as u32)).or_default();
                *sum += within_ns;
                longest_ns = longest_ns.max(*sum);
            }
        });
        let (born, end) = (trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
        // One that mostly waits for one thing has no work: a timer's thread, a worker of a pool.
        let life_ns = overlap_ns(spans, (born, end));
        waits.at_work_ns = if in_loop { 0 } else { life_ns.saturating_sub(longest_ns) };
        waits
    }
}

/// Whom a process asks most while requests wait for it.
fn asks(connections: &Connections<'_>, asked: &StepFunction, spans: &[(u64, u64)]) -> Option<AskedEndpoint> {
    let mean = |(_, steps): &(&&str, &StepFunction)| steps.mean(spans);
    let (endpoint, steps) = connections.outgoing.iter().max_by(|one, other| mean(one).total_cmp(&mean(other)))?;
    let (mean, connections) = (steps.mean(spans), connections.made.get(endpoint).map_or(0, |made| made.most(spans)));
    if mean < ENOUGH {
        return None;
    }
    let is_full = (1..=MANY).contains(&connections) && mean >= IN_USE * f64::from(connections);
    let is_limit = is_full && asked.mean(spans) >= f64::from(connections) + MORE;
    Some(AskedEndpoint { endpoint: (*endpoint).to_owned(), asked: mean, connections, is_limit })
}

/// The connections of each process that others ask.
fn connections(trace: &Trace) -> BTreeMap<ProcessId, Connections<'_>> {
    let table = &trace.open_requests;
    let mut all: BTreeMap<ProcessId, Connections<'_>> = BTreeMap::new();
    for row in 0..table.time_ns.len() {
        let of = all.entry(table.process[row]).or_default();
        let side = if table.is_incoming[row] { &mut of.incoming } else { &mut of.outgoing };
        side.entry(&table.endpoint[row]).or_default().0.push((table.time_ns[row], table.open[row]));
        if table.is_incoming[row] {
            of.requests.push((table.time_ns[row], table.requests[row]));
        } else {
            let made = of.made.entry(&table.endpoint[row]).or_default();
            made.0.push((table.time_ns[row], table.connections[row]));
        }
    }
    all.retain(|_, of| !of.incoming.is_empty());
    for of in all.values_mut() {
        // Whoever asks itself asks nobody else.
        let ports: BTreeSet<&str> = of.incoming.keys().filter_map(|port| port.strip_prefix("TCP ")).collect();
        of.outgoing.retain(|endpoint, _| !ports.iter().any(|port| endpoint.ends_with(port)));
    }
    all
}
