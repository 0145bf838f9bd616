//! What becomes of small traces: who ran when, why not, and on what.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use dwell_model::{Delay, ObjectType, Outcome, Reason, WakerKind};
use dwell_resolve::Options;
use dwell_store::{State, Table};
use trace::{check_conservation, finalize_bytes, loss, manifest, objects, picture, streams, trace};

const LAUNCH: &str = "
    0 new tid=10 tgid=10 name=dwell
    0 exec tid=10 name=app path=/bin/app
";

fn with(text: &str, length_ms: u64) -> dwell_store::Trace {
    let trace = trace(&format!("{LAUNCH}{text}"), length_ms);
    check_conservation(&trace);
    trace
}

#[track_caller]
fn shows(trace: &dwell_store::Trace, expected: &str) {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = |text: &str| text.lines().map(words).filter(|line| !line.is_empty()).collect();
    let (found, expected): (Vec<String>, Vec<String>) = (lines(&picture(trace)), lines(expected));
    assert_eq!(found, expected);
}

#[test]
fn a_wait_ends_with_its_wake_up_and_the_run_queue_follows() {
    let trace = with(
        "1 new tid=11 tgid=10 parent=10 parent_tgid=10 name=worker
         2 switch in=11 cpu=1
         3 switch out=10 state=1 call=202 object=0x1000 detail=0x80
         6 switch in=10 cpu=0 wake=5 by=11
         7 switch out=10 state=0x80
         7 exit tid=10 tgid=10 cpu_ms=4
         9 switch out=11 state=0 preempted",
        10,
    );
    shows(
        &trace,
        "10 app   RRRwwrR...
         11 worker .rRRRRRRRr",
    );
    let wait = (0..trace.off_cpu.len()).find(|&row| trace.off_cpu.reason[row] == Reason::Waiting.code()).expect("wait");
    assert_eq!(trace.off_cpu.outcome[wait], Outcome::Woken.code());
    assert_eq!(trace.off_cpu.waker_kind[wait], WakerKind::Thread.code());
    assert_eq!(trace.off_cpu.waker[wait].get(), Some(1));
    assert_eq!(trace.threads.kernel_cpu_ns, [4_000_000, 0]);
    assert_eq!(trace.threads.exited, [true, false]);
    assert_eq!(trace.manifest.state, State::Finalized);
}

#[test]
fn the_memory_of_a_mutex_names_its_holder() {
    let trace = with(
        "0 new tid=11 tgid=10 parent=10 parent_tgid=10 name=worker
         0 new tid=20 tgid=20 name=other
         1 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080 owner=10 # a mutex
         2 switch in=11 wake=2 by=10
         3 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080 owner=20 # in another process
         4 switch in=11 wake=4 by=10
         5 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080 owner=11 # itself
         6 switch in=11 wake=6 by=10
         7 switch out=11 state=1 call=202 object=0x2000 detail=0x80 owner=10        # no lock
         8 switch in=11 wake=8 by=10",
        10,
    );
    let waits = (0..trace.off_cpu.len()).filter(|&row| trace.off_cpu.reason[row] == Reason::Waiting.code());
    let holders: Vec<_> = waits.map(|row| trace.off_cpu.holder[row].get()).collect();
    assert_eq!(holders, [Some(0), None, None, None]);
    assert_eq!(trace.objects.kind, [ObjectType::Mutex, ObjectType::Futex].map(ObjectType::code));
}

#[test]
fn a_lock_has_the_place_of_its_last_creation_before_the_first_wait() {
    let trace = with(
        "0 stack key=7 tgid=10 tid=10 frames=4000,5000
         0 stack key=8 tgid=10 tid=10 frames=4100,5000
         0 stack key=9 tgid=10 tid=10 frames=4200,5000
         0 new tid=11 tgid=10 parent=10 parent_tgid=10 name=worker
         1 creation tid=10 address=0x1000 stack=7
         2 creation tid=10 address=0x1000 stack=8
         3 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080
         4 switch in=11 wake=4 by=10
         5 creation tid=10 address=0x1000 stack=9
         6 switch out=11 state=1 call=202 object=0x2000 detail=0x200000080
         7 switch in=11 wake=7 by=10",
        10,
    );
    let created: Vec<_> = trace.objects.created_stack.iter().map(|stack| stack.get()).collect();
    let leaf = |row: usize| trace.stacks.frame[row].get().map(|frame| trace.frames.offset[frame]);
    assert_eq!(created.iter().map(|stack| stack.and_then(leaf)).collect::<Vec<_>>(), [Some(0x4100), None]);
}

#[test]
fn a_wait_in_the_same_call_goes_on_with_the_one_before() {
    let trace = with(
        "0 new tid=11 tgid=10 parent=10 parent_tgid=10 name=worker
         1 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080
         2 switch in=11 wake=2 by=10
         2.05 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080 same_call
         3 switch in=11 wake=3 by=10
         3.05 switch out=11 state=1 call=202 object=0x1000 detail=0x200000080
         4 switch in=11 wake=4 by=10",
        5,
    );
    let waits = (0..trace.off_cpu.len()).filter(|&row| trace.off_cpu.reason[row] == Reason::Waiting.code());
    assert_eq!(waits.map(|row| trace.off_cpu.same_call[row]).collect::<Vec<_>>(), [false, true, false]);
    let (events, worker) = (trace.events(), trace.threads.tid.iter().position(|tid| *tid == 11).expect("the worker"));
    let keys = events.off_cpu.of(worker).map(|row| events.off_cpu_key(row));
    let again = keys.filter(|key| key.reason() == Some(Reason::Waiting)).map(|key| key.again());
    assert_eq!(again.collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_new_thread_is_started_by_the_one_that_made_it() {
    let trace = with(
        "0 stack key=7 tgid=10 tid=10 frames=4000,5000
         1 new tid=11 tgid=10 parent=10 parent_tgid=10 stack=7 name=worker
         2 switch in=11 cpu=1",
        4,
    );
    let row = (0..trace.off_cpu.len()).find(|&row| trace.off_cpu.thread[row].get() == Some(1)).expect("a row");
    assert_eq!(trace.off_cpu.reason[row], Reason::Starting.code());
    assert_eq!(trace.off_cpu.waker[row].get(), Some(0));
    assert_eq!(trace.off_cpu.waker_kind[row], WakerKind::Thread.code());
    assert!(trace.off_cpu.waker_stack[row].is_some());
}

#[test]
fn yielding_and_preemption_stay_runnable() {
    let trace = with(
        "1 switch out=10 state=0 call=24
         2 switch in=10
         3 switch out=10 state=1 call=202 object=8 preempted
         5 switch in=10 wake=4 by=hardirq",
        6,
    );
    shows(&trace, "10 app RrRrrR");
    let reasons: Vec<_> = trace.off_cpu.reason.iter().map(|&code| Reason::from_code(code)).collect();
    assert_eq!(reasons, [Reason::Starting, Reason::Yielded, Reason::Preempted]);
}

#[test]
fn lost_records_leave_an_interval_of_unknown_reason() {
    let trace = with(
        "2 switch out=10 state=1 call=35
         4 switch out=10 state=1 call=35
         6 switch in=10 wake=5 by=hardirq
         7 sample tid=10
         8 switch in=10",
        10,
    );
    shows(&trace, "10 app RR??wrR?RR");
    assert_eq!(loss(&trace, "repaired_intervals"), 2);
}

#[test]
fn unfinished_waits_last_to_the_end() {
    let trace = with("2 switch out=10 state=1 call=202 object=0x1000", 5);
    shows(&trace, "10 app RRwww");
    let last = trace.off_cpu.len() - 1;
    assert_eq!(trace.off_cpu.cpu[last], 65535);
    assert_eq!(trace.off_cpu.outcome[last], Outcome::Unfinished.code());
}

#[test]
fn thread_ids_are_used_again() {
    let trace = with(
        "1 new tid=11 tgid=10 name=first
         2 switch in=11
         3 switch out=11 state=0x80
         3 exit tid=11 tgid=10
         4 new tid=11 tgid=10 name=second
         5 switch in=11
         6 exit tid=11 tgid=10
         7 new tid=11 tgid=10 name=third
         8 new tid=11 tgid=10 name=fourth",
        9,
    );
    shows(
        &trace,
        "10 app    RRRRRRRRR
         11 first  .rR......
         11 second ....rR...
         11 third  .......r.
         11 fourth ........r",
    );
    assert_eq!(loss(&trace, "thread_ends_lost"), 1);
}

#[test]
fn what_is_looked_up_at_the_end_finds_the_life_of_its_time() {
    let lives: String = (0..3u32)
        .map(|life| {
            let at = 2 * life + 1;
            format!(
                "{at} new tid=11 tgid=10 name=life{life}
                 {at}.2 switch in=11
                 {at}.5 delay tid=11 us=100 kind={kind}
                 {at}.8 switch out=11 state=0x80
                 {at}.8 exit tid=11 tgid=10
                 {at}.95 delay tid=11 us=50 kind={kind}
                ",
                kind = Delay::SystemCall.code()
            )
        })
        .collect();
    let trace = with(&lives, 9);
    let threads: Vec<_> = trace.delays.delays.thread.iter().map(|thread| thread.get()).collect();
    assert_eq!(threads, [Some(1), Some(2), Some(3)]);
    assert_eq!(loss(&trace, "delays_of_unknown_threads"), 3);
}

#[test]
fn a_thread_that_was_there_is_seeded() {
    let trace = trace(
        "0 exec tid=20 name=server path=/bin/server
         1 new tid=20 tgid=20 name=server seeded
         1 switch out=20 state=1 call=202 object=0x1000 seeded
         1 new tid=21 tgid=20 name=busy seeded
         1 switch in=21 seeded
         1 new tid=22 tgid=20 name=silent seeded
         3 switch in=20 wake=2 by=21
         4 switch out=21 state=0",
        6,
    );
    check_conservation(&trace);
    shows(
        &trace,
        "20 server wwrRRR
         21 busy   RRRRrr
         22 silent ??????",
    );
    assert_eq!(trace.processes.executable, ["/bin/server"]);
    assert_eq!(loss(&trace, "threads_made_up"), 0);
}

#[test]
fn pauses_are_cut_out() {
    let trace = with(
        "1 new tid=11 tgid=10 name=gone
         1 new tid=12 tgid=10 name=sleeper
         2 switch in=11 cpu=1
         2 switch in=12 cpu=2
         3 switch out=12 state=1 call=35
         4 pause
         7 resume
         7 switch in=10 seeded
         7 switch out=12 state=1 call=35 seeded
         9 switch in=12 wake=8 by=hardirq",
        10,
    );
    shows(
        &trace,
        "10 app     RRRR...RRR
         11 gone    .rRR......
         12 sleeper .rRw...wrR",
    );
}

#[test]
fn a_collection_that_starts_paused_attaches_at_the_resume() {
    let trace = trace(
        "0 pause
         0 exec tid=20 name=server path=/bin/server
         1 new tid=20 tgid=20 name=server seeded
         1 switch out=20 state=1 call=202 object=0x1000 seeded
         1 new tid=21 tgid=20 name=gone seeded
         4 resume
         4 switch out=20 state=1 call=202 object=0x2000 seeded
         6 switch in=20 wake=5 by=99",
        8,
    );
    check_conservation(&trace);
    shows(
        &trace,
        "20 server ....wrRR
         21 gone   ........",
    );
    assert_eq!(trace.objects.address, [0x2000], "what it waited on before is nobody's concern");
}

#[test]
fn exec_from_another_thread_takes_the_process_over() {
    let trace = with(
        "1 new tid=11 tgid=10 parent=10 name=other
         2 switch in=11 cpu=1
         4 exec tid=10 old=11 name=new path=/bin/new
         5 command tgid=10 text=new,-x
         6 switch out=10 state=1 call=35
         7 exit tid=10 tgid=10 code=256",
        8,
    );
    shows(
        &trace,
        "10 app RRRR....
         10 new .rRRRRw.",
    );
    assert_eq!(trace.processes.len(), 1);
    assert_eq!((trace.processes.name[0].as_str(), trace.processes.exit_code[0]), ("new", 256));
    assert_eq!(trace.processes.command_line[0], "new -x");
}

#[test]
fn forks_have_a_parent_and_children_are_waited_for() {
    let trace = with(
        "1 new tid=30 tgid=30 parent=10 parent_tgid=10 name=app
         1 switch out=10 in=30 state=1 call=61 detail=30
         2 exec tid=30 name=child path=/bin/child
         3 switch out=30 in=10 state=0x80 wake=3 by=30
         3 exit tid=30 tgid=30
         4 switch out=10 state=1 call=61 detail=0xffffffff
         4 switch out=10 in=10 state=1 call=247 detail=1",
        5,
    );
    assert_eq!(trace.processes.parent[1].get(), Some(0));
    assert_eq!(objects(&trace), ["child-process: Child process child", "child-process: Child processes of app"]);
}

#[test]
fn threads_that_nothing_announced_are_made_up() {
    let trace = with(
        "1 stack key=7 tgid=10 tid=50 frames=4000,5000
         2 switch out=50 state=1 call=35 stack=7
         4 switch in=50 wake=3 by=hardirq",
        5,
    );
    assert_eq!(loss(&trace, "threads_made_up"), 1);
    assert_eq!(trace.threads.process[1].get(), Some(0), "its stack tells the process");
    shows(
        &trace,
        "10 app RRRRR
         50 app ..wrR",
    );
}

#[test]
fn late_records_are_clamped_and_counted() {
    let trace = with(
        "1 switch out=10 state=1 call=35
         40 round
         0 round",
        50,
    );
    assert_eq!(loss(&trace, "late_records"), 0);
    let (meta, mut events) = streams(&format!("{LAUNCH} 1 switch out=10 state=1 call=35 \n 40 round"));
    let (_, late) = streams("20 switch in=10 wake=19 by=hardirq");
    // Late is what comes after the chunk that closed the round: an own chunk.
    events.extend_from_slice(&late);
    let trace = finalize_bytes(&meta, &events, &manifest(trace::START_NS + 50_000_000), &Options::default());
    check_conservation(&trace);
}

#[test]
fn a_timer_in_a_set_is_what_is_waited_for() {
    let trace = with(
        "0 object key=1 kind=5 text=[timerfd]<
         0 object key=2 kind=6 members=1
         0 object key=3 kind=5 text=[eventpoll]<
         0 members key=3 text=anon_inode:[timerfd]
         0 object key=4 kind=5 text=[eventpoll]<
         0 members key=4 text=anon_inode:[eventfd]
         1 switch out=10 state=1 call=7 object=2
         2 switch in=10 wake=2 by=hardirq
         3 switch out=10 state=1 call=232 object=3
         4 switch in=10 wake=4 by=idle
         5 switch out=10 state=1 call=232 object=4
         6 switch in=10 wake=6 by=hardirq",
        7,
    );
    let outcomes: Vec<_> = trace.off_cpu.outcome[1..].iter().map(|&code| Outcome::from_code(code)).collect();
    assert_eq!(outcomes, [Outcome::Woken, Outcome::Woken, Outcome::TimedOut]);
    assert_eq!(trace.off_cpu.waker_kind[1..], [WakerKind::Timer.code(); 3]);
}

#[test]
fn objects_of_the_kernel_are_named() {
    let trace = with(
        "0 object key=1 kind=3 family=2 protocol=6 state=1 local=41234 remote=6379
         0 object key=2 kind=2 inode=5
         0 object key=3 kind=1 text=file<tmp<
         0 object key=4 kind=5 text=[eventpoll]<
         0 members key=4 text=TCP~listen~0.0.0.0:80,anon_inode:[eventfd]
         0 object key=5 kind=6 members=1,3
         0 object key=6 kind=5 text=[timerfd]<
         1 switch out=10 in=10 state=1 call=0 object=1
         1 switch out=10 in=10 state=1 call=0 object=2
         1 switch out=10 in=10 state=2 iowait call=0 object=3
         1 switch out=10 in=10 state=2 call=74 object=3
         1 switch out=10 in=10 state=1 call=232 object=4
         1 switch out=10 in=10 state=1 call=7 object=5
         1 switch out=10 in=10 state=1 call=0 object=6
         1 switch out=10 in=10 state=2
         1 switch out=10 in=10 state=4
         1 switch out=10 in=10 state=1 call=16
         1 switch out=10 in=10 state=1 call=7
         1 switch out=10 in=10 state=1 call=202 object=0x1000 detail=0x86",
        2,
    );
    let hash = |name: &String| name.split(" 0x").next().expect("name").to_owned();
    assert_eq!(
        objects(&trace).iter().map(hash).collect::<Vec<_>>(),
        [
            "socket: TCP 127.0.0.1:* -> 127.0.0.1:6379",
            "stream: pipe",
            "block-io: /tmp/file",
            "event: epoll {TCP listen 0.0.0.0:80, eventfd}",
            "event: poll {/tmp/file, TCP 127.0.0.1:* -> 127.0.0.1:6379}",
            "timer: timerfd",
            "page-fault: Page fault",
            "signal: Stopped by a signal or a debugger",
            "unknown: ioctl",
            "sleep: Sleep in unknown code",
            "mutex: Mutex",
        ]
    );
}

#[test]
fn an_exec_makes_equal_addresses_different_objects() {
    let trace = with(
        "1 switch out=10 in=10 state=1 call=202 object=0x1000 detail=0x80
         2 switch out=10 in=10 state=1 call=202 object=0x1000 detail=0x80
         3 exec tid=10 name=two path=/bin/two
         4 switch out=10 in=10 state=1 call=202 object=0x1000 detail=0x80",
        5,
    );
    assert_eq!(trace.objects.kind, [ObjectType::Futex.code(); 2]);
    assert!(trace.objects.name[1].ends_with("#2"), "{:?}", trace.objects.name);
    assert_eq!(trace.objects.address, [0x1000, 0x1000]);
}

#[test]
fn a_join_is_on_the_thread() {
    let trace = with(
        "1 new tid=11 tgid=10 name=worker
         2 switch in=11 cpu=1
         3 switch out=10 state=1 call=202 object=0x7000 detail=0xb00000109
         5 exit tid=11 tgid=10
         6 switch in=10 wake=5 by=11",
        7,
    );
    assert_eq!(objects(&trace), ["thread-join: Thread worker"]);
}

#[test]
fn a_collector_that_died_leaves_a_result_that_says_so() {
    let (meta, events) =
        streams(&format!("{LAUNCH} 2 switch out=10 state=1 call=35 \n 5 switch in=10 wake=4 by=hardirq"));
    let died = dwell_store::Manifest { state: State::Collecting, ..manifest(0) };
    let trace = finalize_bytes(&meta, &events, &died, &Options::default());
    check_conservation(&trace);
    shows(&trace, "10 app RRwwr");
    assert!(trace.notices.text[0].contains("ended without closing"), "{:?}", trace.notices);
    assert_eq!(trace.elapsed_ns(), 5_000_000);
}

#[test]
fn nothing_recorded_is_an_empty_result() {
    let trace = trace("", 5);
    assert_eq!((trace.threads.len(), trace.off_cpu.len(), trace.losses.len()), (0, 0, 0));
}
