//! Tables that fit the terminal: numbers to the right, headings on several lines, names shortened in their middle,
//! and columns left out from the right when nothing else helps, which the caller is told.

use super::style::{Ink, Style, truncate_middle, width, wrap};

const GAP: &str = "  ";
/// Columns that text is not shortened below.
const LEAST_TEXT: usize = 14;
/// Columns that the first column is not shortened below: it names the row.
const LEAST_NAME: usize = 20;
/// Lines of a heading.
const HEADING_LINES: usize = 3;

/// A piece of text in one colour.
pub type Span = (Option<Ink>, String);

/// A cell: spans without control characters.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Its text.
    pub spans: Vec<Span>,
    /// Blanks before it, for trees.
    pub indent: usize,
}

impl Cell {
    /// A cell of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { spans: vec![(None, text.into())], indent: 0 }
    }

    fn width(&self) -> usize {
        self.indent + self.spans.iter().map(|span| width(&span.1)).sum::<usize>()
    }

    /// The cell in exactly `columns` columns.
    fn paint(&self, columns: usize, right: bool, style: &Style) -> String {
        let indent = self.indent.min(columns / 3);
        let room = columns - indent;
        let mut text = String::new();
        let mut used = 0;
        for (ink, span) in &self.spans {
            let span = truncate_middle(span, room - used);
            used += width(&span);
            text.push_str(&ink.map_or(span.clone(), |ink| style.paint(ink, span)));
        }
        let pad = " ".repeat(room - used);
        let indent = " ".repeat(indent);
        if right { format!("{pad}{indent}{text}") } else { format!("{indent}{text}{pad}") }
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading.
    pub title: String,
    /// Whether it holds numbers: to the right, never shortened.
    pub number: bool,
}

/// A table to be laid out.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A table laid out.
#[derive(Debug)]
pub struct Rendered {
    /// Headings.
    pub heading: Vec<String>,
    /// One line per row.
    pub lines: Vec<String>,
    /// Titles of the columns for which there was no room.
    pub left_out: Vec<String>,
}

impl Table {
    /// Lays the table out in `style.width` columns.
    pub fn render(&self, style: &Style) -> Rendered {
        let widths = self.fit(style.width);
        let shown = &self.columns[..widths.len()];
        let lines = self.rows.iter().map(|row| self.line(row, &widths, style)).collect();
        let left_out = self.columns[widths.len()..].iter().map(|column| column.title.clone()).collect();
        Rendered { heading: heading(shown, &widths, style), lines, left_out }
    }

    fn line(&self, row: &[Cell], widths: &[usize], style: &Style) -> String {
        let cells = row.iter().zip(widths).zip(&self.columns);
        let cells = cells.map(|((cell, &columns), column)| cell.paint(columns, column.number, style));
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }

    /// Widths of as many columns as fit into `room`: with headings on as few lines as that allows, then with shortened
    /// texts, then with fewer columns.
    fn fit(&self, room: usize) -> Vec<usize> {
        for lines in 1..HEADING_LINES {
            let widths = self.natural_widths(lines);
            if total(&widths) <= room {
                return widths;
            }
        }
        let natural = self.natural_widths(HEADING_LINES);
        for shown in (1..=natural.len()).rev() {
            let mut widths = natural[..shown].to_vec();
            if self.shrink(&mut widths, room) || shown == 1 {
                return widths;
            }
        }
        Vec::new()
    }

    fn natural_widths(&self, heading_lines: usize) -> Vec<usize> {
        let width = |(index, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(Cell::width).max().unwrap_or(0);
            cells.max(heading_width(&column.title, heading_lines))
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    /// Shortens the widest text columns until all fit into `room`; `false` when they cannot.
    fn shrink(&self, widths: &mut [usize], room: usize) -> bool {
        let mut over = total(widths).saturating_sub(room);
        while over > 0 {
            let spare = |&column: &usize| {
                let least = if column == 0 { LEAST_NAME } else { LEAST_TEXT };
                !self.columns[column].number
                    && widths[column] > least.max(heading_width(&self.columns[column].title, HEADING_LINES))
            };
            let Some(widest) = (0..widths.len()).filter(spare).max_by_key(|&column| widths[column]) else {
                return false;
            };
            widths[widest] -= 1;
            over -= 1;
        }
        true
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// The least width in which the heading takes at most `lines` lines.
fn heading_width(title: &str, lines: usize) -> usize {
    let longest = title.split_whitespace().map(width).max().unwrap_or(0);
    (longest..=width(title)).find(|&columns| wrap(title, columns).len() <= lines).unwrap_or(longest)
}

fn heading(columns: &[Column], widths: &[usize], style: &Style) -> Vec<String> {
    let wrapped: Vec<Vec<String>> =
        columns.iter().zip(widths).map(|(column, &columns)| wrap(&column.title, columns)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let cells = wrapped.iter().zip(widths).zip(columns).map(|((lines, &columns), column)| {
            let text = (at + lines.len()).checked_sub(height).and_then(|row| lines.get(row));
            let cell = Cell { spans: vec![(Some(Ink::Title), text.cloned().unwrap_or_default())], indent: 0 };
            cell.paint(columns, column.number, style)
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |title: &str, number| Column { title: title.into(), number };
        let row = |name: &str, wait: &str, stack: &str| vec![Cell::text(name), Cell::text(wait), Cell::text(stack)];
        Table {
            columns: vec![
                column("Sync Object", false),
                column("Wait Time with poor CPU Utilization", true),
                column("Stack", false),
            ],
            rows: vec![
                row("queue_lock", "8.33 s", "pthread_mutex_lock ← push ← worker ← start_thread"),
                row("std::vector<std::pair<Key, Value>>::mutex_", "1.90 ms", "read"),
            ],
        }
    }

    #[test]
    fn numbers_stand_to_the_right_and_no_line_is_too_long() {
        for columns in [44, 60, 80, 120, 200] {
            let style = Style::plain(columns);
            let rendered = table().render(&style);
            for line in rendered.heading.iter().chain(&rendered.lines) {
                assert!(width(line) <= columns, "{columns}: {line}");
            }
        }
        let wide = table().render(&Style::plain(200));
        assert!(wide.left_out.is_empty());
        assert!(wide.lines[0].contains("         8.33 s  pthread_mutex_lock ← push"), "{}", wide.lines[0]);
    }

    #[test]
    fn names_are_shortened_in_the_middle_before_columns_are_left_out() {
        let medium = table().render(&Style::plain(80));
        assert!(medium.left_out.is_empty());
        assert!(medium.lines[1].contains('…'), "{}", medium.lines[1]);
        let narrow = table().render(&Style::plain(40));
        assert_eq!(narrow.left_out, ["Stack"]);
    }

    #[test]
    fn no_columns_no_lines() {
        let rendered = Table::default().render(&Style::plain(80));
        assert!(rendered.heading.is_empty() && rendered.lines.is_empty());
    }
}
