//! What could not be seen.

use dwell_store::Trace;
use dwell_store::tables::LossRow;
use dwell_view::{Prose, Row, Value, View};

use crate::notices::told;
use crate::sentences::say;
use crate::tables::grouped::plain;

/// One row per kind of loss; none when nothing was lost. Remarks of the collection are the notes.
pub fn losses(trace: &Trace) -> View {
    let columns = vec![
        plain("loss", "Loss", "Name of the counter."),
        plain("count", "Count", "How often it happened."),
        plain("from_ns", "From", "When the first was lost, at the earliest; since the start. Not known of all."),
        plain("to_ns", "Until", "When the last was lost, at the latest."),
        plain("missing", "What is missing", "What the result does not have because of it."),
    ];
    let row = |lost: LossRow| {
        let at = |time_ns| if lost.end_ns > 0 { Value::Ns(time_ns) } else { Value::None };
        let (first, last) = (at(lost.start_ns), at(lost.end_ns));
        Row {
            depth: 0,
            values: vec![Value::Text(lost.name), Value::Count(lost.count), first, last, Value::Text(lost.doc)],
        }
    };
    let rows = (0..trace.losses.name.len()).filter_map(|at| trace.losses.row(at));
    let mut notes: Vec<Prose> = trace.notices.text.iter().map(|text| told(text)).collect();
    if trace.losses.name.is_empty() {
        notes.insert(0, say!(NOTHING_LOST).into());
    }
    View { columns, rows: rows.map(row).collect(), notes, ..View::default() }
}
