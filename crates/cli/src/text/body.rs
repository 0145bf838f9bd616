//! The rows of a view: a table with sub-tables, one record as a list of fields, or findings.

use dwell_view::{Column, Row, Value, View};

use super::style::{Ink, Style, printable, width, wrap};
use super::table::{self, Cell, Table};
use super::words::{is_number, words};
use super::{account, bars, cards, explanation};

/// Frames shown of a stack outside of tables.
const STACK_FRAMES: usize = 12;

/// A view without its title and notes.
pub fn body(view: &View, style: &Style, nesting: usize) -> Vec<String> {
    match view.rows.first() {
        _ if explanation::has_chains(view) => explanation::explanation(view, style),
        _ if cards::has_advice(view) && !view.single => cards::cards(view, view.rows.len(), style),
        None if view.notes.is_empty() => vec!["Nothing to show.".into()],
        None => Vec::new(),
        Some(row) if view.single => fields(&view.columns, row, style, nesting),
        Some(_) if view.columns.len() == 1 => view.rows.iter().flat_map(|row| &row.values).map(words).collect(),
        Some(_) => grid(view, style, nesting),
    }
}

/// Whether text output shows the column's values below their row and not in it.
fn is_block(value: &Value) -> bool {
    matches!(value, Value::Rows(_))
}

/// Rows as a table; sub-tables stand below their row.
fn grid(view: &View, style: &Style, nesting: usize) -> Vec<String> {
    let values = |column: usize| view.rows.iter().filter_map(move |row| row.values.get(column));
    let shown = |column: &usize| !view.columns[*column].detail && !values(*column).any(is_block);
    let shown: Vec<usize> = (0..view.columns.len()).filter(shown).collect();
    let scales: Vec<u64> = shown.iter().map(|&column| values(column).map(class_sum).max().unwrap_or(0)).collect();
    let cells = |row: &Row| {
        let cell = |(place, (&column, &scale)): (usize, (&usize, &u64))| {
            let mut cell = match row.values.get(column) {
                Some(Value::Count(id)) if is_id(&view.columns[column]) => Cell::text(id.to_string()),
                Some(value) => self::cell(value, scale, style),
                None => Cell::default(),
            };
            cell.indent = if place == 0 { 2 * row.depth } else { 0 };
            cell
        };
        shown.iter().zip(&scales).enumerate().map(cell).collect()
    };
    let columns = shown.iter().map(|&column| table::Column {
        title: view.columns[column].title.into(),
        number: values(column).any(is_number) && values(column).all(|value| is_number(value) || *value == Value::None),
    });
    let table = Table { columns: columns.collect(), rows: view.rows.iter().map(cells).collect() };
    let rendered = table.render(style);
    let mut lines = rendered.heading;
    for (line, row) in rendered.lines.into_iter().zip(&view.rows) {
        lines.push(line);
        lines.extend(blocks(&view.columns, row, style, nesting));
    }
    if scales.iter().any(|&scale| scale > 0) {
        lines.push(String::new());
        lines.extend(bars::class_legend(style));
    }
    if !rendered.left_out.is_empty() {
        let text = format!("No room for: {} (widen the terminal, or use --format csv).", rendered.left_out.join(", "));
        lines.push(String::new());
        lines.extend(wrap(&text, style.width).iter().map(|line| style.paint(Ink::Faint, line).into_owned()));
    }
    lines
}

/// The views within a row.
fn blocks(columns: &[Column], row: &Row, style: &Style, nesting: usize) -> Vec<String> {
    let indent = 4 + 2 * row.depth.min(8);
    let inner = Style { width: style.width.saturating_sub(indent).max(40), ..*style };
    let views = columns.iter().zip(&row.values).filter(|(column, _)| !column.detail);
    let mut lines = Vec::new();
    for (column, value) in views {
        let Value::Rows(view) = value else { continue };
        if view.rows.is_empty() || nesting == 0 {
            continue;
        }
        lines.push(inner.paint(Ink::Faint, column.title).into_owned());
        lines.extend(body(view, &inner, nesting - 1));
        lines.push(String::new());
    }
    lines.iter().map(|line| format!("{}{line}", " ".repeat(indent)).trim_end().to_owned()).collect()
}

/// One record: the causes, short values as a list, then the wide ones, each under its heading.
fn fields(columns: &[Column], row: &Row, style: &Style, nesting: usize) -> Vec<String> {
    let fields = columns.iter().zip(&row.values).filter(|(column, value)| !column.detail && **value != Value::None);
    let (wide, short): (Vec<_>, Vec<_>) = fields.partition(|(_, value)| is_wide(value));
    let title_width = short.iter().map(|(column, _)| width(column.title)).max().unwrap_or(0);
    let number_width = short.iter().filter(|(_, value)| is_number(value)).map(|(_, value)| width(&words(value)));
    let number_width = number_width.max().unwrap_or(0);
    let title = |column: &Column| style.paint(Ink::Title, column.title).into_owned();
    let mut lines = Vec::new();
    let explained = account::of_summary(columns, row, usize::MAX, style);
    let is_told = |column: &Column| {
        explained.is_some() && [account::CAUSES, account::FINDINGS, account::ORDER].contains(&column.id)
    };
    if let Some(told) = &explained {
        lines.extend(columns.iter().filter(|column| column.id == account::CAUSES).map(title));
        lines.extend(told.iter().cloned());
        lines.push(String::new());
    }
    for (column, value) in short {
        let text = if is_number(value) { format!("{:>number_width$}", words(value)) } else { words(value) };
        let pad = " ".repeat(title_width.saturating_sub(width(column.title)));
        let hanging = " ".repeat(title_width + 2);
        let wrapped =
            if is_number(value) { vec![text] } else { wrap(&text, style.width.saturating_sub(title_width + 2)) };
        for (index, line) in wrapped.iter().enumerate() {
            let start = if index == 0 { format!("{}{pad}  ", column.title) } else { hanging.clone() };
            lines.push(format!("{start}{line}"));
        }
    }
    for (column, value) in wide.iter().filter(|(column, _)| !is_told(column)) {
        let section = section(value, style, nesting);
        if !section.is_empty() {
            lines.extend([String::new(), title(column)]);
            lines.extend(section);
        }
    }
    lines
}

fn section(value: &Value, style: &Style, nesting: usize) -> Vec<String> {
    match value {
        Value::Histogram(times) => bars::histogram(times, style),
        Value::Stack(frames) => stack_lines(frames),
        Value::Rows(view) if view.rows.is_empty() || nesting == 0 => Vec::new(),
        Value::Rows(view) => body(view, style, nesting - 1),
        _ => Vec::new(),
    }
}

/// A stack, leaf first, one frame per line.
fn stack_lines(frames: &[String]) -> Vec<String> {
    let mut lines: Vec<String> =
        frames.iter().take(STACK_FRAMES).map(|frame| format!("  {}", printable(frame))).collect();
    if frames.len() > STACK_FRAMES {
        lines.push(format!("  … {} more", frames.len() - STACK_FRAMES));
    }
    lines
}

/// Whether the column's numbers are names, not amounts.
fn is_id(column: &Column) -> bool {
    matches!(column.id, "tid" | "pid")
}

fn is_wide(value: &Value) -> bool {
    matches!(value, Value::Histogram(_) | Value::Stack(_) | Value::Rows(_))
}

fn class_sum(value: &Value) -> u64 {
    match value {
        Value::ByClass(classes) => classes.iter().fold(0, |sum, ns| sum.saturating_add(*ns)),
        _ => 0,
    }
}

/// A value in a table's cell; `full` is the sum of classes that fills a whole bar.
fn cell(value: &Value, full: u64, style: &Style) -> Cell {
    match value {
        Value::ByClass(classes) => {
            Cell { spans: bars::class_bar(classes, full, bars::BAR_WIDTH, style), ..Cell::default() }
        }
        value => Cell::text(words(value)),
    }
}
