//! Counters that tell long waits from short ones, see [`crate::study::correlation`].

use dwell_view::{Column, Prose, Row, Value, View, Word};

use crate::engine::fold::Fold;
use crate::reports::counters::name;
use crate::sentences::say;
use crate::study::correlation::{Correlation, SEPARATES, correlations};
use crate::tables::grouped::{cut_note, detail, plain, stack_value};
use crate::tables::notes::notes;

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
    View { columns: columns(), rows, notes, ..View::default() }
}

/// Where only slices of the time were looked at.
fn sampled(fold: &Fold<'_>) -> Option<Prose> {
    let share = fold.rows().share;
    (share < 1.0).then(|| say!(SLICES, share = Word::Share(share)).into())
}

fn columns() -> Vec<Column> {
    vec![
        plain("object", "Sync Object", "What was waited on."),
        plain("counter", "Counter", "The counter that tells long waits from short ones."),
        plain("long_value", "Value at Long Waits", "Median of the counter's values at the long waits."),
        plain("short_value", "Value at Short Waits", "Median of the counter's values at the short waits."),
        plain("long_wait_ns", "Long Wait", "Median length of the long waits."),
        plain("short_wait_ns", "Short Wait", "Median length of the short waits."),
        plain("long_ns", "Long Wait Time", "Sum of the long waits."),
        plain("long_count", "Long Waits", "How many waits were long."),
        plain("short_count", "Short Waits", "How many waits were short."),
        plain("separation", "Separation", "1: no value of a long wait lies among those of short ones; 0: mixed."),
        plain(
            "beside",
            "Set",
            "When the values were set: by the thread right before or after the wait, or by others meanwhile.",
        ),
        detail("type", "Object Type", "Type of what was waited on."),
        detail("stack", "Stack", "The stack with the most time of long waits, leaf first."),
    ]
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
