//! What the program's end waited for, though nobody else was delayed by it.

use dwell_model::{ObjectType, Outcome, ProcessId, ThreadId, WakerKind};
use dwell_query::question::query::Query;
use dwell_store::tables::OpenRequestRow;
use dwell_store::{Rival, Trace};
use dwell_trace_dsl::{CELL, text, trace};
use dwell_view::{Row, Value};

use super::{column, of};
use crate::reports::Report;

/// The waits of a thread end by their time-outs.
fn with_time_outs(picture: &str, thread: &str) -> Trace {
    let mut trace = trace(picture);
    let row = trace.threads.name.iter().position(|name| name == thread).unwrap();
    for wait in 0..trace.off_cpu.thread.len() {
        if trace.off_cpu.thread[wait] == ThreadId::new(row) {
            trace.off_cpu.outcome[wait] = Outcome::TimedOut.code();
            trace.off_cpu.waker[wait] = ThreadId::NONE;
        }
    }
    trace.tables_changed();
    trace
}

/// A look at the connections of the first process, on `open` of which a request waits.
fn look(time_ns: u64, is_incoming: bool, endpoint: &str, open: u32) -> OpenRequestRow {
    OpenRequestRow {
        time_ns,
        process: ProcessId::new(0),
        is_incoming,
        endpoint: endpoint.into(),
        connections: 8,
        open,
        requests: 4,
        answers: 4,
    }
}

/// What `explain` tells first: its words.
fn first_cause(trace: &Trace) -> String {
    let view = of(Report::Explain, trace, &Query::default());
    match column(&view, "cause").first() {
        Some(Value::Prose(cause)) => cause.to_string(),
        _ => text(&view),
    }
}

/// A wake-up is lost: the main thread waits for an answer, and the consumer for the question that is there.
const LOST_WAKE_UP: &str = "
    main    : ##cccccccc#
    consumer:  #xxxxxxx##
";

#[test]
fn a_time_out_that_the_end_waited_for_is_told() {
    let told = first_cause(&with_time_outs(LOST_WAKE_UP, "consumer"));
    assert!(told.starts_with("consumer waited for futex x until its time-out in use_x"), "{told}");
    assert!(told.contains("7.00 ms of the program's 11.0 ms"), "{told}");
}

#[test]
fn what_delays_others_comes_before_how_long_the_program_was_to_run() {
    let main = "main: #sssssssssss#";
    let held = format!("{main}\na: #mmmm#mmmm###\nb: #sss1#sss1###");
    let told = first_cause(&trace(&held));
    assert!(told.starts_with("b slept in use_s (app.c:12): explains 6.00 ms of waits"), "{told}");
    // Hardly anybody is delayed: then the sleep itself may be what is wrong.
    let hardly = format!("{main}\na: #mm##########\nb: #s1##########");
    let told = first_cause(&trace(&hardly));
    assert!(told.starts_with("main slept in use_s"), "{told}");
}

#[test]
fn the_timer_of_a_runtime_is_not() {
    let mut trace = with_time_outs(LOST_WAKE_UP, "consumer");
    let futex = trace.objects.kind.iter().position(|kind| *kind == ObjectType::Futex.code()).unwrap();
    trace.objects.kind[futex] = ObjectType::GoRuntime.code();
    trace.tables_changed();
    let told = first_cause(&trace);
    assert!(!told.contains("time-out"), "{told}");
}

#[test]
fn a_thread_whose_wait_the_end_broke_off_did_not_end_the_program() {
    let mut trace = trace(
        "
        main    : ##ssssss1
        daemon  :  #xxxxxxx##
    ",
    );
    let daemon = trace.threads.name.iter().position(|name| name == "daemon").unwrap();
    for row in 0..trace.off_cpu.thread.len() {
        if trace.off_cpu.thread[row] == ThreadId::new(daemon) {
            trace.off_cpu.outcome[row] = Outcome::Interrupted.code();
        }
    }
    trace.tables_changed();
    let told = first_cause(&trace);
    assert!(told.starts_with("main slept in use_s"), "{told}");
}

/// Its number on x86-64.
const EPOLL_WAIT: i16 = 232;

/// What a program asks is not recorded: the object `x` of its waits has this name, and others end them.
fn asks_outside(picture: &str, name: &str, kind: ObjectType) -> Trace {
    let mut trace = trace(picture);
    let object = trace.objects.name.iter().position(|name| name.contains('x')).unwrap();
    trace.objects.name[object] = name.to_owned();
    trace.objects.kind[object] = kind.code();
    for row in 0..trace.off_cpu.thread.len() {
        trace.off_cpu.waker[row] = ThreadId::NONE;
        if kind == ObjectType::Event {
            trace.off_cpu.syscall[row] = EPOLL_WAIT;
        }
        let is_set = kind == ObjectType::Event;
        trace.off_cpu.waker_kind[row] = if is_set { WakerKind::Network } else { WakerKind::Unknown }.code();
    }
    trace.tables_changed();
    trace
}

/// An event loop of a client that asks three times.
const CLIENT: &str = "main    : ##xxxx#xxxx#xxxx##";

#[test]
fn answers_that_a_clients_loop_waited_for_are_told() {
    let told = first_cause(&asks_outside(CLIENT, "epoll {TCP 10.0.0.1:* -> 10.0.0.2:80, pipe}", ObjectType::Event));
    assert!(told.starts_with("main waited for epoll"), "{told}");
    assert!(told.contains("ended by the network, for 12.0 ms of the program's 18.0 ms"), "{told}");
}

#[test]
fn questions_that_a_server_waited_for_are_not() {
    for set in
        ["epoll {connections, pipe}", "epoll {TCP listen 0.0.0.0:80, TCP 10.0.0.1:* -> 10.0.0.2:80}", "epoll {pipe}"]
    {
        let told = first_cause(&asks_outside(CLIENT, set, ObjectType::Event));
        assert!(!told.contains(" of the program's "), "{set}: {told}");
    }
}

#[test]
fn a_signal_that_ends_a_client_is_no_answer() {
    let mut trace = asks_outside(CLIENT, "epoll {TCP 10.0.0.1:* -> 10.0.0.2:80}", ObjectType::Event);
    *trace.off_cpu.outcome.last_mut().unwrap() = Outcome::Interrupted.code();
    trace.tables_changed();
    let told = first_cause(&trace);
    assert!(!told.contains(" of the program's "), "{told}");
}

#[test]
fn channels_are_told_where_they_are_waited_for_again_and_again() {
    let again = "main    : ##xxxx#xxxx#xxxx#xxxx##";
    let once = "main    : ##xxxxxxxxxxxxxxxx##";
    let told = |picture| first_cause(&asks_outside(picture, "Select in main.take", ObjectType::Channel));
    assert!(told(again).contains("for 16.0 ms of the program's 23.0 ms"), "{}", told(again));
    assert!(!told(once).contains(" of the program's "), "{}", told(once));
}

#[test]
fn timers_of_a_loop_that_serves_nobody_are_told() {
    let told = |set: &str| {
        let mut trace = asks_outside(CLIENT, set, ObjectType::Event);
        trace.off_cpu.outcome.iter_mut().for_each(|outcome| *outcome = Outcome::TimedOut.code());
        trace.tables_changed();
        first_cause(&trace)
    };
    let own = told("epoll {Unix pair, eventfd}");
    let expected =
        "main waited in its event loop for a timer of its own in use_x (app.c:12) for 12.0 ms of the program's 18.0 ms";
    assert!(own.starts_with(expected), "{own}");
    let of_server = told("epoll {TCP listen 0.0.0.0:80, eventfd}");
    assert!(!of_server.contains("timer of its own"), "{of_server}");
}

#[test]
fn timers_of_a_loop_that_listens_and_is_never_asked_are_told() {
    let told = |is_incoming: bool| {
        let set = "epoll {TCP 10.0.0.1:* -> 10.0.0.2:80, TCP listen 127.0.0.1:6023}";
        let mut trace = asks_outside(CLIENT, set, ObjectType::Event);
        trace.off_cpu.outcome.iter_mut().for_each(|outcome| *outcome = Outcome::TimedOut.code());
        trace.open_requests.push(look(CELL, is_incoming, "TCP 10.0.0.2:80", 1));
        trace.tables_changed();
        first_cause(&trace)
    };
    assert!(told(false).contains("for a timer of its own"), "{}", told(false));
    assert!(!told(true).contains("timer of its own"), "{}", told(true));
}

#[test]
fn a_wait_for_an_answer_that_time_outs_cut_is_one() {
    let told = |last: Outcome| {
        let mut trace = trace("main: #nnnn#nnnn#nnnn#");
        let socket = trace.objects.name.iter().position(|name| name == "n").unwrap();
        trace.objects.name[socket] = "poll {TCP 10.0.0.1:* -> 10.0.0.2:80}".into();
        trace.off_cpu.wait_ns.iter_mut().for_each(|ns| *ns += CELL - CELL / 20); // it waits again at once
        trace.off_cpu.outcome.iter_mut().for_each(|outcome| *outcome = Outcome::TimedOut.code());
        *trace.off_cpu.outcome.last_mut().unwrap() = last.code();
        trace.off_cpu.waker.iter_mut().for_each(|waker| *waker = ThreadId::NONE);
        trace.off_cpu.waker_kind.iter_mut().for_each(|kind| *kind = WakerKind::Network.code());
        trace.tables_changed();
        first_cause(&trace)
    };
    let answered = told(Outcome::Woken);
    assert!(answered.contains("ended by the network: explains 14.8 ms"), "{answered}");
    assert!(told(Outcome::TimedOut).contains("until its time-out"), "{}", told(Outcome::TimedOut));
}

#[test]
fn what_others_did_is_told_beside_waits_that_nobody_was_seen_to_end() {
    let stages = "
        main    : ##xxxx#xxxx#xxxx#xxxx##
        encrypt : ####################
    ";
    let told = first_cause(&asks_outside(stages, "Select in main.take", ObjectType::Channel));
    assert!(told.contains(" of the program's ") && told.contains("Meanwhile encrypt ran"), "{told}");
}

#[test]
fn what_it_ran_is_told_where_other_programs_took_most_of_the_time() {
    let told = |picture: &str| {
        let mut trace = trace(picture);
        trace.manifest.cpus.usable = 1;
        trace.manifest.taken.rivals = vec![Rival { name: "stress".into(), ns: 100 * CELL }];
        text(&of(Report::Explain, &trace, &Query::default()))
    };
    let beside = told("main: 1---1---1---1---1---");
    assert!(beside.contains("main ran f1 (app.c:11) for 5.00 ms of the program's 20.0 ms"), "{beside}");
    let longest = told("main: 111---2---3---4---5---");
    assert!(longest.contains("main ran f1 (app.c:11) for 3.00 ms of the program's 22.0 ms"), "{longest}");
    let many = told("main: 1---2---3---4---5---");
    assert!(!many.contains(" of the program's "), "{many}");
}

#[test]
fn what_the_program_does_comes_before_neighbours_that_delay_it_hardly_longer() {
    let order = |picture: &str| {
        let mut trace = trace(picture);
        trace.manifest.cpus.usable = 1;
        trace.manifest.taken.rivals = vec![Rival { name: "stress".into(), ns: 100 * CELL }];
        let view = of(Report::Explain, &trace, &Query::default());
        let kind = |row: &Row| match view.value(row, "kind") {
            Some(Value::Text(kind)) => kind.clone(),
            _ => String::new(),
        };
        view.rows.iter().map(kind).collect::<Vec<_>>()
    };
    // For half as long as other programs have the CPU; for a fifth of that.
    let beside = "main: 1--".to_owned() + &"1--".repeat(40);
    assert_eq!(order(&beside), ["running", "cpus-taken"]);
    let behind = "main: 1-----".to_owned() + &"1-----".repeat(15);
    assert_eq!(order(&behind), ["cpus-taken", "running"]);
}

/// A server that makes a thread for each connection: what these wait for never comes.
#[test]
fn requests_that_wait_in_vain_are_told() {
    let picture = "
        main    : eee#eeeeeeeeeeeee
        handler :    1cccccc#
        handler :    1cccccc#
    ";
    let told = |answers: u32| {
        let mut trace = with_time_outs(picture, "handler");
        for thread in 1..trace.threads.name.len() {
            trace.threads.parent[thread] = ThreadId::new(0);
        }
        let listening = trace.objects.name.iter().position(|name| name == "e").unwrap();
        trace.objects.name[listening] = "TCP listen 127.0.0.1:80".into();
        trace.off_cpu.outcome.iter_mut().for_each(|outcome| *outcome = Outcome::TimedOut.code());
        trace.off_cpu.waker.iter_mut().for_each(|waker| *waker = ThreadId::NONE);
        for number in 0..4 {
            let row = look(number * CELL, true, "TCP :80", 2);
            trace.open_requests.push(OpenRequestRow { requests: answers, answers, ..row });
        }
        trace.tables_changed();
        text(&of(Report::Explain, &trace, &Query::default()))
    };
    assert!(told(4).contains("handler waited in vain for"), "{}", told(4));
    assert!(!told(0).contains("in vain"), "nobody is known to ask: {}", told(0));
}
