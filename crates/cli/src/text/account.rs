//! Where the time went, in words: the account of the threads' time, then causes and findings in one list.

use dwell_view::{Column, Row, Value, View};

use super::cards::card;
use super::explanation::{cause, paragraph};
use super::style::Style;

/// The fields of a summary that have causes and findings.
pub const CAUSES: &str = "explanation";
pub const FINDINGS: &str = "findings";
/// The field that says in which order these two are told.
pub const ORDER: &str = "order";

/// The account of a summary's record, its root causes and findings, `limit` of them, and what else its notes say; none where it has none.
pub fn of_summary(columns: &[Column], record: &Row, limit: usize, style: &Style) -> Option<Vec<String>> {
    let field = |id: &str| columns.iter().position(|column| column.id == id).and_then(|at| record.values.get(at));
    let view = |id: &str| match field(id) {
        Some(Value::Rows(view)) => Some(view.as_ref()),
        _ => None,
    };
    let (causes, findings, order) = (view(CAUSES)?, view(FINDINGS), view(ORDER)?);
    let (account, more) = causes.notes.split_at(causes.notes.len().min(1));
    let mut lines: Vec<String> = account.iter().flat_map(|note| paragraph(&note.to_string(), "", style)).collect();
    lines.extend(one_list(causes, findings, order, limit, style));
    lines.extend(more.iter().flat_map(|note| paragraph(&note.to_string(), "", style)));
    Some(lines)
}

/// Causes and findings in the order of the summary, `limit` of them.
fn one_list(causes: &View, findings: Option<&View>, order: &View, limit: usize, style: &Style) -> Vec<String> {
    let listed = |entry: &Row| match (order.value(entry, "list"), order.value(entry, "row")) {
        (Some(Value::Text(list)), Some(Value::Count(row))) => Some((list == CAUSES, usize::try_from(*row).ok()?)),
        _ => None,
    };
    let entries: Vec<(bool, usize)> = order.rows.iter().filter_map(listed).collect();
    let told = |(index, &(is_cause, row)): (usize, &(bool, usize))| {
        let view = if is_cause { Some(causes) } else { findings };
        let tell = if is_cause { cause } else { card };
        view.and_then(|view| view.rows.get(row).map(|row| tell(view, index + 1, row, style))).unwrap_or_default()
    };
    let mut lines: Vec<String> = entries.iter().take(limit).enumerate().flat_map(told).collect();
    let left_out = entries.iter().skip(limit).filter(|(is_cause, _)| !is_cause).count();
    if left_out > 0 {
        lines.push(format!("… {left_out} more: dwell report findings"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::summary;

    #[test]
    fn causes_and_findings_come_in_the_order_of_the_summary() {
        use dwell_view::Column;
        let View { columns, .. } = summary();
        let view = |ids: &[&'static str], rows: &[&[Value]]| View {
            columns: ids.iter().map(|id| Column { id, ..columns[0].clone() }).collect(),
            rows: rows.iter().map(|values| Row { depth: 0, values: values.to_vec() }).collect(),
            ..View::default()
        };
        let text = |text: &str| Value::Text(text.into());
        let causes = view(&["cause"], &[&[text("Asked from outside.")], &[text("Waited for.")]]);
        let findings = view(&["title"], &[&[text("Large")], &[text("Small")]]);
        let entry = |list: &str, row: u64| [text(list), Value::Count(row)];
        let order = [entry(FINDINGS, 0), entry(CAUSES, 0), entry(CAUSES, 1), entry(FINDINGS, 1)];
        let order: Vec<&[Value]> = order.iter().map(|entry| &entry[..]).collect();
        let order = view(&["list", "row"], &order);
        let lines = one_list(&causes, Some(&findings), &order, 3, &Style::plain(80)).join(" ");
        let told = ["1. Large", "2. Asked", "3. Waited for.", "1 more: dwell report findings"];
        let at: Vec<Option<usize>> = told.iter().map(|words| lines.find(words)).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{lines}");
    }
}
