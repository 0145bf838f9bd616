//! Frames by domain: how many, how long, how many of them slow, good and fast.

use dwell_model::{TaskKind, TaskTypeId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::selection::TaskFilter;
use dwell_query::question::rates::FrameRates;
use dwell_view::{Column, Row, Value, View};

use crate::reports::tasks::{LENGTHS, Lengths, kind, lengths};
use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::cut_note;
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "frame_domain", "Frame Domain", "Domain of the frames.",
        "フレーム・ドメイン", "フレームのドメイン。";
    plain "count", "Frames", "How many began in the range.",
        "フレーム数", "範囲内で始まった数。";
    plain "rate", "Frame Rate", "Frames for each second of the range.",
        "フレーム・レート", "範囲の 1 秒あたりのフレーム数。";
    plain "total_ns", "Frame Time", "Sum of their lengths.",
        "合計時間", "長さの合計。";
    plain "slow_count", "Slow", "Frames that were slow.",
        "遅い", "遅いフレームの数。";
    plain "good_count", "Good", "Frames that were neither slow nor fast.",
        "良好", "遅くも速くもないフレームの数。";
    plain "fast_count", "Fast", "Frames that were fast.",
        "速い", "速いフレームの数。";
}

columns! {
    /// A histogram of frame rates.
    BINS;

    plain "from_rate", "From", "Lowest rate.",
        "下限", "最も低いレート。";
    plain "to_rate", "To", "Rates are below this.",
        "上限", "レートはこれより低い。";
    plain "count", "Frames", "How many.",
        "フレーム数", "個数。";
}

columns! {
    /// What follows the lengths.
    HISTOGRAM;

    detail "histogram", "Histogram", "How many frames had which rate, frames a second.",
        "ヒストグラム", "レート (毎秒のフレーム数) ごとのフレームの数。";
}

/// A row per domain, the one with the most frames first.
pub fn frames(fold: &Fold<'_>) -> View {
    let lengths = lengths(fold);
    let mut domains: Vec<(&TaskTypeId, &Lengths)> =
        lengths.iter().filter(|(task, _)| kind(fold, **task) == TaskKind::Frame).collect();
    domains.sort_by_key(|(_, lengths)| std::cmp::Reverse(lengths.count));
    let cut = fold.query.limit_rows(&mut domains);
    let rows = domains.iter().map(|(task, lengths)| row(fold, **task, lengths)).collect();
    let mut notes = notes(fold);
    let FrameRates { slow, fast } = fold.query.frame_rates;
    notes.push(say!(FRAME_RATES, slow = slow.to_string(), fast = fast.to_string()).into());
    notes.extend(cut_note(cut));
    View { columns: columns(), rows, notes, ..View::default() }
}

fn columns() -> Vec<Column> {
    let mut columns = columns_of(COLUMNS);
    columns.extend(columns_of(LENGTHS));
    columns.extend(columns_of(HISTOGRAM));
    columns
}

fn row(fold: &Fold<'_>, task: TaskTypeId, lengths: &Lengths) -> Row {
    let tasks = &fold.trace.annotations.tasks;
    let filter = TaskFilter::new(fold.trace, fold.query);
    let of = |row: &usize| {
        tasks.task_type[*row] == task && fold.sums.windows.contains(tasks.start_ns[*row]) && filter.takes(*row)
    };
    let rows = (0..tasks.start_ns.len()).filter(of);
    let rates: Vec<f64> = rows.map(|row| rate(tasks.end_ns[row].saturating_sub(tasks.start_ns[row]))).collect();
    let limits = fold.query.frame_rates;
    let count = |class: usize| Value::Count(rates.iter().filter(|rate| limits.class(**rate) == class).count() as u64);
    let domain = task.get().and_then(|row| fold.trace.annotations.task_types.domain.get(row)).cloned();
    let seconds = fold.sums.windows.length_ns() as f64 / 1e9;
    let mut values = vec![
        Value::Text(domain.unwrap_or_default()),
        Value::Count(lengths.count),
        Value::Real(if seconds > 0.0 { lengths.count as f64 / seconds } else { 0.0 }),
        Value::Ns(lengths.total_ns),
        count(0),
        count(1),
        count(2),
    ];
    values.extend(lengths.cells());
    values.push(Value::Rows(Box::new(histogram(&rates))));
    Row { depth: 0, values }
}

/// Frames a second that a frame of this length makes.
fn rate(ns: u64) -> f64 {
    1e9 / ns.max(1) as f64
}

/// Rates by powers of two of a half.
fn histogram(rates: &[f64]) -> View {
    let bin = |rate: f64| (rate.log2() * 2.0).floor() as i32;
    let mut counts: std::collections::BTreeMap<i32, u64> = std::collections::BTreeMap::new();
    rates.iter().for_each(|rate| *counts.entry(bin(*rate)).or_default() += 1);
    let edge = |bin: i32| Value::Real((f64::from(bin) / 2.0).exp2());
    let columns = columns_of(BINS);
    let row =
        |(bin, count): (&i32, &u64)| Row { depth: 0, values: vec![edge(*bin), edge(bin + 1), Value::Count(*count)] };
    View { columns, rows: counts.iter().map(row).collect(), ..View::default() }
}
