//! Pictures of fibers at a lock, a wait group, and elsewhere.

use dwell_model::{FiberId, ModuleId, ProcessId, Reason};
use dwell_store::Manifest;
use dwell_store::tables::{FiberRow, FrameRow, ObjectRow, SampleRow, StackRow, ThreadRow};

use super::*;

/// Rows of objects.
const LEDGER: usize = 0;
const ORDERS: usize = 1;
const RESULTS: usize = 2;
const AT_LOCK: &str = "main.book:1 sync.(*Mutex).Lock runtime.gopark";

/// So many fibers that were looked at each 10 ns, a mutex, a wait group and a channel.
fn fibers(count: usize) -> Trace {
    let mut trace = Trace::new(Manifest { fiber_interval_ns: 10, ..Manifest::default() });
    let objects = [(ObjectType::Mutex, "ledger"), (ObjectType::WaitGroup, "orders"), (ObjectType::Channel, "results")];
    for (kind, name) in objects {
        trace.objects.push(ObjectRow {
            kind: kind.code(),
            name: name.into(),
            detail: String::new(),
            process: ProcessId::NONE,
            address: 0,
            first_stack: StackId::NONE,
            created_stack: StackId::NONE,
        });
    }
    for fiber in 0..count {
        trace.threads.push(ThreadRow {
            tid: fiber as u32,
            process: ProcessId::NONE,
            parent: if fiber == 0 { ThreadId::NONE } else { ThreadId::new(0) },
            name: "main.book".into(),
            start_ns: 0,
            end_ns: 100,
            kernel_cpu_ns: 0,
            read_calls: 0,
            read_bytes: 0,
            write_calls: 0,
            write_bytes: 0,
            policy: 0,
            nice: 0,
            cpus_allowed: 0,
            exited: fiber > 0,
            ignored: false,
        });
    }
    trace.fiber_threads = count;
    trace
}

/// The stack of functions, root first; each word is a call site of its own, `book:2` the second one in `book`.
fn stack(trace: &mut Trace, functions: &str) -> StackId {
    functions.split(' ').fold(StackId::NONE, |parent, site| {
        let (function, line) = site.split_once(':').unwrap_or((site, "1"));
        let row = FrameRow {
            module: ModuleId::NONE,
            offset: 0,
            function: function.into(),
            file: String::new(),
            line: line.parse().expect("a line"),
            inlined: false,
            kernel: false,
            after_call: false,
            script: false,
        };
        let known = (0..trace.frames.len()).find(|&frame| trace.frames.row(frame).as_ref() == Some(&row));
        let frame = FrameId::new(known.unwrap_or_else(|| trace.frames.push(row)));
        let same = |stack: &usize| (trace.stacks.parent[*stack], trace.stacks.frame[*stack]) == (parent, frame);
        let known = (0..trace.stacks.len()).find(same);
        StackId::new(known.unwrap_or_else(|| trace.stacks.push(StackRow { parent, frame, end: 1 })))
    })
}

fn waits(trace: &mut Trace, fiber: usize, (from, to): (u64, u64), object: usize, functions: &str) {
    let stack = stack(trace, functions);
    trace.off_cpu.push(OffCpuRow {
        thread: ThreadId::new(fiber),
        start_ns: from,
        wait_ns: to - from,
        runnable_ns: 0,
        cpu: 0,
        reason: Reason::Waiting.code(),
        outcome: Outcome::Woken.code(),
        syscall: -1,
        object: ObjectId::new(object),
        stack,
        waker: ThreadId::NONE,
        waker_kind: 0,
        waker_stack: StackId::NONE,
        holder: ThreadId::NONE,
        same_call: false,
    });
}

fn runs(trace: &mut Trace, fiber: usize, (from, to): (u64, u64), functions: &str) {
    let stack = stack(trace, functions);
    let (thread, weight_ns) = (ThreadId::new(fiber), to - from);
    trace.samples.push(SampleRow { thread, time_ns: to, weight_ns, cpu: 0, stack, estimated: false });
}

/// Of each piece of a fiber's waits: from, length, who ended it, whether it goes on with the one before.
fn pieces(trace: &Trace, fiber: usize) -> Vec<(u64, u64, Option<usize>, bool)> {
    let rows = (0..trace.off_cpu.len()).filter_map(|row| trace.off_cpu.row(row));
    let of_fiber = rows.filter(|row| row.thread == ThreadId::new(fiber));
    of_fiber.map(|row| (row.start_ns, row.wait_ns, row.waker.get(), row.same_call)).collect()
}

#[test]
fn a_wait_is_split_by_who_is_within_the_lock() {
    let mut trace = fibers(3);
    runs(&mut trace, 0, (0, 50), "main.book:2 main.audit");
    runs(&mut trace, 0, (50, 100), "main.book:3 main.think"); // outside of it again
    waits(&mut trace, 1, (0, 50), LEDGER, AT_LOCK);
    runs(&mut trace, 1, (50, 100), "main.book:2 main.audit");
    waits(&mut trace, 2, (0, 100), LEDGER, AT_LOCK);
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 1), [(0, 50, Some(0), false)]);
    assert_eq!(pieces(&trace, 2), [(0, 50, Some(0), false), (50, 50, Some(1), true)]);
    assert!(trace.off_cpu.holder.iter().all(|holder| holder.is_some()));
    let place = held_at(&trace).get(&ObjectId::new(LEDGER)).copied().and_then(StackId::get);
    assert_eq!(
        place.and_then(|row| trace.stacks.frame[row].get()).map(|row| trace.frames.function[row].as_str()),
        Some("main.audit")
    );
}

#[test]
fn nobody_is_named_who_was_in_no_function_that_takes_the_lock() {
    let mut trace = fibers(2);
    runs(&mut trace, 0, (0, 100), "main.other main.audit");
    waits(&mut trace, 1, (0, 100), LEDGER, AT_LOCK);
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 1), [(0, 100, None, false)]);
}

#[test]
fn what_every_goroutine_begins_with_takes_no_lock() {
    let mut trace = fibers(2);
    runs(&mut trace, 0, (0, 100), "runtime.goexit runtime.gcBgMarkWorker");
    waits(&mut trace, 1, (0, 100), LEDGER, &format!("runtime.goexit {AT_LOCK}"));
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 1), [(0, 100, None, false)]);
}

#[test]
fn a_wait_group_waits_for_the_child_that_ended_last() {
    let mut trace = fibers(3);
    trace.threads.end_ns[1] = 60;
    trace.threads.end_ns[2] = 95;
    waits(&mut trace, 0, (0, 100), ORDERS, "main.main sync.(*WaitGroup).Wait runtime.gopark");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 100, Some(2), false)]);
}

/// Who waits for one generation of children after the other is found waiting at each look.
#[test]
fn wait_groups_one_after_the_other_are_as_many_waits() {
    let mut trace = fibers(5);
    for (child, born, end) in [(1, 5, 10), (2, 5, 60), (3, 60, 75), (4, 60, 95)] {
        (trace.threads.start_ns[child], trace.threads.end_ns[child]) = (born, end);
    }
    waits(&mut trace, 0, (0, 100), ORDERS, "main.main sync.(*WaitGroup).Wait runtime.gopark");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 60, Some(2), false), (60, 40, Some(4), false)]);
}

#[test]
fn a_child_that_ends_as_the_wait_begins_ends_no_other_wait() {
    let mut trace = fibers(3);
    for (child, end) in [(1, 45), (2, 80)] {
        trace.threads.end_ns[child] = end;
    }
    waits(&mut trace, 0, (40, 80), ORDERS, "main.main sync.(*WaitGroup).Wait runtime.gopark");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(40, 40, Some(2), false)]);
}

#[test]
fn a_wait_group_waits_for_no_child_that_waits_to_the_programs_end() {
    let mut trace = fibers(3);
    trace.threads.end_ns[1] = 98;
    runs(&mut trace, 1, (0, 98), "main.rank");
    waits(&mut trace, 2, (0, 100), LEDGER, "main.ping net.(*netFD).Read runtime.gopark");
    waits(&mut trace, 0, (0, 100), ORDERS, "main.main sync.(*WaitGroup).Wait runtime.gopark");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 100, Some(1), false)]);
}

#[test]
fn a_wait_group_waits_for_one_of_those_that_do_the_same() {
    let mut trace = fibers(4);
    trace.threads.name[3] = "net/http.ListenAndServe".into();
    for (child, end) in [(1, 97), (2, 98), (3, 100)] {
        trace.threads.end_ns[child] = end;
        waits(&mut trace, child, (0, 100), LEDGER, "main.ask net.(*netFD).Read runtime.gopark");
    }
    waits(&mut trace, 0, (0, 100), ORDERS, "main.main sync.(*WaitGroup).Wait runtime.gopark");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 100, Some(2), false)]);
}

/// A ticker's channel, too, is received from until the program ends.
#[test]
fn a_channel_waits_for_no_child_that_waits_to_the_programs_end() {
    let ended = |waits_on: bool| {
        let mut trace = fibers(2);
        match waits_on {
            true => waits(&mut trace, 1, (0, 100), LEDGER, "main.listen net.(*netFD).Read runtime.gopark"),
            false => runs(&mut trace, 1, (0, 100), "main.work"),
        }
        waits(&mut trace, 0, (0, 100), RESULTS, "main.main runtime.chanrecv1 runtime.gopark");
        name_enders(&mut trace);
        pieces(&trace, 0)
    };
    assert_eq!(ended(false), [(0, 100, Some(1), false)]);
    assert_eq!(ended(true), [(0, 100, None, false)]);
}

const RECEIVES: &str = "main.main runtime.chanrecv1 runtime.gopark";
const SENDS: &str = "main.hash runtime.chansend1 runtime.gopark";

/// A receiver, and two that send; the second one of these was never found waiting, but does the same work.
#[test]
fn a_channel_waits_for_whoever_is_at_work_at_its_other_end() {
    let mut trace = fibers(4);
    waits(&mut trace, 0, (0, 60), RESULTS, RECEIVES);
    runs(&mut trace, 1, (0, 20), "main.hash main.sum");
    waits(&mut trace, 1, (20, 50), ORDERS, "main.hash os.(*File).Read runtime.gopark");
    runs(&mut trace, 2, (10, 40), "main.hash main.sum");
    waits(&mut trace, 1, (60, 80), RESULTS, SENDS);
    trace.threads.name[3] = "main.watch".into();
    runs(&mut trace, 3, (0, 100), "main.watch");
    name_enders(&mut trace);
    let expected = [(0, 20, Some(1), false), (20, 20, Some(2), true), (40, 10, Some(1), true), (50, 10, None, true)];
    assert_eq!(pieces(&trace, 0), expected);
    assert!(trace.off_cpu.holder.iter().all(|holder| !holder.is_some()), "nobody has a channel");
    let rows = (0..trace.off_cpu.len()).filter(|row| trace.off_cpu.thread[*row] == ThreadId::new(0));
    let known = rows.filter(|row| trace.off_cpu.waker_stack[*row].is_some()).count();
    assert_eq!(known, 3, "and it is known what they did");
}

#[test]
fn a_channel_at_whose_other_end_nobody_was_found_waits_for_nobody() {
    let mut trace = fibers(3);
    waits(&mut trace, 0, (0, 60), RESULTS, RECEIVES);
    waits(&mut trace, 1, (20, 60), RESULTS, RECEIVES);
    runs(&mut trace, 2, (0, 60), "main.hash");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 60, None, false)]);
    assert_eq!(pieces(&trace, 1), [(20, 40, None, false)]);
}

#[test]
fn whoever_waits_for_work_himself_is_told_last() {
    let mut trace = fibers(3);
    waits(&mut trace, 0, (0, 60), RESULTS, RECEIVES);
    let takes = "main.hash runtime.chanrecv2 runtime.gopark";
    waits(&mut trace, 1, (0, 60), ORDERS, takes);
    waits(&mut trace, 2, (30, 60), ORDERS, "main.hash os.(*File).Read runtime.gopark");
    waits(&mut trace, 1, (60, 80), RESULTS, SENDS);
    waits(&mut trace, 2, (60, 80), RESULTS, SENDS);
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 30, Some(1), false), (30, 30, Some(2), true)]);
}

/// Fibers of other work than the one that waits.
fn name_crew(trace: &mut Trace, fibers: &[usize], name: &str) {
    fibers.iter().for_each(|fiber| trace.threads.name[*fiber] = name.into());
}

/// Whoever takes never waits for more, and so was never found at the channel's other end.
#[test]
fn a_send_waits_for_the_only_others_at_work() {
    let sends = "main.book runtime.chansend1 runtime.gopark";
    let enders = |others: &dyn Fn(&mut Trace)| {
        let mut trace = fibers(4);
        name_crew(&mut trace, &[1], "main.store");
        waits(&mut trace, 0, (0, 60), RESULTS, sends);
        runs(&mut trace, 1, (0, 58), "main.store main.write");
        others(&mut trace);
        name_enders(&mut trace);
        pieces(&trace, 0)
    };
    let stored = [(0, 58, Some(1), false), (58, 2, None, true)];
    assert_eq!(enders(&|_| ()), stored);
    let beside = |name: &'static str, to: u64| {
        move |trace: &mut Trace| {
            name_crew(trace, &[2], name);
            runs(trace, 2, (0, to), "main.other");
        }
    };
    assert_eq!(enders(&beside("main.report", 20)), stored, "it did little meanwhile");
    assert_eq!(enders(&beside("main.report", 60)), [(0, 60, None, false)], "nobody knows which of the two takes");
    assert_eq!(enders(&beside("runtime.bgsweep", 60)), stored, "the runtime takes nothing");
}

#[test]
fn a_wait_group_of_several_waiters_waits_for_who_does_the_work_for_all() {
    let mut trace = fibers(3);
    name_crew(&mut trace, &[0, 1, 2], "main.ask");
    runs(&mut trace, 0, (0, 50), "main.ask flight.(*Group).Do main.load");
    let at = "main.ask flight.(*Group).Do sync.(*WaitGroup).Wait runtime.gopark";
    waits(&mut trace, 1, (0, 50), ORDERS, at);
    waits(&mut trace, 2, (10, 50), ORDERS, at);
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 1), [(0, 50, Some(0), false)]);
    assert_eq!(pieces(&trace, 2), [(10, 40, Some(0), false)]);
}

/// One from a pool of them is another fiber's later.
#[test]
fn a_wait_group_that_fibers_have_one_after_the_other_is_no_lock() {
    let mut trace = fibers(4);
    name_crew(&mut trace, &[3], "main.write");
    let at = "main.ask main.save sync.(*WaitGroup).Wait runtime.gopark";
    waits(&mut trace, 1, (0, 50), ORDERS, at);
    runs(&mut trace, 1, (50, 100), "main.ask main.save main.encode");
    runs(&mut trace, 2, (0, 50), "main.ask main.save main.encode");
    waits(&mut trace, 2, (50, 100), ORDERS, at);
    runs(&mut trace, 3, (0, 100), "main.write");
    name_crew(&mut trace, &[1, 2], "main.ask");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 1), [(0, 50, None, false)], "neither of those at work is the only one");
}

#[test]
fn a_lock_is_held_in_another_method_of_the_same_thing() {
    let holder_in = |function: &str| {
        let mut trace = fibers(2);
        waits(&mut trace, 1, (0, 100), LEDGER, "main.ask main.(*Queue).add sync.(*Mutex).Lock runtime.gopark");
        runs(&mut trace, 0, (0, 100), &format!("main.tick {function} main.send"));
        name_enders(&mut trace);
        pieces(&trace, 1)[0].2
    };
    assert_eq!(holder_in("main.(*Queue).flush"), Some(0));
    assert_eq!(holder_in("main.(*Cache).flush"), None);
}

/// What a package waits for its own goroutines do, and no ticker.
#[test]
fn a_wait_within_a_package_is_for_goroutines_of_that_package() {
    const DATABASE: &str = "github.com/shop/store";
    let ender = |at: &str| {
        let mut trace = fibers(3);
        name_crew(&mut trace, &[1], &format!("{DATABASE}/log.(*Writer).flush"));
        name_crew(&mut trace, &[2], "main.tick");
        trace.threads.exited.fill(false);
        waits(&mut trace, 0, (0, 100), ORDERS, &format!("main.ask {at} sync.(*WaitGroup).Wait runtime.gopark"));
        runs(&mut trace, 1, (0, 85), "log.flush");
        runs(&mut trace, 2, (0, 100), "main.tick");
        name_enders(&mut trace);
        pieces(&trace, 0)[0].2
    };
    assert_eq!(ender(&format!("{DATABASE}.(*DB).Set")), Some(1));
    assert_eq!(ender("main.save"), None, "it may be either");
}

#[test]
fn a_wait_group_waits_for_what_the_waiting_function_made() {
    let mut trace = fibers(3);
    let made_in = ["main.main", "github.com/shop/store.Open"].map(|function| stack(&mut trace, function));
    for (fiber, created_stack) in [(0, StackId::NONE), (1, made_in[0]), (2, made_in[1])] {
        trace.threads.end_ns[fiber] = 100;
        trace.fibers.fibers.push(FiberRow {
            kind: 1,
            number: fiber as u64,
            process: ProcessId::NONE,
            parent: FiberId::NONE,
            name: String::new(),
            created_stack,
            start_ns: 0,
            end_ns: 100,
            exited: fiber > 0,
        });
    }
    // It ended later than the one that is waited for.
    trace.threads.end_ns[1] = 92;
    waits(&mut trace, 0, (0, 100), ORDERS, "main.main sync.(*WaitGroup).Wait runtime.gopark");
    name_enders(&mut trace);
    assert_eq!(pieces(&trace, 0), [(0, 100, Some(1), false)]);
}
