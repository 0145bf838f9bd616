//! The rows of an answer as a view, which text, CSV and JSON are made from.

use dwell_fleet::{AnswerColumn, CellKind, utc};
use dwell_view::{Column, Row, Value, View, json};

use crate::args::Format;
use crate::error::Result;
use crate::text::style::Style;
use crate::{csv, output, terminal, text};

/// The view of these rows.
pub fn view(columns: &[&'static AnswerColumn], rows: &[Vec<Option<String>>], format: Format) -> View {
    let row = |cells: &Vec<Option<String>>| Row {
        depth: 0,
        values: columns.iter().zip(cells).map(|(column, cell)| value(column.kind, cell.as_deref(), format)).collect(),
    };
    View {
        columns: columns.iter().map(|column| heading(column)).collect(),
        rows: rows.iter().map(row).collect(),
        ..View::default()
    }
}

fn heading(column: &'static AnswerColumn) -> Column {
    Column { id: column.id, title: column.title, help: column.help, detail: false }
}

/// A cell as its column says. A sum beyond 64 bits is a number with a fraction.
fn value(kind: CellKind, cell: Option<&str>, format: Format) -> Value {
    let Some(cell) = cell else { return Value::None };
    let real = || cell.parse().map_or_else(|_| Value::Text(cell.to_owned()), Value::Real);
    match kind {
        CellKind::Text => Value::Text(cell.to_owned()),
        CellKind::Instant if format == Format::Text => cell.parse().map_or_else(|_| real(), |t| Value::Text(utc(t))),
        CellKind::Count | CellKind::Instant => cell.parse().map_or_else(|_| real(), Value::Count),
        CellKind::Duration => cell.parse().map_or_else(|_| real(), Value::Ns),
        CellKind::Real => real(),
    }
}

/// Prints the view; notes of CSV go to standard error.
pub fn print(view: &View, format: Format) -> Result<()> {
    match format {
        Format::Json => output::print(&json::render(view)),
        Format::Csv => {
            view.notes.iter().for_each(|note| terminal::print_line(format_args!("note: {note}")));
            output::print(&csv::render(view))
        }
        Format::Text => output::print(&text::render(view, 0, &Style::of_stdout())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_what_their_column_says() {
        assert_eq!(value(CellKind::Duration, Some("18446744073709551615"), Format::Json), Value::Ns(u64::MAX));
        assert_eq!(
            value(CellKind::Duration, Some("18446744073709551616"), Format::Json),
            Value::Real(18446744073709551616.0)
        );
        assert_eq!(value(CellKind::Count, None, Format::Text), Value::None);
        assert_eq!(
            value(CellKind::Instant, Some("1795737600000000000"), Format::Text),
            Value::Text("2026-11-27 00:00:00".into())
        );
        assert_eq!(value(CellKind::Instant, Some("7"), Format::Csv), Value::Count(7));
        assert_eq!(value(CellKind::Text, Some("7"), Format::Csv), Value::Text("7".into()));
    }
}
