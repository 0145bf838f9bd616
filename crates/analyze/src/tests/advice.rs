//! What to do about waits whose purpose the names on their stacks tell, and about answers by how many came and how late.

use dwell_model::{ObjectType, Outcome, ProcessId, ThreadId, WakerKind};
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_store::tables::OpenRequestRow;
use dwell_trace_dsl::{CELL, text, trace};
use dwell_view::Value;

use super::{column, of};
use crate::reports::Report;

/// A trace in which functions have other names, and waits for the object `n` are over a connection and ended by `waker`.
fn with(picture: &str, names: &[(&str, &str)], waker: Option<WakerKind>) -> Trace {
    let mut trace = trace(picture);
    for (old, new) in names {
        let frame = trace.frames.function.iter().position(|function| function == old).expect("a function");
        trace.frames.function[frame] = (*new).to_owned();
    }
    for name in trace.objects.name.iter_mut().filter(|name| *name == "n") {
        *name = "TCP 127.0.0.1:* -> 127.0.0.1:80".to_owned();
    }
    if let Some(waker) = waker {
        trace.off_cpu.waker_kind.fill(waker.code());
    }
    trace.tables_changed();
    trace
}

fn advice(trace: &Trace) -> String {
    let view = of(Report::Explain, trace, &Query::default());
    let first = column(&view, "advice").into_iter().next();
    first.map_or_else(String::new, |value| match value {
        Value::Prose(advice) => advice.to_string(),
        other => format!("{other:?}"),
    })
}

#[test]
fn a_sleep_between_tries_and_one_for_a_rate_are_told() {
    let sleeps = format!("a: {}", "#sssssssss".repeat(4));
    let cases = [
        ("retry_with_backoff", "It waits before it tries again"),
        ("RateLimiter.acquire", "A limit of the rate"),
        ("nap", "If the program is meant to go at that pace"),
    ];
    for (function, expected) in cases {
        let told = advice(&with(&sleeps, &[("use_s", function)], None));
        assert!(told.starts_with(expected), "{function}: {told}");
    }
}

/// A sensor may be meant to go at its pace; whom a loop asked for an answer is not.
#[test]
fn a_sleep_before_something_is_handed_over_may_be_a_pace() {
    let told = |wait: &str| {
        let mut trace = trace(&format!("main: ##{}#\nsensor: cc#ssssssssss##", wait.repeat(12)));
        let set = trace.objects.kind.iter().position(|kind| *kind == ObjectType::Event.code());
        set.into_iter().for_each(|set| trace.objects.name[set] = "epoll {Unix pair, eventfd}".to_owned());
        trace.tables_changed();
        advice(&trace)
    };
    let (handed, asked) = (told("c"), told("e"));
    assert!(handed.starts_with("If that is the pace at which it is meant to go"), "{handed}");
    assert!(asked.starts_with("Others wait meanwhile"), "{asked}");
}

#[test]
fn answers_one_at_a_time_are_counted() {
    let asks = format!("a: {}", "#nn".repeat(25));
    let told = advice(&with(&asks, &[], Some(WakerKind::Answer)));
    assert!(told.starts_with("25 answers took 2.00 ms each on average, one at a time: ask for several"), "{told}");
    let few = format!("a: {}", "#nnnnnn".repeat(6));
    assert!(advice(&with(&few, &[], Some(WakerKind::Answer))).starts_with("Record that program too"));
}

#[test]
fn a_wait_below_an_event_loop_keeps_all_of_it() {
    let asks = format!("a: {}", "#nn".repeat(25));
    let told = advice(&with(&asks, &[("main", "BaseEventLoop._run_once")], Some(WakerKind::Answer)));
    assert!(told.starts_with("This thread runs an event loop"), "{told}");
}

#[test]
fn data_that_a_timer_brings_within_a_machine_was_held_back() {
    let late = |cells: usize| format!("a: {}", format!("#{}", "n".repeat(cells)).repeat(25));
    let told = advice(&with(&late(41), &[], Some(WakerKind::Network)));
    assert!(told.contains("25 times the data came by a timer, after 41.0 ms on average"), "{told}");
    assert!(!advice(&with(&late(3), &[], Some(WakerKind::Network))).contains("by a timer"));
}

#[test]
fn connections_that_are_asked_for_again_find_no_room() {
    let connects = |cells: usize| {
        let mut trace = with(&format!("a: #{}##", "n".repeat(cells)), &[], Some(WakerKind::Network));
        trace.off_cpu.syscall.fill(42); // connect
        trace.tables_changed();
        advice(&trace)
    };
    assert!(
        connects(1010).contains("connecting took 1.01 s on average, 1 time: most likely whoever listens"),
        "{}",
        connects(1010)
    );
    assert!(!connects(300).contains("whoever listens"));
}

#[test]
fn requests_that_wait_for_their_turns_within_a_program_are_told() {
    let told = |waiting: u32| {
        let mut trace = with(&format!("a: {}", "#nn".repeat(25)), &[], Some(WakerKind::Answer));
        for (is_incoming, endpoint, open) in [(true, "TCP :81", waiting), (false, "TCP 127.0.0.1:80", 1)] {
            for look in 0..75 {
                trace.open_requests.push(OpenRequestRow {
                    time_ns: look * CELL,
                    process: ProcessId::new(0),
                    is_incoming,
                    endpoint: endpoint.into(),
                    connections: 8,
                    open,
                    requests: 1,
                    answers: 1,
                });
            }
        }
        trace.tables_changed();
        advice(&trace)
    };
    assert!(
        told(4).starts_with("4.0 requests wait at once on average, but it asks TCP 127.0.0.1:80 for 1.0"),
        "{}",
        told(4)
    );
    assert!(!told(1).contains("requests wait at once"), "{}", told(1));
}

/// A trace of a loop that waits for answers again and again, over so many connections of which so many wait for one.
fn asking_loop(connections: u32, open: u32) -> Trace {
    loop_of("1eeeee", (connections, open))
}

/// The same of a loop whose turns are drawn.
fn loop_of(turn: &str, (connections, open): (u32, u32)) -> Trace {
    let mut trace = with(&format!("a: {}", turn.repeat(25)), &[("main", "BaseEventLoop._run_once")], None);
    trace.objects.name.fill("epoll {TCP 127.0.0.1:* -> 127.0.0.1:80}".into());
    trace.off_cpu.syscall.fill(232); // epoll_wait
    trace.off_cpu.waker.fill(ThreadId::NONE);
    trace.off_cpu.waker_kind.fill(WakerKind::Answer.code());
    for look in 0..150 {
        trace.open_requests.push(OpenRequestRow {
            time_ns: look * CELL,
            process: ProcessId::new(0),
            is_incoming: false,
            endpoint: "TCP 127.0.0.1:80".into(),
            connections,
            open,
            requests: 1,
            answers: 1,
        });
    }
    trace.tables_changed();
    trace
}

#[test]
fn one_connection_of_several_that_is_in_use_is_told() {
    let told = |connections, open| advice(&asking_loop(connections, open));
    assert!(told(8, 1).starts_with("Of the 8 connections to TCP 127.0.0.1:80 hardly more than one"), "{}", told(8, 1));
    // Nobody asks it: jobs may come over its connections.
    let one_by_one =
        "If it waits there for messages or jobs, nothing is wrong. Else it asks TCP 127.0.0.1:80 for one thing";
    assert!(told(1, 1).starts_with(one_by_one), "{}", told(1, 1));
    assert!(told(4, 4).contains("Else look for what lets no more than 4 in"), "{}", told(4, 4));
    assert!(told(8, 4).starts_with("Record that program too"), "{}", told(8, 4));
}

/// Its stack is the loop's; whoever waits in a coroutine ran before.
#[test]
fn what_a_loop_runs_between_its_waits_is_told() {
    let told = |trace: &Trace| text(&of(Report::Explain, trace, &Query::default()));
    let mut trace = asking_loop(1, 1);
    assert!(told(&trace).contains("Between these waits it ran mostly f1 (app.c:11)."), "{}", told(&trace));
    let of_two = told(&loop_of("12eeee", (1, 1)));
    assert!(of_two.contains("Between these waits it ran f1 (app.c:11) 25.0 ms, f2 ("), "{of_two}");
    let beside = told(&loop_of("11111111112e", (1, 1)));
    assert!(beside.contains("Between these waits it ran mostly f1 (app.c:11)."), "{beside}");
    trace.frames.function.iter_mut().filter(|name| *name == "f1").for_each(|name| *name = "[unknown]".into());
    trace.tables_changed();
    assert!(!told(&trace).contains("Between these waits"), "{}", told(&trace));
}

/// Nobody knows which coroutine waits for ever, but the loop ran it before.
#[test]
fn what_a_loop_ran_before_it_waits_to_the_end_is_told() {
    let picture = format!("a: 1{}", "e".repeat(99));
    let mut trace = with(&picture, &[("main", "BaseEventLoop._run_once")], None);
    trace.objects.name.fill("epoll {Unix pair}".into());
    trace.off_cpu.syscall.fill(232); // epoll_wait
    trace.off_cpu.outcome.fill(Outcome::Unfinished.code());
    trace.manifest.exit_status = None;
    trace.tables_changed();
    let told = text(&of(Report::Summary, &trace, &Query::default()));
    assert!(told.contains("a waited for epoll {Unix pair} at use_e (app.c:12), after it ran f1 (app.c:11)"), "{told}");
}

/// One that comes again and again is a pace.
#[test]
fn a_single_long_timer_of_a_loop_may_be_a_time_out() {
    let told = |times: usize| {
        let mut trace = with(&format!("a: {}", format!("1{}", "e".repeat(1100)).repeat(times)), &[], None);
        trace.objects.name.fill("epoll {eventfd}".into());
        trace.off_cpu.syscall.fill(232); // epoll_wait
        trace.off_cpu.outcome.fill(Outcome::TimedOut.code());
        trace.off_cpu.waker.fill(ThreadId::NONE);
        trace.tables_changed();
        advice(&trace)
    };
    assert!(told(1).starts_with("If that is a time-out"), "{}", told(1));
    assert!(told(3).starts_with("If the program is meant to go at that pace"), "{}", told(3));
}

/// Each question costs time on both sides: without them there would be nothing to run.
#[test]
fn many_questions_come_before_what_runs_where_they_are_asked() {
    let first = |times: usize| {
        let names = [("f1", "list"), ("use_n", "list")];
        let trace = with(&format!("a: {}", "111nn".repeat(times)), &names, Some(WakerKind::Answer));
        let first = column(&of(Report::Explain, &trace, &Query::default()), "kind").into_iter().next();
        match first {
            Some(Value::Text(kind)) => kind,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((first(120).as_str(), first(50).as_str()), ("outside", "running"));
}

/// A thread of a pool that hangs waits for ever; that of a program which is busy may wait for what others do.
#[test]
fn a_wait_that_the_recording_cuts_off_comes_last_beside_others_at_work() {
    let advice_of = |worker: &str, exit_status: Option<i32>| {
        let answered = "#bb".repeat(6);
        let mut trace = trace(&format!("main: {answered}{}\nworker: {}{worker}", "b".repeat(30), "#".repeat(18)));
        trace.manifest.exit_status = exit_status;
        let last = (0..trace.off_cpu.thread.len())
            .find(|row| trace.off_cpu.thread[*row] == ThreadId::new(0) && trace.off_cpu.wait_ns[*row] >= 30 * CELL);
        trace.off_cpu.outcome[last.expect("a long wait")] = Outcome::Unfinished.code();
        trace.tables_changed();
        text(&of(Report::Explain, &trace, &Query::default()))
    };
    let beside_work = advice_of(&"#".repeat(30), None);
    assert!(beside_work.contains("The recording ended first, and other threads"), "{beside_work}");
    for (worker, exit_status) in [("s", None), ("#", Some(0))] {
        let other = advice_of(&worker.repeat(30), exit_status);
        assert!(!other.contains("The recording ended first, and other threads"), "{other}");
    }
}

#[test]
fn the_address_that_a_goroutines_program_asks_is_told() {
    let told = |addresses: &[(&str, u32)]| {
        let mut trace = with(&format!("a: {}", "#nn".repeat(25)), &[], Some(WakerKind::Answer));
        trace.objects.name.iter_mut().for_each(|name| *name = "Response in net/http.(*persistConn).roundTrip".into());
        trace.off_cpu.syscall.fill(-1);
        for (endpoint, open) in addresses {
            for look in 0..75 {
                trace.open_requests.push(OpenRequestRow {
                    time_ns: look * CELL,
                    process: ProcessId::new(0),
                    is_incoming: false,
                    endpoint: (*endpoint).into(),
                    connections: 8,
                    open: *open,
                    requests: 1,
                    answers: 1,
                });
            }
        }
        trace.tables_changed();
        text(&of(Report::Explain, &trace, &Query::default()))
    };
    let one = told(&[("TCP 10.0.0.2:80", 9), ("TCP 10.0.0.3:80", 1)]);
    assert!(one.contains("Nearly all that it asked was at TCP 10.0.0.2:80"), "{one}");
    assert!(!told(&[("TCP 10.0.0.2:80", 2), ("TCP 10.0.0.3:80", 1)]).contains("Nearly all"));
}
