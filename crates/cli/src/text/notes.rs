//! The notes of a view.

use dwell_view::Prose;

use super::style::{Ink, Style, printable, wrap};

/// Notes, wrapped; the first `warnings` of them stand out.
pub fn note_lines(notes: &[Prose], warnings: usize, style: &Style) -> Vec<String> {
    let note = |(index, note): (usize, &Prose)| {
        let (mark, ink) = if index < warnings { ("! ", Ink::Bad) } else { ("· ", Ink::Faint) };
        let lines = wrap(&printable(&note.to_string()), style.width.saturating_sub(2));
        let line = |(index, line): (usize, &String)| {
            let start = if index == 0 { mark } else { "  " };
            style.paint(ink, format!("{start}{line}")).into_owned()
        };
        lines.iter().enumerate().map(line).collect::<Vec<_>>()
    };
    notes.iter().enumerate().flat_map(note).collect()
}
