//! The intervals of one type as a page draws them: how long, when, and what the outliers' time was for.

use std::collections::BTreeMap;

use dwell_query::engine::fold::Fold;
use dwell_query::measure::histogram::{Histogram, histogram_of};
use dwell_query::question::error::QueryError;
use dwell_view::answer;

use crate::study::latency::{IntervalId, IntervalType, Latency, Outlier, Statistics};

/// Outliers that are told one by one, and other intervals that are drawn: more are no picture.
const MOST_OUTLIERS: usize = 2000;
const MOST_POINTS: usize = 2000;
/// Percentiles between two halvings of the rest, as HdrHistogram's writers have them.
const TICKS_PER_HALF: u32 = 5;

answer! {
    /// The intervals of one type.
    #[derive(Clone, Debug, Default)]
    pub struct LatencyPane {
        /// What they are called; empty when there are none.
        pub interval: String,
        /// How many.
        pub count: usize,
        /// Longer ones are outliers, ns.
        pub limit_ns: u64,
        /// Parts of 1, and the length that so many do not exceed: the rest is halved again and again.
        pub percentiles: Vec<(f64, u64)>,
        /// Their lengths.
        pub lengths: Histogram,
        /// Begin and length of those that are no outliers, ns; evenly spread ones of many.
        pub points: Vec<(u64, u64)>,
        /// The longest outliers.
        pub outliers: Vec<OutlierPoint>,
    }
}

answer! {
    /// An outlier.
    #[derive(Clone, Debug)]
    pub struct OutlierPoint {
        /// For the report `outlier`.
        pub id: String,
        /// Row of its thread.
        pub thread: u32,
        /// When it began.
        pub start_ns: u64,
        /// How long it was.
        pub length_ns: u64,
        /// What most of its time over the median was for.
        pub cause: &'static str,
        /// All that it was for.
        pub causes: BTreeMap<&'static str, u64>,
    }
}

/// The intervals of the type that the query's subject names, by its name or by the handle of one of its intervals; else of the one with
/// the most outlier time. Fails when no type has this name.
pub fn latency_pane(fold: &Fold<'_>) -> Result<LatencyPane, QueryError> {
    let latency = Latency::new(fold);
    let of = match fold.query.subject.as_deref() {
        None => latency.types.first(),
        Some(name) => {
            let names = latency.types.iter().map(|of| of.name.as_str());
            let of_handle = || IntervalId::from_handle(name).and_then(|id| latency.find(id)).map(|(of, _)| of);
            let found = latency.types.iter().find(|of| of.name == name).or_else(of_handle);
            Some(found.ok_or_else(|| QueryError::unknown("interval", name, names))?)
        }
    };
    Ok(of.map_or_else(LatencyPane::default, pane))
}

fn pane(of: &IntervalType) -> LatencyPane {
    let statistics = &of.statistics;
    let usual = of.intervals.iter().filter(|interval| interval.length_ns() <= statistics.limit_ns);
    let step = (of.intervals.len() - of.outliers.len()).div_ceil(MOST_POINTS).max(1);
    LatencyPane {
        interval: of.name.clone(),
        count: statistics.count(),
        limit_ns: statistics.limit_ns,
        percentiles: percentiles(statistics),
        lengths: histogram_of(statistics.sorted().iter().copied()),
        points: usual.step_by(step).map(|interval| (interval.start_ns, interval.length_ns())).collect(),
        outliers: of.outliers.iter().take(MOST_OUTLIERS).map(point).collect(),
    }
}

fn point(outlier: &Outlier) -> OutlierPoint {
    let mut causes: BTreeMap<&'static str, u64> =
        outlier.split.causes.iter().map(|(cause, ns)| (cause.id(), ns)).collect();
    if outlier.split.unexplained_ns > 0 {
        causes.insert(dwell_model::Delay::Unexplained.id(), outlier.split.unexplained_ns);
    }
    OutlierPoint {
        id: outlier.interval.id.to_string(),
        thread: outlier.interval.thread.raw(),
        start_ns: outlier.interval.start_ns,
        length_ns: outlier.interval.length_ns(),
        cause: outlier.split.main().id(),
        causes,
    }
}

/// From the shortest to the longest; behind the part that one interval is, there is nothing to tell.
fn percentiles(statistics: &Statistics) -> Vec<(f64, u64)> {
    let sorted = statistics.sorted();
    let Some(longest) = sorted.last() else { return Vec::new() };
    let at = |part: f64| sorted[((part * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
    let mut found = Vec::new();
    let (mut begin, mut rest) = (0.0, 1.0);
    while rest * sorted.len() as f64 > 1.0 {
        for tick in 0..TICKS_PER_HALF {
            let part = begin + rest / 2.0 * f64::from(tick) / f64::from(TICKS_PER_HALF);
            found.push((part, at(part)));
        }
        rest /= 2.0;
        begin += rest;
    }
    found.push((1.0, *longest));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_halve_the_rest() {
        let of = |lengths: Vec<u64>| percentiles(&Statistics::new(lengths, None));
        assert_eq!(of(Vec::new()), []);
        assert_eq!(of(vec![7]), [(1.0, 7)]);
        let thousand = of((1..=1000).collect());
        assert_eq!((thousand[0], *thousand.last().unwrap()), ((0.0, 1), (1.0, 1000)));
        let length_of = |wanted: f64| thousand.iter().find(|(part, _)| *part == wanted).map(|(_, ns)| *ns);
        assert_eq!([0.5, 0.75, 0.875].map(length_of), [Some(500), Some(750), Some(875)]);
        assert!(thousand.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        // The last halving is that of two intervals: there is no more of a part.
        assert!(thousand.len() > 45 && thousand.len() < 60, "{}", thousand.len());
    }
}
