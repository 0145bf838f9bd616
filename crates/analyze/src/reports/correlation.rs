//! Counters that tell long waits from short ones, see [`crate::study::correlation`].

use dwell_query::engine::fold::Fold;
use dwell_view::{Prose, Row, Value, View, Word};

use crate::reports::counters::name;
use crate::sentences::say;
use crate::study::correlation::{Correlation, SEPARATES, correlations};
use crate::tables::columns::{columns, columns_of};
use crate::tables::grouped::{cut_note, stack_value};
use crate::tables::notes::notes;

columns! {
    /// What the report shows.
    COLUMNS;

    plain "object", "Sync Object", "What was waited on.",
        "同期オブジェクト", "待機の対象。";
    plain "counter", "Counter", "The counter that tells long waits from short ones.",
        "カウンター", "長い待機と短い待機を分けるカウンター。";
    plain "long_value", "Value at Long Waits", "Median of the counter's values at the long waits.",
        "長い待機での値", "長い待機でのカウンターの値の中央値。";
    plain "short_value", "Value at Short Waits", "Median of the counter's values at the short waits.",
        "短い待機での値", "短い待機でのカウンターの値の中央値。";
    plain "long_wait_ns", "Long Wait", "Median length of the long waits.",
        "長い待機", "長い待機の長さの中央値。";
    plain "short_wait_ns", "Short Wait", "Median length of the short waits.",
        "短い待機", "短い待機の長さの中央値。";
    plain "long_ns", "Long Wait Time", "Sum of the long waits.",
        "長い待機の時間", "長い待機の合計。";
    plain "long_count", "Long Waits", "How many waits were long.",
        "長い待機の数", "長い待機の数。";
    plain "short_count", "Short Waits", "How many waits were short.",
        "短い待機の数", "短い待機の数。";
    plain "separation", "Separation", "1: no value of a long wait lies among those of short ones; 0: mixed.",
        "分離度", "1: 長い待機の値が短い待機の値とまったく重ならない。0: 混在。";
    plain "beside", "Set", "When the values were set: by the thread right before or after the wait, or by others meanwhile.",
        "設定の時点", "値がいつ設定されたか。待機の直前か直後にそのスレッドが、または待機中に他のスレッドが設定しました。";
    detail "type", "Object Type", "Type of what was waited on.",
        "オブジェクト・タイプ", "待機の対象の種類。";
    detail "stack", "Stack", "The stack with the most time of long waits, leaf first.",
        "スタック", "長い待機の時間が最も長いスタック。末端の関数から順に示します。";
}

/// A row per object and counter that separates its waits, the one with the most time in long waits first.
pub fn correlation(fold: &Fold<'_>) -> View {
    let mut found = correlations(fold);
    let cut = fold.query.limit_rows(&mut found);
    let rows: Vec<Row> = found.iter().map(|it| row(fold, it)).collect();
    let mut notes = notes(fold);
    if rows.is_empty() {
        notes.push(say!(NOT_CORRELATED, separation = SEPARATES.to_string()).into());
    }
    notes.extend(sampled(fold));
    notes.extend(cut_note(cut));
    View { columns: columns_of(COLUMNS), rows, notes, ..View::default() }
}

/// Where only slices of the time were looked at.
fn sampled(fold: &Fold<'_>) -> Option<Prose> {
    let share = fold.rows().share;
    (share < 1.0).then(|| say!(SLICES, share = Word::Share(share)).into())
}

fn row(fold: &Fold<'_>, it: &Correlation) -> Row {
    let values = vec![
        Value::Text(fold.object_name(it.object).into()),
        Value::Text(name(fold, it.counter)),
        Value::Real(it.long.value),
        Value::Real(it.short.value),
        Value::Ns(it.long.wait_ns),
        Value::Ns(it.short.wait_ns),
        Value::Ns(it.long.total_ns),
        Value::Count(it.long.count as u64),
        Value::Count(it.short.count as u64),
        Value::Real(it.separation),
        Value::Text(it.beside.id().into()),
        Value::Text(fold.object_type(it.object).id().into()),
        stack_value(fold, it.stack),
    ];
    Row { depth: 0, values }
}
