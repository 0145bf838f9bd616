//! What goes over the wire: a name of ten million letters is cut, and says so.

use dwell_analyze::view::{Value, View};

/// Letters of one text that a page can show with profit.
const LONGEST_TEXT: usize = 4096;

/// Cuts over-long texts of `view`, marked with what is left out.
pub fn cut(view: &mut View) {
    let cells = view.rows.iter_mut().flat_map(|row| &mut row.values);
    cells.for_each(cut_value);
}

fn cut_value(value: &mut Value) {
    match value {
        Value::Text(text) => cut_text(text),
        Value::Stack(frames) => frames.iter_mut().for_each(cut_text),
        Value::Rows(view) => cut(view),
        _ => {}
    }
}

/// Cuts one text.
pub fn cut_text(text: &mut String) {
    if text.len() <= LONGEST_TEXT {
        return;
    }
    let left_out = text.len() - LONGEST_TEXT;
    let end = (0..=LONGEST_TEXT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    text.push_str(&format!("… [{left_out} more bytes]"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        let mut text = "é".repeat(5_000_000);
        cut_text(&mut text);
        assert!(text.len() < LONGEST_TEXT + 40 && text.ends_with("[9995904 more bytes]"), "{text}");
        let mut short = "é".repeat(2048);
        cut_text(&mut short);
        assert_eq!(short.len(), 4096);
    }
}
