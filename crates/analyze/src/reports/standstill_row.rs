//! The row of `explain` for a program that stands still.

use dwell_view::{Prose, Row, Value, Word};

use crate::reports::cause_words::link_text;
use crate::sentences::say;
use crate::study::explain::{Explanation, Standstill};

/// Waits of it that are told.
const STANDING_WAITS: usize = 4;

/// The row of a program that stands still.
pub fn standstill_row(explanation: &Explanation<'_, '_>, still: &Standstill) -> Row {
    let waits: Vec<String> = still.waits.iter().map(|link| link_text(explanation, link)).collect();
    let (first, wall) = (still.waits.first(), Word::Ns(still.wall_ns));
    let told = waits.iter().take(STANDING_WAITS).cloned().collect::<Vec<_>>().join("; ");
    let text = Prose::from(say!(CAUSE_STANDSTILL, threads = still.threads as u64, wall = wall, waits = told));
    Row {
        depth: 0,
        values: vec![
            first.map_or(Value::None, |link| Value::Text(explanation.names.role(link.role).to_owned())),
            Value::None,
            Value::Text("standstill".into()),
            first
                .and_then(|link| explanation.names.place(link.place))
                .map_or(Value::None, |place| Value::Text(place.at.clone())),
            Value::Ns(0),
            Value::Ns(still.wall_ns),
            Value::Fraction(still.wall_ns as f64 / explanation.elapsed_ns.max(1) as f64),
            Value::None,
            Value::None,
            Value::Prose(text.clone()),
            Value::None,
            Value::None,
            Value::Stack(waits),
            Value::None,
            Value::None,
            Value::Prose(say!(ADVICE_STANDSTILL).into()),
            Value::Prose(text),
            Value::None,
        ],
    }
}
