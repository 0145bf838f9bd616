//! Connections that serve a request or two each: counted by process and address in every recording, and seen one by one where sockets
//! were recorded.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{FiberId, FindingDef, ProcessId, StackId};
use dwell_query::measure::quantile::median_of;
use dwell_store::Table as _;
use dwell_view::Word;

use crate::findings::connecting_times::connecting_times;
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::explain::{is_from_program, is_response, wait_place};

/// Connections that hardly live.
pub const CONNECTION_CHURN: FindingDef = FindingDef {
    id: "connection-churn",
    title: "Connection churn",
    help: "The program makes many TCP connections to one address and closes each after a question or two. Each costs a \
           round trip, begins with a small congestion window, and leaves a port in TIME_WAIT.",
    advice: "Keep connections open and reuse them: a Session or one client for all requests, HTTP keep-alive, a connection pool, persistent \
             database connections. Read each answer to its end: Go's http, for one, closes a connection whose body is not read.",
    japanese_title: "接続の頻繁な作成",
    japanese_advice: "接続を開いたままにして再利用してください。全要求で 1 つのクライアントやセッション、接続プール、\
                      データベースへの永続的接続を使います。応答は最後まで読んでください。\
                      多くのクライアントは、最後まで読まれない応答の接続を閉じます。",
};

/// Short-lived connections from which it is churn, and how many a second.
const LEAST_COUNT: u64 = 100;
const LEAST_PER_SECOND: f64 = 10.0;
/// Connections of each process, on average, from which a process opens them again and again. One that runs for a single request cannot
/// keep its connection.
const LEAST_OF_PROCESS: u64 = 10;
/// Questions up to which a connection is hardly used.
const MOST_TURNS: u64 = 2;

pub fn connection_churn(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    // Counts are of processes: of a part of their threads nobody knows.
    if fold.trace.connects.is_empty() || fold.query.is_filtered() { by_socket(evidence) } else { by_count(evidence) }
}

/// Whether so many are worth a word.
fn is_often(evidence: &Evidence<'_, '_>, count: u64) -> bool {
    count >= LEAST_COUNT && rate(evidence, count) >= LEAST_PER_SECOND
}

/// Of so many: in each second.
fn rate(evidence: &Evidence<'_, '_>, count: u64) -> f64 {
    count as f64 * 1e9 / evidence.elapsed_ns.max(1) as f64
}

/// What processes of one name opened to one address.
#[derive(Default)]
struct Opened {
    processes: BTreeSet<ProcessId>,
    brief: u64,
    connect_ns: u64,
    life_ns: u64,
    stacks: BTreeMap<StackId, u64>,
}

/// From the counts of all connections.
fn by_count(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (fold, trace) = (evidence.fold, evidence.fold.trace);
    let connects = &trace.connects;
    let mut opened: BTreeMap<(&str, &str), Opened> = BTreeMap::new();
    for row in (0..connects.time_ns.len()).filter(|row| fold.sums.windows.contains(connects.time_ns[*row])) {
        let process = connects.thread[row].get().and_then(|thread| trace.threads.process.get(thread).copied());
        let name = process.and_then(ProcessId::get).and_then(|process| trace.processes.name.get(process));
        let (Some(process), Some(name)) = (process, name) else { continue };
        let of = opened.entry((name, &connects.endpoint[row])).or_default();
        of.processes.insert(process);
        of.brief = of.brief.saturating_add(connects.brief[row].into());
        of.connect_ns = of.connect_ns.saturating_add(connects.connect_ns[row]);
        of.life_ns = of.life_ns.saturating_add(connects.life_ns[row]);
        if connects.stack[row].is_some() {
            let times = of.stacks.entry(connects.stack[row]).or_default();
            *times = times.saturating_add(connects.connects[row].into());
        }
    }
    opened.retain(|_, of| is_often(evidence, of.brief) && of.brief / of.processes.len() as u64 >= LEAST_OF_PROCESS);
    let mut connecting = if opened.is_empty() { BTreeMap::new() } else { connecting_times(fold) };
    // Of several addresses nobody knows which of them it was for.
    let mut addresses: BTreeMap<&str, u64> = BTreeMap::new();
    opened.keys().for_each(|(process, _)| *addresses.entry(process).or_default() += 1);
    connecting.retain(|process, _| addresses.get(process) == Some(&1));
    let finding = |((process, endpoint), of): ((&str, &str), Opened)| {
        let work_ns = connecting.get(process).copied().filter(|work_ns| *work_ns > of.connect_ns);
        let text = say!(
            CONNECTIONS_OPENED,
            process = process,
            connections = of.brief,
            endpoint = endpoint,
            rate = Word::Real(rate(evidence, of.brief), 0),
            life = Word::Ns(of.life_ns / of.brief),
            made = Word::Ns(of.connect_ns),
            work = Word::Ns(work_ns.unwrap_or(0)),
        );
        let (stack, place) = place_of(evidence, process, &of.stacks);
        let address = endpoint.strip_prefix("TCP ").unwrap_or(endpoint);
        Finding {
            subject: format!("connections to {address}"),
            evidence: text.into(),
            stack,
            place,
            cost_ns: work_ns.unwrap_or(of.connect_ns),
            ..Finding::default()
        }
    };
    opened.into_iter().map(finding).collect()
}

/// Where the program asks for connections: in its own sources. Where those are on no stack, as Go dials in a goroutine of its own, it is where
/// goroutines of these processes wait most for answers; without such a place, the stack itself.
fn place_of(evidence: &Evidence<'_, '_>, process: &str, stacks: &BTreeMap<StackId, u64>) -> (StackId, Option<String>) {
    let (fold, trace) = (evidence.fold, evidence.fold.trace);
    let times = |stacks: &BTreeMap<StackId, u64>| -> BTreeMap<String, (u64, StackId)> {
        let mut places: BTreeMap<String, (u64, StackId)> = BTreeMap::new();
        for (stack, times) in stacks.iter().filter(|(stack, _)| is_in_program(evidence, **stack)) {
            let place = places.entry(wait_place(trace, &fold.sums.stacks, *stack).at).or_insert((0, *stack));
            place.0 = place.0.saturating_add(*times);
        }
        places
    };
    let most = |places: BTreeMap<String, (u64, StackId)>| places.into_iter().max_by_key(|(_, (times, _))| *times);
    let found = most(times(stacks)).or_else(|| most(times(&waits_for_answers(evidence, process))));
    found.map_or_else(|| (heaviest(stacks), None), |(place, (_, stack))| (stack, Some(place)))
}

/// Whether a function of the program's own sources is on the stack.
fn is_in_program(evidence: &Evidence<'_, '_>, stack: StackId) -> bool {
    let fold = evidence.fold;
    is_from_program(fold.trace, &fold.sums.stacks, stack)
}

/// How long fibers of processes of this name wait for answers at each place.
fn waits_for_answers(evidence: &Evidence<'_, '_>, process: &str) -> BTreeMap<StackId, u64> {
    let (fold, trace) = (evidence.fold, evidence.fold.trace);
    let (fibers, off) = (&trace.fibers.fibers, &trace.fibers.off_cpu);
    let is_of_process = |fiber: FiberId| {
        let of_fiber = fiber.get().and_then(|fiber| fibers.process.get(fiber)?.get());
        of_fiber.and_then(|row| trace.processes.name.get(row)).is_some_and(|name| name == process)
    };
    let mut waits: BTreeMap<StackId, u64> = BTreeMap::new();
    for row in (0..off.stack.len()).filter(|row| is_response(fold.object_name(off.object[*row]))) {
        if is_of_process(off.fiber[row]) && fold.sums.windows.contains(off.start_ns[row]) {
            let ns = waits.entry(off.stack[row]).or_default();
            *ns = ns.saturating_add(off.wait_ns[row]);
        }
    }
    waits
}

/// From the sockets of a recording of these.
fn by_socket(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (fold, waits) = (evidence.fold, evidence.sockets());
    let sockets = &waits.tables.sockets;
    let is_short = |socket: &usize| {
        let made = sockets.asks[*socket] && sockets.opened_ns[*socket] > 0 && sockets.closed[*socket];
        let inside = fold.sums.windows.contains(sockets.opened_ns[*socket]);
        made && inside && sockets.turns[*socket] <= MOST_TURNS && sockets.mss_bytes[*socket] > 0
    };
    let mut by_remote: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    (0..sockets.remote.len())
        .filter(is_short)
        .for_each(|socket| by_remote.entry(&sockets.remote[socket]).or_default().push(socket));
    by_remote.retain(|_, connections| is_often(evidence, connections.len() as u64));
    let finding = |(remote, connections): (&str, Vec<usize>)| {
        let lives =
            connections.iter().map(|socket| sockets.closed_ns[*socket].saturating_sub(sockets.opened_ns[*socket]));
        // Each takes a round trip to be made, at least.
        let cost_ns = connections.iter().fold(0u64, |sum, socket| sum.saturating_add(sockets.min_rtt_ns[*socket]));
        let text = say!(
            CONNECTION_CHURN,
            connections = connections.len(),
            rate = Word::Real(rate(evidence, connections.len() as u64), 0),
            turns = MOST_TURNS,
            life = Word::Ns(median_of(lives.collect())),
            made = Word::Ns(cost_ns),
        );
        let mut stacks: BTreeMap<StackId, u64> = BTreeMap::new();
        for wait in connections.iter().flat_map(|socket| &waits.of_socket[*socket]) {
            *stacks.entry(wait.stack).or_default() += waits.wait_ns(wait);
        }
        let (subject, stack) = (format!("connections to {remote}"), heaviest(&stacks));
        Finding { subject, evidence: text.into(), stack, cost_ns, ..Finding::default() }
    };
    by_remote.into_iter().map(finding).collect()
}
