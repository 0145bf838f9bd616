//! Drawings of small pictures, and laws that hold for any trace.

use proptest::prelude::*;

use super::*;
use crate::Analysis;
use crate::picture::{CELL, build, trace};
use crate::query::{Filter, Query};

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
    assert_eq!((info.start_ns, info.end_ns), (3 * CELL, 10 * CELL));
    assert_eq!((info.syscall.as_str(), info.stack[0].function.as_str()), ("futex", "pthread_mutex_lock"));
    let runs = interval_at(&analysis, &Query::default(), 0, CELL).unwrap();
    assert_eq!((runs.state, runs.stack[0].function.as_str(), runs.end_ns), ("running", "work", 2 * CELL));
    assert_eq!(interval_at(&analysis, &Query::default(), 1, 0), None);
    assert_eq!(interval_at(&analysis, &Query::default(), 99, 0), None);
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
fn waits_make_a_histogram() {
    let analysis = Analysis::new(trace(CONVOY));
    let histogram = histogram(&analysis, &Query::default(), DurationKind::Wait).unwrap();
    let count: u64 = histogram.bins.iter().map(|bin| bin.count).sum();
    assert_eq!(count, 12);
    assert!(histogram.bins.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
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
