//! Every report of small pictures, and laws that hold on any trace.

use std::collections::BTreeMap;

use dwell_model::{Reason, ThreadId};
use dwell_store::Trace;
use dwell_view::{Value, View};
use proptest::prelude::*;

use crate::engine::conservation::check_conservation;
use crate::engine::fold::Fold;
use crate::explore::filter_values;
use crate::picture::{CELL, build, text, trace};
use crate::question::error::QueryError;
use crate::question::filter::{Filter, FilterKey};
use crate::question::level::{CallStackMode, Level};
use crate::question::query::Query;
use crate::question::rates::FrameRates;
use crate::reports::Report;
use crate::timeline::{DurationKind, durations};
use crate::{report, said};

/// Three workers and a main thread that joins them; `m` is held across a sleep.
const CONVOY: &str = "
    main: ##jjjjjjjjjjjjjjjjjjj##
    a   :   1ss1mmmm11ss1mmm#
    b   :   mmmm1ss1mmmmm1ss1
    d   :   #mmmmmmm1ss1mmmm-11
";

fn of(kind: Report, trace: &Trace, query: &Query) -> View {
    report(kind, trace, query).unwrap()
}

fn column(view: &View, id: &str) -> Vec<Value> {
    let index = view.columns.iter().position(|column| column.id == id).unwrap_or_else(|| panic!("no column {id}"));
    view.rows.iter().map(|row| row.values[index].clone()).collect()
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Ns(number) | Value::Count(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

fn sum(view: &View, id: &str) -> u64 {
    let index = view.columns.iter().position(|column| column.id == id).unwrap_or_else(|| panic!("no column {id}"));
    view.rows.iter().filter(|row| row.depth == 0).map(|row| number(&row.values[index])).sum()
}

fn filters(filters: &[&str]) -> Query {
    Query { filters: filters.iter().map(|filter| Filter::parse(filter).unwrap()).collect(), ..Query::default() }
}

/// What a report of the convoy is about, where it is about one thing.
pub fn subject(kind: Report) -> Option<String> {
    let subject = match kind {
        Report::Blame => "m",
        Report::Outlier => "w258",
        _ => return None,
    };
    Some(subject.to_owned())
}

#[test]
fn every_report_of_a_convoy() {
    let trace = trace(CONVOY);
    assert_eq!(check_conservation(&trace), Vec::<String>::new());
    for kind in Report::ALL {
        let query = Query { subject: subject(*kind), bins: 4, ..Query::default() };
        insta::assert_snapshot!(format!("convoy-{}", kind.id()), text(&of(*kind, &trace, &query)));
    }
}

/// Two threads parse, one of them within another task; `m` is waited on within `parse`, and spun for.
const TASKS: &str = "
    a       : ##1mmm1#22mm2##-##ss#
    a tasks :  P=======R===P==P=
    a tasks :   T=====
    a waits :   m====
    b       : ###2mmmm##1133##---##
    b tasks :   P=======   R====
    b frames: F===F=====F=F====
    b bytes :  8   1 8 1
    b marks :      !
";

#[test]
fn tasks_divide_all_time() {
    let trace = trace(TASKS);
    let query = Query { group_by: vec![Level::TaskType, Level::Object], ..Query::default() };
    insta::assert_snapshot!("task-types", text(&of(Report::Threads, &trace, &query)));
    let within = |filter: &str| text(&of(Report::Hotspots, &trace, &filters(&[filter])));
    insta::assert_snapshot!("within-parse", within("task=parse"));
    assert_eq!(within("task=app::parse"), within("task=parse"));
    let all = totals(&trace, &Query::default());
    for filter in ["task=parse", "task=tokenize", "task=[none]", "task=*"] {
        let out = Query { exclude: filters(&[filter]).filters, ..Query::default() };
        assert_eq!(plus(totals(&trace, &filters(&[filter])), totals(&trace, &out)), all, "{filter}");
    }
}

#[test]
fn every_report_of_tasks() {
    let mut trace = trace(TASKS);
    said::metadatum(&mut trace, 0, "bytes", Some(1460.0), "");
    said::metadatum(&mut trace, 0, "url", None, "/index.html");
    let reports = [
        Report::Tasks,
        Report::TaskWaits,
        Report::LongestTasks,
        Report::Frames,
        Report::Counters,
        Report::Markers,
        Report::Waits,
        Report::Correlation,
    ];
    for kind in reports {
        let query = Query { frame_rates: FrameRates { slow: 250.0, fast: 600.0 }, ..Query::default() };
        insta::assert_snapshot!(format!("tasks-{}", kind.id()), text(&of(kind, &trace, &query)));
    }
    let within = filters(&["task=parse", "thread=a"]);
    insta::assert_snapshot!("tasks-filtered", text(&of(Report::Tasks, &trace, &within)));
}

#[test]
fn results_compare_by_task() {
    let (first, second, query) = (trace(TASKS), trace(&TASKS.replace("P==P=", "R===R")), Query::default());
    let fold = |trace| crate::Fold::new(trace, &query).unwrap();
    let view = crate::reports::compare::compare(&fold(&first), &fold(&second), Level::TaskType);
    let difference = |name: &str| {
        let row = view.rows.iter().find(|row| row.values[0] == Value::Text(name.into())).unwrap();
        row.values[3].clone()
    };
    assert_eq!(difference("[all]"), Value::NsChange(0));
    assert!(matches!(difference("parse"), Value::NsChange(ns) if ns > 0));
}

#[test]
fn ignored_threads_are_hidden_and_counted() {
    let mut trace = trace(TASKS);
    let (plain, whole) = (of(Report::Threads, &trace, &Query::default()), totals(&trace, &Query::default()));
    trace.threads.ignored[1] = true;
    let view = of(Report::Threads, &trace, &Query::default());
    assert_eq!((plain.rows.len(), view.rows.len()), (2, 1));
    assert!(
        view.notes.iter().any(|note| note.to_string().contains("asked that 1 thread be left out")),
        "{:?}",
        view.notes
    );
    assert_eq!(totals(&trace, &Query::default()), whole);
    assert_eq!(of(Report::Threads, &trace, &filters(&["thread=b"])).rows.len(), 1);
}

#[test]
fn threads_of_a_pause_are_counted() {
    let mut trace = trace("main: ##############\n  a   :   ####\n  b   :   #####s###");
    trace.pauses.push(dwell_store::tables::PauseRow { start_ns: CELL, end_ns: 7 * CELL });
    let view = of(Report::Threads, &trace, &Query::default());
    assert_eq!(column(&view, "name"), ["main", "b"].map(|name| Value::Text(name.into())));
    assert!(view.notes.iter().any(|note| note.to_string().starts_with("1 thread began and ended")), "{:?}", view.notes);
}

#[test]
fn groups_nest() {
    let query = Query { group_by: vec![Level::Object, Level::Thread, Level::Function], ..Query::default() };
    insta::assert_snapshot!("nested", text(&of(Report::Waits, &trace(CONVOY), &query)));
}

#[test]
fn every_level_groups_everything() {
    let trace = trace(CONVOY);
    let whole = sum(&of(Report::Waits, &trace, &Query::default()), "wait_ns");
    for level in Level::ALL {
        let query = Query { group_by: vec![*level], ..Query::default() };
        assert_eq!(sum(&of(Report::Waits, &trace, &query), "wait_ns"), whole, "{}", level.id());
        of(Report::Hotspots, &trace, &query);
    }
}

#[test]
fn what_is_shown_is_a_part_of_everything() {
    let trace = trace(CONVOY);
    let shown = |query: Query| filter_values(&Fold::new(&trace, &query).unwrap(), FilterKey::Thread, "", 10).shown;
    let [cpu, wait, ..] = totals(&trace, &Query::default());
    let (from, to) = (2 * CELL, 9 * CELL);
    for query in [filters(&[]), filters(&["thread=a"])] {
        let part = Query { range: Some((from, to)), ..query };
        let [part_cpu, part_wait, ..] = totals(&trace, &part);
        assert!((shown(part) - (part_cpu + part_wait) as f64 / (cpu + wait) as f64).abs() < 1e-9);
    }
    assert!((shown(Query::default()) - 1.0).abs() < 1e-9);
}

/// Rows that the limit leaves out are counted in every list.
#[test]
fn what_the_limit_leaves_out_is_said() {
    let trace = trace(CONVOY);
    let lists = [Report::Waits, Report::Hotspots, Report::Threads, Report::CriticalPath, Report::CallerCallee];
    for kind in lists {
        let all = of(kind, &trace, &Query::default()).rows.len();
        let one = of(kind, &trace, &Query { limit: Some(1), ..Query::default() });
        assert!(all > 1 && one.rows.len() == 1, "{}", kind.id());
        let note = format!("{} more rows are left out by the limit.", all - 1);
        assert!(one.notes.iter().any(|it| it.to_string() == note), "{}: {:?}", kind.id(), one.notes);
    }
    let around = |limit| {
        let query = Query { subject: Some("main".into()), limit, ..Query::default() };
        of(Report::CallerCallee, &trace, &query)
    };
    let (all, none) = (around(None).rows.len(), around(Some(0)));
    assert!(all > 1 && none.rows.len() == 1, "only the function itself is left");
    let left_out = format!("{} more rows are left out by the limit.", all - 1);
    assert!(none.notes.iter().any(|it| it.to_string() == left_out), "{:?}", none.notes);
}

#[test]
fn an_unknown_object_or_function_carries_the_nearest_name() {
    let trace = trace(CONVOY);
    let query = |subject: &str| Query { subject: Some(subject.into()), ..Query::default() };
    let error = report(Report::CallerCallee, &trace, &query("man")).unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("did you mean `main`?"));
    assert!(report(Report::Blame, &trace, &query("zz")).unwrap_err().to_string().contains("object `zz`"));
    assert!(report(Report::Blame, &trace, &Query::default()).is_err());
    let empty = Query { range: Some((5, 5)), ..Query::default() };
    assert!(report(Report::Waits, &trace, &empty).is_err());
}

#[test]
fn an_event_loop_is_idle_and_ranks_last() {
    let trace = trace(
        "
        a: #eeeeeeeeeeeeeeee#
        b: ##mm##############
        d: ####11############
    ",
    );
    let names = |query: &Query| column(&of(Report::Waits, &trace, query), "object");
    let e = Value::Text("e".into());
    assert_eq!(names(&Query::default())[1], e);
    let all = Query { include_idle: true, ..Query::default() };
    // Two others run meanwhile: what counts is the wait at poor utilization, then the rest.
    assert_eq!(names(&all)[0], e);
    let only = filters(&["idle=yes"]);
    assert_eq!(names(&only), vec![e]);
}

#[test]
fn what_is_excluded_is_the_rest_of_what_is_filtered() {
    let trace = trace(CONVOY);
    let whole = sum(&of(Report::Waits, &trace, &Query::default()), "wait_ns");
    for filter in [
        "thread=a",
        "object=m",
        "object-type=sleep",
        "function=use_m",
        "utilization=poor",
        "outcome=woken",
        "wait-length=2ms-",
    ] {
        let only = sum(&of(Report::Waits, &trace, &filters(&[filter])), "wait_ns");
        let without = Query { exclude: vec![Filter::parse(filter).unwrap()], ..Query::default() };
        let rest = sum(&of(Report::Waits, &trace, &without), "wait_ns");
        assert_eq!(only + rest, whole, "{filter}");
        assert!(
            only > 0
                && of(Report::Waits, &trace, &without).notes.iter().any(|note| note.to_string().contains("is shown"))
        );
    }
}

#[test]
fn what_is_excluded_in_time_is_the_rest_of_the_range() {
    let trace = trace(CONVOY);
    let cpu = |query: &Query| number(&column(&of(Report::Summary, &trace, query), "cpu_ns")[0]);
    let elapsed = |query: &Query| number(&column(&of(Report::Summary, &trace, query), "elapsed_ns")[0]);
    let range = (4 * CELL, 9 * CELL);
    let only = Query { range: Some(range), ..Query::default() };
    let without = Query { excluded_ranges: vec![range], ..Query::default() };
    assert_eq!(cpu(&only) + cpu(&without), cpu(&Query::default()));
    assert_eq!(elapsed(&without), 18 * CELL);
    assert!(
        of(Report::Summary, &trace, &without)
            .notes
            .iter()
            .any(|note| note.to_string().starts_with("All without 4.00 ms"))
    );
    let nothing = Query { excluded_ranges: vec![(0, u64::MAX)], ..Query::default() };
    assert!(report(Report::Summary, &trace, &nothing).is_err());
}

#[test]
fn the_time_of_a_counters_values_is_kept_or_left_out() {
    let trace = trace(
        "
        a: ####mmmmmm########
        a depth:   1   9   1   9
        ",
    );
    let cpu = |query: &Query| number(&column(&of(Report::Summary, &trace, query), "cpu_ns")[0]);
    let elapsed = |query: &Query| number(&column(&of(Report::Summary, &trace, query), "elapsed_ns")[0]);
    let deep = filters(&["counter=depth>=9"]);
    let rest = Query { exclude: deep.filters.clone(), ..Query::default() };
    assert_eq!(elapsed(&deep), 8 * CELL);
    assert_eq!(cpu(&deep), 4 * CELL);
    assert_eq!(cpu(&deep) + cpu(&rest), cpu(&Query::default()), "what is kept and the rest are all");
    assert_eq!(elapsed(&filters(&["counter=depth<=1"])), 8 * CELL, "before its first value it has none");
    assert_eq!(elapsed(&filters(&["counter=depth=1", "counter=depth=9"])), 16 * CELL, "alternatives");
    let error = |filter| report(Report::Summary, &trace, &filters(&[filter])).unwrap_err();
    assert!(
        matches!(error("counter=dept>1"), QueryError::Unknown { nearest: Some(nearest), .. } if nearest == "depth")
    );
    assert!(matches!(error("counter=depth>9"), QueryError::EmptyRange { .. }));
    assert!(matches!(Filter::parse("counter=depth"), Err(QueryError::CounterForm { .. })));
    let all = Query::default();
    let fold = Fold::new(&trace, &all).unwrap();
    let values = filter_values(&fold, FilterKey::Counter, "", 10).values;
    let values: Vec<_> = values.iter().map(|it| (it.value.as_str(), (it.share * 18.0).round())).collect();
    assert_eq!(values, [("depth=1", 8.0), ("depth=9", 8.0)]);
}

/// Names a function of the picture otherwise.
fn renamed(mut trace: Trace, from: &str, to: &str) -> Trace {
    let frame = trace.frames.function.iter().position(|name| name == from).unwrap();
    trace.frames.function[frame] = to.into();
    trace
}

#[test]
fn a_pool_without_work_is_idle_and_a_lock_in_it_is_not() {
    let idle = |picture: &str, function: &str| {
        let from = if picture.contains('c') { "use_c" } else { "use_m" };
        let trace = renamed(trace(picture), from, function);
        sum(&of(Report::Waits, &trace, &filters(&["idle=yes"])), "wait_ns") > 0
    };
    assert!(idle("a: #ccc#", "base::ThreadPool::worker_loop()"));
    assert!(idle("a: #ccc#", "rayon_core::sleep::Sleep::sleep"));
    assert!(!idle("a: #mmm#", "base::ThreadPool::worker_loop()"), "a contended queue lock");
    assert!(!idle("a: #ccc#", "base::ThreadPool::submit()"), "a full queue");
    assert!(!idle("a: #ccc#", "Barrier::wait"));
}

#[test]
fn call_stack_modes_fold_system_functions() {
    let trace = trace("a: ##mmm##");
    let name = |mode| {
        let query = Query { group_by: vec![Level::Function], call_stack_mode: mode, ..Query::default() };
        column(&of(Report::Waits, &trace, &query), "function")[0].clone()
    };
    assert_eq!(name(CallStackMode::All), Value::Text("pthread_mutex_lock".into()));
    assert_eq!(name(CallStackMode::UserPlusOne), Value::Text("pthread_mutex_lock".into()));
    assert_eq!(name(CallStackMode::User), Value::Text("use_m".into()));
}

#[test]
fn inlined_functions_are_shown_or_not() {
    let mut trace = trace("a: ##mmm##");
    let frame = trace.frames.function.iter().position(|name| name == "work").unwrap();
    trace.frames.inlined[frame] = true;
    let hottest = |inlines| {
        let view = of(Report::Hotspots, &trace, &Query { inlines, ..Query::default() });
        column(&view, "function")[0].clone()
    };
    assert_eq!(hottest(true), Value::Text("work".into()));
    assert_eq!(hottest(false), Value::Text("main".into()));
}

#[test]
fn the_holder_of_a_lock_before_the_last_one_is_blamed_too() {
    // c waits while a holds the lock in f1, then b, who waited for it, in f2.
    let trace = trace(
        "
        a: 1111sss#
        b: mmmm22##
        c: mmmmmm##
    ",
    );
    let view = of(Report::Blame, &trace, &Query { subject: Some("m".into()), ..Query::default() });
    let names = column(&view, "name");
    let time = |function: &str| {
        let row = names.iter().position(|name| matches!(name, Value::Text(name) if name.starts_with(function)));
        number(&column(&view, "wait_ns")[row.unwrap()]) / CELL
    };
    assert_eq!((time("f1"), time("f2")), (8, 2));
}

/// What the blame report says of `m`: role, name and cells.
fn blamed(trace: &Trace) -> Vec<(String, String, u64)> {
    let view = of(Report::Blame, trace, &Query { subject: Some("m".into()), ..Query::default() });
    let plain = |cell: Value| if let Value::Text(text) = cell { text } else { String::new() };
    let text = |id: &str| column(&view, id).into_iter().map(plain).collect::<Vec<_>>();
    let times = column(&view, "wait_ns").iter().map(|ns| number(ns) / CELL).collect::<Vec<_>>();
    let rows = text("role").into_iter().zip(text("name")).zip(times).map(|((role, name), ns)| (role, name, ns));
    rows.filter(|(role, ..)| role.starts_with("holder-") || role == "unknown" || role == "outside").collect()
}

/// Cells by role, and of running by function.
fn held(trace: &Trace) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (role, name, cells) in blamed(trace) {
        *sums.entry(if role == "holder-running" { name } else { role }).or_default() += cells;
    }
    sums
}

fn cells_of(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(name, cells)| ((*name).to_owned(), *cells)).collect()
}

#[test]
fn who_slept_before_it_took_the_lock_did_not_hold_it_asleep() {
    // x wakes v, but y is faster; v waits again. y ends w's wait: it slept while x had the lock.
    let trace = trace(
        "
        x: 11111
        y: sssss22222#
        v: #smmm#mmmm#
        w: #mmmmmmmm##
    ",
    );
    assert_eq!(held(&trace), cells_of(&[("f1", 7), ("f2", 8)]));
}

#[test]
fn who_sleeps_with_the_lock_is_blamed_for_it() {
    let trace = trace(
        "
        b: #mmmmm22##
        a: 1sss11####
        c: ##mmmmmm##
    ",
    );
    assert_eq!(held(&trace), cells_of(&[("f1", 4), ("f2", 2), ("holder-waiting", 5)]));
}

#[test]
fn a_lock_of_unknown_kind_needs_an_owner_to_accuse_the_sleeper() {
    let picture = "
        a: sss11#
        b: #fmmf#
    ";
    assert_eq!(held(&trace(&picture.replace('f', "m"))), cells_of(&[("f1", 2), ("holder-waiting", 2)]));
    let mut trace = trace(&picture.replace('m', "f"));
    let name = trace.objects.name.iter().position(|name| name == "f").expect("an object");
    trace.objects.name[name] = "m".into();
    assert_eq!(held(&trace), cells_of(&[("f1", 2), ("unknown", 2)]));
    let waits = trace.off_cpu.object.iter().map(|object| object.get() == Some(name));
    let waits: Vec<bool> = waits.collect();
    for (holder, _) in trace.off_cpu.holder.iter_mut().zip(waits).filter(|(_, waits)| *waits) {
        *holder = ThreadId::new(0);
    }
    trace.tables_changed();
    assert_eq!(held(&trace), cells_of(&[("f1", 2), ("holder-waiting", 2)]));
}

#[test]
fn the_critical_path_follows_wakers() {
    let trace = trace(
        "
        main: #jjjjjjjjjj#
        a   :  11mmmmm3
        b   :  2222222222
    ",
    );
    assert_eq!(check_conservation(&trace).len(), 0);
    let view = of(Report::CriticalPath, &trace, &Query::default());
    let rows: Vec<(Value, u64)> =
        column(&view, "name").into_iter().zip(column(&view, "path_ns").iter().map(|ns| number(ns) / CELL)).collect();
    // main waits for b, which runs all the time: a's wait is not on the path.
    assert!(rows.contains(&(Value::Text("f2".into()), 10)), "{rows:?}");
    assert!(!rows.iter().any(|(name, ns)| *name == Value::Text("m".into()) && *ns > 0), "{rows:?}");
}

#[test]
fn an_empty_trace_has_every_report() {
    let trace = build(&[], 2);
    for kind in Report::ALL.iter().filter(|kind| subject(**kind).is_none()) {
        of(*kind, &trace, &Query::default());
    }
}

/// A cell of a thread's life.
fn cells() -> impl Strategy<Value = Vec<char>> {
    let cell = prop_oneof![5 => Just('#'), 2 => Just('1'), 2 => Just('-'), 3 => Just('m'), 1 => Just('c'), 1 => Just('s'), 1 => Just('e')];
    (0..10usize, prop::collection::vec((cell, 1..4usize), 1..15)).prop_map(|(before, runs)| {
        let life = runs.into_iter().flat_map(|(cell, count)| std::iter::repeat_n(cell, count));
        std::iter::repeat_n(' ', before).chain(life).collect()
    })
}

pub fn lines() -> impl Strategy<Value = Vec<Vec<char>>> {
    prop::collection::vec(cells(), 1..5)
}

/// Thread, start and length in milliseconds, and kind of a task.
pub fn tasks() -> impl Strategy<Value = (usize, u64, u64, char)> {
    (0..5usize, 0..30u64, 1..20u64, prop::sample::select(vec!['P', 'T', 'R']))
}

/// Adds tasks to a trace, of threads that are there.
pub fn add_tasks(trace: &mut Trace, tasks: &[(usize, u64, u64, char)]) {
    let names: Vec<String> = trace.threads.name.clone();
    for (thread, start, length, letter) in tasks {
        let Some(name) = names.get(*thread) else { continue };
        let task = (0..*length).map(|at| if at == 0 { *letter } else { '=' });
        let cells: Vec<char> = (0..*start).map(|_| ' ').chain(task).collect();
        crate::said::line(trace, &format!("{name} tasks"), &cells);
    }
    crate::said::in_order(trace);
    trace.tables_changed();
}

/// Running, runnable and waiting time of each innermost task, cell by cell.
fn times_by_task(trace: &Trace, lines: &[Vec<char>], tasks: &[(usize, u64, u64, char)]) -> BTreeMap<String, [u64; 3]> {
    let mut times: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (thread, cells) in lines.iter().enumerate() {
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| **cell != ' ') {
            let at = at as u64;
            let open =
                tasks.iter().filter(|(of, start, length, _)| *of == thread && *start <= at && at < start + length);
            // Of those that begin at once, the shortest one is inside; of equal ones, the later.
            let innermost = open.max_by_key(|(_, start, length, _)| (*start, std::cmp::Reverse(*length)));
            let name = match innermost.map(|(.., letter)| letter) {
                Some('P') => "parse",
                Some('T') => "tokenize",
                Some(_) => "render",
                None => crate::stacks::tasks::NONE,
            };
            let what = if *cell == '-' { 1 } else { usize::from(cell.is_ascii_lowercase()) * 2 };
            times.entry(name.to_owned()).or_default()[what] += CELL;
        }
    }
    assert!(trace.threads.tid.len() == lines.len());
    times
}

fn named(lines: &[Vec<char>]) -> Vec<(&'static str, Vec<char>)> {
    ["a", "b", "c", "d", "e"].into_iter().zip(lines.iter().cloned()).collect()
}

/// Totals that must add up however the trace is divided.
fn totals(trace: &Trace, query: &Query) -> [u64; 6] {
    let summary = of(Report::Summary, trace, query);
    let one = |id: &str| number(&column(&summary, id)[0]);
    ["cpu_ns", "wait_ns", "wait_count", "preemption_ns", "preemption_count", "switches"].map(one)
}

fn plus(a: [u64; 6], b: [u64; 6]) -> [u64; 6] {
    std::array::from_fn(|index| a[index] + b[index])
}

/// The times among the totals.
fn times(totals: [u64; 6]) -> [u64; 3] {
    [totals[0], totals[1], totals[3]]
}

/// Waits, and preemptions, that began before and go on after that time.
fn across(trace: &Trace, cut: u64) -> (u64, u64) {
    let rows = &trace.off_cpu;
    let (mut waits, mut preemptions) = (0, 0);
    for row in 0..rows.start_ns.len() {
        let (start, wait) = (rows.start_ns[row], rows.wait_ns[row]);
        let of = |length: u64| u64::from(start < cut && cut < start + length);
        match Reason::from_code(rows.reason[row]) {
            Reason::Waiting => waits += of(wait),
            Reason::Preempted => preemptions += of(wait + rows.runnable_ns[row]),
            _ => {}
        }
    }
    (waits, preemptions)
}

/// Time by class of the waits, cell by cell.
fn waits_by_class(lines: &[Vec<char>], cpus: u32) -> [u64; 5] {
    let mut classes = [0; 5];
    let length = lines.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..length {
        let cells = || lines.iter().filter_map(|cells| cells.get(at)).filter(|cell| **cell != ' ');
        let ran = cells().filter(|cell| matches!(cell, '#' | '1')).count();
        let class = crate::measure::utilization::class_of(ran, cpus, &crate::Thresholds::default());
        classes[class] += cells().filter(|cell| cell.is_ascii_lowercase()).count() as u64 * CELL;
    }
    classes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whoever held the lock, the parts are the waits.
    #[test]
    fn the_holders_of_a_lock_share_its_waits(lines in lines(), owners in prop::collection::vec(prop::option::of(0..5usize), 60)) {
        let mut trace = build(&named(&lines), 2);
        prop_assume!(trace.objects.name.iter().any(|name| name == "m"));
        let threads = trace.threads.tid.len();
        for (holder, owner) in trace.off_cpu.holder.iter_mut().zip(owners) {
            *holder = owner.filter(|owner| *owner < threads).map_or(ThreadId::NONE, ThreadId::new);
        }
        trace.tables_changed();
        let view = of(Report::Blame, &trace, &Query { subject: Some("m".into()), ..Query::default() });
        let (whole, parts) = (number(&column(&view, "wait_ns")[0]), blamed(&trace));
        prop_assert_eq!(parts.iter().map(|(.., cells)| cells).sum::<u64>() * CELL, whole);
    }

    #[test]
    fn parts_add_up_to_the_whole(lines in lines(), cpus in 1..4u32, estimated: bool) {
        let mut trace = build(&named(&lines), cpus);
        trace.samples.estimated.fill(estimated);
        prop_assert_eq!(check_conservation(&trace), Vec::<String>::new());
        let query = Query::default();
        let [cpu, wait, waits, queued, ..] = totals(&trace, &query);
        let view = of(Report::Waits, &trace, &query);
        prop_assert_eq!(sum(&view, "wait_ns"), wait);
        prop_assert_eq!(sum(&view, "wait_count"), waits);
        let mut classes = [0; 5];
        for value in column(&view, "wait_by_class") {
            let Value::ByClass(of_row) = value else { panic!() };
            classes.iter_mut().zip(of_row).for_each(|(sum, ns)| *sum += ns);
        }
        prop_assert_eq!(classes, waits_by_class(&lines, cpus));
        prop_assert_eq!(sum(&of(Report::Hotspots, &trace, &query), "cpu_ns"), cpu);
        prop_assert_eq!(sum(&of(Report::BottomUp, &trace, &query), "cpu_ns"), cpu);
        prop_assert_eq!(sum(&of(Report::TopDown, &trace, &query), "wait_ns"), wait);
        prop_assert_eq!(sum(&of(Report::Transitions, &trace, &query), "wait_ns"), wait);
        let threads = of(Report::Threads, &trace, &query);
        for ((life, ran), (ready, waited)) in column(&threads, "lifetime_ns").iter().zip(column(&threads, "running_ns"))
            .zip(column(&threads, "runnable_ns").iter().zip(column(&threads, "waiting_ns"))) {
            prop_assert_eq!(number(life), number(&ran) + number(ready) + number(&waited));
        }
        let timeline = of(Report::Timeline, &trace, &Query { bins: 7, ..Query::default() });
        prop_assert_eq!(sum(&timeline, "running_ns"), cpu);
        prop_assert_eq!(sum(&timeline, "runnable_ns"), queued);
        prop_assert_eq!(sum(&timeline, "waiting_ns"), wait);
    }

    #[test]
    fn histograms_cover_the_time_and_agree_with_cpu_time(lines in lines(), pause in (0..30u64, 0..10u64)) {
        let mut trace = build(&named(&lines), 2);
        let (start_ns, end_ns) = (pause.0 * CELL, (pause.0 + pause.1) * CELL);
        trace.pauses.push(dwell_store::tables::PauseRow { start_ns, end_ns });
        let summary = of(Report::Summary, &trace, &Query::default());
        let active = number(&column(&summary, "elapsed_ns")[0]) - number(&column(&summary, "paused_ns")[0]);
        for id in ["histogram_cpu", "histogram_concurrency"] {
            let Value::Histogram(times) = &column(&summary, id)[0] else { panic!() };
            prop_assert_eq!(times.iter().sum::<u64>(), active);
        }
        let Value::Real(average) = column(&summary, "avg_running")[0] else { panic!() };
        let cpu = number(&column(&summary, "cpu_ns")[0]);
        prop_assert!((average * active as f64 - cpu as f64).abs() < 1.0);
    }

    #[test]
    fn filters_add_up(lines in lines()) {
        let trace = build(&named(&lines), 2);
        let whole = totals(&trace, &Query::default());
        let a = totals(&trace, &filters(&["thread=a"]));
        let b = totals(&trace, &filters(&["thread=b"]));
        prop_assert_eq!(plus(a, b), totals(&trace, &filters(&["thread=a", "thread=b"])));
        let classes = dwell_view::CLASSES.map(|class| totals(&trace, &filters(&[&format!("utilization={class}")])));
        prop_assert_eq!(classes.into_iter().fold([0; 6], plus), whole);
        let idle = totals(&trace, &filters(&["idle=yes"]))[1] + totals(&trace, &filters(&["idle=no"]))[1];
        prop_assert_eq!(idle, whole[1]);
    }

    #[test]
    fn tasks_add_up(lines in lines(), tasks in prop::collection::vec(tasks(), 0..5), cut in 1..20_000_000u64) {
        let mut trace = build(&named(&lines), 2);
        let plain = totals(&trace, &Query::default());
        add_tasks(&mut trace, &tasks);
        prop_assert_eq!(totals(&trace, &Query::default()), plain);
        let by_task = Query { group_by: vec![Level::TaskType, Level::Object], ..Query::default() };
        let view = of(Report::Threads, &trace, &by_task);
        for (id, whole) in ["cpu_ns", "wait_ns"].into_iter().zip(plain) {
            prop_assert_eq!(sum(&view, id), whole);
        }
        // Millisecond by millisecond, the innermost task of each thread.
        for (name, times) in times_by_task(&trace, &lines, &tasks) {
            let row = view.rows.iter().find(|row| row.depth == 0 && row.values[0] == Value::Text(name.clone()));
            let of_row = row.map_or([0; 3], |row| std::array::from_fn(|at| number(&row.values[3 + at])));
            prop_assert_eq!(of_row, times, "{}", name);
        }
        let elapsed = trace.elapsed_ns();
        if cut < elapsed {
            let part = |from, to| totals(&trace, &Query { range: Some((from, to)), ..filters(&["task=parse"]) });
            let (parts, whole) = (plus(part(0, cut), part(cut, elapsed)), totals(&trace, &filters(&["task=parse"])));
            prop_assert_eq!((times(parts), parts[5]), (times(whole), whole[5]));
            prop_assert!((2..5).step_by(2).all(|count| parts[count] >= whole[count]));
        }
    }

    #[test]
    fn ranges_add_up(lines in lines(), cut in 1..30_000_000u64) {
        let trace = build(&named(&lines), 2);
        let elapsed = trace.elapsed_ns();
        prop_assume!(cut < elapsed);
        let part = |from, to| totals(&trace, &Query { range: Some((from, to)), ..Query::default() });
        let (parts, whole) = (plus(part(0, cut), part(cut, elapsed)), totals(&trace, &Query::default()));
        prop_assert_eq!((times(parts), parts[5]), (times(whole), whole[5]));
        // What goes on across the cut is counted on both sides.
        let (waits, preemptions) = across(&trace, cut);
        prop_assert_eq!((parts[2], parts[4]), (whole[2] + waits, whole[4] + preemptions));
    }

    /// The same number wherever it is shown, whatever part of the time is looked at.
    #[test]
    fn one_number_everywhere(lines in lines(), range in (0..30_000_000u64, 1..30_000_000u64), hidden in prop::option::of((0..20u64, 1..10u64))) {
        let mut trace = build(&named(&lines), 2);
        if let Some((from, cells)) = hidden {
            let (start_ns, end_ns) = (from * CELL, (from + cells) * CELL);
            trace.pauses.push(dwell_store::tables::PauseRow { start_ns, end_ns });
        }
        let range = (range.0, (range.0 + range.1).min(trace.elapsed_ns()));
        prop_assume!(range.0 < range.1);
        let query = Query { range: Some(range), include_idle: true, ..Query::default() };
        let [_, wait, waits, ..] = totals(&trace, &query);
        let view = of(Report::Waits, &trace, &query);
        prop_assert_eq!((sum(&view, "wait_ns"), sum(&view, "wait_count")), (wait, waits));
        let fold = Fold::new(&trace, &query).unwrap();
        let lengths = durations(&fold, None, DurationKind::Wait);
        prop_assert_eq!(lengths.bins.iter().map(|bin| bin.count).sum::<u64>(), waits);
        let of_row = |id: &str| column(&view, id).into_iter().map(|value| if value == Value::None { 0 } else { number(&value) });
        let counts = of_row("wait_count").zip(of_row("wait_ns")).zip(of_row("max_wait_ns").zip(of_row("threads")));
        for ((count, ns), (longest, threads)) in counts {
            let is_one = ns == 0 || (threads <= count && ns <= longest * count);
            prop_assert!((count > 0) == (ns > 0) && is_one, "{count} waits of {threads} threads, {ns} ns, {longest} ns");
        }
        for (name, whole) in column(&view, "object").into_iter().zip(of_row("wait_ns")).filter(|(_, ns)| *ns > 0) {
            let Value::Text(name) = name else { panic!() };
            let blame = of(Report::Blame, &trace, &Query { subject: Some(name), ..query.clone() });
            prop_assert_eq!(number(&column(&blame, "wait_ns")[0]), whole);
        }
        let evidence = crate::findings::evidence::Evidence::new(&fold);
        let active = number(&column(&of(Report::Summary, &trace, &query), "elapsed_ns")[0]);
        for waits in evidence.objects.values() {
            let (contended, sum) = (waits.contended_ns, waits.weights.wait_ns());
            prop_assert!(contended <= active && contended <= sum && sum <= contended * waits.by_thread.len() as u64);
        }
    }

    #[test]
    fn the_critical_path_lasts_as_long_as_the_run(lines in lines(), range in prop::option::of((0..10u64, 11..20u64))) {
        let trace = build(&named(&lines), 2);
        let elapsed = trace.elapsed_ns();
        let range = range.map(|(from, to)| (from * CELL, (to * CELL).min(elapsed))).filter(|(from, to)| from < to);
        let view = of(Report::CriticalPath, &trace, &Query { range, ..Query::default() });
        prop_assert_eq!(sum(&view, "path_ns"), range.map_or(elapsed, |(from, to)| to - from));
        for gain in column(&view, "gain_ns") {
            prop_assert!(gain == Value::None || number(&gain) <= elapsed);
        }
    }

    #[test]
    fn looking_back_step_by_step_finds_what_a_search_finds(lines in lines(), steps in prop::collection::vec(1..3 * CELL, 1..40)) {
        let trace = build(&named(&lines), 2);
        let index = crate::study::thread_index::ThreadIndex::new(&trace);
        for thread in 0..trace.threads.tid.len() {
            let (mut time, mut reached) = (trace.elapsed_ns() + 1, crate::study::thread_index::Reached::default());
            for step in &steps {
                let piece = index.before_from(thread, time, &mut reached);
                prop_assert_eq!(piece, index.before(thread, time));
                if let Some(piece) = piece {
                    let (mut near, mut found) = (Vec::new(), Vec::new());
                    index.split_running_from(thread, piece, &mut reached, &mut |piece| near.push(piece));
                    index.split_running(thread, piece, &mut |piece| found.push(piece));
                    prop_assert_eq!(near, found);
                }
                time = time.saturating_sub(*step);
            }
        }
    }

    #[test]
    fn damaged_traces_have_every_report(lines in lines(), noise in prop::collection::vec((any::<u64>(), any::<u64>(), 0..5u32), 0..10)) {
        let mut trace = build(&named(&lines), 2);
        for (index, (wait, queued, thread)) in noise.into_iter().enumerate() {
            let rows = &mut trace.off_cpu;
            let threads = trace.threads.tid.len() as u32;
            if let Some(row) = rows.thread.len().checked_sub(1 + index) {
                rows.wait_ns[row] = wait;
                rows.runnable_ns[row] = queued;
                rows.thread[row] = dwell_model::ThreadId::from_raw(thread % threads);
                rows.waker[row] = dwell_model::ThreadId::from_raw((thread + 1) % threads);
            }
            let row = thread as usize % trace.threads.tid.len();
            (trace.threads.start_ns[row], trace.threads.end_ns[row]) = (wait, queued);
        }
        for kind in Report::ALL {
            let _ = report(*kind, &trace, &Query { subject: subject(*kind), ..Query::default() });
        }
        check_conservation(&trace);
    }
}
