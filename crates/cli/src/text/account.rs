//! Where the time went, in words: the account of the threads' time, then causes and findings in one list, the largest first.

use dwell_view::{Column, Row, Value, View};

use super::cards::card;
use super::explanation::{cause, paragraph};
use super::style::Style;

/// The fields of a summary that have causes and findings.
pub const CAUSES: &str = "explanation";
pub const FINDINGS: &str = "findings";
/// A finding that says that waits are short and many comes behind the causes that say because of what they are.
const SHORT_WAITS: &str = "fine-grained-waits";
/// The kind of causes that something ran.
const RAN: &str = "running";

/// The account of a summary's record, its root causes and findings, `limit` of them, and what else its notes say; none where it has none.
pub fn of_summary(columns: &[Column], record: &Row, limit: usize, style: &Style) -> Option<Vec<String>> {
    let field = |id: &str| columns.iter().position(|column| column.id == id).and_then(|at| record.values.get(at));
    let view = |id: &str| match field(id) {
        Some(Value::Rows(view)) => Some(view.as_ref()),
        _ => None,
    };
    let (causes, findings) = (view(CAUSES)?, view(FINDINGS));
    let (account, more) = causes.notes.split_at(causes.notes.len().min(1));
    let mut lines: Vec<String> = account.iter().flat_map(|note| paragraph(&note.to_string(), "", style)).collect();
    lines.extend(largest_first(causes, findings, limit, style));
    lines.extend(more.iter().flat_map(|note| paragraph(&note.to_string(), "", style)));
    Some(lines)
}

/// Causes and findings in one list. The causes keep their order, which puts first what leads to the others; a finding comes before those that
/// cost less, and before the cause that something ran where the finding says what that is.
fn largest_first(causes: &View, findings: Option<&View>, limit: usize, style: &Style) -> Vec<String> {
    let ns = |view: &View, row: &Row, id: &str| match view.value(row, id) {
        Some(Value::Ns(ns)) => *ns,
        _ => 0,
    };
    // What only the program's end, or somebody outside, waited for explains no waits.
    let of_cause = |row| ["wait_ns", "path_ns", "served_ns"].into_iter().map(|id| ns(causes, row, id)).max();
    let text = |view: &View, row: &Row, id: &str| match view.value(row, id) {
        Some(Value::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let rank = |view: &View, finding: &Row| {
        let (cost_ns, location) = (ns(view, finding, "cost_ns"), text(view, finding, "location"));
        let ran_there = |cause: &&Row| text(causes, cause, "kind") == RAN && text(causes, cause, "place") == location;
        let told_by_it = causes.rows.iter().filter(ran_there).filter_map(of_cause).filter(|ns| cost_ns >= ns / 2);
        if text(view, finding, "id") == SHORT_WAITS {
            return cost_ns / 2;
        }
        told_by_it.map(|ns| ns.saturating_add(1)).fold(cost_ns, u64::max)
    };
    let mut findings: Vec<(u64, &View, &Row)> =
        findings.into_iter().flat_map(|view| view.rows.iter().map(move |row| (rank(view, row), view, row))).collect();
    findings.sort_by_key(|(cost_ns, ..)| *cost_ns);
    let mut all: Vec<(bool, &View, &Row)> = Vec::new();
    for (at, row) in causes.rows.iter().enumerate() {
        let largest = causes.rows[at..].iter().filter_map(of_cause).max().unwrap_or(0);
        while let Some((_, view, finding)) = findings.pop_if(|(cost_ns, ..)| *cost_ns > largest) {
            all.push((false, view, finding));
        }
        all.push((true, causes, row));
    }
    all.extend(findings.into_iter().rev().map(|(_, view, finding)| (false, view, finding)));
    let told = |(index, (is_cause, view, row)): (usize, &(bool, &View, &Row))| match is_cause {
        true => cause(view, index + 1, row, style),
        false => card(view, index + 1, row, style),
    };
    let mut lines: Vec<String> = all.iter().take(limit).enumerate().flat_map(told).collect();
    let left_out = all.iter().skip(limit).filter(|(is_cause, ..)| !is_cause).count();
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
    fn causes_keep_their_order_and_findings_come_before_what_costs_less() {
        use dwell_view::Column;
        let View { columns, .. } = summary();
        let view = |ids: &[&'static str], rows: &[&[Value]]| View {
            columns: ids.iter().map(|id| Column { id, ..columns[0].clone() }).collect(),
            rows: rows.iter().map(|values| Row { depth: 0, values: values.to_vec() }).collect(),
            ..View::default()
        };
        let text = |text: &str| Value::Text(text.into());
        let rows: [&[Value]; 3] = [
            &[text("Asked from outside."), Value::Ns(0), Value::Ns(900)],
            &[text("Waited for."), Value::Ns(100), Value::None],
            &[text("Waited for more."), Value::Ns(500), Value::None],
        ];
        let causes = view(&["cause", "wait_ns", "served_ns"], &rows);
        let found: [&[Value]; 3] =
            [&[text("Small"), Value::Ns(10)], &[text("Large"), Value::Ns(1000)], &[text("Middle"), Value::Ns(600)]];
        let findings = view(&["title", "cost_ns"], &found);
        let lines = largest_first(&causes, Some(&findings), 5, &Style::plain(80)).join(" ");
        let told = ["1. Large", "2. Asked", "3. Middle", "4. Waited for.", "5. Waited for more"];
        let at: Vec<Option<usize>> = told.iter().map(|words| lines.find(words)).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{lines}");
    }

    #[test]
    fn what_a_finding_says_of_a_place_comes_before_that_it_ran_there() {
        use dwell_view::Column;
        let View { columns, .. } = summary();
        let view = |ids: &[&'static str], rows: Vec<Vec<Value>>| View {
            columns: ids.iter().map(|id| Column { id, ..columns[0].clone() }).collect(),
            rows: rows.into_iter().map(|values| Row { depth: 0, values }).collect(),
            ..View::default()
        };
        let text = |text: &str| Value::Text(text.into());
        let ran = vec![text("It ran."), text("running"), text("write_row (a.c:1)"), Value::Ns(100)];
        let causes = view(&["cause", "kind", "place", "path_ns"], vec![ran]);
        let first = |location: &str, cost_ns: u64| {
            let finding = vec![text("Small writes"), text(location), Value::Ns(cost_ns)];
            let lines = largest_first(
                &causes,
                Some(&view(&["title", "location", "cost_ns"], vec![finding])),
                5,
                &Style::plain(80),
            );
            lines[0].contains("Small writes")
        };
        assert!(first("write_row (a.c:1)", 80));
        assert!(!first("write_row (a.c:1)", 20), "that is a small part of it");
        assert!(!first("other (a.c:2)", 80));
    }
}
