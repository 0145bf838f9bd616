//! Findings as numbered paragraphs.

use dwell_view::{Row, View};

use super::style::{Ink, Style, collapse_templates, printable, wrap};
use super::words::words;

/// Columns of prose: longer lines are hard to read.
const PROSE_WIDTH: usize = 100;
/// Bytes of template arguments from which a sentence has `<…>` for them.
const LONG_ARGUMENTS: usize = 24;

/// Whether the view's rows are findings: a case, its evidence, and advice.
pub fn has_advice(view: &View) -> bool {
    view.columns.iter().any(|column| column.id == "advice")
}

/// Findings as numbered paragraphs: title and cost, evidence, place, advice.
pub fn cards(view: &View, limit: usize, style: &Style) -> Vec<String> {
    if view.rows.is_empty() {
        return vec!["Nothing that Dwell knows the signs of.".into()];
    }
    let card = |(index, row): (usize, &Row)| card(view, index + 1, row, style);
    view.rows.iter().take(limit).enumerate().flat_map(card).collect()
}

/// One finding, with its number.
pub fn card(view: &View, number: usize, row: &Row, style: &Style) -> Vec<String> {
    let short = |text: String| collapse_templates(&text, LONG_ARGUMENTS);
    let text = |id: &str| view.value(row, id).map(words).filter(|text| !text.is_empty()).map(short);
    let subject = text("subject").map(|subject| format!(": {subject}")).unwrap_or_default();
    let cost = text("cost_ns").map(|cost| format!(", about {cost}")).unwrap_or_default();
    let handle = text("handle").map(|handle| format!(" [{handle}]")).unwrap_or_default();
    let title =
        format!("{number}. {}{subject}{cost}{handle}", text("title").or_else(|| text("id")).unwrap_or_default());
    let mut lines = vec![style.paint(Ink::Bad, printable(&title)).into_owned()];
    let mut paragraph = |start: &str, text: Option<String>| {
        let wrapped = wrap(&text.unwrap_or_default(), style.width.min(PROSE_WIDTH).saturating_sub(3 + start.len()));
        for (index, line) in wrapped.iter().filter(|line| !line.is_empty()).enumerate() {
            let start = if index == 0 { start.to_owned() } else { " ".repeat(start.len()) };
            lines.push(format!("   {start}{line}"));
        }
    };
    paragraph("", text("evidence"));
    paragraph("at ", text("location"));
    paragraph("fix: ", text("advice"));
    lines
}
