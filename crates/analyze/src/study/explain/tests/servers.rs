//! Who is held up where threads ask others, or share what there is of something.

use dwell_model::{FrameId, ObjectId, ObjectType, Outcome, ProcessId, StackId, ThreadId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_store::tables::StackRow;
use dwell_trace_dsl::{CELL, build, trace};

use super::causes;
use crate::study::explain::{CauseKind, Explanation, explain};

/// What a client waits for whose server's second wait ends by its time-out.
fn served(picture: &str) -> Vec<(CauseKind, String, u64)> {
    served_by(trace(picture), false)
}

/// The same, where that wait is at another place than the first, if so.
fn served_by(mut trace: Trace, is_elsewhere: bool) -> Vec<(CauseKind, String, u64)> {
    let of_server = |row: &usize| trace.threads.name[trace.off_cpu.thread[*row].get().unwrap()] == "server";
    let second = (0..trace.off_cpu.thread.len()).filter(of_server).nth(1).unwrap();
    trace.off_cpu.outcome[second] = Outcome::TimedOut.code();
    trace.off_cpu.waker[second] = ThreadId::NONE;
    if is_elsewhere {
        trace.off_cpu.stack[second] = trace.samples.stack[0];
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    causes(&explain(&fold))
}

#[test]
fn a_thread_that_waits_for_everything_on_one_object_sleeps_elsewhere() {
    // As threads of Ruby do.
    let picture = "client: ###yyyyyy#
                   server: cc#ccccc#cc
                   boss  : ##########";
    let found = served_by(trace(picture), true);
    assert!(found.contains(&(CauseKind::TimedOut, "server".into(), 5)), "{found:?}");
}

#[test]
fn a_server_that_lets_time_pass_within_a_request_sleeps() {
    let found = served(
        "client: ###yyyyyy#
         server: cc#xxxxx##",
    );
    assert!(found.contains(&(CauseKind::TimedOut, "server".into(), 5)), "{found:?}");
    // A function says that it is a sleep.
    let mut sleeps = trace(
        "client: ###yyyyyy#
         server: cc#xxxxx##",
    );
    let of_call = sleeps.frames.function.iter().position(|function| function == "use_x").unwrap();
    sleeps.frames.function[of_call] = "Item_func_sleep::val_int".into();
    let found = served_by(sleeps, false);
    assert!(found.contains(&(CauseKind::Slept, "server".into(), 5)), "{found:?}");
    // It waits for an answer that does not come.
    let asks = served(
        "client: ###yyyyyy#
         server: cc#nnnnn##",
    );
    assert!(asks.iter().all(|(kind, ..)| *kind != CauseKind::Slept), "{asks:?}");
    // It waits for the next request.
    let listens = served(
        "client: ###yyyyyy#
         server: cc#ccccc##",
    );
    assert_eq!(listens, []);
}

/// What clients wait for, in a program of their own, of a server in another one.
fn of_two_programs(picture: &str) -> Vec<(CauseKind, String, u64)> {
    of_two_programs_by(picture, |_| ())
}

/// The same of a trace that is changed before.
fn of_two_programs_by(picture: &str, change: impl FnOnce(&mut Trace)) -> Vec<(CauseKind, String, u64)> {
    let mut trace = trace(picture);
    change(&mut trace);
    let mut server = trace.processes.row(0).unwrap();
    server.name = "server".into();
    trace.processes.push(server);
    for (thread, name) in trace.threads.name.iter().enumerate() {
        trace.threads.process[thread] = ProcessId::new(usize::from(!name.starts_with("cli")));
        trace.threads.parent[thread] = ThreadId::NONE;
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    causes(&explain(&fold))
}

#[test]
fn a_client_connects_though_its_server_greets_it_first() {
    let found = of_two_programs(
        "cli   : #x#xxxx#
         serve :  #ysss##
         listen: e#######",
    );
    assert_eq!(found, [(CauseKind::Slept, "serve of server".into(), 3), (CauseKind::Ran, "serve of server".into(), 2)]);
}

#[test]
fn threads_of_a_server_that_wait_for_one_another_within_requests_have_work() {
    let found = of_two_programs(
        "cli    : #n#nnnnn#
         serve-1:  #nxxx##
         serve-2:    ss#
         listen : e########",
    );
    assert!(found.contains(&(CauseKind::Slept, "serve-N of server".into(), 2)), "{found:?}");
}

/// What threads of one role wait for whose mate always has it, and is called by `caller` where it wakes them.
fn hogged(caller: &str, mate: &str) -> (u64, u64) {
    let lines: Vec<(&str, Vec<char>)> = vec![
        (mate, "#".repeat(30).chars().collect()),
        ("w1", ("#".to_owned() + &"xx-".repeat(9)).chars().collect()),
        ("w2", ("##".to_owned() + &"yy-".repeat(9)).chars().collect()),
    ];
    let mut trace = build(&lines, 4);
    let [outer, called] = ["main", "work"].map(|name| trace.frames.function.iter().position(|it| it == name).unwrap());
    // The waker's stack is one of its own.
    let mut frame = trace.frames.row(outer).unwrap();
    frame.function = caller.into();
    let frame = FrameId::new(trace.frames.push(frame));
    let root = StackId::new(trace.stacks.push(StackRow { parent: StackId::NONE, frame, end: 1 }));
    let frame = FrameId::new(called);
    let waker_stack = StackId::new(trace.stacks.push(StackRow { parent: root, frame, end: 1 }));
    for row in 0..trace.off_cpu.thread.len() {
        trace.off_cpu.waker[row] = ThreadId::new(0);
        trace.off_cpu.waker_stack[row] = waker_stack;
        trace.off_cpu.outcome[row] = Outcome::Woken.code();
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let whole = explain(&fold).whole();
    (whole.demand_ns / CELL, whole.idle_ns / CELL)
}

/// A thread of Ruby waits for a monitor and for work on one object, in two stacks.
#[test]
fn what_is_a_lock_in_one_stack_is_none_in_another() {
    let repeated = |cells: &str| cells.repeat(18);
    let lines: Vec<(&str, Vec<char>)> = vec![
        ("boss", "#".repeat(60).chars().collect()),
        ("w0", "#".repeat(60).chars().collect()),
        ("w1", ("#".to_owned() + &repeated("xx-")).chars().collect()),
        ("w2", ("##".to_owned() + &repeated("yy-")).chars().collect()),
    ];
    let mut trace = build(&lines, 4);
    let [waits_in, called] =
        ["main", "work"].map(|name| trace.frames.function.iter().position(|it| it == name).unwrap());
    let mut push = |frame: usize, parent: StackId| {
        StackId::new(trace.stacks.push(StackRow { parent, frame: FrameId::new(frame), end: 1 }))
    };
    let root = push(waits_in, StackId::NONE);
    let waker_stack = push(called, root);
    let elsewhere = push(called, StackId::NONE);
    for row in 0..trace.off_cpu.thread.len() {
        let is_for_work = row % 4 >= 2;
        trace.off_cpu.waker[row] = ThreadId::new(if is_for_work { 0 } else { 1 });
        trace.off_cpu.waker_stack[row] = waker_stack;
        trace.off_cpu.outcome[row] = Outcome::Woken.code();
        if is_for_work {
            trace.off_cpu.stack[row] = elsewhere;
        }
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let whole = explain(&fold).whole();
    let waits = trace.off_cpu.wait_ns.iter().filter(|ns| **ns > 0).count() as u64;
    let for_lock =
        (0..trace.off_cpu.thread.len()).filter(|row| row % 4 < 2 && trace.off_cpu.wait_ns[*row] > 0).count() as u64;
    assert!(for_lock > 8 && for_lock < waits);
    assert_eq!((whole.demand_ns / CELL, whole.idle_ns / CELL), (2 * for_lock, 2 * (waits - for_lock)));
}

#[test]
fn who_takes_back_at_once_what_others_wait_for_holds_them_up() {
    assert_eq!(hogged("main", "w0"), (36, 0));
    assert_eq!(hogged("run_task", "w0"), (0, 36), "a task gives work to others");
    assert_eq!(hogged("main", "dispatcher").0, 0, "another role gives them work");
}

/// What a client waits for whose broker, a loop that both connected to, answers once a worker has told it the answer.
#[test]
fn a_client_waits_for_the_worker_behind_a_broker() {
    let mut trace = trace(
        "client: ####nnnnnnn#
         worker: #nnnn#sss###
         broker: e#ee#eeeee##",
    );
    let mut other = trace.processes.row(0).unwrap();
    for (thread, name) in trace.threads.name.clone().into_iter().enumerate() {
        other.name.clone_from(&name);
        other.command_line = name;
        trace.threads.process[thread] = ProcessId::new(trace.processes.push(other.clone()));
        trace.threads.parent[thread] = ThreadId::NONE;
    }
    let of_kind = |kind: ObjectType| trace.objects.kind.iter().position(|it| *it == kind.code()).unwrap();
    let (set, socket) = (of_kind(ObjectType::Event), of_kind(ObjectType::Socket));
    trace.objects.name[set] = "epoll {TCP listen 0.0.0.0:6379, connections}".into();
    trace.objects.name[socket] = "TCP 127.0.0.1:* -> 127.0.0.1:6379".into();
    let [client, worker, broker] = [0, 1, 2].map(ThreadId::new);
    for row in 0..trace.off_cpu.thread.len() {
        let (of, end) = (trace.off_cpu.thread[row], trace.off_cpu.start_ns[row] + trace.off_cpu.wait_ns[row]);
        if of == broker {
            trace.off_cpu.waker[row] = if end == 4 * CELL { client } else { worker };
        } else if trace.off_cpu.object[row] == ObjectId::new(socket) {
            trace.off_cpu.waker[row] = broker;
        }
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let found = causes(&explain(&fold));
    let slept: Vec<_> = found.iter().filter(|(kind, ..)| *kind == CauseKind::Slept).collect();
    assert!(matches!(slept[..], [(_, role, 3)] if role.contains("worker")), "{found:?}");
}

#[test]
fn permits_that_two_have_are_a_lock_for_the_others() {
    let lines: Vec<(&str, Vec<char>)> = ["w1", "w2", "w3", "w4"]
        .into_iter()
        .zip(["x", "y", "z", "v"])
        .enumerate()
        .map(|(late, (name, object))| {
            (name, ("#".repeat(late + 1) + &format!("{object}##").repeat(8)).chars().collect())
        })
        .collect();
    let mut trace = build(&lines, 4);
    let mut rows: Vec<usize> = (0..trace.off_cpu.thread.len()).collect();
    rows.sort_by_key(|row| (trace.off_cpu.start_ns[*row], trace.off_cpu.thread[*row]));
    for (at, row) in rows.iter().enumerate() {
        trace.off_cpu.stack[*row] = trace.off_cpu.stack[rows[0]];
        // Who was woken two wake-ups ago had the other permit since.
        trace.off_cpu.waker[*row] = trace.off_cpu.thread[rows[at.saturating_sub(2)]];
        trace.off_cpu.outcome[*row] = Outcome::Woken.code();
    }
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let whole = explain(&fold).whole();
    assert!(whole.demand_ns > 0 && whole.idle_ns <= 2 * CELL, "{whole:?}");
}

#[test]
fn a_server_whose_clients_are_not_recorded_sleeps_while_they_wait() {
    let served = |waker: WakerKind| {
        let mut trace = trace(&format!("server: {}", "e#sss#".repeat(6)));
        let set = trace.objects.kind.iter().position(|kind| *kind == ObjectType::Event.code()).unwrap();
        trace.objects.name[set] = "epoll {TCP listen 0.0.0.0:80, connections}".into();
        for row in 0..trace.off_cpu.thread.len() {
            if trace.off_cpu.object[row] == ObjectId::new(set) {
                trace.off_cpu.waker_kind[row] = waker.code();
            }
        }
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let explanation = explain(&fold);
        assert_eq!(explanation.demand_ns, 0, "nobody who is recorded waits");
        let slept = |explanation: &Explanation<'_, '_>| {
            let slept = explanation.causes.iter().find(|root| root.cause.kind == CauseKind::Slept);
            slept.map_or(0, |root| root.served_ns / CELL)
        };
        let (exact, mut estimated) = (slept(&explanation), explanation);
        // Of a half of the time, all of it is twice as much.
        estimated.scale(2.0);
        assert_eq!(slept(&estimated), 2 * exact);
        exact
    };
    assert_eq!(served(WakerKind::Network), 18);
    assert_eq!(served(WakerKind::Timer), 0, "nobody asked it");
}

#[test]
fn what_tcp_holds_back_within_a_machine_keeps_the_client() {
    let causes_of = |cells: usize| {
        let wait = "n".repeat(cells);
        of_two_programs_by(
            &format!(
                "client: #{wait}##
                 server: n{}##",
                "m".repeat(cells)
            ),
            |trace| {
                let of_kind = |kind: ObjectType| trace.objects.kind.iter().position(|it| *it == kind.code()).unwrap();
                let (ask, answer) = (of_kind(ObjectType::Socket), of_kind(ObjectType::Mutex));
                trace.objects.name[ask] = "TCP 127.0.0.1:* -> 127.0.0.1:80".into();
                trace.objects.kind[answer] = ObjectType::Socket.code();
                trace.objects.name[answer] = "TCP 127.0.0.1:80 -> 127.0.0.1:*".into();
                for row in 0..trace.off_cpu.thread.len() {
                    let is_servers = trace.off_cpu.object[row] == ObjectId::new(answer);
                    trace.off_cpu.syscall[row] = 45; // recvfrom
                    if is_servers {
                        trace.off_cpu.waker[row] = ThreadId::NONE;
                        trace.off_cpu.waker_kind[row] = WakerKind::Network.code();
                    } else if trace.off_cpu.thread[row] == ThreadId::new(0) {
                        trace.off_cpu.waker[row] = ThreadId::new(1);
                    }
                }
            },
        )
    };
    let network = |cells: usize| causes_of(cells).iter().any(|(kind, ..)| *kind == CauseKind::Network);
    assert!(network(41), "an ACK is delayed for 40 ms");
    assert!(!network(5), "a server without work");
}

#[test]
fn who_has_a_lock_that_is_handed_on_is_not_without_work_while_its_client_thinks() {
    // As InnoDB's row locks: an object for each waiter, and whoever has the row was woken last.
    let mut trace = trace(
        "w1: #nn#xxxxxxxx#nn#xxxxxxxx#nn#xxxx
         w2: yyyy#nn#yyyyyyyy#nn#yyyyyyyy#nn#
         w3: zzzzzzzz#nn#zzzzzzzz#nn#zzzzzzzz",
    );
    let of_lock = |trace: &Trace, row: usize| {
        trace.off_cpu.object[row].get().is_some_and(|object| trace.objects.name[object] != "n")
    };
    let at =
        (0..trace.off_cpu.thread.len()).find(|row| of_lock(&trace, *row)).map(|row| trace.off_cpu.stack[row]).unwrap();
    for row in 0..trace.off_cpu.thread.len() {
        if of_lock(&trace, row) {
            trace.off_cpu.stack[row] = at;
            continue;
        }
        trace.off_cpu.waker[row] = ThreadId::NONE;
        trace.off_cpu.waker_kind[row] = WakerKind::Network.code();
        trace.off_cpu.outcome[row] = Outcome::Woken.code();
    }
    let connection = trace.objects.name.iter().position(|name| name == "n").unwrap();
    trace.objects.name[connection] = "TCP 10.0.0.1:3306 -> 10.0.0.2:*".into();
    trace.tables_changed();
    let query = Query::default();
    let fold = Fold::new(&trace, &query).unwrap();
    let found = causes(&explain(&fold));
    let of_client = found.iter().find(|(kind, ..)| *kind == CauseKind::Network).unwrap_or_else(|| panic!("{found:?}"));
    assert!(of_client.2 >= 20, "{found:?}");
}

/// A recording of what was there before it.
fn attached(picture: &str) -> Trace {
    let mut trace = trace(picture);
    trace.threads.start_ns.fill(0);
    trace.manifest.source = "bpf".into();
    trace.manifest.command.clear();
    trace
}

#[test]
fn what_children_do_is_told_where_a_thread_that_was_there_mostly_waits_for_them() {
    let told = |ends: bool| {
        let mut trace = attached(
            "script: xxxxx##xxxxx##xxxxx##
             child : ssss###ssss###ssss###",
        );
        let mut child = trace.processes.row(0).unwrap();
        child.parent = ProcessId::new(0);
        trace.processes.push(child);
        trace.threads.process[1] = ProcessId::new(1);
        let of_script = (0..trace.off_cpu.thread.len()).filter(|row| trace.off_cpu.thread[*row] == ThreadId::new(0));
        for row in of_script.collect::<Vec<_>>() {
            let object = trace.off_cpu.object[row].get().unwrap();
            trace.objects.kind[object] = ObjectType::ChildProcess.code();
            trace.off_cpu.outcome[row] = if ends { Outcome::Woken } else { Outcome::Unfinished }.code();
        }
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let slept = |root: &&crate::study::explain::RootCause| root.cause.kind == CauseKind::Slept;
        explain(&fold).causes.iter().find(slept).map_or(0, |root| root.served_ns / CELL)
    };
    assert_eq!(told(true), 12);
    assert_eq!(told(false), 0, "a master waits for its workers as long as they live");
}

#[test]
fn who_waits_in_a_pipeline_is_given_work_by_the_stage_before() {
    let waits = |first: &str| {
        let mut trace = trace(&format!(
            "feed: ###ssssss###ssssss###ssssss###
             w1  : {first}
             w2  : yyyyy##yyyyyyy##yyyyyyy##yyyyy
             w3  : zzzzzz##zzzzzzz##zzzzzzz##zzzz",
        ));
        let stack = trace.off_cpu.stack[1];
        for row in 0..trace.off_cpu.thread.len() {
            if trace.off_cpu.thread[row] != ThreadId::new(0) {
                trace.off_cpu.stack[row] = stack;
                trace.off_cpu.outcome[row] = Outcome::Woken.code();
            }
        }
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        explain(&fold).demand_ns / CELL
    };
    assert_eq!(waits("xxxx##xxxxxxx##xxxxxxx##xxxxxx"), 0);
}

#[test]
fn one_callback_that_keeps_a_loop_for_long_keeps_whoever_asks() {
    let served = |callback: &str| {
        let mut trace = trace(&format!("loop: {}eeee", format!("eeee{callback}").repeat(6)));
        for row in 0..trace.off_cpu.thread.len() {
            trace.off_cpu.waker[row] = ThreadId::NONE;
            trace.off_cpu.waker_kind[row] = WakerKind::Network.code();
            trace.off_cpu.outcome[row] = Outcome::Woken.code();
        }
        // A sample for each cell.
        let whole = std::mem::take(&mut trace.samples);
        for mut sample in (0..whole.time_ns.len()).filter_map(|row| whole.row(row)) {
            let (to, cells) = (sample.time_ns, sample.weight_ns / CELL);
            sample.weight_ns = CELL;
            for before in (0..cells).rev() {
                sample.time_ns = to - before * CELL;
                trace.samples.push(sample.clone());
            }
        }
        let set = trace.objects.name.iter().position(|name| name == "e").unwrap();
        trace.objects.name[set] = "epoll {connections}".into();
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        explain(&fold).causes.iter().map(|root| root.served_ns / CELL).max().unwrap_or(0)
    };
    assert_eq!(served("111111111111"), 72);
    assert_eq!(served("123412341234"), 0, "many callbacks");
    assert_eq!(served("1111"), 0, "short ones");
}

/// Numbers of system calls (arch/x86/entry/syscalls/syscall_64.tbl).
const POLL: i16 = 7;
const EPOLL_WAIT: i16 = 232;

#[test]
fn a_poll_that_times_out_in_a_loops_callback_keeps_whoever_asks() {
    let kept = |call: i16, waits_for: &str| {
        let mut trace = trace(&format!("loop: {}eee", "eeexxxxxx#".repeat(6)));
        let set = trace.objects.name.iter().position(|name| name == "e").unwrap();
        for row in 0..trace.off_cpu.thread.len() {
            let is_in_loop = trace.off_cpu.object[row].get() == Some(set);
            trace.off_cpu.waker[row] = ThreadId::NONE;
            let kind = if is_in_loop { WakerKind::Network } else { WakerKind::Timer };
            trace.off_cpu.waker_kind[row] = kind.code();
            trace.off_cpu.outcome[row] = if is_in_loop { Outcome::Woken } else { Outcome::TimedOut }.code();
            if !is_in_loop {
                trace.off_cpu.syscall[row] = call;
            }
        }
        trace.objects.name.fill(waits_for.into());
        trace.objects.name[set] = "epoll {TCP listen 127.0.0.1:80, connections}".into();
        trace.tables_changed();
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let found = explain(&fold);
        let kept = found.causes.iter().find(|root| root.cause.kind == CauseKind::TimedOut);
        kept.map_or(0, |root| root.served_ns / CELL)
    };
    assert_eq!(kept(POLL, "poll {Unix pair}"), 36);
    assert_eq!(kept(EPOLL_WAIT, "epoll {Unix pair}"), 0, "the loop waits for times of its own");
    let answer = "poll {TCP 127.0.0.1:* -> 127.0.0.1:5432}";
    assert_eq!(kept(POLL, answer), 0, "who is to answer tells more");
}
