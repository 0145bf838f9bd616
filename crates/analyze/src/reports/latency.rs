//! The lengths of intervals by type, their outliers, and what these were due to.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{Delay, Topic};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::grouping::thread_label;
use dwell_view::{Prose, Row, Value, View, Word};

use crate::sentences::say;
use crate::study::latency::{
    IntervalType, Kind, LEAST_DISTANCE_NS, LEAST_DISTANCE_PART, Latency, MeasuredInterval, OUTLIER_DISTANCES, Outlier,
    ThreadDelays,
};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "interval", "Interval", "What the intervals are called.",
        "区間", "区間の名前。";
    plain "count", "Count", "How many began in the range.",
        "回数", "範囲内で始まった数。";
    plain "p50_ns", "Median", "Half of them are not longer.",
        "中央値", "半分はこれより長くない。";
    plain "p90_ns", "90 %", "90 % of them are not longer.",
        "90 %", "区間の 90 % はこれより長くない。";
    plain "p99_ns", "99 %", "99 % of them are not longer.",
        "99 %", "99 % はこれより長くない。";
    plain "p999_ns", "99.9 %", "99.9 % of them are not longer.",
        "99.9 %", "区間の 99.9 % はこれより長くない。";
    plain "p9999_ns", "99.99 %", "99.99 % of them are not longer.",
        "99.99 %", "区間の 99.99 % はこれより長くない。";
    plain "max_ns", "Longest", "The longest.",
        "最長", "最も長いもの。";
    plain "outliers", "Outliers", "How many are much longer than the median.",
        "外れ値", "中央値よりずっと長い区間の数。";
    plain "outlier_ns", "Outlier Time", "Time of the outliers over the median.",
        "外れ値の時間", "外れ値の、中央値を超える時間の合計。";
    plain "unexplained_ns", "Unexplained", "The part of it that no recorded cause explains.",
        "説明なし", "記録された原因では説明できない部分。";
    plain "mean_ns", "Mean", "Average length.",
        "平均", "長さの平均。";
    plain "mean_without_outliers_ns", "… Without Outliers", "Average length of those that are no outliers.",
        "外れ値を除く平均", "外れ値を除く長さの平均。";
    plain "min_ns", "Shortest", "The shortest.",
        "最短", "最も短いもの。";
    plain "stddev_ns", "Deviation", "Standard deviation.",
        "標準偏差", "長さの標準偏差。";
    plain "stddev_without_outliers_ns", "… Without Outliers", "Standard deviation of those that are no outliers.",
        "外れ値を除く標準偏差", "外れ値を除く長さの標準偏差。";
    detail "outlier_limit_ns", "Outlier Limit", "Longer ones are outliers.",
        "外れ値の下限", "これより長い区間が外れ値です。";
    detail "kind", "Kind", "task, wake-up or wait.",
        "種類", "タスク、起床、待機のいずれか。";
    plain "causes", "Causes of the outliers", "What the outliers' time was for.",
        "外れ値の原因", "外れ値の時間の内訳。";
    plain "worst", "Worst", "The longest outliers one by one; `dwell report outlier HANDLE` tells the story of one.",
        "最長の外れ値", "最も長い外れ値を 1 つずつ示します。dwell report outlier HANDLE";
}

columns! {
    /// What each cause did to the outliers.
    CAUSES;

    plain "cause", "Cause", "What the time was for.",
        "原因", "時間の原因。";
    plain "total_ns", "Time", "Outlier time of this cause.",
        "合計時間", "この原因による外れ値の時間。";
    plain "share", "Share", "Part of all outlier time of the type.",
        "割合", "その種類の外れ値の時間全体に対する割合。";
    plain "count", "Outliers", "Outliers that it is part of.",
        "外れ値の数", "それが一部を占める外れ値の数。";
    plain "max_ns", "Worst", "Its most time in one outlier.",
        "最長", "1 個の外れ値に占める最も長い時間。";
}

columns! {
    /// The outliers one by one.
    OUTLIERS;

    plain "handle", "#", "Short name of the outlier, for `dwell report outlier HANDLE`.",
        "#", "外れ値の短い名前。dwell report outlier HANDLE";
    detail "id", "Id", "The same without the first letter.",
        "ID", "最初の文字を除いたもの。";
    plain "start_ns", "Start", "When it began, since the start of the collection.",
        "時刻", "始まった時刻。収集の開始からの時間。";
    plain "length_ns", "Length", "How long it was.",
        "長さ", "区間の長さ。";
    plain "thread", "Thread", "Whose it was.",
        "スレッド", "区間のスレッド。";
    plain "cause", "Main Cause", "What most of its time over the median was for.",
        "主な原因", "中央値を超える時間の大部分の原因。";
    plain "timeline", "Timeline", "From its begin to its end.",
        "タイムライン", "始まりから終わりまで。";
    detail "causes", "Parts", "What its time over the median was for.",
        "内訳", "中央値を超える時間の内訳。";
    detail "unexplained_ns", "Unexplained", "What no cause explains of it.",
        "説明なし", "どの原因でも説明できない部分。";
}

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
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
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
    let columns = columns_of(CAUSES);
    View { columns, rows: sums.iter().map(row).collect(), ..View::default() }
}

fn worst(fold: &Fold<'_>, of: &IntervalType, timelines: &Timelines) -> View {
    let row = |(outlier, timeline): (&Outlier, &Option<String>)| {
        let MeasuredInterval { id, thread, start_ns, .. } = outlier.interval;
        Row {
            depth: 0,
            values: vec![
                Value::Text(id.handle()),
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
    let columns = columns_of(OUTLIERS);
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
fn timeline(interval: &MeasuredInterval, delays: &ThreadDelays) -> String {
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
