//! Every report of small pictures.

mod advice;
mod causes;
mod ends;
mod full_queues;
mod holders;
mod idle_holders;
mod indexed;
pub mod laws;
mod sweep;

use std::collections::BTreeMap;

use dwell_model::{Reason, ThreadId};
use dwell_query::engine::conservation::check_conservation;
use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_query::question::filter::{Filter, FilterKey};
use dwell_query::question::level::{CallStackMode, Level};
use dwell_query::question::query::Query;
use dwell_query::question::rates::FrameRates;
use dwell_store::Trace;
use dwell_trace_dsl::annotations;
use dwell_trace_dsl::{CELL, build, text, trace};
use dwell_view::{Value, View};
use proptest::prelude::*;

use crate::explore::filter_values;
use crate::report;
use crate::reports::Report;
use crate::timeline::{DurationKind, durations};

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

/// Totals that must add up however the trace is divided.
fn totals(trace: &Trace, query: &Query) -> [u64; 6] {
    let summary = of(Report::Summary, trace, query);
    let one = |id: &str| number(&column(&summary, id)[0]);
    ["cpu_ns", "wait_ns", "wait_count", "preemption_ns", "preemption_count", "switches"].map(one)
}

fn plus(a: [u64; 6], b: [u64; 6]) -> [u64; 6] {
    std::array::from_fn(|index| a[index] + b[index])
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
    annotations::metadatum(&mut trace, 0, "bytes", Some(1460.0), "");
    annotations::metadatum(&mut trace, 0, "url", None, "/index.html");
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

/// What the terms are that an account shows, and their sum; behind the whole's words, each term ends with its time.
#[test]
fn the_terms_that_an_account_shows_add_up() {
    let note = of(Report::Explain, &trace(CONVOY), &Query::default()).notes.into_iter().find_map(|note| {
        let parts = note.parts();
        (parts[0]["id"] == "time-account").then(|| (note.to_string(), parts[0]["values"].clone()))
    });
    let (account, values) = note.expect("an account");
    let names = [
        ("running", "= running "),
        ("queue", "+ run queue "),
        ("demand", "+ waits on others "),
        ("structure", "+ joins and children "),
        ("own", "+ own sleeps "),
        ("idle", "+ idle "),
    ];
    let ns = |name: &str| values[name]["ns"].as_u64().expect("a time");
    let shown = names.iter().filter(|(_, words)| account.contains(words));
    assert_eq!(shown.map(|(name, _)| ns(name)).sum::<u64>(), ns("life"), "{account}");
    let zeros = names[1..].iter().filter(|(name, _)| ns(name) == 0);
    let mut zeros = zeros.inspect(|(_, words)| assert!(!account.contains(words), "{account}"));
    assert!(zeros.next().is_some(), "a term is 0: {account}");
    assert_eq!(zeros.count() + 1 + account.matches(" + ").count(), names.len() - 1);
}
