//! Root causes of waits as numbered paragraphs: the cause with its numbers, the chains that lead to it, advice.

use dwell_view::{Row, Value, View};

use super::style::{Ink, Style, collapse_templates, printable, wrap};
use super::words::words;

/// Columns of prose: longer lines are hard to read.
const PROSE_WIDTH: usize = 100;
/// Bytes of template arguments from which a sentence has `<…>` for them.
const LONG_ARGUMENTS: usize = 24;
/// Chains of the first cause, and of the others.
const CHAINS: [usize; 2] = [2, 1];

/// Whether the view's rows are root causes.
pub fn has_chains(view: &View) -> bool {
    view.columns.iter().any(|column| column.id == "chains")
}

/// The rows as numbered paragraphs.
pub fn explanation(view: &View, style: &Style) -> Vec<String> {
    view.rows.iter().enumerate().flat_map(|(index, row)| cause(view, index + 1, row, style)).collect()
}

/// One root cause, with its number.
pub fn cause(view: &View, number: usize, row: &Row, style: &Style) -> Vec<String> {
    let text = |id: &str| view.value(row, id).map(words).filter(|text| !text.is_empty()).unwrap_or_default();
    let handle = Some(text("handle")).filter(|handle| !handle.is_empty()).map(|handle| format!(" [{handle}]"));
    let told = text("cause") + &handle.unwrap_or_default();
    let mut lines: Vec<String> = paragraph(&told, &format!("{number}. "), style)
        .into_iter()
        .map(|line| style.paint(Ink::Bad, line).into_owned())
        .collect();
    if let Some(Value::Stack(chains)) = view.value(row, "chains") {
        let shown = CHAINS[usize::from(number > 1)];
        lines.extend(chains.iter().take(shown).flat_map(|chain| paragraph(chain, "   ", style)));
    }
    lines.extend(paragraph(&text("advice"), "   fix: ", style));
    lines
}

/// A text, wrapped: the first line begins with `start`, the others below it.
pub fn paragraph(text: &str, start: &str, style: &Style) -> Vec<String> {
    let short = collapse_templates(text, LONG_ARGUMENTS);
    let wrapped = wrap(&printable(&short), style.width.min(PROSE_WIDTH).saturating_sub(start.len()));
    let line = |(index, line): (usize, &String)| match index {
        0 => format!("{start}{line}"),
        _ => format!("{}{line}", " ".repeat(start.len())),
    };
    wrapped.iter().filter(|line| !line.is_empty()).enumerate().map(line).collect()
}
