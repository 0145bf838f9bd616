//! A view as text for people: tables and trees that fit the terminal, one record as a list of fields.
//! It takes a view and the terminal's style, and gives lines.
//! It knows how values look, not what a report means: every report comes as the same `View`. Names in it come from
//! the profiled program and are stripped of what could steer a terminal.

mod account;
pub mod bars;
mod body;
mod cards;
pub mod digest;
mod explanation;
pub mod limits;
mod notes;
pub mod source;
pub mod style;
pub mod table;
pub mod units;
mod words;

use dwell_view::View;

use self::body::body;
pub use self::notes::note_lines;
use self::style::{Ink, Style, printable};

/// How deep views within views go.
const NESTING: usize = 4;

/// The view as text that ends with a newline. The first `warnings` of its notes are warnings.
pub fn render(view: &View, warnings: usize, style: &Style) -> String {
    let (alarms, remarks) = view.notes.split_at(warnings.min(view.notes.len()));
    let mut lines = Vec::new();
    if !view.title.is_empty() {
        lines.push(style.paint(Ink::Title, printable(&view.title)).into_owned());
    }
    lines.extend(note_lines(alarms, warnings, style));
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(body(view, style, NESTING));
    if !remarks.is_empty() {
        if !view.rows.is_empty() {
            lines.push(String::new());
        }
        lines.extend(note_lines(remarks, 0, style));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::style::width;
    use super::*;
    use crate::views::{summary, tree, waits};

    #[test]
    fn a_table_of_waits() {
        insta::assert_snapshot!(render(&waits(), 1, &Style::plain(80)));
    }

    #[test]
    fn a_tree_is_indented() {
        insta::assert_snapshot!(render(&tree(), 0, &Style::plain(80)));
    }

    #[test]
    fn a_single_record_is_a_list_of_fields() {
        insta::assert_snapshot!(render(&summary(), 0, &Style::plain(80)));
    }

    #[test]
    fn every_line_fits_the_terminal() {
        for view in [waits(), tree(), summary()] {
            for columns in [40, 60, 80, 120, 200] {
                let text = render(&view, 0, &Style::plain(columns));
                let wide = text.lines().find(|line| width(line) > columns);
                assert_eq!(wide, None, "at {columns} columns");
            }
        }
    }

    #[test]
    fn an_empty_view_says_so() {
        assert!(render(&View::default(), 0, &Style::plain(80)).contains("Nothing to show"));
    }
}
