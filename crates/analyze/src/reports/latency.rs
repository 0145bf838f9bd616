//! The lengths of intervals by type, their outliers, and what these were due to.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{Delay, Topic};
use dwell_view::{Column, Prose, Row, Value, View, Word};

use crate::engine::fold::Fold;
use crate::engine::grouping::thread_label;
use crate::sentences::say;
use crate::study::latency::{
    Interval, IntervalType, Kind, LEAST_DISTANCE_NS, LEAST_DISTANCE_PART, Latency, OUTLIER_DISTANCES, Outlier,
    ThreadDelays,
};
use crate::tables::grouped::{cut_note, detail, plain};
use crate::tables::notes::notes;

/// Types shown, unless asked otherwise.
const MOST_TYPES: usize = 20;
/// Outliers of a type that are shown one by one, unless asked otherwise.
const WORST: usize = 5;
/// Cells of an interval's small timeline.
const CELLS: u64 = 40;

/// A row per type of interval, the one with the most outlier time first.
pub fn latency(fold: &Fold<'_>) -> View {
    let latency = Latency::new(fold);
    let limit = fold.query.limit.unwrap_or(MOST_TYPES);
    let shown = &latency.types[..latency.types.len().min(limit)];
    let timelines: Vec<Timelines> = shown.iter().map(|of| timelines(fold, &latency, of)).collect();
    let rows: Vec<Row> = shown.iter().zip(&timelines).map(|(of, timelines)| row(fold, of, timelines)).collect();
    let mut notes = notes(fold);
    if latency.types.is_empty() {
        notes.push(say!(NO_INTERVALS).into());
    } else {
        notes.push(rule(fold));
        notes.extend(legend(&timelines));
    }
    notes.extend(not_recorded(fold));
    notes.extend(cut_note(latency.types.len() - shown.len()));
    View { columns: columns(), rows, notes, ..View::default() }
}

fn rule(fold: &Fold<'_>) -> Prose {
    match fold.query.outlier_ns {
        Some(limit) => say!(OUTLIER_LIMIT, limit = Word::Ns(limit)).into(),
        None => say!(
            OUTLIER_RULE,
            distances = OUTLIER_DISTANCES,
            least = Word::Ns(LEAST_DISTANCE_NS),
            part = LEAST_DISTANCE_PART
        )
        .into(),
    }
}

/// Says that only waits and preemption are known.
pub fn not_recorded(fold: &Fold<'_>) -> Option<Prose> {
    let recorded = fold.trace.manifest.topics.iter().any(|topic| topic == Topic::Latency.id());
    (!recorded).then(|| say!(DELAYS_NOT_RECORDED).into())
}

fn columns() -> Vec<Column> {
    vec![
        plain("interval", "Interval", "What the intervals are called."),
        plain("count", "Count", "How many began in the range."),
        plain("p50_ns", "Median", "Half of them are not longer."),
        plain("p90_ns", "90 %", "90 % of them are not longer."),
        plain("p99_ns", "99 %", "99 % of them are not longer."),
        plain("p999_ns", "99.9 %", "99.9 % of them are not longer."),
        plain("p9999_ns", "99.99 %", "99.99 % of them are not longer."),
        plain("max_ns", "Longest", "The longest."),
        plain("outliers", "Outliers", "How many are much longer than the median."),
        plain("outlier_ns", "Outlier Time", "Time of the outliers over the median."),
        plain("unexplained_ns", "Unexplained", "The part of it that no recorded cause explains."),
        plain("mean_ns", "Mean", "Average length."),
        plain("mean_without_outliers_ns", "… Without Outliers", "Average length of those that are no outliers."),
        plain("min_ns", "Shortest", "The shortest."),
        plain("stddev_ns", "Deviation", "Standard deviation."),
        plain("stddev_without_outliers_ns", "… Without Outliers", "Standard deviation of those that are no outliers."),
        detail("outlier_limit_ns", "Outlier Limit", "Longer ones are outliers."),
        detail("kind", "Kind", "task, wake-up or wait."),
        plain("causes", "Causes of the outliers", "What the outliers' time was for."),
        plain("worst", "Worst", "The longest outliers one by one; `dwell report outlier ID` tells the story of one."),
    ]
}

fn row(fold: &Fold<'_>, of: &IntervalType, timelines: &Timelines) -> Row {
    let lengths = &of.statistics;
    let values = vec![
        Value::Text(of.name.clone()),
        Value::Count(lengths.count() as u64),
        Value::Ns(lengths.median_ns()),
        Value::Ns(lengths.quantile_ns(9_000)),
        Value::Ns(lengths.quantile_ns(9_900)),
        Value::Ns(lengths.quantile_ns(9_990)),
        Value::Ns(lengths.quantile_ns(9_999)),
        Value::Ns(lengths.quantile_ns(10_000)),
        Value::Count(lengths.outliers as u64),
        Value::Ns(of.outlier_ns()),
        Value::Ns(of.unexplained_ns()),
        Value::Ns(lengths.mean_ns),
        Value::Ns(lengths.mean_without_outliers_ns),
        Value::Ns(lengths.sorted().first().copied().unwrap_or(0)),
        Value::Ns(lengths.stddev_ns),
        Value::Ns(lengths.stddev_without_outliers_ns),
        Value::Ns(lengths.limit_ns),
        Value::Text(kind(of.kind).into()),
        Value::Rows(Box::new(causes(of))),
        Value::Rows(Box::new(worst(fold, of, timelines))),
    ];
    Row { depth: 0, values }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "task",
        Kind::WakeUp => "wake-up",
        Kind::Wait => "wait",
    }
}

/// What one cause did to the outliers of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseSum {
    /// Outliers that it is part of.
    pub count: u64,
    /// Its time in them.
    pub total_ns: u64,
    /// Its most time in one.
    pub max_ns: u64,
}

/// What each cause did to the outliers of a type.
pub fn cause_sums(of: &IntervalType) -> BTreeMap<Delay, CauseSum> {
    let mut sums: BTreeMap<Delay, CauseSum> = BTreeMap::new();
    for (cause, ns) in of.outliers.iter().flat_map(|outlier| outlier.split.causes.iter()) {
        let sum = sums.entry(cause).or_default();
        sum.count += 1;
        sum.total_ns = sum.total_ns.saturating_add(ns);
        sum.max_ns = sum.max_ns.max(ns);
    }
    sums
}

fn causes(of: &IntervalType) -> View {
    let whole = of.outlier_ns().max(1) as f64;
    let mut sums: Vec<(Delay, CauseSum)> = cause_sums(of).into_iter().collect();
    sums.sort_by_key(|(cause, sum)| (std::cmp::Reverse(sum.total_ns), *cause));
    let row = |(cause, sum): &(Delay, CauseSum)| Row {
        depth: 0,
        values: vec![
            Value::Text(cause.id().into()),
            Value::Ns(sum.total_ns),
            Value::Fraction(sum.total_ns as f64 / whole),
            Value::Count(sum.count),
            Value::Ns(sum.max_ns),
        ],
    };
    let columns = vec![
        plain("cause", "Cause", "What the time was for."),
        plain("total_ns", "Time", "Outlier time of this cause."),
        plain("share", "Share", "Part of all outlier time of the type."),
        plain("count", "Outliers", "Outliers that it is part of."),
        plain("max_ns", "Worst", "Its most time in one outlier."),
    ];
    View { columns, rows: sums.iter().map(row).collect(), ..View::default() }
}

fn worst(fold: &Fold<'_>, of: &IntervalType, timelines: &Timelines) -> View {
    let row = |(outlier, timeline): (&Outlier, &Option<String>)| {
        let Interval { id, thread, start_ns, .. } = outlier.interval;
        Row {
            depth: 0,
            values: vec![
                Value::Text(id.to_string()),
                Value::Ns(start_ns),
                Value::Ns(outlier.interval.length_ns()),
                Value::Text(thread_label(fold, thread)),
                Value::Text(outlier.split.main().id().into()),
                timeline.clone().map_or(Value::None, Value::Text),
                parts(outlier),
                Value::Ns(outlier.split.unexplained_ns),
            ],
        }
    };
    let columns = vec![
        plain("id", "Id", "For `dwell report outlier ID`."),
        plain("start_ns", "Start", "When it began, since the start of the collection."),
        plain("length_ns", "Length", "How long it was."),
        plain("thread", "Thread", "Whose it was."),
        plain("cause", "Main Cause", "What most of its time over the median was for."),
        plain("timeline", "Timeline", "From its begin to its end."),
        detail("causes", "Parts", "What its time over the median was for."),
        detail("unexplained_ns", "Unexplained", "What no cause explains of it."),
    ];
    View { columns, rows: of.outliers.iter().zip(timelines).map(row).collect(), ..View::default() }
}

/// The parts of an outlier's time over the median, the largest first.
pub fn parts(outlier: &Outlier) -> Value {
    let mut parts: Vec<(&'static str, u64)> = outlier.split.causes.iter().map(|(cause, ns)| (cause.id(), ns)).collect();
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    Value::Parts(parts)
}

/// The thread's own code in a small timeline.
const OWN: char = '·';

/// A sign for what delays a thread in a small timeline.
fn sign(cause: Delay) -> char {
    match cause {
        Delay::Unexplained => OWN,
        Delay::Preemption => 'P',
        Delay::KernelWork => 'K',
        Delay::Migration => 'M',
        Delay::Throttling => 'T',
        Delay::RunQueue => 'Q',
        Delay::IdleExit => 'I',
        Delay::Timer => 't',
        Delay::Interrupt => 'i',
        Delay::SoftInterrupt => 's',
        Delay::Ipi => 'p',
        Delay::TlbShootdown => 'b',
        Delay::MinorFault => 'f',
        Delay::MajorFault => 'F',
        Delay::Reclaim => 'R',
        Delay::Compaction => 'C',
        Delay::SystemCall => 'c',
        Delay::Signal => 'g',
        Delay::Stopped => 'X',
        Delay::Lock => 'L',
        Delay::Wait => 'W',
        Delay::BlockIo => 'D',
        Delay::Sleep => 'z',
        Delay::GarbageCollection => 'G',
        Delay::Steal => 'S',
        Delay::Spin => '~',
        Delay::Frequency => 'H',
    }
}

/// An interval in cells of equal length: each shows what took most of it.
fn timeline(interval: &Interval, delays: &ThreadDelays) -> String {
    let length = u128::from(interval.length_ns());
    let edge = |cell: u64| interval.start_ns + (length * u128::from(cell) / u128::from(CELLS)) as u64;
    let cell = |cell: u64| {
        let (from, to) = (edge(cell), edge(cell + 1));
        let causes = delays.causes(from, to);
        let own = (to - from).saturating_sub(causes.total_ns());
        causes.main().filter(|(_, ns)| *ns > own).map_or(OWN, |(cause, _)| sign(cause))
    };
    (0..CELLS).map(cell).collect()
}

/// The timelines of a type's outliers that are shown one by one.
type Timelines = Vec<Option<String>>;

fn timelines(fold: &Fold<'_>, latency: &Latency<'_>, of: &IntervalType) -> Timelines {
    let shown = of.outliers.iter().take(fold.query.limit.unwrap_or(WORST)).map(|outlier| outlier.interval);
    shown.map(|interval| Some(timeline(&interval, latency.delays(interval.thread)?))).collect()
}

/// What the signs of the timelines shown mean.
fn legend(timelines: &[Timelines]) -> Option<Prose> {
    let signs: BTreeSet<char> = timelines.iter().flatten().flatten().flat_map(|timeline| timeline.chars()).collect();
    let named = Delay::ALL.iter().filter(|cause| **cause != Delay::Unexplained && signs.contains(&sign(**cause)));
    let named: Vec<String> = named.map(|cause| format!("{} {}", sign(*cause), cause.id())).collect();
    (!signs.is_empty()).then(|| {
        let own = format!("{OWN} on the CPU");
        say!(TIMELINES, signs = std::iter::once(own).chain(named).collect::<Vec<_>>().join(", ")).into()
    })
}
