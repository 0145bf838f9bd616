//! What goes over the wire: a name of ten million letters is cut, and says so.

use dwell_view::{Value, View};
use serde::Serialize;

use crate::problem::Problem;

/// Letters of one text that a page can show with profit.
const LONGEST_TEXT: usize = 4096;

/// Cuts over-long texts of `view`, marked with what is left out.
pub fn cut(view: &mut View) {
    let cells = view.rows.iter_mut().flat_map(|row| &mut row.values);
    cells.for_each(cut_value);
    view.notes.iter_mut().for_each(|note| note.cut(LONGEST_TEXT));
}

fn cut_value(value: &mut Value) {
    match value {
        Value::Text(text) => dwell_view::cut_text(text, LONGEST_TEXT),
        Value::Stack(frames) => frames.iter_mut().for_each(|frame| dwell_view::cut_text(frame, LONGEST_TEXT)),
        Value::Prose(prose) => prose.cut(LONGEST_TEXT),
        Value::Rows(view) => cut(view),
        _ => {}
    }
}

/// A name, cut when it is over-long.
pub fn cut_name(name: &str) -> String {
    let mut name = name.to_owned();
    dwell_view::cut_text(&mut name, LONGEST_TEXT);
    name
}

/// An answer as JSON, over-long texts cut.
pub fn document(answer: &impl Serialize) -> Result<String, Problem> {
    let mut answer = serde_json::to_value(answer).map_err(|_| Problem::internal())?;
    dwell_view::cut_texts(&mut answer, LONGEST_TEXT);
    Ok(answer.to_string())
}

/// An answer as JSON whose texts are short enough.
pub fn written(answer: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(answer).map_err(|_| Problem::internal())
}
