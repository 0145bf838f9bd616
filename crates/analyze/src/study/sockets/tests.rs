//! Reports and findings of a connection whose waits are drawn.

use std::collections::BTreeMap;

use dwell_model::{
    HoldEnd, HoldKind, ObjectId, ProcessId, SocketCause, SocketDirection, SocketId, SocketProtocol, SocketWaitId,
    StackId,
};
use dwell_query::engine::fold::Fold;
use dwell_query::question::filter::Filter;
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_store::tables::{SocketRow, SocketWaitCauseRow, SocketWaitRow, TcpHoldRow};
use dwell_trace_dsl::{CELL, text, trace};
use dwell_view::Value;

use crate::report;
use crate::reports::Report;
use crate::study::sockets::socket_lengths;

/// A wait that takes longer than this, in ms, is for `cause` but for its last millisecond, which is a round trip.
const LONG: u64 = 10;

fn socket(protocol: SocketProtocol, (local, remote): (&str, &str)) -> SocketRow {
    SocketRow {
        object: ObjectId::NONE,
        protocol: protocol.code(),
        listening: false,
        local: local.into(),
        remote: remote.into(),
        process: ProcessId::new(0),
        peer: SocketId::NONE,
        peer_process: String::new(),
        peer_pid: 0,
        asks: false,
        loopback: true,
        opened_ns: 1,
        closed_ns: 400 * CELL,
        closed: true,
        bytes_sent: 700,
        bytes_received: 300,
        sends: 70,
        receives: 30,
        sends_refused: 0,
        receives_empty: 0,
        largest_pipeline: 2,
        turns: 30,
        nodelay: false,
        corked: false,
        send_buffer_bytes: 16_384,
        receive_buffer_bytes: 2304,
        mss_bytes: 1460,
        srtt_ns: 0,
        min_rtt_ns: CELL / 10,
        retransmits: 3,
        delayed_acks: 0,
        receives_short: 0,
        bytes_unseen: 0,
        backlog_limit: 0,
        arrivals: 0,
        queued_ns: 0,
        most_queued: 0,
        drops: 0,
    }
}

/// A client `a` whose waits on `n` are on a connection to a server that is profiled too, and a netlink socket.
fn connection(picture: &str, cause: SocketCause) -> Trace {
    let mut trace = trace(picture);
    trace.manifest.topics.push("sockets".into());
    let object = ObjectId::new(trace.objects.name.iter().position(|name| name == "n").unwrap());
    let (near, far) = ("10.0.0.1:40000", "10.0.0.1:80");
    let client = SocketRow { object, asks: true, peer: SocketId::new(1), ..socket(SocketProtocol::Tcp, (near, far)) };
    let server = SocketRow { peer: SocketId::new(0), ..socket(SocketProtocol::Tcp, (far, near)) };
    let rows =
        [SocketRow { peer_process: "server".into(), ..client }, server, socket(SocketProtocol::Unknown, ("", ""))];
    let mut tables = dwell_store::SocketTables::default();
    rows.into_iter().for_each(|row| _ = tables.sockets.push(row));
    let events = trace.events();
    let wait = |row: usize| {
        let key = events.off_cpu_key(row);
        (key.object() == object).then(|| (events.off_cpu.start_ns(row), events.off_cpu.wait_ns(row), key))
    };
    let mut waits: Vec<_> = (0..events.off_cpu.end()).filter_map(wait).collect();
    waits.sort_by_key(|(start_ns, ..)| *start_ns);
    for (row, (start_ns, wait_ns, key)) in waits.into_iter().enumerate() {
        let long = wait_ns > LONG * CELL;
        let parts = if long {
            vec![(cause, wait_ns - CELL), (SocketCause::RoundTrip, CELL)]
        } else {
            vec![(SocketCause::RoundTrip, wait_ns)]
        };
        tables.waits.push(SocketWaitRow {
            socket: SocketId::new(0),
            thread: key.thread(),
            start_ns,
            wait_ns,
            direction: SocketDirection::Receive.code(),
            sends_before: 2,
            bytes_before: 16,
            first_send_bytes: 8,
            last_send_bytes: 8,
            bytes_after: 4,
            receives_before: row as u32,
        });
        for (cause, cause_ns) in parts {
            let (wait, thread) = (SocketWaitId::new(row), dwell_model::ThreadId::NONE);
            tables.causes.push(SocketWaitCauseRow {
                wait,
                cause: cause.code(),
                cause_ns,
                exact: true,
                thread,
                object: ObjectId::NONE,
            });
        }
        if long {
            tables.holds.push(hold(start_ns, wait_ns - CELL, key.stack()));
        }
    }
    trace.sockets = tables;
    trace
}

/// Data held where a wait begins; the server's code is not drawn.
fn hold(start_ns: u64, length_ns: u64, stack: StackId) -> TcpHoldRow {
    TcpHoldRow {
        socket: SocketId::new(0),
        kind: HoldKind::Nagle.code(),
        start_ns,
        end_ns: start_ns + length_ns,
        end_kind: HoldEnd::Ack.code(),
        bytes: 8,
        thread: dwell_model::ThreadId::NONE,
        stack,
    }
}

/// Ten long waits of 40 ms and ten of 1 ms.
fn slow(cause: SocketCause) -> Trace {
    let turn = format!("##{}####n####", "n".repeat(40));
    connection(&format!("a: {}", turn.repeat(10)), cause)
}

fn of(kind: Report, trace: &Trace, query: &Query) -> String {
    text(&report(kind, trace, query).unwrap())
}

fn filters(filter: &str) -> Query {
    Query { filters: vec![Filter::parse(filter).unwrap()], ..Query::default() }
}

/// Ids, subjects and evidence of the findings.
fn found(trace: &Trace) -> Vec<(&'static str, String, String, u64)> {
    let query = Query::default();
    let found = crate::findings::findings_of(&Fold::new(trace, &query).unwrap());
    found.into_iter().map(|(def, it)| (def.id, it.subject, it.evidence.to_string(), it.cost_ns)).collect()
}

fn ids(trace: &Trace) -> Vec<&'static str> {
    found(trace).into_iter().map(|(id, ..)| id).collect()
}

#[test]
fn reports_of_a_connection() {
    let trace = slow(SocketCause::DelayedAck);
    insta::assert_snapshot!("sockets", of(Report::Sockets, &trace, &Query::default()));
    let four = Query { limit: Some(4), ..Query::default() };
    insta::assert_snapshot!("socket-waits", of(Report::SocketWaits, &trace, &four));
}

#[test]
fn ranges_and_filters_choose_waits() {
    let trace = slow(SocketCause::DelayedAck);
    let waits = |query: &Query| {
        let view = report(Report::Sockets, &trace, query).unwrap();
        view.rows.iter().map(|row| row.values[5].clone()).collect::<Vec<_>>()
    };
    let count = |waits| Value::Count(waits);
    assert_eq!(waits(&Query::default()), [count(20), count(0)]);
    assert_eq!(waits(&Query { range: Some((0, 46 * CELL)), ..Query::default() }), [count(1), count(0)]);
    assert_eq!(waits(&filters("wait-length=10ms-")), [count(10)]);
    assert_eq!(waits(&filters("utilization=idle")), [count(20)]);
    assert_eq!(waits(&filters("utilization=over")), []);
    assert_eq!(waits(&filters("thread=b")), []);
    let shown = report(Report::SocketWaits, &trace, &filters("wait-length=-10ms")).unwrap();
    assert_eq!(shown.rows.len(), 10);
}

#[test]
fn one_socket_has_its_own_waits_and_their_lengths() {
    let trace = slow(SocketCause::DelayedAck);
    let of = |subject: &str| {
        let query = Query { subject: Some(subject.into()), ..Query::default() };
        let rows = report(Report::SocketWaits, &trace, &query).map(|view| view.rows.len());
        let lengths = socket_lengths(&Fold::new(&trace, &query).unwrap(), Some(subject));
        (rows, lengths.map(|lengths| lengths.bins.iter().map(|bin| bin.count).sum::<u64>()))
    };
    assert_eq!(of("0"), (Ok(20), Ok(20)));
    assert_eq!(of("1"), (Ok(0), Ok(0)));
    for unknown in ["3", "-1", "n"] {
        assert_eq!(of(unknown).0.unwrap_err().to_string(), format!("there is no socket `{unknown}`"));
        assert!(of(unknown).1.is_err());
    }
    let all = socket_lengths(&Fold::new(&trace, &Query::default()).unwrap(), None).unwrap();
    assert_eq!(all.humps.iter().map(|hump| hump.count).collect::<Vec<_>>(), [10, 10]);
}

#[test]
fn parts_add_up_to_the_wait_time() {
    let view = report(Report::Sockets, &slow(SocketCause::Peer), &Query::default()).unwrap();
    for row in &view.rows {
        let (Value::Ns(whole), Value::Parts(parts)) = (&row.values[4], &row.values[6]) else { panic!("{row:?}") };
        assert_eq!(parts.iter().map(|(_, ns)| ns).sum::<u64>(), *whole);
    }
}

#[test]
fn a_result_without_sockets_says_how_to_record_them() {
    let view = report(Report::Sockets, &trace("a: ##n##"), &Query::default()).unwrap();
    assert!(view.rows.is_empty());
    assert!(view.notes.iter().any(|note| note.to_string().contains("--analyze threading,sockets")), "{:?}", view.notes);
}

#[test]
fn small_writes_that_wait_for_a_delayed_ack() {
    let trace = slow(SocketCause::DelayedAck);
    let all = found(&trace);
    let (_, subject, evidence, cost_ns) = all.iter().find(|(id, ..)| *id == "nagle-delayed-ack").unwrap();
    assert_eq!((subject.as_str(), *cost_ns), ("n", 10 * 39 * CELL));
    let expected = "10 of 20 waits on it last 40.0 ms by the median, the others 1.00 ms: 95.1 % of its wait time is for data \
                    that Nagle's algorithm holds until a delayed ACK. 10 held pieces of 8 bytes are sent by use_n (app.c:";
    assert!(evidence.to_string().starts_with(expected), "{evidence}");
    assert!(evidence.to_string().ends_with("Without, about 390 ms less."), "{evidence}");
    assert!(!ids(&slow(SocketCause::Peer)).contains(&"nagle-delayed-ack"));
}

#[test]
fn the_cause_comes_before_the_counter() {
    let turn = format!("##{}####n####", "n".repeat(40));
    let counter = format!("{}1    9   ", " ".repeat(42));
    let picture = format!("a: {}\na recv_ctrl: {}\n", turn.repeat(10), counter.repeat(10));
    let mut trace = connection(&picture, SocketCause::DelayedAck);
    let order = |trace: &Trace| {
        let ids = ids(trace);
        let place =
            |id: &str| ids.iter().position(|found| *found == id).unwrap_or_else(|| panic!("no {id} in {ids:?}"));
        place("nagle-delayed-ack") < place("long-waits-by-counter")
    };
    assert!(order(&trace));
    // Also where the counter's finding is dearer: what is gained is less for the cause's waits that are fewer.
    let causes = &mut trace.sockets.causes.cause;
    let held: Vec<usize> = (0..causes.len()).filter(|row| causes[*row] == SocketCause::DelayedAck.code()).collect();
    held.iter().take(6).for_each(|row| causes[*row] = SocketCause::Peer.code());
    assert!(order(&trace));
}

#[test]
fn every_cause_has_its_finding() {
    let expected = BTreeMap::from([
        (SocketCause::Retransmission, "retransmission"),
        (SocketCause::ReceiveWindow, "full-receive-window"),
        (SocketCause::SendBuffer, "full-send-buffer"),
        (SocketCause::Connect, "slow-connect"),
    ]);
    let of_sockets: Vec<&str> = expected.values().copied().chain(["chatty-protocol", "nagle-delayed-ack"]).collect();
    for (cause, id) in expected {
        let found = ids(&slow(cause));
        let about_sockets: Vec<_> = found.iter().filter(|id| of_sockets.contains(id)).collect();
        assert_eq!(about_sockets, [&id], "{cause:?}");
    }
    let found = ids(&slow(SocketCause::PeerRunning));
    assert!(!found.iter().any(|id| of_sockets.contains(id)), "{found:?}");
}

#[test]
fn questions_one_by_one() {
    let mut trace = connection(&format!("a: {}", "##nnnn#".repeat(50)), SocketCause::Peer);
    assert!(!ids(&trace).contains(&"chatty-protocol"), "few questions");
    trace.sockets.sockets.turns[0] = 500;
    assert!(ids(&trace).contains(&"chatty-protocol"));
    trace.sockets.sockets.largest_pipeline[0] = 16;
    assert!(!ids(&trace).contains(&"chatty-protocol"), "pipelined");
}

#[test]
fn connections_that_hardly_live() {
    let mut trace = slow(SocketCause::Peer);
    let row = |closed| SocketRow {
        asks: true,
        turns: 1,
        closed,
        ..socket(SocketProtocol::Tcp, ("10.0.0.1:5", "10.0.0.2:80"))
    };
    (0..99).for_each(|_| _ = trace.sockets.sockets.push(row(true)));
    trace.sockets.sockets.push(row(false));
    assert!(!ids(&trace).contains(&"connection-churn"));
    trace.sockets.sockets.push(row(true));
    assert!(ids(&trace).contains(&"connection-churn"));
}

#[test]
fn connections_that_wait_to_be_accepted() {
    let mut trace = slow(SocketCause::Peer);
    let listener = SocketRow { listening: true, ..socket(SocketProtocol::Tcp, ("10.0.0.1:80", "")) };
    let row = trace.sockets.sockets.push(SocketRow { arrivals: 20, queued_ns: 200_000_000, ..listener });
    assert!(ids(&trace).contains(&"accept-bottleneck"));
    trace.sockets.sockets.queued_ns[row] = 40_000_000;
    assert!(!ids(&trace).contains(&"accept-bottleneck"), "2 ms each");
    trace.sockets.sockets.drops[row] = 1;
    assert!(ids(&trace).contains(&"accept-bottleneck"), "dropped");
    trace.sockets.sockets.arrivals[row] = 9;
    assert!(!ids(&trace).contains(&"accept-bottleneck"), "few");
}

#[test]
fn answers_behind_a_slow_one() {
    // Six questions at a time: a long wait for the first answer, short ones for the others.
    let turn = format!("##{}####n####n####n####", "n".repeat(40));
    let mut trace = connection(&format!("a: {}", turn.repeat(10)), SocketCause::PeerWaiting);
    let waits = &mut trace.sockets.waits;
    for row in 0..waits.sends_before.len() {
        let first = waits.wait_ns[row] > LONG * CELL;
        (waits.sends_before[row], waits.bytes_before[row]) = if first { (6, 48) } else { (0, 0) };
    }
    assert!(ids(&trace).contains(&"head-of-line-blocking"), "{:?}", ids(&trace));
    // The same pieces of one large question, and one answer.
    trace.sockets.waits.bytes_before.iter_mut().for_each(|bytes| *bytes *= 1000);
    assert!(!ids(&trace).contains(&"head-of-line-blocking"));
}
