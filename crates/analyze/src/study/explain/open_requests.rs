//! Loops of events that wait for whatever comes while requests of others wait for their answers: not idle, but kept, by those whom they ask
//! in turn, by a limit of how many they ask at once, or by timers of their own. Whoever has a queue inside of a loop has no thread that
//! waits there: only the connections tell of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_model::ProcessId;
use dwell_store::Trace;

use crate::study::explain::names::Names;
use crate::study::explain::sends::share_after_timers;
use crate::study::explain::terms::{RoleId, is_internal, is_of_event_loop};
use crate::study::explain::wait_ends::waited_for;
use crate::study::intervals::length_ns;
use crate::study::step_function::{StepFunction, overlap_ns};

/// Part of a process's time in which requests must wait for their answers, and of that in which its loops must wait meanwhile.
const OFTEN: f64 = 0.3;
/// Part of a wait in which they must, for it to be one for which they wait.
const MOSTLY: f64 = 0.5;
/// Part of the time in which other threads of the process may be at work, at most: else the requests may wait for these.
const HARDLY: f64 = 0.2;
/// Waits that make a thread one that serves.
const TURNS: usize = 3;
/// Requests of its own that must wait for answers, on average, for these to be what keeps it.
const LEAST_ASKED: f64 = 0.5;
/// Part of what it sends that it must send at times of its own, for these to be what keeps it.
const MOSTLY_BY_TIMERS: f64 = 0.5;
/// How many more requests must wait than there are connections over which their process asks, for that to be a limit, and on what part of
/// these a request must wait: while an answer comes in parts none does, and nothing else can be asked.
const MORE: f64 = 1.0;
const IN_USE: f64 = 0.3;
/// How many times more requests wait for a process than it asks for, if they wait within it.
const MANY_MORE: f64 = 2.0;
/// Connections beyond which no limit is told: so many are no small pool.
const MANY: u32 = 64;
/// A request that waits for longer asks for what is still to happen, ns, and one that waits for longer for a timer alone: that may be how
/// often a server says something to clients which answer it.
const LONG_POLL_NS: f64 = 5e9;
const LONG_TIMER_NS: f64 = 7e8;
/// One that waits for less is answered soon, ns: where a limit or timers keep it, and where only those whom its process asks do.
const SOON_NS: f64 = 5e6;
const SOON_BY_OTHERS_NS: f64 = 2e7;
/// Part of what the address has that is asked most, from which on another one is told as well.
const AS_WELL: f64 = 0.2;
/// Part of what a process sends to an address that must come back: else it asks nothing there.
const ANSWERED: f64 = 0.1;

/// What keeps a loop of events from answering.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRequests {
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
    /// The address that it asks most, as `TCP 10.0.0.1:5432`.
    pub endpoint: String,
    /// How many other addresses it asks a part of that or more.
    pub others: usize,
    /// Requests that waited for answers at once, on average, of all of them.
    pub asked: f64,
    /// The most connections at once, to whomever it asks.
    pub connections: u32,
    /// Whether all of these were in use while more requests waited: a limit.
    pub is_limit: bool,
}

/// The loops of a trace that requests wait for.
#[derive(Default)]
pub struct KeptLoops {
    rows: HashSet<usize>,
    of_thread: HashMap<usize, LoopRequests>,
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
    /// What was sent over the accepted ones.
    exchanges: Exchanges,
    /// What was sent over those to each address.
    asked: BTreeMap<&'t str, Exchanges>,
}

/// Segments with data of both ends.
#[derive(Clone, Copy, Default)]
pub struct Exchanges {
    requests: u64,
    answers: u64,
}

impl Exchanges {
    /// What a look saw since the one before.
    pub fn add(&mut self, requests: u32, answers: u32) {
        self.requests += u64::from(requests);
        self.answers += u64::from(answers);
    }

    /// How many parts of answers came for each part of a request, on average.
    pub fn answers_per_request(self) -> f64 {
        self.answers as f64 / self.requests.max(1) as f64
    }

    /// How many requests were answered, at most: either may come in several segments, and what nobody answers does not count.
    pub fn least(self) -> u64 {
        self.requests.min(self.answers)
    }
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
    pub fn of_thread(&self, thread: usize) -> Option<&LoopRequests> {
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
        let life_ns = all.iter().map(|thread| trace.life_ns(*thread)).max();
        let asked_ns = length_ns(&spans);
        if has_fibers || (asked_ns as f64) < OFTEN * life_ns.unwrap_or(u64::MAX) as f64 {
            return;
        }
        let looks: Vec<LoopWaits> = all.iter().map(|thread| LoopWaits::of(trace, *thread, &spans)).collect();
        let at_work_ns: u64 = looks.iter().map(|waits| waits.at_work_ns).sum();
        let kept_ns = looks.iter().map(|waits| waits.kept_ns).fold(0, u64::saturating_add);
        let is_kept = kept_ns > 0 && kept_ns as f64 >= OFTEN * asked_ns as f64;
        if !is_kept || at_work_ns as f64 > HARDLY * asked_ns as f64 {
            return;
        }
        let came = connections.exchanges.least();
        let each_ns = asked.mean(&spans) * asked_ns as f64 / came.max(1) as f64;
        if came == 0 || !(SOON_NS..=LONG_POLL_NS).contains(&each_ns) {
            return;
        }
        let share = |is_meant: &dyn Fn(bool, &str) -> bool| share_after_timers(trace, process, &all, is_meant);
        let asks = asks(connections, &asked, &spans).filter(|asks| {
            let after_timers = share(&|is_incoming, endpoint| !is_incoming && endpoint == asks.endpoint);
            after_timers.is_none_or(|share| share < MOSTLY_BY_TIMERS)
        });
        let own = || [true, false].map(|side| share(&|is_incoming, _| is_incoming == side)).into_iter().flatten();
        let is_soon = asks.as_ref().is_some_and(|asks| !asks.is_limit) && each_ns < SOON_BY_OTHERS_NS;
        if is_soon || asks.is_none() && (own().all(|share| share < MOSTLY_BY_TIMERS) || each_ns > LONG_TIMER_NS) {
            return;
        }
        let requests = LoopRequests { asked: asked.mean(&spans), each_ns: each_ns as u64, asks };
        for (thread, waits) in all.into_iter().zip(looks).filter(|(_, waits)| !waits.rows.is_empty()) {
            self.rows.extend(waits.rows);
            self.of_thread.insert(thread, requests.clone());
        }
    }
}

/// What a thread did while requests waited.
#[derive(Default)]
pub struct LoopWaits {
    /// Rows in its loop whose waits are mostly then.
    pub rows: Vec<usize>,
    /// Their waits, ns.
    kept_ns: u64,
    /// Of a thread that has no loop: how long it neither was parked nor waited for whatever comes, at most, ns.
    at_work_ns: u64,
}

impl LoopWaits {
    /// Those of a thread, by when requests waited.
    pub fn of(trace: &Trace, thread: usize, spans: &[(u64, u64)]) -> Self {
        let (events, mut waits) = (trace.events(), Self::default());
        let (mut turns, mut longest_ns) = (0, 0u64);
        let mut of_object: HashMap<u32, u64> = HashMap::new();
        events.off_cpu.for_each(events.off_cpu.of(thread), |row, number, times| {
            let key = events.key(number);
            let within_ns = overlap_ns(spans, (times.start_ns, times.start_ns.saturating_add(times.wait_ns)));
            if is_of_event_loop(key.syscall()) && !is_internal(waited_for(trace, &key)) {
                turns += usize::from(times.wait_ns > 0);
                if within_ns as f64 >= MOSTLY * times.wait_ns as f64 && times.wait_ns > 0 {
                    waits.kept_ns = waits.kept_ns.saturating_add(times.wait_ns);
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
        waits.at_work_ns = if turns > 0 { 0 } else { life_ns.saturating_sub(longest_ns) };
        // One that only accepts connections has no requests.
        if turns < TURNS { Self { at_work_ns: waits.at_work_ns, ..Self::default() } } else { waits }
    }
}

/// Whom a process asks most while requests wait for it.
fn asks(connections: &Connections<'_>, asked: &StepFunction, spans: &[(u64, u64)]) -> Option<AskedEndpoint> {
    let mean = |(_, steps): &(&&str, &StepFunction)| steps.mean(spans);
    let is_answered = |(endpoint, _): &(&&str, &StepFunction)| {
        let Exchanges { requests, answers } = connections.asked.get(*endpoint).copied().unwrap_or_default();
        answers > 0 && answers as f64 >= ANSWERED * requests as f64
    };
    let answered: Vec<(&&str, &StepFunction)> = connections.outgoing.iter().filter(is_answered).collect();
    let sum = |of: &BTreeMap<&str, StepFunction>| {
        StepFunction::sum(answered.iter().filter_map(|(endpoint, _)| of.get(**endpoint)))
    };
    let (open, made) = (sum(&connections.outgoing), sum(&connections.made));
    let (endpoint, steps) = answered.iter().copied().max_by(|one, other| mean(one).total_cmp(&mean(other)))?;
    let (most, mean, connections) = (steps.mean(spans), open.mean(spans), made.most(spans));
    if mean < LEAST_ASKED {
        return None;
    }
    let is_much = |(_, steps): &&(&&str, &StepFunction)| steps.mean(spans) >= AS_WELL * most;
    let others = answered.iter().filter(is_much).count() - 1;
    // Over one connection many may be asked at once: HTTP/2, pipelines.
    let is_full = (2..=MANY).contains(&connections) && mean >= IN_USE * f64::from(connections);
    let is_limit = is_full && asked.mean(spans) >= f64::from(connections) + MORE;
    Some(AskedEndpoint { endpoint: (*endpoint).to_owned(), others, asked: mean, connections, is_limit })
}

/// The processes that the threads of a role are of.
pub fn processes_of(trace: &Trace, names: &Names<'_, '_>, role: RoleId) -> HashSet<ProcessId> {
    names.members_of(role).map(|thread| trace.threads.process[thread]).collect()
}

/// Requests that wait for a process, and those of its own to one address meanwhile, both on average.
pub struct FewerAsked {
    /// Requests that wait for it at once.
    pub asked: f64,
    /// The address that it asks, as `TCP 10.0.0.1:5432`.
    pub endpoint: String,
    /// Its own requests that wait there.
    pub asks: f64,
}

/// Whether many more requests wait for a process of a role than it asks the address of that has a label, most of the time: they wait within
/// it, for their turns.
pub fn fewer_asked(trace: &Trace, names: &Names<'_, '_>, role: RoleId, label: &str) -> Option<FewerAsked> {
    let processes = processes_of(trace, names, role);
    let fewer = |(_, of): (ProcessId, Connections<'_>)| {
        let asked = StepFunction::sum(of.incoming.values());
        let spans = asked.spans(trace.elapsed_ns());
        let (endpoint, open) = of.outgoing.iter().find(|(endpoint, _)| is_asked_in(endpoint, label))?;
        let (asked, asks) = (asked.mean(&spans), open.mean(&spans));
        let is_often = length_ns(&spans) as f64 >= MOSTLY * trace.elapsed_ns() as f64;
        let are_more = asks >= LEAST_ASKED && asked >= MANY_MORE * asks && asked >= asks + MORE;
        (is_often && are_more).then(|| FewerAsked { asked, endpoint: (*endpoint).to_owned(), asks })
    };
    let of_role = connections(trace).into_iter().filter(|(process, _)| processes.contains(process));
    of_role.filter_map(fewer).max_by(|one, other| one.asked.total_cmp(&other.asked))
}

/// How many requests over TCP each process answered, as far as looks saw.
pub fn answered_requests(trace: &Trace) -> HashMap<ProcessId, u64> {
    connections(trace).into_iter().map(|(process, of)| (process, of.exchanges.least())).collect()
}

/// Requests of others that waited for a process.
pub struct WaitingRequests {
    /// The process.
    pub process: ProcessId,
    /// When any did.
    pub spans: Vec<(u64, u64)>,
    /// How many at once meanwhile, on average.
    pub asked: f64,
    /// How long each of them waited, ns, by how many were answered.
    pub each_ns: u64,
}

/// The processes that answered requests over TCP.
pub fn waiting_requests(trace: &Trace) -> Vec<WaitingRequests> {
    let of = |(process, of): (ProcessId, Connections<'_>)| {
        let asked = StepFunction::sum(of.incoming.values());
        let (spans, answered) = (asked.spans(trace.elapsed_ns()), of.exchanges.least());
        let mean = asked.mean(&spans);
        let asked_ns = length_ns(&spans);
        let each_ns = (mean * asked_ns as f64 / answered.max(1) as f64) as u64;
        (answered > 0).then_some(WaitingRequests { process, spans, asked: mean, each_ns })
    };
    connections(trace).into_iter().filter_map(of).collect()
}

/// Whether requests of others over TCP were seen to wait for processes of a role.
pub fn takes_requests(trace: &Trace, names: &Names<'_, '_>, role: RoleId) -> bool {
    let processes = processes_of(trace, names, role);
    let table = &trace.open_requests;
    let waits = |row: usize| table.is_incoming[row] && table.open[row] > 0;
    (0..table.time_ns.len()).any(|row| waits(row) && processes.contains(&table.process[row]))
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
            of.exchanges.add(table.requests[row], table.answers[row]);
        } else {
            let made = of.made.entry(&table.endpoint[row]).or_default();
            made.0.push((table.time_ns[row], table.connections[row]));
            of.asked.entry(&table.endpoint[row]).or_default().add(table.requests[row], table.answers[row]);
        }
    }
    all.retain(|_, of| !of.incoming.is_empty());
    for of in all.values_mut() {
        // Whoever asks itself asks nobody else.
        let incoming = &of.incoming;
        of.outgoing.retain(|endpoint, _| !incoming.keys().any(|port| leads_to(endpoint, port)));
    }
    all
}

/// Whether an address that is asked is a port of this machine on which others ask: `TCP 127.0.0.1:80` leads to `TCP :80`.
pub fn leads_to(endpoint: &str, port: &str) -> bool {
    let is_own = ["TCP 127.", "TCP [::1]"].iter().any(|own| endpoint.starts_with(own));
    is_own && port.strip_prefix("TCP ").is_some_and(|port| endpoint.ends_with(port))
}

/// Whether a label tells of a connection to an endpoint: `poll {TCP 10.0.0.1:* -> 10.0.0.2:80, pipe}` of `TCP 10.0.0.2:80`, but not of port 8.
pub fn is_asked_in(endpoint: &str, label: &str) -> bool {
    let Some(address) = endpoint.strip_prefix("TCP ") else { return false };
    label.split("-> ").skip(1).any(|rest| {
        rest.strip_prefix(address).is_some_and(|behind| !behind.starts_with(|letter: char| letter.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_tells_of_whole_ports() {
        let label = "poll {TCP 10.0.0.1:* -> 10.0.0.2:8080, TCP 10.0.0.1:* -> [::1]:53}";
        assert!(is_asked_in("TCP 10.0.0.2:8080", label) && is_asked_in("TCP [::1]:53", label));
        for other in ["TCP 10.0.0.2:80", "TCP 10.0.0.2:808", "TCP 10.0.0.1:8080", "UDP 10.0.0.2:8080"] {
            assert!(!is_asked_in(other, label), "{other}");
        }
    }
}
