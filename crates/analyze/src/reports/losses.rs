//! What could not be seen.

use dwell_store::Trace;

use super::grouped::plain;
use crate::notices::told;
use crate::sentences::{Prose, say};
use crate::view::{Row, Value, View};

/// One row per kind of loss; none when nothing was lost. Remarks of the collection are the notes.
pub fn losses(trace: &Trace) -> View {
    let columns = vec![
        plain("loss", "Loss", "Name of the counter."),
        plain("count", "Count", "How often it happened."),
        plain("missing", "What is missing", "What the result does not have because of it."),
    ];
    let rows = trace.losses.name.iter().zip(&trace.losses.count).zip(&trace.losses.doc);
    let row = |((name, count), doc): ((&String, &u64), &String)| Row {
        depth: 0,
        values: vec![Value::Text(name.clone()), Value::Count(*count), Value::Text(doc.clone())],
    };
    let mut notes: Vec<Prose> = trace.notices.text.iter().map(|text| told(text)).collect();
    if trace.losses.name.is_empty() {
        notes.insert(0, say!(NOTHING_LOST).into());
    }
    View { columns, rows: rows.map(row).collect(), notes, ..View::default() }
}
