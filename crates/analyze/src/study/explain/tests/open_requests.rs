//! Loops of events for which requests wait.

use dwell_model::{ObjectId, Outcome, ProcessId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_store::tables::{OpenRequestRow, SampledSendRow};
use dwell_trace_dsl::{CELL, trace};

use super::causes;
use crate::study::explain::{
    AskedEndpoint, CauseKind, Explanation, LoopRequests, always_asked, asked_at_once, explain,
};

/// A look at connections: requests that wait, of so many connections, and how many came since the look before.
type Look = (bool, &'static str, [u32; 3]);

/// A loop that waits for whatever comes, ended from outside, while it was looked at connections so, from the first cell on.
fn looked_at(picture: &str, ended_by: (Outcome, WakerKind), looks: &[Look]) -> Trace {
    let mut trace = trace(picture);
    for row in 0..trace.off_cpu.thread.len() {
        let is_loop = trace.objects.name[trace.off_cpu.object[row].get().unwrap()].contains('e');
        if is_loop {
            trace.off_cpu.syscall[row] = 232;
            (trace.off_cpu.outcome[row], trace.off_cpu.waker_kind[row]) = (ended_by.0.code(), ended_by.1.code());
            trace.off_cpu.waker[row] = dwell_model::ThreadId::NONE;
            let object: ObjectId = trace.off_cpu.object[row];
            trace.objects.name[object.get().unwrap()] = "epoll {TCP listen :80, connections}".into();
        }
    }
    for (is_incoming, endpoint, [open, connections, requests]) in looks {
        // It sends as soon as it has waited.
        for _ in 0..5 {
            trace.sampled_sends.push(SampledSendRow {
                time_ns: 5 * CELL + CELL / 2,
                process: ProcessId::new(0),
                is_incoming: *is_incoming,
                endpoint: (*endpoint).into(),
            });
        }
        trace.open_requests.push(OpenRequestRow {
            time_ns: 0,
            process: ProcessId::new(0),
            is_incoming: *is_incoming,
            endpoint: (*endpoint).into(),
            connections: *connections,
            open: *open,
            requests: *requests,
            answers: *requests,
        });
    }
    trace.tables_changed();
    trace
}

/// The causes, and what keeps the loop of the first thread.
fn told(trace: &Trace) -> (Vec<(CauseKind, String, u64)>, Option<LoopRequests>) {
    let query = Query::default();
    let fold = Fold::new(trace, &query).unwrap();
    let explanation: Explanation<'_, '_> = explain(&fold);
    let role = explanation.causes.first().map(|root| root.cause.role);
    (causes(&explanation), role.and_then(|role| explanation.open_requests(role)).cloned())
}

const LOOP: &str = "loop: eeeee#eeeeee#eeeeee#";
const BY_ANSWER: (Outcome, WakerKind) = (Outcome::Woken, WakerKind::Answer);
const BY_TIMER: (Outcome, WakerKind) = (Outcome::TimedOut, WakerKind::Timer);

#[test]
fn a_loop_is_kept_by_those_whom_it_asks_while_requests_wait() {
    let looks: [Look; 2] = [(true, "TCP :80", [4, 9, 4]), (false, "TCP 10.0.0.1:5432", [4, 9, 4])];
    let (causes, requests) = told(&looked_at(LOOP, BY_ANSWER, &looks));
    assert_eq!(causes, [(CauseKind::OpenRequests, "loop".into(), 17)]);
    let requests = requests.unwrap();
    // Four at once, four came in 20 ms.
    assert_eq!((requests.asked, requests.each_ns), (4.0, 20 * CELL));
    let asks = requests.asks.unwrap();
    let AskedEndpoint { endpoint, others, asked, is_limit, .. } = asks;
    assert_eq!((endpoint.as_str(), others, asked, is_limit), ("TCP 10.0.0.1:5432", 0, 4.0, false));
}

#[test]
fn few_connections_are_a_limit_where_more_requests_wait() {
    let limit = |asked: u32, open: u32, connections: u32| {
        let looks: [Look; 2] =
            [(true, "TCP :80", [asked, asked, 2]), (false, "TCP 10.0.0.1:5432", [open, connections, 8])];
        told(&looked_at(LOOP, BY_ANSWER, &looks)).1.and_then(|requests| requests.asks).map(|asks| asks.is_limit)
    };
    assert_eq!(limit(8, 2, 2), Some(true));
    assert_eq!(limit(2, 2, 2), Some(false), "none is left over");
    assert_eq!(limit(8, 1, 7), Some(false), "most connections are free");
    assert_eq!(limit(90, 80, 80), Some(false), "a large pool");
    // Four backends with two connections each.
    let backends = ["TCP 10.0.0.1:80", "TCP 10.0.0.2:80", "TCP 10.0.0.3:80", "TCP 10.0.0.4:80"];
    let of_backends = |asked: u32| {
        let mut looks: Vec<Look> = backends.iter().map(|backend| (false, *backend, [2, 2, 8])).collect();
        looks.push((true, "TCP :80", [asked, asked, 2]));
        let asks = told(&looked_at(LOOP, BY_ANSWER, &looks)).1.and_then(|requests| requests.asks);
        asks.map(|asks| (asks.others, asks.asked, asks.is_limit))
    };
    assert_eq!(of_backends(8), Some((3, 8.0, false)), "all of them together are asked as much");
    assert_eq!(of_backends(12), Some((3, 8.0, true)));
}

#[test]
fn a_loop_is_kept_by_its_own_timers() {
    let looks: [Look; 2] = [(true, "TCP :80", [4, 4, 4]), (false, "TCP 10.0.0.1:5432", [1, 1, 8])];
    let (causes, requests) = told(&looked_at(LOOP, BY_TIMER, &looks));
    assert_eq!(causes, [(CauseKind::OpenRequests, "loop".into(), 17)]);
    assert_eq!(requests.unwrap().asks, None);
}

#[test]
fn a_loop_is_idle_where_no_request_waits_or_nothing_tells_what_for() {
    let is_told = |picture: &str, ended_by, looks: &[Look]| {
        let (causes, _) = told(&looked_at(picture, ended_by, looks));
        causes.iter().any(|(kind, ..)| *kind == CauseKind::OpenRequests)
    };
    let incoming: Look = (true, "TCP :80", [4, 4, 4]);
    let outgoing: Look = (false, "TCP 10.0.0.1:5432", [4, 4, 4]);
    assert!(is_told(LOOP, BY_ANSWER, &[incoming, outgoing]));
    assert!(!is_told(LOOP, BY_ANSWER, &[(true, "TCP :80", [0, 4, 4]), outgoing]), "all are answered");
    assert!(!is_told(LOOP, BY_ANSWER, &[outgoing]), "nobody asks it");
    assert!(!is_told(LOOP, BY_ANSWER, &[incoming]), "it asks nobody, and has no timers");
    assert!(!is_told(LOOP, BY_ANSWER, &[incoming, (false, "TCP 127.0.0.1:80", [4, 4, 4])]), "it asks itself");
    assert!(!is_told(LOOP, BY_ANSWER, &[(true, "TCP :80", [4, 4, 0]), outgoing]), "none came: long polls");
    assert!(!is_told(LOOP, BY_ANSWER, &[incoming, (false, "TCP 10.0.0.1:514", [4, 4, 0])]), "nothing comes back");
    assert!(!is_told(LOOP, BY_ANSWER, &[(true, "TCP :80", [4, 4, 8]), outgoing]), "each is answered in 10 ms");
    let workers = "loop: eeeee#eeeeee#eeeeee#
                   work: ####################";
    assert!(!is_told(workers, BY_ANSWER, &[incoming, outgoing]), "another thread works on them");
    let parked = "loop: eeeee#eeeeee#eeeeee#
                  pool: cccccccccccccccccccc";
    assert!(is_told(parked, BY_ANSWER, &[incoming, outgoing]), "another thread has no work");
}

#[test]
fn a_client_whose_connections_are_always_asked_has_a_limit() {
    let limit = |open: u32, connections: u32| {
        let trace = looked_at(LOOP, BY_ANSWER, &[(false, "TCP 10.0.0.1:80", [open, connections, 9])]);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let explanation = explain(&fold);
        always_asked(&trace, &explanation.names, explanation.names.role_of(0)).map(|it| (it.endpoint, it.connections))
    };
    assert_eq!(limit(2, 2), Some(("TCP 10.0.0.1:80".to_owned(), 2)));
    assert_eq!(limit(1, 1), Some(("TCP 10.0.0.1:80".to_owned(), 1)));
    assert_eq!(limit(2, 4), None, "two are free");
    assert_eq!(limit(90, 90), None, "no small pool");
}

#[test]
fn a_loop_of_a_client_waits_for_the_answers_that_it_always_waits_for() {
    let told = |looks: &[Look]| {
        let mut trace = looked_at(LOOP, BY_ANSWER, looks);
        trace.objects.name.fill("epoll {TCP 10.0.0.2:* -> 10.0.0.1:80, eventfd}".into());
        told(&trace).0
    };
    let always = |open, connections, answers| [(false, "TCP 10.0.0.1:80", [open, connections, answers])];
    assert_eq!(told(&always(1, 1, 20)), [(CauseKind::Outside, "loop".into(), 17)]);
    assert_eq!(told(&always(2, 2, 40)), [(CauseKind::Outside, "loop".into(), 17)]);
    assert_eq!(told(&always(1, 1, 4)), [], "few answers: of a queue, perhaps");
    assert_eq!(told(&always(2, 4, 40)), [], "what it does with the free ones is not known");
    assert_eq!(told(&always(1, 4, 40)), [], "one of several may be that over which jobs come");
    assert_eq!(told(&always(90, 90, 900)), [], "no small pool");
    let server = [(true, "TCP :80", [1, 1, 20]), (false, "TCP 10.0.0.1:80", [1, 1, 20])];
    assert!(told(&server).iter().all(|(kind, ..)| *kind != CauseKind::Outside), "it is asked itself");
}

#[test]
fn requests_to_several_addresses_are_counted_together() {
    let looks: [Look; 2] = [(false, "TCP 10.0.0.1:80", [1, 1, 20]), (false, "TCP 10.0.0.3:80", [2, 2, 20])];
    let trace = looked_at(LOOP, BY_ANSWER, &looks);
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let explanation = explain(&fold);
    let set = "poll {TCP 10.0.0.2:* -> 10.0.0.1:80, TCP 10.0.0.2:* -> 10.0.0.3:80}";
    assert_eq!(asked_at_once(&trace, &explanation.names, explanation.names.role_of(0), set), 3.0);
}
