//! Drawings of small pictures, and laws that hold for any trace.

use dwell_model::{CounterId, ProcessId, TaskId, TaskTypeId, ThreadId};
use dwell_query::Analysis;
use dwell_query::engine::fold::Fold;
use dwell_query::question::filter::{Filter, FilterKey};
use dwell_query::question::query::Query;
use dwell_store::Trace;
use dwell_store::tables::{CounterRow, CounterValueRow, MarkerRow, TaskRow, TaskTypeRow};
use dwell_trace_dsl::{CELL, build, trace};
use proptest::prelude::*;

use crate::timeline::*;

const CONVOY: &str = "
    main: ##jjjjjjjjjjjjjjjjjjj##
    a   :   1ss1mmmm11ss1mmm#
    b   :   mmmm1ss1mmmmm1ss1
    d   :   #mmmmmmm1ss1mmmm-11
";

fn drawn(analysis: &Analysis, by: BandKind, id: u32, (from, to, width): (u64, u64, usize)) -> BandTile {
    let request = TileRequest { from, to, width, by, bands: vec![id] };
    tile(analysis, &request).bands.remove(0)
}

/// A band as text: state and length in cells of each segment.
fn text(band: &BandTile) -> String {
    let segment = |index: usize| {
        let state = TimelineState::ALL[usize::from(band.state[index])].id();
        let many = if band.flags[index] & MANY != 0 { "*" } else { "" };
        format!("{state}{many} {}", (band.end[index] - band.start[index]) as f64 / CELL as f64)
    };
    (0..band.start.len()).map(segment).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_thread_is_drawn_interval_by_interval() {
    let analysis = Analysis::new(trace(CONVOY));
    let whole = (0, 23 * CELL, 2000);
    let band = drawn(&analysis, BandKind::Thread, 3, whole);
    assert_eq!(text(&band), "running 1, lock 7, running 1, sleep 2, running 1, lock 4, preempted 1, running 2");
    assert_eq!(band.sample_time.len(), 4);
    let part = drawn(&analysis, BandKind::Thread, 3, (4 * CELL, 5 * CELL, 1000));
    assert_eq!((text(&part).as_str(), part.flags[0]), ("lock 1", CLIPPED));
}

#[test]
fn what_is_shorter_than_a_pixel_is_merged_by_majority() {
    let analysis = Analysis::new(trace("a: #m#m#m#mmmmmmmmm#ss#####"));
    let band = drawn(&analysis, BandKind::Thread, 0, (0, 24 * CELL, 8));
    assert_eq!(text(&band), "running* 3, lock* 3, running 1, lock 9, sleep* 3, running 5");
}

#[test]
fn shared_bands_run_where_any_of_their_threads_does() {
    let analysis = Analysis::new(trace("a: ##mm##\nb: mm##mm"));
    let whole = (0, 6 * CELL, 6);
    assert_eq!(text(&drawn(&analysis, BandKind::Process, 0, whole)), "running* 6");
    assert_eq!(text(&drawn(&analysis, BandKind::Object, 0, whole)), "lock 6");
}

#[test]
fn an_interval_says_everything() {
    let analysis = Analysis::new(trace(CONVOY));
    let info = interval_at(&analysis, &Query::default(), 3, 4 * CELL).unwrap();
    assert_eq!((info.state, info.object.as_str(), info.waker.as_str()), ("lock", "m", "b (102)"));
    assert_eq!((info.waker_thread, info.holder_thread), (Some(2), None));
    assert_eq!((info.start_ns, info.end_ns), (3 * CELL, 10 * CELL));
    assert_eq!((info.syscall.as_str(), info.stack[0].function.as_str()), ("futex", "pthread_mutex_lock"));
    let runs = interval_at(&analysis, &Query::default(), 0, CELL).unwrap();
    assert_eq!((runs.state, runs.stack[0].function.as_str(), runs.end_ns), ("running", "work", 2 * CELL));
    assert_eq!(interval_at(&analysis, &Query::default(), 1, 0), None);
    assert_eq!(interval_at(&analysis, &Query::default(), 99, 0), None);
}

#[test]
fn an_interval_names_the_holder_that_the_lock_told() {
    let mut trace = trace(CONVOY);
    let waits = trace.off_cpu.object.iter().map(|object| object.is_some()).collect::<Vec<_>>();
    for (holder, _) in trace.off_cpu.holder.iter_mut().zip(waits).filter(|(_, waits)| *waits) {
        *holder = ThreadId::from_raw(1);
    }
    let analysis = Analysis::new(trace);
    let holder = |time| interval_at(&analysis, &Query::default(), 3, time).unwrap().holder_thread;
    assert_eq!((holder(4 * CELL), holder(10 * CELL)), (Some(1), None));
}

#[test]
fn arrows_lead_from_waker_to_woken() {
    let analysis = Analysis::new(trace("a: ##m###\nb: ######"));
    let found = arrows(&analysis, (0, 6 * CELL), &[], 10);
    let expected = Arrow { waker: 1, woken: 0, time_ns: 3 * CELL, run_ns: 3 * CELL, object: "m".into() };
    assert_eq!((found.total, found.arrows), (1, vec![expected]));
    assert_eq!(arrows(&analysis, (0, 2 * CELL), &[], 10).total, 0);
}

#[test]
fn charts_have_mean_and_peak() {
    let analysis = Analysis::new(trace("a: ##mm\nb: #-##"));
    let charts = charts(&analysis, &Query::default(), (0, 4 * CELL), 2).unwrap();
    assert_eq!(charts.series[1].mean, [1.5, 1.0]);
    assert_eq!(charts.series[1].peak, [2.0, 1.0]);
    assert_eq!(charts.series[2].mean, [2.0, 1.0]);
    assert_eq!(charts.series[0].mean, [75.0, 50.0]);
}

#[test]
fn bands_obey_filters_and_order() {
    let analysis = Analysis::new(trace(CONVOY));
    let names = |query: &Query, order: &str| -> Vec<String> {
        let order = BandOrder::parse(order).unwrap();
        let bands = bands(&analysis, query, BandKind::Thread, order).unwrap();
        bands.into_iter().map(|band| band.label).collect()
    };
    assert_eq!(names(&Query::default(), "start"), ["main (100)", "a (101)", "b (102)", "d (103)"]);
    assert_eq!(names(&Query::default(), "wait_ns")[0], "main (100)");
    let without = Query { exclude: vec![Filter::parse("thread=main").unwrap()], ..Query::default() };
    assert_eq!(names(&without, "name"), ["a (101)", "b (102)", "d (103)"]);
    assert!(BandOrder::parse("wait_n").is_err());
}

#[test]
fn a_pause_is_drawn_as_a_pause() {
    let mut trace = trace(CONVOY);
    let (start_ns, end_ns) = (3 * CELL + 5, 9 * CELL + 7);
    trace.pauses.push(dwell_store::tables::PauseRow { start_ns, end_ns });
    let analysis = Analysis::new(trace);
    for by in [BandKind::Thread, BandKind::Process, BandKind::Cpu] {
        let request = TileRequest { from: 0, to: u64::MAX, width: 10_000, by, bands: vec![0] };
        let band = &tile(&analysis, &request).bands[0];
        let segments = || (0..band.start.len()).map(|at| (band.start[at], band.end[at], band.state[at]));
        let paused = TimelineState::Paused.index() as u8;
        assert!(segments().zip(segments().skip(1)).all(|(a, b)| a.0 < a.1 && a.1 <= b.0), "{by:?} {band:?}");
        assert!(segments().filter(|it| it.2 != paused).all(|it| it.1 <= start_ns || it.0 >= end_ns), "{by:?} {band:?}");
        let pauses: Vec<_> = segments().filter(|it| it.2 == paused).collect();
        assert!(by != BandKind::Thread || pauses == [(start_ns, end_ns, paused)], "{by:?} {pauses:?}");
    }
}

#[test]
fn waits_make_a_histogram() {
    let analysis = Analysis::new(trace(CONVOY));
    let histogram = histogram(&analysis, &Query::default(), DurationKind::Wait).unwrap();
    let count: u64 = histogram.bins.iter().map(|bin| bin.count).sum();
    assert_eq!(count, 12);
    assert!(histogram.bins.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
}

#[test]
fn durations_of_named_objects_are_those_of_a_filter() {
    let analysis = Analysis::new(trace(CONVOY));
    let all = Query::default();
    let fold = Fold::new(analysis.trace(), &all).unwrap();
    for name in ["m*", "m", "nothing", "*"] {
        let named = Filter { key: FilterKey::Object, value: name.into() };
        let filtered = Query { filters: vec![named.clone()], ..Query::default() };
        for of in [DurationKind::Wait, DurationKind::OffCpu, DurationKind::Runnable] {
            let expected = histogram(&analysis, &filtered, of).unwrap();
            assert_eq!(durations(&fold, Some(&named), of), expected, "{name}");
        }
    }
    let total = |object: &str| {
        let named = Filter { key: FilterKey::Object, value: object.into() };
        durations(&fold, Some(&named), DurationKind::Wait).bins.iter().map(|bin| bin.count).sum::<u64>()
    };
    let names = &analysis.trace().objects.name;
    assert!(total("*") > 0 && names.iter().map(|name| total(name)).sum::<u64>() == total("*"));
}

fn cells() -> impl Strategy<Value = Vec<Vec<char>>> {
    let cell = prop::sample::select(vec!['#', '1', 'm', 's', 'e', 'c', '-']);
    prop::collection::vec(prop::collection::vec(cell, 1..60), 1..5)
}

proptest! {
    #[test]
    fn a_drawing_covers_each_life_exactly_once(
        lines in cells(), width in 1usize..80, from in 0u64..50_000_000, span in 1u64..60_000_000,
    ) {
        let lines: Vec<(&str, Vec<char>)> = lines.into_iter().map(|cells| ("t", cells)).collect();
        let analysis = Analysis::new(build(&lines, 2));
        for thread in 0..lines.len() {
            let (start, end) = analysis.life(thread).unwrap();
            let band = drawn(&analysis, BandKind::Thread, thread as u32, (from, from + span, width));
            let (low, high) = (start.max(from), end.min(from + span));
            let covered: u64 = band.start.iter().zip(&band.end).map(|(start, end)| end - start).sum();
            prop_assert_eq!(covered, high.saturating_sub(low));
            prop_assert!(band.end.iter().zip(band.start.iter().skip(1)).all(|(end, start)| end == start));
            prop_assert!(band.start.len() <= 2 * width + 2);
            prop_assert!(band.sample_time.len() <= width);
        }
    }
}

/// A trace whose thread `a` says: a frame of 20 ms, in it `parse` (twice, the second with `read` inside), a region that
/// overlaps them, markers, and a counter.
fn said() -> Trace {
    let mut trace = trace("a: ##mm##########mm########\nb: ##mm##########mm########");
    let said = &mut trace.annotations;
    for (kind, name) in [(4, "frame"), (1, "parse"), (1, "read"), (3, "region"), (7, "mark")] {
        said.task_types.push(TaskTypeRow { kind, domain: "d".into(), name: name.into() });
    }
    let mut task = |task_type: usize, (start, end): (u64, u64), parent: Option<usize>| {
        said.tasks.push(TaskRow {
            task_type: TaskTypeId::new(task_type),
            thread: ThreadId::new(0),
            end_thread: ThreadId::new(0),
            start_ns: start * CELL,
            end_ns: end * CELL,
            parent: parent.map_or(TaskId::NONE, TaskId::new),
            id: 0,
            finished: true,
        });
    };
    task(0, (0, 20), None);
    task(1, (1, 4), None);
    task(3, (2, 9), None);
    task(1, (5, 12), None);
    task(2, (5, 7), Some(3));
    for time in [3, 3, 15] {
        let (task_type, thread) = (TaskTypeId::new(4), ThreadId::new(0));
        said.markers.push(MarkerRow { task_type, thread, time_ns: time * CELL, scope: 3 });
    }
    let (domain, unit) = ("d".to_owned(), "B".to_owned());
    said.counters.push(CounterRow { domain, name: "recv_ctrl".into(), process: ProcessId::new(0), kind: 1, unit });
    for (time, value) in [(4, 8.0), (8, 1460.0), (8, 8.0)] {
        let (counter, thread) = (CounterId::new(0), ThreadId::new(0));
        said.counter_values.push(CounterValueRow { counter, time_ns: time * CELL, thread, value });
    }
    trace
}

#[test]
fn tasks_lie_in_lanes_frames_first() {
    let analysis = Analysis::new(said());
    let lanes = |by, id, width| -> Vec<Vec<String>> {
        let band = spans(&analysis, &Query::default(), (by, &[id]), (0, 24 * CELL, width)).remove(0);
        let name = |task_type: u32| &analysis.trace.annotations.task_types.name[task_type as usize];
        let text = |lane: &LaneSpans| -> Vec<String> {
            let text = |at: usize| {
                let many = if lane.task[at].is_none() { "*" } else { "" };
                format!("{}{many} {}-{}", name(lane.task_type[at]), lane.start[at] / CELL, lane.end[at] / CELL)
            };
            (0..lane.start.len()).map(text).collect()
        };
        band.lanes.iter().map(text).collect()
    };
    let thread = lanes(BandKind::Thread, 0, 1000);
    assert_eq!(thread, [vec!["frame 0-20"], vec!["parse 1-4", "parse 5-12"], vec!["read 5-7"], vec!["region 2-9"]]);
    assert_eq!(lanes(BandKind::Task, 1, 1000), [["parse 1-4", "parse 5-12"]]);
    // On two pixels of 12 ms the tasks are one, the frame is not.
    assert_eq!(lanes(BandKind::Thread, 0, 2)[..2], [["frame 0-20"], ["parse* 1-12"]]);
    assert_eq!(lanes(BandKind::Thread, 1, 1000), Vec::<Vec<String>>::new());
    let all = Query::default();
    let markers = spans(&analysis, &all, (BandKind::Thread, &[0]), (0, 24 * CELL, 24)).remove(0).markers;
    assert_eq!((markers.time, markers.count), (vec![3 * CELL, 15 * CELL], vec![2, 1]));
    let read = task_at(&analysis.trace, 4).unwrap();
    assert_eq!((read.name.as_str(), read.parent.as_str(), read.kind), ("read", "parse", "task"));
    assert!(task_at(&analysis.trace, 5).is_none());
    let bands = bands(&analysis, &Query::default(), BandKind::Task, BandOrder::Name).unwrap();
    let labels: Vec<_> = bands.iter().map(|band| (band.label.as_str(), band.lanes, band.values["count"])).collect();
    assert_eq!(labels, [("frame", 1, 1.0), ("parse", 1, 2.0), ("read", 1, 1.0), ("region", 1, 1.0)]);
}

#[test]
fn bands_of_tasks_obey_range_and_filters() {
    let mut trace = said();
    // The second thread parses too, later.
    trace.annotations.tasks.push(TaskRow {
        task_type: TaskTypeId::new(1),
        thread: ThreadId::new(1),
        end_thread: ThreadId::new(1),
        start_ns: 20 * CELL,
        end_ns: 23 * CELL,
        parent: TaskId::NONE,
        id: 0,
        finished: true,
    });
    let analysis = Analysis::new(trace);
    let filter = |text: &str| vec![Filter::parse(text).unwrap()];
    let listed = |query: &Query| -> Vec<(String, f64, f64)> {
        let bands = bands(&analysis, query, BandKind::Task, BandOrder::Name).unwrap();
        bands
            .into_iter()
            .map(|band| (band.label, band.values["count"], band.values["total_ns"] / CELL as f64))
            .collect()
    };
    let named = |rows: &[(&str, f64, f64)]| -> Vec<(String, f64, f64)> {
        rows.iter().map(|(name, count, ms)| ((*name).to_owned(), *count, *ms)).collect()
    };
    let all = [("frame", 1.0, 20.0), ("parse", 3.0, 13.0), ("read", 1.0, 2.0), ("region", 1.0, 7.0)];
    assert_eq!(listed(&Query::default()), named(&all));
    let query = Query { filters: filter("thread=b"), ..Query::default() };
    assert_eq!(listed(&query), named(&[("parse", 1.0, 3.0)]));
    let drawn = spans(&analysis, &query, (BandKind::Task, &[1]), (0, 24 * CELL, 1000)).remove(0).lanes.remove(0);
    assert_eq!((drawn.start, drawn.end), (vec![20 * CELL], vec![23 * CELL]));
    let query = Query { exclude: filter("task=parse"), ..Query::default() };
    assert_eq!(listed(&query), named(&[("frame", 1.0, 20.0)]), "the others begin in it");
    // Of what began before, the part is seen and not counted.
    let query = Query { range: Some((6 * CELL, 8 * CELL)), ..Query::default() };
    assert_eq!(
        listed(&query),
        named(&[("frame", 0.0, 0.0), ("parse", 0.0, 0.0), ("read", 0.0, 0.0), ("region", 0.0, 0.0)])
    );
    let query = Query { range: Some((20 * CELL, 24 * CELL)), ..Query::default() };
    assert_eq!(listed(&query), named(&[("parse", 1.0, 3.0)]));
}

/// The mean and the greatest value of each pixel, value by value.
fn plain_curve(values: &[(u64, f64)], (from, to, width): (u64, u64, usize)) -> Vec<(Option<f64>, Option<f64>)> {
    let edge = |pixel: usize| from + (u128::from(to - from) * pixel as u128 / width as u128) as u64;
    let pixel = |pixel: usize| {
        let (start, end) = (edge(pixel), edge(pixel + 1));
        let held_at = |time: u64| values.iter().rev().find(|(at, _)| *at < time).map(|(_, value)| *value);
        let inside = values.iter().filter(|(at, _)| (start..end).contains(at));
        let mut peak = held_at(start);
        let (mut sum, mut since, mut held) = (0.0, start, held_at(start));
        let known_from = if held.is_some() { start } else { inside.clone().next().map_or(end, |(at, _)| *at) };
        for (at, value) in inside {
            sum += held.unwrap_or(0.0) * (at - since) as f64;
            (since, held) = (*at, Some(*value));
            peak = Some(peak.unwrap_or(f64::NEG_INFINITY).max(*value));
        }
        sum += held.unwrap_or(0.0) * (end - since) as f64;
        (held.map(|_| sum / (end - known_from).max(1) as f64), peak)
    };
    (0..width).map(pixel).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_curve_of_many_values_is_that_of_each(
        steps in prop::collection::vec((0u64..30, -50i32..1000), 1..4000),
        range in (0u64..20_000, 1u64..60_000),
        width in 1usize..40,
    ) {
        let mut trace = said();
        let values = &mut trace.annotations.counter_values;
        *values = Default::default();
        let (mut time_ns, mut plain) = (0, Vec::new());
        for (step, value) in steps {
            time_ns += step;
            let (counter, thread, value) = (CounterId::new(0), ThreadId::new(0), f64::from(value));
            values.push(CounterValueRow { counter, time_ns, thread, value });
            plain.push((time_ns, value));
        }
        let part = (range.0, range.0 + range.1, width.min(range.1 as usize));
        let curve = counters(&Analysis::new(trace), &|_| true, part).counters.remove(0);
        for (pixel, (mean, peak)) in plain_curve(&plain, part).into_iter().enumerate() {
            prop_assert_eq!(curve.peak[pixel], peak, "{}", pixel);
            let close = match (curve.mean[pixel], mean) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * (1.0 + b.abs()),
                (a, b) => a == b,
            };
            prop_assert!(close, "{pixel}: {:?} is not {mean:?}", curve.mean[pixel]);
        }
    }
}

#[test]
fn a_counter_holds_its_value_until_the_next() {
    let analysis = Analysis::new(said());
    let curves = counters(&analysis, &|_| true, (0, 12 * CELL, 6));
    let [curve] = &curves.counters[..] else { panic!("one counter") };
    let close = |values: &[Option<f64>], expected: [Option<f64>; 6]| {
        let same = |(a, b): (&Option<f64>, Option<f64>)| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            (a, b) => a.is_none() && b.is_none(),
        };
        assert!(values.iter().zip(expected).all(same), "{values:?} is not {expected:?}");
    };
    let held = [None, None, Some(8.0), Some(8.0), Some(8.0), Some(8.0)];
    close(&curve.last, held);
    close(&curve.mean, held);
    close(&curve.peak, [None, None, Some(8.0), Some(8.0), Some(1460.0), Some(8.0)]);
    assert_eq!((curve.range, curve.values, curve.unit.as_str()), ((8.0, 1460.0), 3, "B"));
    // Two values in 2 ms.
    assert!((curve.rate[4] - 1000.0).abs() < 1e-6 && curve.rate[5] == 0.0);
    // Added up, it grows steadily from 8 at 4 ms to 1460 at 8 ms, and falls to 8 at once.
    let mut trace = said();
    trace.annotations.counters.kind[0] = 2;
    let sums = counters(&Analysis::new(trace), &|_| true, (0, 12 * CELL, 6)).counters.remove(0);
    let expected = [0.0, 0.0, 363_000.0, -363_000.0, 0.0, 0.0];
    assert!(sums.rate.iter().zip(expected).all(|(rate, expected)| (rate - expected).abs() < 1e-3), "{:?}", sums.rate);
    assert!(counters(&analysis, &|name| name == "other", (0, CELL, 1)).counters.is_empty());
    // Ranges without measure.
    assert!(counters(&analysis, &|_| true, (u64::MAX, 0, usize::MAX)).counters[0].mean.is_empty());
    assert_eq!(spans(&analysis, &Query::default(), (BandKind::Thread, &[7, 0]), (9, 3, 0)).len(), 2);
}

#[test]
fn a_wait_is_a_chain_of_what_others_did() {
    let analysis = Analysis::new(trace(
        "a: #mmmmmmm#
         b: #llll122#
         c: ##s-2###",
    ));
    let query = Query::default();
    let fold = Fold::new(&analysis.trace, &query).unwrap();
    let at = |thread, cell: u64| wait_chain(&analysis, &fold, thread, cell * CELL);
    let chain = at(0, 3).unwrap();
    assert_eq!((chain.start_ns, chain.end_ns, chain.more), (CELL, 8 * CELL, 0));
    let told = |piece: &ChainPiece| {
        let (from, to) = (piece.start_ns / CELL, piece.end_ns / CELL);
        format!("{} {from}-{to} {} {}", piece.thread, piece.kind, piece.place)
    };
    let pieces: Vec<String> = chain.pieces.iter().map(told).collect();
    assert_eq!(
        pieces,
        [
            "2 1-2 running work",
            "2 2-3 slept use_s",
            "2 3-4 run-queue ",
            "2 4-5 running f2",
            "1 5-6 running f1",
            "1 6-8 running f2",
        ]
    );
    let waits: Vec<(u32, u64, u64)> =
        chain.waits.iter().map(|wait| (wait.thread, wait.start_ns / CELL, wait.end_ns / CELL)).collect();
    assert_eq!(waits, [(1, 1, 5)]);
    // It ran, and it was not there.
    assert_eq!(at(0, 0).unwrap().pieces, []);
    assert_eq!(at(0, 99), None);
}
