//! Requests over TCP that waited for their answers, and connections that waited to be accepted: how many at once, how long each, by process and
//! connection. From looks at the connections and at the sockets that listen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_model::ProcessId;
use dwell_query::engine::fold::Fold;
use dwell_view::{Row, Sentence, Value, View, Word};

use crate::sentences::{def, say};
use crate::study::accept_queues::accept_queues;
use crate::study::explain::Explanation;
use crate::study::send_queues::send_queues;
use crate::study::step_function::StepFunction;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "process", "Process", "Process that has the connections.",
        "プロセス", "接続を持つプロセス。";
    plain "direction", "Direction", "in where others ask it at this port, out where it asks there, accept where connections wait to be accepted.",
        "方向", "要求を受ける側か、要求する側か、接続が受け付けを待つ場所か。";
    plain "endpoint", "Endpoint", "The port at which it accepted the connections, or the address to which it made them; where it listens.",
        "エンドポイント", "接続を受け付けたポート、接続した先のアドレス、または接続を待つ場所。";
    plain "open", "Open", "Requests that waited for their answer at once, on average; an answer of which the kernel holds a part is none yet. Of accept: connections that waited to be accepted.",
        "応答待ち", "同時に応答を待っていた要求の平均。一部が保留中の応答は未完了として数えます。受け付けの行では、受け付けを待っていた接続。";
    plain "most_open", "Most Open", "The most at once, as far as a look found them.",
        "最大の応答待ち", "同時に応答を待っていた要求の最大。";
    plain "connections", "Connections", "The most connections at once over which anything was asked.",
        "接続", "要求に使われた接続の最大数。";
    plain "requests", "Requests", "Answered requests: the smaller one of the numbers of segments with data that both ends sent.",
        "要求", "応答のあった要求。両側が送ったデータのセグメントの数の小さい方です。";
    plain "each_ns", "Time of Each", "How long each waited: open requests times the time, over the answered ones. Too short where both requests and answers have several segments.",
        "各要求の時間", "各要求が待った時間。応答待ちの数と時間の積を要求の数で割ったもの。";
    plain "limit", "Limit", "Of accept: how many connections may wait, as listen was told and the kernel allows; TCP lets one more.",
        "上限", "受け付けの行で、同時に待てる接続の数。";
    plain "longest_ns", "Longest Wait", "Of accept: how long a connection had waited when it was looked at, at most. Unix sockets do not tell it.",
        "最長の待機", "受け付けの行で、見たときまでに接続が待っていた時間の最大。";
}

/// Servers of which the summary says how long requests wait.
const SERVERS: usize = 2;
/// Answered requests from which on it does, and the time that each of them waits: at least, and at most where no cause is that requests wait, ns. A
/// client's last word may be an acknowledgement.
const ENOUGH_REQUESTS: u64 = 20;
const LONG_NS: u64 = 100_000;
const MOST_NS: u64 = 50_000_000;
/// Requests at once on average from which on those that wait for longer are told, and how long they do at most, ns: else they ask for what is
/// still to happen.
const SEVERAL: f64 = 1.5;
const LONG_POLL_NS: u64 = 5_000_000_000;
/// Where threads wait for others for one part in so many of the time, that may be what keeps requests.
const HELD_UP_PART: u64 = 10;

/// Connections of a process at one port, or to one address.
#[derive(Default)]
struct Looks {
    open: StepFunction,
    connections: u32,
    requests: u64,
    answers: u64,
}

/// What the looks tell of one kind of connections.
struct Requests<'t> {
    process: ProcessId,
    is_incoming: bool,
    endpoint: &'t str,
    open: f64,
    most_open: u32,
    connections: u32,
    requests: u64,
    each_ns: Option<u64>,
}

/// A row for each process and kind of connections over which anything was asked; those with the most open requests first, those that are asked
/// before those whom they ask.
pub fn open_requests(fold: &Fold<'_>) -> View {
    let mut all = requests(fold);
    let cut = fold.query.limit_rows(&mut all);
    let mut rows: Vec<Row> = all.iter().map(|requests| Row { depth: 0, values: cells(fold, requests) }).collect();
    let mut queues = accept_rows(fold);
    let cut = cut + fold.query.limit_rows(&mut queues);
    rows.extend(queues);
    let mut notes = notes(fold);
    notes.extend(rows.is_empty().then(|| say!(NO_OPEN_REQUESTS).into()));
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

/// Processes of one name that are asked at one address, such as the workers of a server.
struct Server<'t> {
    name: &'t str,
    endpoint: &'t str,
    processes: u64,
    open: f64,
    requests: u64,
    each_ns: Option<u64>,
}

/// The servers, those with the most open requests first.
fn servers<'t>(fold: &Fold<'t>) -> Vec<Server<'t>> {
    let mut servers: Vec<Server<'t>> = Vec::new();
    for it in requests(fold).into_iter().filter(|it| it.is_incoming) {
        let name = process_name(fold, it.process);
        let of_process = Server {
            name,
            endpoint: it.endpoint,
            processes: 1,
            open: it.open,
            requests: it.requests,
            each_ns: it.each_ns,
        };
        match servers.iter_mut().find(|known| (known.name, known.endpoint) == (name, it.endpoint)) {
            Some(known) => known.add(&of_process, fold.sums.windows.length_ns()),
            None => servers.push(of_process),
        }
    }
    servers.sort_by(|one, other| other.open.total_cmp(&one.open));
    servers
}

impl Server<'_> {
    /// Adds another process, in `whole_ns` of time.
    fn add(&mut self, other: &Self, whole_ns: u64) {
        self.processes += other.processes;
        self.open += other.open;
        self.requests += other.requests;
        self.each_ns = (self.requests > 0).then(|| (self.open * whole_ns as f64 / self.requests as f64) as u64);
    }
}

/// What the summary says of the servers in which most requests wait; of those whose threads it tells to sleep, that it may be for that.
pub fn busiest_servers(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    asleep: &BTreeSet<ProcessId>,
) -> Vec<Sentence> {
    let seconds = fold.sums.windows.length_ns() as f64 / 1e9;
    let servers = servers(fold).into_iter().filter(|it| it.requests >= ENOUGH_REQUESTS);
    let servers = servers.filter_map(|it| Some((it.each_ns.filter(|ns| (LONG_NS..=LONG_POLL_NS).contains(ns))?, it)));
    let is_told = move |(each_ns, it): &(u64, Server<'_>)| {
        explanation.keeps_requests() || *each_ns <= MOST_NS || it.open >= SEVERAL
    };
    let is_unexplained = is_unexplained(explanation);
    let sentence = move |(each_ns, it): (u64, Server<'_>)| {
        let processes = if it.processes > 1 { it.processes } else { 0 };
        if !explanation.keeps_requests() && each_ns > MOST_NS && is_unexplained {
            let sleeps = asleep.iter().any(|process| process_name(fold, *process) == it.name);
            let def = if sleeps { &def::REQUESTS_BEHIND_SLEEPS } else { &def::REQUESTS_OPEN };
            let values = vec![
                ("processes", processes.into()),
                ("process", it.name.into()),
                ("port", it.endpoint.into()),
                ("each", Word::Ns(each_ns)),
                ("open", Word::Real(it.open, 1)),
            ];
            return Sentence::new(def, values);
        }
        say!(
            REQUESTS_TOLD,
            rate = Word::Real(it.requests as f64 / seconds.max(f64::MIN_POSITIVE), 1),
            processes = processes,
            process = it.name,
            port = it.endpoint,
            each = Word::Ns(each_ns),
            open = Word::Real(it.open, 1),
        )
    };
    servers.filter(is_told).take(SERVERS).map(sentence).collect()
}

/// Whether requests wait that no thread is seen to keep: then it is not said that nobody was held up.
pub fn wait_unexplained(fold: &Fold<'_>, explanation: &Explanation<'_, '_>) -> bool {
    let is_long = |it: &Server<'_>| it.each_ns.is_some_and(|ns| (MOST_NS..=LONG_POLL_NS).contains(&ns));
    let waits = |it: Server<'_>| it.requests >= ENOUGH_REQUESTS && is_long(&it) && it.open >= SEVERAL;
    is_unexplained(explanation) && !explanation.keeps_requests() && servers(fold).into_iter().any(waits)
}

/// Whether threads wait for others for so little that this keeps no requests.
fn is_unexplained(explanation: &Explanation<'_, '_>) -> bool {
    explanation.demand_ns < explanation.elapsed_ns / HELD_UP_PART
}

fn requests<'t>(fold: &Fold<'t>) -> Vec<Requests<'t>> {
    let table = &fold.trace.open_requests;
    let filtered = fold.query.is_filtered().then(|| filtered_processes(fold));
    let mut all: BTreeMap<(ProcessId, bool, &str), Looks> = BTreeMap::new();
    for row in 0..table.time_ns.len() {
        if filtered.as_ref().is_some_and(|processes| !processes.contains(&table.process[row])) {
            continue;
        }
        let looks = all.entry((table.process[row], !table.is_incoming[row], &table.endpoint[row])).or_default();
        looks.open.0.push((table.time_ns[row], table.open[row]));
        if fold.sums.windows.contains(table.time_ns[row]) {
            looks.connections = looks.connections.max(table.connections[row]);
            looks.requests += u64::from(table.requests[row]);
            looks.answers += u64::from(table.answers[row]);
        }
    }
    // A request waits until all of its answer has gone.
    for ((process, is_incoming, endpoint), queue) in send_queues(fold.trace) {
        if let Some(looks) = all.get_mut(&(process, !is_incoming, endpoint)).filter(|_| is_incoming) {
            looks.open = StepFunction::sum([&looks.open, &queue.held].into_iter());
        }
    }
    let spans = fold.sums.windows.parts();
    let whole_ns = fold.sums.windows.length_ns() as f64;
    let requests = all.into_iter().map(|((process, is_outgoing, endpoint), looks)| {
        let open = looks.open.mean(spans);
        // Either may come in several segments, and what nobody answers does not count.
        let requests = looks.requests.min(looks.answers);
        // Of connections that live for one request, those that are shorter than two looks have no answer.
        let are_counted = requests > 0 && (!is_outgoing || 2 * looks.answers >= looks.requests);
        let each_ns = are_counted.then(|| (open * whole_ns / requests as f64) as u64);
        let connections = looks.connections;
        let most_open = looks.open.most(spans);
        Requests { process, is_incoming: !is_outgoing, endpoint, open, most_open, connections, requests, each_ns }
    });
    let mut requests: Vec<Requests<'_>> = requests.filter(|it| it.connections > 0).collect();
    requests.sort_by(|one, other| other.open.total_cmp(&one.open));
    requests.sort_by_key(|it| Reverse(it.is_incoming));
    requests
}

/// A row for each process and address where it listens; those with the most connections that waited first.
fn accept_rows(fold: &Fold<'_>) -> Vec<Row> {
    let filtered = fold.query.is_filtered().then(|| filtered_processes(fold));
    let is_let_through =
        |processes: &BTreeSet<ProcessId>| filtered.as_ref().is_none_or(|of| !of.is_disjoint(processes));
    let queues = accept_queues(fold.trace).into_iter().filter(|(_, queue)| is_let_through(&queue.processes));
    let spans = fold.sums.windows.parts();
    let mut rows: Vec<(f64, Row)> = queues
        .map(|((process, endpoint), queue)| {
            let waiting = queue.waiting.mean(spans);
            let ages = queue.oldest.iter().filter(|(time, _)| fold.sums.windows.contains(*time)).map(|(_, ns)| *ns);
            let values = vec![
                Value::Text(process_name(fold, process).to_owned()),
                Value::Text("accept".into()),
                Value::Text(endpoint.to_owned()),
                Value::Real(waiting),
                Value::Count(queue.waiting.most(spans).into()),
                Value::None,
                Value::None,
                Value::None,
                Value::Count(queue.limit.into()),
                ages.max().map_or(Value::None, Value::Ns),
            ];
            (waiting, Row { depth: 0, values })
        })
        .collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Processes with a thread of which the filters let anything through.
fn filtered_processes(fold: &Fold<'_>) -> BTreeSet<ProcessId> {
    let threads = fold.selected().filter_map(|(_, site, _)| site.key.thread.get());
    threads.filter_map(|thread| fold.trace.threads.process.get(thread).copied()).collect()
}

fn cells(fold: &Fold<'_>, it: &Requests<'_>) -> Vec<Value> {
    vec![
        Value::Text(process_name(fold, it.process).to_owned()),
        Value::Text(if it.is_incoming { "in" } else { "out" }.into()),
        Value::Text(it.endpoint.to_owned()),
        Value::Real(it.open),
        Value::Count(it.most_open.into()),
        Value::Count(it.connections.into()),
        Value::Count(it.requests),
        it.each_ns.map_or(Value::None, Value::Ns),
        Value::None,
        Value::None,
    ]
}

fn process_name<'t>(fold: &Fold<'t>, process: ProcessId) -> &'t str {
    process.get().and_then(|row| fold.trace.processes.name.get(row)).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use dwell_query::question::filter::{Filter, FilterKey};
    use dwell_query::question::query::Query;
    use dwell_store::tables::{AcceptQueueRow, OpenRequestRow};
    use dwell_trace_dsl::{CELL, trace};

    use super::*;

    #[test]
    fn connections_that_wait_to_be_accepted_are_told_by_address() {
        let mut trace = trace("a: ####################\nb: ####################");
        let look = |cell: u64, endpoint: &str, waiting: u32| AcceptQueueRow {
            time_ns: cell * CELL,
            process: ProcessId::new(0),
            owner: ProcessId::new(0),
            endpoint: endpoint.into(),
            waiting,
            limit: 128,
            oldest_ns: u64::from(waiting) * CELL,
        };
        for row in [look(0, "TCP :80", 0), look(0, "Unix /a", 4), look(10, "TCP :80", 6), look(10, "Unix /a", 0)] {
            trace.accept_queues.push(row);
        }
        trace.tables_changed();
        let told = |query: &Query| {
            let view = open_requests(&Fold::new(&trace, query).unwrap());
            let at =
                |row: &Row, id: &str| row.values[COLUMNS.iter().position(|it| it.column.id == id).unwrap()].clone();
            let of = |row: &Row| ["endpoint", "open", "most_open", "limit", "longest_ns"].map(|id| at(row, id));
            view.rows.iter().map(of).collect::<Vec<_>>()
        };
        let row = |endpoint: &str, open, most, longest: Option<u64>| {
            let longest = longest.map_or(Value::None, Value::Ns);
            [Value::Text(endpoint.into()), Value::Real(open), Value::Count(most), Value::Count(128), longest]
        };
        let whole = told(&Query::default());
        assert_eq!(whole, [row("TCP :80", 3.0, 6, Some(6 * CELL)), row("Unix /a", 2.0, 4, Some(4 * CELL))]);
        let early = told(&Query { range: Some((0, 10 * CELL)), ..Query::default() });
        assert_eq!(early, [row("Unix /a", 4.0, 4, Some(4 * CELL)), row("TCP :80", 0.0, 0, None)]);
        let filter = Filter { key: FilterKey::Thread, value: "nobody".into() };
        assert!(told(&Query { filters: vec![filter], ..Query::default() }).is_empty());
    }

    #[test]
    fn workers_of_one_server_are_told_as_one() {
        let mut trace = trace("a: ####################");
        let mut second = trace.processes.row(0).unwrap();
        second.pid += 1;
        trace.processes.push(second);
        for (process, connections, open) in [(0, 8, 4), (1, 2, 1)] {
            trace.open_requests.push(OpenRequestRow {
                time_ns: 0,
                process: ProcessId::new(process),
                is_incoming: true,
                endpoint: "TCP :80".into(),
                connections,
                open,
                requests: 10,
                answers: 10,
            });
        }
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let told: Vec<_> = servers(&fold).iter().map(|it| (it.processes, it.open, it.requests, it.each_ns)).collect();
        assert_eq!(told, [(2, 5.0, 20, Some(5 * CELL))], "five for 20 ms, twenty came");
        let server = "10.0 requests a second came to 2 processes of app";
        assert!(
            crate::sentences::say!(
                REQUESTS_TOLD,
                rate = Word::Real(10.0, 1),
                processes = 2u64,
                process = "app",
                port = "TCP :80",
                each = Word::Ns(1),
                open = Word::Real(1.0, 1),
            )
            .to_string()
            .starts_with(server)
        );
    }

    #[test]
    fn requests_are_summed_within_the_range() {
        let mut trace = trace("a: ####################");
        let look = |cell: u64, is_incoming, endpoint: &str, [connections, open, requests]: [u32; 3]| OpenRequestRow {
            time_ns: cell * CELL,
            process: ProcessId::new(0),
            is_incoming,
            endpoint: endpoint.into(),
            connections,
            open,
            requests,
            answers: requests + 1,
        };
        for row in [
            look(0, true, "TCP :80", [8, 4, 10]),
            look(0, false, "TCP 10.0.0.1:5432", [2, 2, 10]),
            look(10, true, "TCP :80", [6, 0, 20]),
            look(10, false, "TCP 10.0.0.1:5432", [1, 1, 0]),
        ] {
            trace.open_requests.push(row);
        }
        trace.tables_changed();
        let of = |query: &Query| {
            let fold = Fold::new(&trace, query).unwrap();
            let all = requests(&fold);
            all.iter()
                .map(|it| (it.endpoint.to_owned(), it.open, it.most_open, it.connections, it.each_ns))
                .collect::<Vec<_>>()
        };
        let whole = of(&Query::default());
        // Four for half of the time; thirty came in 20 ms.
        assert_eq!(whole[0], ("TCP :80".into(), 2.0, 4, 8, Some(40 * CELL / 30)));
        assert_eq!(whole[1], ("TCP 10.0.0.1:5432".into(), 1.5, 2, 2, Some(30 * CELL / 10)));
        let late = of(&Query { range: Some((10 * CELL, 20 * CELL)), ..Query::default() });
        assert_eq!(late[1], ("TCP 10.0.0.1:5432".into(), 1.0, 1, 1, None), "none came then");
        let by_thread = |name: &str| {
            let filter = Filter { key: FilterKey::Thread, value: name.into() };
            of(&Query { filters: vec![filter], ..Query::default() })
        };
        assert_eq!(by_thread("a"), whole);
        assert!(by_thread("nobody").is_empty());
    }
}
