//! What becomes of what programs say of themselves.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod trace;

use dwell_model::{CounterKind, MarkerScope, ObjectType, SyncOutcome, TaskKind};
use dwell_resolve::Options;
use dwell_store::{Table, Trace};
use trace::{START_NS, check_conservation, finalize_bytes, loss, manifest, objects, streams, tasks, trace};

const TWO_THREADS: &str = "
    0 new tid=10 tgid=10 name=dwell
    0 exec tid=10 name=app path=/bin/app
    0 new tid=11 tgid=10 parent=10 parent_tgid=10 name=worker
";

#[track_caller]
fn with(text: &str, length_ms: u64) -> Trace {
    let trace = trace(&format!("{TWO_THREADS}{text}"), length_ms);
    check_conservation(&trace);
    trace
}

#[track_caller]
fn shows(trace: &Trace, expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let lines: Vec<&str> = lines.into_iter().map(|line| &line[indent..]).collect();
    assert_eq!(tasks(trace), lines);
}

#[test]
fn tasks_nest_by_thread_and_end_by_domain() {
    let trace = with(
        "1 say tid=10 begin=frame domain=app
         2 say tid=10 begin=parse domain=app
         2 say tid=11 begin=load domain=app
         3 say tid=10 begin=read domain=lib
         4 say tid=10 end domain=app      # parse, though lib's read goes on
         5 say tid=10 end domain=lib
         6 say tid=10 end domain=app
         7 say tid=11 end domain=app
         8 say tid=10 begin=late domain=app",
        9,
    );
    shows(
        &trace,
        "
         10 app:frame 1..6
           10 app:parse 2..4
         11 app:load 2..7
           10 lib:read 3..5
         10 app:late 8..9 …",
    );
    let types = &trace.annotations.task_types;
    assert_eq!(types.kind, [TaskKind::Task.code(); 5]);
    assert_eq!(trace.annotations.tasks.parent[3].get(), Some(0), "read is nested in frame alone");
}

#[test]
fn overlapped_tasks_regions_and_frames_end_by_their_ids_on_any_thread() {
    let trace = with(
        "1 say tid=10 overlapped=get domain=net id=1
         2 say tid=10 overlapped=get domain=net id=2 parent=1
         2 say tid=10 region=startup domain=app id=9
         3 say tid=11 overlapped_end domain=net id=1
         4 say tid=11 region_end domain=app id=9
         4 say tid=10 frame domain=loop
         5 say tid=11 frame domain=loop
         5 say tid=11 submit domain=other from=2.5 to=4
         6 say tid=11 frame_end domain=loop   # its own
         6 say tid=11 frame_end domain=loop   # the other one's
         7 say tid=10 frame domain=loop id=5
         8 say tid=10 overlapped=get domain=net id=2   # its id is given again",
        9,
    );
    shows(
        &trace,
        "
         10 net:get 1..3 >11
         10 net:get 2..8 …
         10 app:startup 2..4 >11
         11 other:other 2.5..4
         10 loop:loop 4..6 >11
         11 loop:loop 5..6
         10 loop:loop 7..9 …
         10 net:get 8..9 …",
    );
}

#[test]
fn what_was_open_before_the_collection_is_known_by_its_end() {
    let text = "0 new tid=10 tgid=10 name=app seeded
         1 say tid=10 begin=inner domain=app
         2 say tid=10 end domain=app
         3 say tid=10 end domain=app
         4 say tid=10 frame_end domain=loop
         5 say tid=10 end domain=app
         6 say tid=10 begin=after domain=app";
    let trace = trace(text, 7);
    shows(
        &trace,
        "
         10 app:unknown task 0..5
         10 loop:unknown frame 0..4
           10 app:unknown task 0..3
             10 app:inner 1..2
         10 app:after 6..7 …",
    );
}

#[test]
fn ends_of_nothing_are_counted() {
    let trace =
        with("1 say tid=10 end domain=app \n 2 say tid=10 event_end=tick \n 3 say tid=12 begin=x domain=app", 4);
    assert_eq!(trace.annotations.tasks.len(), 0);
    assert_eq!((loss(&trace, "itt_ends_unmatched"), loss(&trace, "itt_threads_unknown")), (2, 1));
}

#[test]
fn lost_events_cut_what_is_open() {
    let trace = with(
        "1 say tid=10 begin=a domain=app
         2 say tid=10 begin=b domain=app
         4 say tid=10 lost=7 begin=c domain=app
         5 say tid=10 end domain=app
         6 say tid=10 end domain=app",
        7,
    );
    shows(
        &trace,
        "
         10 app:a 1..4 …
           10 app:b 2..4 …
         10 app:c 4..5",
    );
    assert_eq!((loss(&trace, "itt_events_lost"), loss(&trace, "itt_ends_unmatched")), (7, 1));
}

#[test]
fn programs_may_tell_their_own_times() {
    let trace = with(
        "1 say tid=10 begin=outer domain=app
         5 say tid=10 begin=copy domain=gpu at=2
         5.1 say tid=10 end domain=gpu at=4
         6 say tid=10 begin=early domain=gpu at=0.5
         6.1 say tid=10 end domain=gpu at=4
         7 say tid=10 end domain=app",
        8,
    );
    shows(
        &trace,
        "
         10 gpu:early 0.5..4
         10 app:outer 1..7
           10 gpu:copy 2..4",
    );
}

#[test]
fn events_without_an_end_are_instants() {
    let trace = with(
        "1 say tid=10 begin=outer domain=app
         2 say tid=10 event=tick
         3 say tid=10 event=tick
         4 say tid=10 event_end=tick
         5 say tid=10 event=long
         6 say tid=10 end domain=app
         7 say tid=10 event_end=long",
        8,
    );
    shows(
        &trace,
        "
         10 app:outer 1..6
           10 tick 2..2 …
           10 tick 3..4
         10 long 5..7",
    );
}

#[test]
fn probes_make_tasks() {
    let mut manifest = manifest(START_NS + 9_000_000);
    manifest.task_probes = vec!["request".into(), "commit".into()];
    let text = format!(
        "{TWO_THREADS}
         1 probe tid=10 number=0
         2 probe tid=10 number=1
         3 probe tid=10 number=1 end
         4 probe tid=10 number=0 end
         5 probe tid=10 number=7"
    );
    let (meta, events) = streams(&text);
    let trace = finalize_bytes(&meta, &events, &manifest, &Options::default());
    shows(
        &trace,
        "
         10 request 1..4
           10 commit 2..3
         10 unknown probe 5..9 …",
    );
}

#[test]
fn a_new_program_ends_what_the_old_one_said() {
    let trace = with(
        "1 say tid=10 begin=old domain=app
         1 say tid=10 overlapped=oldest domain=app id=1
         1 say tid=10 thread_name=Worker~1
         1 say tid=10 prepare address=0x100
         3 exec tid=10 name=two path=/bin/two
         4 switch out=10 in=10 state=1 call=202 object=0x500 detail=0x80
         5 say tid=10 source=2 begin=new domain=app
         6 say tid=10 source=2 end domain=app",
        7,
    );
    shows(
        &trace,
        "
         10 app:old 1..3 …
         10 app:oldest 1..3 …
         10 app:new 5..6",
    );
    assert_eq!(trace.threads.name, ["two", "worker"]);
    assert_eq!(trace.annotations.sync_waits.end_ns, [3_000_000]);
    assert!(objects(&trace)[0].starts_with("futex:"), "{:?}", objects(&trace));
}

#[test]
fn data_belong_to_tasks() {
    let trace = with(
        "1 say tid=10 begin=outer domain=app id=4
         2 say tid=10 begin=inner domain=lib
         3 say tid=10 key=size domain=app          # the current one of its domain
         4 say tid=10 key=path domain=other text=/tmp  # the current one
         5 say tid=11 key=late domain=app id=4 text=x
         6 say tid=10 key=all domain=app scope=2 text=y
         6 say tid=10 key=none domain=app id=77 text=z",
        7,
    );
    let rows = &trace.annotations.task_metadata;
    let told: Vec<_> = (0..rows.len())
        .map(|row| (rows.task[row].get(), rows.key[row].as_str(), rows.number[row], rows.text[row].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (Some(0), "size", 1.0, ""),
            (Some(0), "size", -2.0, ""),
            (Some(1), "path", 0.0, "/tmp"),
            (Some(0), "late", 0.0, "x"),
            (None, "all", 0.0, "y"),
            (None, "none", 0.0, "z"),
        ]
    );
}

#[test]
fn markers_counters_and_names_of_threads() {
    let trace = with(
        "1 say tid=10 marker=vsync domain=app scope=2
         2 say tid=10 counter=bytes domain=net set=1460
         3 say tid=11 source=1 counter=bytes domain=net set=8
         3 say tid=11 counted=hits domain=net
         4 say tid=11 counted=hits domain=net
         4 say tid=10 counter=hits domain=net add=-5
         5 say tid=10 counter=bytes domain=net set=NaN
         5 say tid=11 thread_name=Loader
         6 name tid=11 name=comm
         6 say tid=10 ignore",
        7,
    );
    let told = &trace.annotations;
    assert_eq!((told.markers.len(), told.markers.scope[0]), (1, MarkerScope::Process.code()));
    let counters: Vec<_> = (0..told.counters.len())
        .map(|row| (told.counters.domain[row].as_str(), told.counters.name[row].as_str(), told.counters.kind[row]))
        .collect();
    assert_eq!(counters, [("net", "bytes", CounterKind::Set.code()), ("net", "hits", CounterKind::Sum.code())]);
    assert_eq!(told.counter_values.value, [1460.0, 8.0, 1.0, 2.0, -3.0]);
    assert_eq!(loss(&trace, "itt_values_dropped"), 1);
    assert_eq!((trace.threads.name[1].as_str(), &trace.threads.ignored[..]), ("Loader", &[true, false][..]));
}

#[test]
fn waits_have_the_object_that_the_program_names() {
    let trace = with(
        "0 say tid=10 create address=0x100 class=Mutex name=queue_lock
         0 say tid=10 create address=0x200 class=OMP~Barrier
         1 say tid=11 acquired address=0x100           # at once: no wait
         2 say tid=10 prepare address=0x100
         3 switch out=10 state=1 call=202 object=0x999 detail=0x80
         4 say tid=11 releasing address=0x100
         5 switch in=10 wake=4
         5.5 say tid=10 acquired address=0x100
         6 say tid=10 rename address=0x100 name=jobs
         7 switch out=10 state=1 call=202 object=0x100 detail=0x80  # not announced
         8 switch in=10 wake=7.5
         9 say tid=10 prepare address=0x200
         9.5 say tid=10 cancel address=0x200
         10 say tid=10 prepare address=0x100
         10 switch out=10 state=2              # a page
         11 switch in=10 wake=11",
        12,
    );
    let waits = &trace.annotations.sync_waits;
    let outcomes = [SyncOutcome::Acquired, SyncOutcome::Cancelled, SyncOutcome::Unfinished];
    assert_eq!(waits.outcome, outcomes.map(SyncOutcome::code));
    assert_eq!(waits.start_ns, [2_000_000, 9_000_000, 10_000_000]);
    let named: Vec<_> =
        waits.object.iter().map(|id| trace.objects.name[id.get().expect("an object")].as_str()).collect();
    assert_eq!(named, ["jobs", "OMP Barrier", "jobs"]);
    let kinds: Vec<_> = trace.objects.kind.iter().map(|&code| ObjectType::from_code(code)).collect();
    assert_eq!(kinds, [ObjectType::Mutex, ObjectType::PageFault, ObjectType::OpenMpBarrier]);
    let waited: Vec<_> = (0..trace.off_cpu.len()).filter(|&row| trace.off_cpu.object[row].is_some()).collect();
    let of_waits: Vec<_> = waited.iter().map(|&row| trace.off_cpu.object[row].get()).collect();
    assert_eq!(of_waits, [Some(0), Some(0), Some(1)]);
    let holders: Vec<_> = waited.iter().map(|&row| trace.off_cpu.holder[row].get()).collect();
    assert_eq!(holders, [Some(1), None, None], "thread 11 had it");
}

#[test]
fn objects_of_one_place_or_of_none_are_one_for_each_process_and_class() {
    let trace = with(
        "0 say tid=10 create address=0x100 class=OMP~Barrier name=;/src/grid.c;sweep;41;9;;
         0 say tid=10 create address=0x140 class=OMP~Barrier name=;/src/grid.c;sweep;41;9;;
         0 say tid=10 create address=0x180 class=OMP~Barrier name=;unknown;unknown;0;0;;
         0 say tid=10 create address=0x1c0 class=OMP~Barrier
         0 say tid=10 create address=0x200 class=Mutex name=pool
         0 say tid=10 create address=0x240 class=Mutex name=pool
         1 say tid=10 prepare address=0x100
         2 say tid=10 acquired address=0x100
         2 say tid=10 prepare address=0x140
         3 say tid=10 acquired address=0x140
         3 say tid=10 prepare address=0x180
         4 say tid=10 acquired address=0x180
         4 say tid=10 prepare address=0x1c0
         5 say tid=10 acquired address=0x1c0
         5 say tid=10 prepare address=0x200
         6 say tid=10 acquired address=0x200
         6 say tid=10 prepare address=0x240
         7 say tid=10 acquired address=0x240",
        8,
    );
    assert_eq!(
        objects(&trace),
        ["openmp-barrier: sweep (grid.c:41)", "openmp-barrier: OMP Barrier", "mutex: pool", "mutex: pool #2"]
    );
    let waits: Vec<_> = trace.annotations.sync_waits.object.iter().map(|id| id.get()).collect();
    assert_eq!(waits, [0, 0, 1, 1, 2, 3].map(Some));
}

#[test]
fn an_address_that_is_used_again_is_another_object() {
    let trace = with(
        "0 say tid=10 create address=0x100 class=Mutex name=one
         1 say tid=10 prepare address=0x100
         2 say tid=10 acquired address=0x100
         3 say tid=10 create address=0x100 class=Semaphore name=two
         4 say tid=10 prepare address=0x100
         5 say tid=10 prepare address=0x100   # said again from below
         6 say tid=10 acquired address=0x100",
        7,
    );
    assert_eq!(objects(&trace), ["mutex: one", "semaphore: two"]);
    assert_eq!(trace.annotations.sync_waits.start_ns, [1_000_000, 4_000_000]);
    assert_eq!(loss(&trace, "itt_waits_unended"), 0);
}

#[test]
fn what_is_said_in_a_pause_is_of_its_start() {
    let trace = with(
        "1 say tid=10 begin=a domain=app
         2 pause
         3 say tid=10 end domain=app
         3.5 say tid=10 begin=b domain=app
         4 resume
         5 say tid=10 end domain=app",
        6,
    );
    shows(
        &trace,
        "
         10 app:a 1..2
         10 app:b 2..5",
    );
}

#[test]
fn work_is_seen_under_who_asked_for_it() {
    let trace = with(
        "0 stack key=1 tgid=10 frames=9000,3000,2000,1000      # main, submit, and ITT's function
         0 stack key=2 tgid=10 frames=8100,7000,6000           # the worker waits
         0 stack key=3 tgid=10 frames=5000,4000,7000,6000      # the worker works
         1 stitch tid=10 id=77 stack=1
         1 switch out=11 state=1 call=202 object=0x10 stack=2
         2 switch in=11 wake=2
         3 say tid=11 enter=77
         4 sample tid=11 stack=3
         5 say tid=11 leave=77
         6 sample tid=11 stack=3",
        7,
    );
    let chain = |sample: usize| {
        let mut at = trace.samples.stack[sample];
        let mut offsets = Vec::new();
        while let Some(row) = at.get() {
            offsets.push(trace.frames.offset[trace.stacks.frame[row].get().expect("a frame")]);
            at = trace.stacks.parent[row];
        }
        offsets
    };
    let worker: Vec<usize> =
        (0..trace.samples.len()).filter(|&row| trace.samples.thread[row].get() == Some(1)).collect();
    let chains: Vec<_> = worker.iter().map(|&row| chain(row)).collect();
    assert!(chains.contains(&vec![0x5000, 0x4000, 0x3000, 0x2000, 0x1000][..].to_vec()), "{chains:x?}");
    assert!(chains.contains(&vec![0x5000, 0x4000, 0x7000, 0x6000]), "{chains:x?}");
}
