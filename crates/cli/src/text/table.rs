//! Tables that fit the terminal: numbers to the right, headings on several lines, names shortened in their middle,
//! and columns left out from the right when nothing else helps, which the caller is told.

use super::style::{Ink, Style, truncate_middle, width, wrap};

const GAP: &str = "  ";
/// Columns that text is not shortened below.
const LEAST_TEXT: usize = 12;
/// Columns that the first column is not shortened below: it names the row.
const LEAST_NAME: usize = 20;
/// Columns of numbers that stay as long as there is a text to leave out instead.
const KEPT_NUMBERS: usize = 2;
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
        let shown = self.fit(style.width);
        let lines = self.rows.iter().map(|row| self.line(row, &shown, style)).collect();
        let is_shown = |index: usize| shown.iter().any(|place| place.column == index);
        let left_out = self.columns.iter().enumerate().filter(|(index, _)| !is_shown(*index));
        let left_out = left_out.map(|(_, column)| column.title.clone()).collect();
        Rendered { heading: self.heading(&shown, style), lines, left_out }
    }

    fn line(&self, row: &[Cell], shown: &[ShownColumn], style: &Style) -> String {
        let cell = |place: &ShownColumn| {
            let cell = row.get(place.column)?;
            Some(cell.paint(place.width, self.columns[place.column].number, style))
        };
        shown.iter().filter_map(cell).collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }

    fn heading(&self, shown: &[ShownColumn], style: &Style) -> Vec<String> {
        let title = |place: &ShownColumn| wrap(&self.columns[place.column].title, place.width);
        let wrapped: Vec<Vec<String>> = shown.iter().map(title).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let cells = wrapped.iter().zip(shown).map(|(lines, place)| {
                let text = (at + lines.len()).checked_sub(height).and_then(|row| lines.get(row));
                let cell = Cell { spans: vec![(Some(Ink::Title), text.cloned().unwrap_or_default())], indent: 0 };
                cell.paint(place.width, self.columns[place.column].number, style)
            });
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    /// The columns that fit into `room`: all with headings on as few lines as that allows, then with shortened texts,
    /// then fewer.
    fn fit(&self, room: usize) -> Vec<ShownColumn> {
        for lines in 1..HEADING_LINES {
            let places = self.natural(lines);
            if total(&places) <= room {
                return places;
            }
        }
        let mut natural = self.natural(HEADING_LINES);
        loop {
            let mut places = natural.clone();
            if self.shrink(&mut places, room) || places.len() <= 1 {
                return places;
            }
            natural.remove(self.least_useful(&places));
        }
    }

    /// The place that is left out first: the last number, but of few numbers none before the last text. The first
    /// column names the row and stays.
    fn least_useful(&self, places: &[ShownColumn]) -> usize {
        let last = |number: bool| places.iter().rposition(|place| self.columns[place.column].number == number);
        let numbers = places.iter().filter(|place| self.columns[place.column].number).count();
        let text = last(false).filter(|&place| place > 0);
        let number = last(true).filter(|&place| place > 0);
        let chosen = if numbers > KEPT_NUMBERS { number.or(text) } else { text.or(number) };
        chosen.unwrap_or(places.len() - 1)
    }

    fn natural(&self, heading_lines: usize) -> Vec<ShownColumn> {
        let place = |(column, definition): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0);
            ShownColumn { column, width: cells.max(heading_width(&definition.title, heading_lines)) }
        };
        self.columns.iter().enumerate().map(place).collect()
    }

    /// Shortens the widest text columns until all fit into `room`; `false` when they cannot.
    fn shrink(&self, places: &mut [ShownColumn], room: usize) -> bool {
        let mut over = total(places).saturating_sub(room);
        while over > 0 {
            let Some(widest) = places.iter_mut().filter(|place| self.has_spare(place)).max_by_key(|place| place.width)
            else {
                return false;
            };
            widest.width -= 1;
            over -= 1;
        }
        true
    }

    fn has_spare(&self, place: &ShownColumn) -> bool {
        let column = &self.columns[place.column];
        let least = if place.column == 0 { LEAST_NAME } else { LEAST_TEXT };
        !column.number && place.width > least.max(heading_width(&column.title, HEADING_LINES))
    }
}

/// A column that is shown, and how wide.
#[derive(Clone, Copy, Debug)]
struct ShownColumn {
    column: usize,
    width: usize,
}

fn total(places: &[ShownColumn]) -> usize {
    places.iter().map(|place| place.width).sum::<usize>() + GAP.len() * places.len().saturating_sub(1)
}

/// The least width in which the heading takes at most `lines` lines.
fn heading_width(title: &str, lines: usize) -> usize {
    let longest = title.split_whitespace().map(width).max().unwrap_or(0);
    (longest..=width(title)).find(|&columns| wrap(title, columns).len() <= lines).unwrap_or(longest)
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
        assert_eq!(narrow.left_out, ["Stack"], "the number stays");
    }

    #[test]
    fn no_columns_no_lines() {
        let rendered = Table::default().render(&Style::plain(80));
        assert!(rendered.heading.is_empty() && rendered.lines.is_empty());
    }
}
