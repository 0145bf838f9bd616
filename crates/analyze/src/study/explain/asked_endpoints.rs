//! Whom a program asks over TCP: the addresses, over how many connections, and how many answers it waits for at once. A loop of events that
//! nobody asks, and that asks over few connections nearly all the time, has nothing else to do than to wait for these answers.

use std::collections::{BTreeMap, HashSet};

use dwell_model::ProcessId;
use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::explain::open_requests::{Exchanges, LoopWaits, is_asked_in, leads_to, processes_of};
use crate::study::explain::terms::RoleId;
use crate::study::intervals::length_ns;
use crate::study::step_function::StepFunction;

/// Part of the time in which an answer must be waited for, for that to be always.
const MOSTLY: f64 = 0.5;
/// Connections beyond which no limit is told: so many are no small pool.
const MANY: u32 = 64;
/// Part of a client's connections on which a request waits on average from which on more of them would be used.
const NEARLY_ALL: f64 = 0.85;
/// Connections of which one alone is in use where no more requests wait at once on average, while any does.
const SEVERAL: u32 = 3;
const HARDLY_TWO: f64 = 1.2;
/// Connections at most of a client that never has more than one request: one opens as the other closes.
const BY_TURNS: u32 = 2;
/// Part of the time in which requests of others may wait for a process that is taken for a client.
const HARDLY_ASKED: f64 = 0.1;
/// Parts that come for each part of a request, on average, from which on they are a stream.
const PARTS_OF_STREAM: f64 = 8.0;
/// Answers that a client waits for at least, and how long for each at most, ns: who waits for longer may wait for what is still to happen,
/// as the consumer of a queue does.
const ANSWERS: u64 = 20;
const LONG_POLL_NS: u64 = 400_000_000;

/// What a process asks of one address.
#[derive(Default)]
struct Asked {
    /// Requests that wait for their answers.
    open: StepFunction,
    /// Connections.
    made: StepFunction,
    exchanges: Exchanges,
}

impl Asked {
    /// How long each answer was owed on average, ns.
    fn each_ns(&self, elapsed_ns: u64) -> u64 {
        let spans = self.open.spans(elapsed_ns);
        (self.open.mean(&spans) * length_ns(&spans) as f64 / self.exchanges.least().max(1) as f64) as u64
    }
}

/// What processes ask, by process and address.
type AskedOfEndpoint<'t> = BTreeMap<(ProcessId, &'t str), Asked>;

fn asked_endpoints(trace: &Trace, is_meant: impl Fn(ProcessId) -> bool) -> AskedOfEndpoint<'_> {
    let table = &trace.open_requests;
    let mut all = AskedOfEndpoint::new();
    for row in (0..table.time_ns.len()).filter(|row| !table.is_incoming[*row] && is_meant(table.process[*row])) {
        let asked = all.entry((table.process[row], &table.endpoint[row])).or_default();
        asked.open.0.push((table.time_ns[row], table.open[row]));
        asked.made.0.push((table.time_ns[row], table.connections[row]));
        asked.exchanges.add(table.requests[row], table.answers[row]);
    }
    all
}

/// Whether a program of the recording answers at an address of this machine.
pub fn is_answered_within(trace: &Trace, endpoint: &str) -> bool {
    let table = &trace.open_requests;
    (0..table.time_ns.len()).any(|row| table.is_incoming[row] && leads_to(endpoint, &table.endpoint[row]))
}

/// Whether programs of the recording ask one of these processes over this machine's own addresses.
pub fn are_asked_within(trace: &Trace, processes: &HashSet<ProcessId>) -> bool {
    let table = &trace.open_requests;
    let rows = || 0..table.time_ns.len();
    let is_theirs = |row: &usize| table.is_incoming[*row] && processes.contains(&table.process[*row]);
    let ports: HashSet<&str> = rows().filter(is_theirs).map(|row| table.endpoint[row].as_str()).collect();
    let asks = |row: usize| !table.is_incoming[row] && ports.iter().any(|port| leads_to(&table.endpoint[row], port));
    rows().any(asks)
}

/// When each address owes a process answers.
pub type OwingSpans<'t> = BTreeMap<(ProcessId, &'t str), Vec<(u64, u64)>>;

/// When each address owes a process answers, in order.
pub fn owing_spans(trace: &Trace) -> OwingSpans<'_> {
    let all = asked_endpoints(trace, |_| true);
    all.into_iter().map(|(of, asked)| (of, asked.open.spans(trace.elapsed_ns()))).collect()
}

/// An address that processes ask nearly all the time over nearly all of their connections to it, or over one of them.
pub struct AlwaysAsked {
    /// The address, as `TCP 10.0.0.1:5432`.
    pub endpoint: String,
    /// The most connections at once.
    pub connections: u32,
    /// Whether hardly more than one of several is in use at a time.
    pub one_in_use: bool,
    /// Answers that came, or parts of these.
    pub answers: u64,
    /// How long each was owed on average, ns.
    pub each_ns: u64,
}

impl AlwaysAsked {
    fn of(endpoint: &str, asked: &Asked, elapsed_ns: u64) -> Option<Self> {
        let spans = asked.open.spans(elapsed_ns);
        let is_by_turns = asked.open.most(&spans) == 1 && asked.made.most(&spans) <= BY_TURNS;
        let connections = if is_by_turns { 1 } else { asked.made.most(&spans) };
        let (mean, is_few) = (asked.open.mean(&spans), (1..=MANY).contains(&connections));
        let is_full = mean >= NEARLY_ALL * f64::from(connections);
        let one_in_use = !is_full && connections >= SEVERAL && (NEARLY_ALL..HARDLY_TWO).contains(&mean);
        let is_always = is_few && length_ns(&spans) as f64 >= MOSTLY * elapsed_ns as f64;
        (is_always && (is_full || one_in_use)).then(|| Self {
            endpoint: endpoint.to_owned(),
            connections,
            one_in_use,
            answers: asked.exchanges.least(),
            each_ns: asked.each_ns(elapsed_ns),
        })
    }
}

/// An address that processes of a role ask over few connections, of which nearly all the time nearly all wait for an answer, a limit, if there
/// is more to ask; or of which one does.
pub fn always_asked(trace: &Trace, names: &Names<'_, '_>, role: RoleId) -> Option<AlwaysAsked> {
    let processes = processes_of(trace, names, role);
    let all = asked_endpoints(trace, |process| processes.contains(&process));
    let always =
        |((_, endpoint), asked): ((ProcessId, &str), Asked)| AlwaysAsked::of(endpoint, &asked, trace.elapsed_ns());
    all.into_iter().filter_map(always).min_by_key(|asked| asked.one_in_use)
}

/// Off-CPU rows in which a loop of events waits for the answers that its process always waits for, while hardly anybody asks that.
pub fn rows_of_asking_loops(trace: &Trace) -> HashSet<usize> {
    let mut rows = HashSet::new();
    let elapsed_ns = trace.elapsed_ns();
    for ((process, endpoint), asked) in asked_endpoints(trace, |_| true) {
        let spans = asked.open.spans(elapsed_ns);
        let is_answered = asked.exchanges.least() >= ANSWERS && asked.each_ns(elapsed_ns) <= LONG_POLL_NS;
        // Of several one may wait for jobs, and the others ask now and then.
        let is_full = AlwaysAsked::of(endpoint, &asked, elapsed_ns).is_some_and(|always| !always.one_in_use);
        if !is_answered || !is_full || is_asked(trace, process) {
            continue;
        }
        let threads = trace.fiber_threads..trace.threads.tid.len();
        for thread in threads.filter(|thread| trace.threads.process[*thread] == process) {
            rows.extend(LoopWaits::of(trace, thread, &spans).rows);
        }
    }
    rows
}

/// Whether requests of others wait for a process, or goroutines stand for its threads, which have waits of their own.
fn is_asked(trace: &Trace, process: ProcessId) -> bool {
    let table = &trace.open_requests;
    let mut of_port: BTreeMap<&str, StepFunction> = BTreeMap::new();
    for row in (0..table.time_ns.len()).filter(|row| table.is_incoming[*row] && table.process[*row] == process) {
        of_port.entry(&table.endpoint[row]).or_default().0.push((table.time_ns[row], table.open[row]));
    }
    let asked_ns = length_ns(&StepFunction::sum(of_port.values()).spans(trace.elapsed_ns()));
    asked_ns as f64 > HARDLY_ASKED * trace.elapsed_ns() as f64
        || (0..trace.fiber_threads).any(|fiber| trace.threads.process[fiber] == process)
}

/// How many requests of a role's processes to the address that has a label wait for their answers at once: of each process on average while
/// any does, in all. 0 where that is not known.
pub fn asked_at_once(trace: &Trace, names: &Names<'_, '_>, role: RoleId, label: &str) -> f64 {
    let processes = processes_of(trace, names, role);
    let mut of_process: BTreeMap<ProcessId, Vec<StepFunction>> = BTreeMap::new();
    for ((process, endpoint), asked) in asked_endpoints(trace, |process| processes.contains(&process)) {
        if is_asked_in(endpoint, label) {
            of_process.entry(process).or_default().push(asked.open);
        }
    }
    // A set may have connections to several addresses.
    let of_all = of_process.into_values().map(|open| StepFunction::sum(open.iter()));
    of_all.map(|open| open.mean(&open.spans(trace.elapsed_ns()))).sum()
}

/// Whether the address of a label sends the processes of a role far more than they ask it for: a stream, or answers in parts.
pub fn sends_unasked(trace: &Trace, names: &Names<'_, '_>, role: RoleId, label: &str) -> bool {
    let processes = processes_of(trace, names, role);
    let of_address = asked_endpoints(trace, |process| processes.contains(&process)).into_iter();
    let exchanges: Vec<Exchanges> =
        of_address.filter(|((_, endpoint), _)| is_asked_in(endpoint, label)).map(|(_, it)| it.exchanges).collect();
    !exchanges.is_empty() && exchanges.iter().all(|exchanges| exchanges.answers_per_request() >= PARTS_OF_STREAM)
}

/// The answers that came to processes of a role from the address that has a label, where each of them has one connection to it, and how long each of
/// these was owed on average, ns.
pub fn answers_over_one(trace: &Trace, names: &Names<'_, '_>, role: RoleId, label: &str) -> Option<(u64, u64)> {
    let processes = processes_of(trace, names, role);
    let of_address = asked_endpoints(trace, |process| processes.contains(&process)).into_iter();
    let asked: Vec<Asked> =
        of_address.filter(|((_, endpoint), _)| is_asked_in(endpoint, label)).map(|(_, asked)| asked).collect();
    let has_one = |asked: &Asked| asked.made.0.iter().all(|(_, connections)| *connections <= 1);
    let most = asked.iter().filter(|_| asked.iter().all(has_one)).max_by_key(|asked| asked.exchanges.least())?;
    Some((most.exchanges.least(), most.each_ns(trace.elapsed_ns())))
}

/// The address that nearly all requests of a role's processes wait for.
pub fn mostly_asked(trace: &Trace, names: &Names<'_, '_>, role: RoleId) -> Option<String> {
    let processes = processes_of(trace, names, role);
    let whole = [(0, trace.elapsed_ns())];
    let mut means: BTreeMap<&str, f64> = BTreeMap::new();
    for ((_, endpoint), asked) in asked_endpoints(trace, |process| processes.contains(&process)) {
        *means.entry(endpoint).or_default() += asked.open.mean(&whole);
    }
    let all: f64 = means.values().sum();
    let (endpoint, most) = means.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most > 0.0 && most >= NEARLY_ALL * all).then(|| endpoint.to_owned())
}

#[cfg(test)]
mod tests {
    use dwell_store::tables::OpenRequestRow;
    use dwell_trace_dsl::trace;

    use super::*;

    #[test]
    fn a_program_that_asks_its_own_port_is_answered_within() {
        let mut trace = trace("a: ####");
        for (endpoint, is_incoming) in
            [("TCP :8080", true), ("TCP 127.0.0.1:8080", false), ("TCP 10.0.0.1:9090", false)]
        {
            trace.open_requests.push(OpenRequestRow {
                time_ns: 0,
                process: ProcessId::new(0),
                is_incoming,
                endpoint: endpoint.into(),
                connections: 1,
                open: 1,
                requests: 1,
                answers: 1,
            });
        }
        assert!(is_answered_within(&trace, "TCP 127.0.0.1:8080"));
        assert!(!is_answered_within(&trace, "TCP 127.0.0.1:8081"));
        assert!(!is_answered_within(&trace, "TCP 10.0.0.1:8080"), "another host may have the port");
        assert!(are_asked_within(&trace, &HashSet::from([ProcessId::new(0)])));
        assert!(!are_asked_within(&trace, &HashSet::from([ProcessId::new(1)])));
    }
}
