//! Event loops that are blocked, and those that only look so.

use dwell_model::WakerKind;
use dwell_store::tables::ThreadRow;

use super::*;

/// A trace of one thread, with a sample in each millisecond that it runs.
fn sampled(cells: &str) -> Trace {
    let mut trace = build(&[("loop", cells.chars().collect())], 2);
    let whole: Vec<SampleRow> = (0..trace.samples.len()).filter_map(|row| trace.samples.row(row)).collect();
    trace.samples = Samples::default();
    for row in whole {
        for cell in (0..row.weight_ns / CELL).rev() {
            trace.samples.push(SampleRow { time_ns: row.time_ns - cell * CELL, weight_ns: CELL, ..row.clone() });
        }
    }
    trace
}

const BLOCKED: &str = "event-loop-blocked";

#[test]
fn a_loop_is_blocked_by_a_computation() {
    let turns = ["eeee1"; 5].concat() + "eeee" + &"2".repeat(200);
    let trace = sampled(&(turns.repeat(10) + "e"));
    let found = the(BLOCKED, &trace);
    assert_eq!((found.subject.as_str(), found.cost_ns), ("loop", 10 * 200 * CELL));
    assert_eq!(found.during, Some((29 * CELL, 229 * CELL)));
    let evidence = "As far as samples show, 10 turns of the loop took 10 ms or more, 2.00 s in all: 200 ms at most, 200 ms by the median, \
                    where the others take 1.00 ms. It ran for 100.0 % of that time and waited for 0.0 %; 100.0 % of it \
                    is in f2 (app.c:";
    assert!(found.evidence.to_string().starts_with(evidence), "{}", found.evidence);
    // Two long turns, a small part of the time, are no habit.
    let seldom = "eeee1".repeat(6_000) + "eeee" + &"2".repeat(200) + "ee" + &"2".repeat(200) + "e";
    assert!(!ids(&sampled(&seldom)).contains(&BLOCKED));
}

/// A test runner waits for what its workers tell: these work for it.
#[test]
fn a_loop_that_only_its_children_wake_is_late_for_nobody() {
    let turns = (["eeee1"; 5].concat() + "eeee" + &"2".repeat(200)).repeat(10) + "e";
    let told = |parent: ProcessId| {
        let mut trace = sampled(&turns);
        let (process, thread) = (trace.processes.row(0).unwrap(), trace.threads.row(0).unwrap());
        let other = ProcessId::new(trace.processes.push(ProcessRow { pid: 77, parent, ..process }));
        let waker = ThreadId::new(trace.threads.push(ThreadRow { tid: 77, process: other, ..thread }));
        trace.off_cpu.waker.fill(waker);
        trace.off_cpu.waker_kind.fill(WakerKind::Thread.code());
        trace.off_cpu.outcome.fill(Outcome::Woken.code());
        trace.tables_changed();
        ids(&trace).contains(&BLOCKED)
    };
    assert!(told(ProcessId::NONE) && !told(ProcessId::new(0)));
}

#[test]
fn a_loop_is_blocked_by_a_wait_within_a_turn() {
    let sleeps = ["eeee1"; 5].concat() + "eeee1" + &"s".repeat(30) + "1";
    let found = the(BLOCKED, &sampled(&(sleeps.repeat(10) + "e")));
    assert_eq!(found.cost_ns, 10 * 30 * CELL);
    let text = found.evidence.to_string();
    assert!(text.contains("It ran for 0.0 % of that time and waited for 100.0 %") && text.contains("use_s"), "{text}");
    // One that polls ten times and then does something else is no loop.
    assert!(!ids(&sampled(&("e1".repeat(9) + &"s".repeat(500)))).contains(&BLOCKED));
}

/// Polls that return at once leave nothing: many short turns look like a long one.
#[test]
fn a_busy_loop_is_not_blocked() {
    let short = "eeee1".repeat(20);
    let of_one_handler = short.clone() + &"11~1111~1~".repeat(50) + "e";
    assert!(!ids(&sampled(&of_one_handler.repeat(3))).contains(&BLOCKED));
    let of_two_handlers = short.clone() + &"1112221122".repeat(50) + "e";
    assert!(!ids(&sampled(&of_two_handlers.repeat(3))).contains(&BLOCKED));
    // Some go without a sample in a call for long, as chance has it.
    let by_chance = short + &("1".repeat(20) + "~11~1111111~" + &"1".repeat(13) + "~1~").repeat(20) + "e";
    assert!(!ids(&sampled(&by_chance.repeat(3))).contains(&BLOCKED));
}

#[test]
fn a_loop_is_not_blocked_by_the_run_queue() {
    let queued = "eeee1".repeat(5) + "eeee1" + &"-".repeat(50) + "1";
    assert!(!ids(&sampled(&(queued.repeat(10) + "e"))).contains(&BLOCKED));
    // A turn that is preempted is as long as it ran.
    let preempted = "eeee1".repeat(5) + "eeee" + &("2".repeat(100) + "------").repeat(2);
    assert_eq!(the(BLOCKED, &sampled(&(preempted.repeat(10) + "e"))).cost_ns, 10 * 200 * CELL);
}

#[test]
fn a_loop_is_blocked_in_a_time_range() {
    let calm = "eeee1".repeat(100);
    let blocked = ("eeee1".repeat(4) + "eeee" + &"2".repeat(200)).repeat(10) + "e";
    let trace = sampled(&(calm.clone() + &blocked + &calm));
    let found = |from: u64, to: u64| {
        let query = Query { range: Some((from * CELL, to * CELL)), ..Query::default() };
        let fold = Fold::new(&trace, &query).unwrap();
        findings_of(&fold).into_iter().find(|(def, _)| def.id == BLOCKED).map(|(_, finding)| finding)
    };
    assert!(found(0, 500).is_none() && found(2_741, 3_200).is_none());
    let inside = found(500, 2_741).unwrap();
    assert_eq!((inside.cost_ns, inside.during), (10 * 200 * CELL, Some((524 * CELL, 724 * CELL))));
    // What the range cuts is no whole turn.
    assert_eq!(found(550, 2_741).unwrap().cost_ns, 9 * 200 * CELL);
}

/// A process for each connection is busy for its client alone.
#[test]
fn who_serves_one_connection_is_no_event_loop() {
    let busy = (["eeee1"; 5].concat() + "eeee" + &"2".repeat(200)).repeat(10) + "e";
    let is_blocked = |name: &str, detail: &str| {
        let mut trace = sampled(&busy);
        let row = trace.objects.name.iter().position(|name| name == "e").expect("a set");
        (trace.objects.name[row], trace.objects.detail[row]) = (name.into(), detail.into());
        ids(&trace).contains(&BLOCKED)
    };
    assert!(!is_blocked("epoll {pipe, signalfd} #3", "pipe:[1], anon_inode:[signalfd]"));
    assert!(!is_blocked("epoll {connections, pipe}", "TCP 127.0.0.1:5432 -> 127.0.0.1:41000, pipe:[1]"));
    assert!(!is_blocked("poll {pipe}", ""));
    assert!(is_blocked(
        "epoll {connections, pipe}",
        "TCP 127.0.0.1:80 -> 127.0.0.1:41000, TCP 127.0.0.1:80 -> 127.0.0.1:41002"
    ));
    assert!(is_blocked("epoll {TCP listen 127.0.0.1:80}", "TCP listen 127.0.0.1:80"));
    assert!(is_blocked("epoll {Unix pair}", "Unix pair"));
    assert!(is_blocked("epoll {eventfd, pipe}", "anon_inode:[eventfd], pipe:[1]"));
    assert!(is_blocked("epoll", ""));
}

/// Several threads that wait for the same events take them for one that is busy.
#[test]
fn loops_that_share_their_events_are_not_blocked() {
    let alone = (["eeee1"; 5].concat() + "eeee" + &"2".repeat(200)).repeat(10) + "e";
    let mut trace = sampled(&alone);
    assert!(ids(&trace).contains(&BLOCKED));
    let other = trace.threads.row(0).unwrap();
    trace.threads.push(other);
    let row = trace.off_cpu.row(0).unwrap();
    trace.off_cpu.push(OffCpuRow { thread: ThreadId::new(1), start_ns: 700 * CELL, ..row });
    trace.tables_changed();
    assert!(!ids(&trace).contains(&BLOCKED));
}

/// What a pool has done for the loop can wait until the loop looks: nobody else is late.
#[test]
fn a_loop_that_only_its_pool_wakes_is_late_for_nobody() {
    let alone = (["eeee1"; 5].concat() + "eeee" + &"2".repeat(200)).repeat(10) + "e";
    let mut trace = sampled(&alone);
    let worker = ThreadId::new(1);
    trace.threads.push(trace.threads.row(0).unwrap());
    let rows = trace.off_cpu.thread.len();
    for row in 0..rows {
        (trace.off_cpu.waker[row], trace.off_cpu.outcome[row]) = (worker, Outcome::Woken.code());
    }
    trace.tables_changed();
    assert!(ids(&trace).contains(&BLOCKED), "another thread gives it work");
    let task =
        OffCpuRow { thread: worker, waker: ThreadId::new(0), object: ObjectId::NONE, ..trace.off_cpu.row(0).unwrap() };
    trace.off_cpu.push(task);
    trace.tables_changed();
    assert!(!ids(&trace).contains(&BLOCKED), "the loop gave it the work");
    trace.off_cpu.outcome[rows / 2] = Outcome::TimedOut.code();
    trace.tables_changed();
    assert!(ids(&trace).contains(&BLOCKED), "it has timers");
}
