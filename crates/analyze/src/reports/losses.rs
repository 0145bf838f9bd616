//! What could not be seen.

use dwell_store::Trace;
use dwell_store::tables::LossRow;
use dwell_view::{Prose, Row, Value, View};

use crate::notices::remarks;
use crate::sentences::say;
use crate::tables::columns::{columns, columns_of};

columns! {
    /// What the report shows.
    COLUMNS;

    plain "loss", "Loss", "Name of the counter.",
        "カウンター", "失われたものの名前。";
    plain "count", "Count", "How often it happened.",
        "回数", "起きた回数。";
    plain "from_ns", "From", "When the first was lost, at the earliest; since the start. Not known of all.",
        "開始", "最初に失われた可能性のある最も早い時刻。収集の開始からの時間で、分からないものもあります。";
    plain "to_ns", "Until", "When the last was lost, at the latest.",
        "終了", "最後に失われた可能性のある最も遅い時刻。";
    plain "missing", "What is missing", "What the result does not have because of it.",
        "欠けているもの", "それによって結果に含まれないもの。";
}

/// One row per kind of loss; none when nothing was lost. Remarks of the collection are the notes.
pub fn losses(trace: &Trace) -> View {
    let columns = columns_of(COLUMNS);
    let row = |lost: LossRow| {
        let at = |time_ns| if lost.end_ns > 0 { Value::Ns(time_ns) } else { Value::None };
        let (first, last) = (at(lost.start_ns), at(lost.end_ns));
        Row {
            depth: 0,
            values: vec![Value::Text(lost.name), Value::Count(lost.count), first, last, Value::Text(lost.doc)],
        }
    };
    let rows = (0..trace.losses.name.len()).filter_map(|at| trace.losses.row(at));
    let mut notes: Vec<Prose> = remarks(trace).collect();
    if trace.losses.name.is_empty() {
        notes.insert(0, say!(NOTHING_LOST).into());
    }
    View { columns, rows: rows.map(row).collect(), notes, ..View::default() }
}
