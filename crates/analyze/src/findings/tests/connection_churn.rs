//! Programs that open a connection for each request.

use dwell_model::{StackId, ThreadId};
use dwell_store::tables::ConnectsRow;

use super::*;

/// Thread a for about a second, with connections to 127.0.0.1:8080, a row for each of so many parts of the time.
fn connecting(rows: usize, connects: u32, brief: u32) -> Trace {
    let cells = (1_000_000_000 / CELL) as usize;
    let mut trace = trace(&format!("a: {}", "#".repeat(cells)));
    for row in 0..rows {
        trace.connects.push(ConnectsRow {
            time_ns: row as u64 * 1_000_000,
            thread: ThreadId::new(0),
            endpoint: "TCP 127.0.0.1:8080".into(),
            connects,
            brief,
            connect_ns: u64::from(brief) * 30_000,
            life_ns: u64::from(brief) * 2_000_000,
            stack: StackId::NONE,
        });
    }
    trace
}

fn is_told(trace: &Trace) -> bool {
    ids(trace).contains(&"connection-churn")
}

#[test]
fn a_connection_for_each_request_is_told() {
    let finding = the("connection-churn", &connecting(4, 50, 49));
    let text = finding.evidence.to_string();
    assert_eq!((finding.subject.as_str(), finding.cost_ns), ("connections to 127.0.0.1:8080", 196 * 30_000));
    assert!(text.contains("opened 196 connections to TCP 127.0.0.1:8080"), "{text}");
    assert!(text.contains("each lived 2.00 ms") && text.contains("took 5.88 ms"), "{text}");
}

#[test]
fn what_runs_and_waits_in_functions_that_connect_is_its_cost() {
    let with_handshakes = |rows| {
        let mut trace = connecting(rows, 50, 49);
        let names = trace.frames.function.iter_mut().filter(|name| *name == "work");
        names.for_each(|name| "SSL_do_handshake".clone_into(name));
        trace.tables_changed();
        trace
    };
    let trace = with_handshakes(4);
    let finding = the("connection-churn", &trace);
    let text = finding.evidence.to_string();
    assert_eq!(finding.cost_ns, trace.elapsed_ns(), "{text}");
    assert!(text.contains("the functions that make connections ran and waited for 1.00 s"), "{text}");

    let mut two = with_handshakes(8);
    two.connects.endpoint[4..].fill("TCP 127.0.0.1:9090".into());
    let found = findings_of(&Fold::new(&two, &Query::default()).unwrap());
    let costs = found.iter().filter(|(def, _)| def.id == "connection-churn").map(|(_, finding)| finding.cost_ns);
    assert_eq!(costs.collect::<Vec<_>>(), [196 * 30_000; 2], "of two addresses nobody knows which it was for");
}

#[test]
fn connections_that_are_kept_few_or_to_many_addresses_are_not() {
    assert!(!is_told(&connecting(4, 500, 0)), "a pool, or connections that carry many requests");
    assert!(!is_told(&connecting(4, 20, 20)), "few");
    assert!(is_told(&connecting(10, 30, 30)));
    let mut crawler = connecting(10, 30, 30);
    for (host, endpoint) in crawler.connects.endpoint.iter_mut().enumerate() {
        *endpoint = format!("TCP 10.0.0.{host}:443");
    }
    assert!(!is_told(&crawler), "a few to each of many");
}

#[test]
fn processes_that_connect_once_each_are_not_told() {
    let mut trace = connecting(300, 1, 1);
    assert!(is_told(&trace));
    let (process, thread) = (trace.processes.row(0).unwrap(), trace.threads.row(0).unwrap());
    for row in 1..300 {
        trace.processes.push(process.clone());
        trace.threads.push(thread.clone());
        trace.threads.process[row] = ProcessId::new(row);
        trace.connects.thread[row] = ThreadId::new(row);
    }
    assert!(!is_told(&trace), "process churn is another finding");
}

#[test]
fn connections_outside_the_range_of_time_do_not_count() {
    let trace = connecting(4, 50, 49);
    let query = Query { range: Some((500_000_000, 1_000_000_000)), ..Query::default() };
    let fold = Fold::new(&trace, &query).unwrap();
    assert!(findings_of(&fold).iter().all(|(def, _)| def.id != "connection-churn"));
}

proptest! {
    /// A damaged table may hold any number.
    #[test]
    fn any_numbers_are_no_panic(rows in 1usize..6, connects: u32, brief: u32, ns: u64) {
        let mut trace = connecting(rows, connects, brief % 1_000);
        trace.connects.brief.fill(brief);
        trace.connects.connect_ns.fill(ns);
        trace.connects.life_ns.fill(ns);
        let _ = found(&trace);
    }
}
