//! Connections that wait to be accepted.

use dwell_model::ProcessId;
use dwell_query::engine::fold::Fold;
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_store::tables::AcceptQueueRow;
use dwell_trace_dsl::{CELL, trace};

use crate::study::explain::{AcceptorState, CauseKind, WaitingConnections, explain};

/// The picture's threads, all waits of whose `e` are in `poll` for the next request and of whose `n` in a loop of events, while so many
/// connections waited at each cell, the first one for so many cells.
fn looked_at(picture: &str, waiting: impl Fn(u64) -> u32, age: u64) -> Trace {
    let mut trace = trace(picture);
    trace.manifest.exit_status = None;
    for row in 0..trace.off_cpu.thread.len() {
        let object = trace.off_cpu.object[row].get().unwrap();
        let (call, name) = match trace.objects.name[object].as_str() {
            "e" | "poll {connections}" => (7, "poll {connections}"),
            "n" | "epoll {connections}" => (232, "epoll {connections}"),
            _ => continue,
        };
        trace.off_cpu.syscall[row] = call;
        trace.objects.name[object] = name.into();
    }
    for cell in 0..20 {
        trace.accept_queues.push(AcceptQueueRow {
            time_ns: cell * CELL,
            process: ProcessId::new(0),
            owner: ProcessId::new(0),
            endpoint: "TCP :80".into(),
            waiting: waiting(cell),
            limit: 128,
            oldest_ns: if waiting(cell) > 0 { age * CELL } else { 0 },
        });
    }
    trace.tables_changed();
    trace
}

/// The kinds of the causes, and the connections of the one that is of these.
fn told(trace: &Trace) -> (Vec<CauseKind>, Option<WaitingConnections>) {
    let query = Query::default();
    let fold = Fold::new(trace, &query).unwrap();
    let explanation = explain(&fold);
    let kinds = explanation.causes.iter().map(|root| root.cause.kind).collect();
    let connections = explanation.causes.iter().find_map(|root| explanation.accept_queue(&root.cause));
    (kinds, connections.cloned())
}

const KEPT: &str = "w1: eeeeeeeee#eeeeeeeee#\nw2: #eeeeeeeee#eeeeeeeee";

#[test]
fn idle_connections_keep_the_workers() {
    let (kinds, connections) = told(&looked_at(KEPT, |_| 3, 9));
    assert_eq!(kinds[0], CauseKind::AcceptQueue);
    let connections = connections.unwrap();
    assert_eq!((connections.waiting, connections.most, connections.limit), (3.0, 3, 128));
    assert_eq!((connections.longest_ns, connections.wall_ns), (Some(9 * CELL), 20 * CELL));
    let acceptors = &connections.acceptors;
    assert_eq!((acceptors.did, acceptors.threads, acceptors.share), (AcceptorState::WaitedForRequests, 2, 0.9));
}

#[test]
fn a_loop_with_time_has_a_limit() {
    let (_, connections) = told(&looked_at("a: nnnnnnnnn#nnnnnnnnn#", |_| 3, 9));
    assert_eq!(connections.unwrap().acceptors.did, AcceptorState::WaitedInLoop);
}

#[test]
fn threads_that_have_work_are_told_as_that() {
    let (_, connections) = told(&looked_at("a: ####################", |_| 3, 9));
    assert_eq!(connections.unwrap().acceptors.did, AcceptorState::Ran);
    let (kinds, connections) = told(&looked_at("a: #mmmmmmmm#mmmmmmmmm#\nb: #11111111#11111111##", |_| 30, 9));
    let acceptors = connections.unwrap().acceptors;
    assert_eq!((acceptors.did, acceptors.threads), (AcceptorState::Ran, 1), "of two roles the one that took longest");
    assert!(kinds.contains(&CauseKind::Ran), "what they do stays a cause: {kinds:?}");
}

#[test]
fn nothing_is_told_where_connections_are_accepted_soon_or_waited_for_a_moment() {
    let is_told = |waiting: fn(u64) -> u32, age| told(&looked_at(KEPT, waiting, age)).1.is_some();
    assert!(is_told(|_| 1, 9));
    assert!(!is_told(|_| 0, 9), "none waits");
    assert!(!is_told(|_| 3, 1), "each has just come");
    assert!(!is_told(|cell| u32::from(cell < 4) * 50, 9), "a burst");
    assert!(is_told(|cell| u32::from(cell < 12) * 2, 9), "for most of the time");
    // Of Unix sockets nobody knows for how long.
    assert!(is_told(|_| 2, 0));
    assert!(!is_told(|_| 1, 0));
}

#[test]
fn a_filter_leaves_them_out() {
    let trace = looked_at(KEPT, |_| 3, 9);
    let query = Query { waiters: Some("w".into()), ..Query::default() };
    let fold = Fold::new(&trace, &query).unwrap();
    assert!(explain(&fold).causes.iter().all(|root| root.cause.kind != CauseKind::AcceptQueue));
    let late = Query { range: Some((10 * CELL, 20 * CELL)), ..Query::default() };
    let fold = Fold::new(&trace, &late).unwrap();
    let explanation = explain(&fold);
    let queue = explanation.causes.iter().find_map(|root| explanation.accept_queue(&root.cause)).unwrap();
    assert_eq!(queue.wall_ns, 10 * CELL, "in a part of the time it is of that");
}
