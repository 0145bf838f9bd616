//! What is printed after a collection: like a good doctor, where the time went and what is wrong first, with number and remedy:
//! causes and findings in one list, the largest first.
//!
//! Made from the same summary view as `dwell report summary`; fields that it does not have are left out.

use dwell_view::{Row, Value, View};

use super::body::body;
use super::cards::card;
use super::explanation::{cause, paragraph};
use super::notes::note_lines;
use super::style::{Ink, Style};
use super::units;
use super::words::words;

/// Causes and findings shown; their reports have all.
const SHOWN: usize = 5;
/// The kind of causes that something ran.
const RAN: &str = "running";
/// Columns of the objects most waited for; the report has all.
const OBJECT_COLUMNS: [&str; 6] = ["object", "type", "wait_ns", "wait_count", "max_wait_ns", "wait_by_class"];

/// The summary view in short, without a title.
pub fn render(summary: &View, warnings: usize, style: &Style) -> String {
    let mut lines = headline(summary);
    lines.extend(section("Where the time went", where_the_time_went(summary, style), style));
    lines.extend(section("Most waited for", top_objects(summary, style), style));
    if !summary.notes.is_empty() {
        lines.push(String::new());
        lines.extend(note_lines(&summary.notes, warnings, style));
    }
    lines.join("\n") + "\n"
}

fn section(title: &str, lines: Vec<String>, style: &Style) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let heading = [String::new(), style.paint(Ink::Title, title).into_owned()];
    heading.into_iter().chain(lines).collect()
}

/// A field of a single view in words.
fn field_words(summary: &View, id: &str) -> String {
    summary.field(id).map(words).unwrap_or_default()
}

/// Times and what they mean, one line each.
fn headline(summary: &View) -> Vec<String> {
    let plural = |id: &str, one: &str, many: &str| match summary.field(id) {
        Some(Value::Count(1)) => format!("1 {one}"),
        _ => format!("{} {many}", field_words(summary, id)),
    };
    let threads =
        format!("{} in {}", plural("threads", "thread", "threads"), plural("processes", "process", "processes"));
    let running = format!(
        "{} threads running on average, {} CPUs",
        field_words(summary, "avg_running"),
        field_words(summary, "cpus")
    );
    let burnt = [("spin_ns", "spinning"), ("overhead_ns", "in the threading runtime")];
    let burnt = burnt.iter().filter(|(id, _)| summary.field_ns(id) > 0);
    let burnt: String = burnt.map(|(id, what)| format!("; {} {what}", units::duration(summary.field_ns(id)))).collect();
    let idle = summary.field_ns("idle_ns");
    let idle = if idle > 0 { format!("; {} of it idle workers", units::duration(idle)) } else { String::new() };
    let lines = [
        ("Elapsed Time", "elapsed_ns", threads),
        ("CPU Time", "cpu_ns", running + &burnt),
        ("Wait Time", "wait_ns", plural("wait_count", "wait", "waits") + &idle),
        ("Preemption Wait", "preemption_ns", "ready, but in the run queue".to_owned()),
    ];
    lines.iter().map(|(title, id, text)| format!("{title:<15}  {:>8}   {text}", field_words(summary, id))).collect()
}

/// The account, the root causes and findings, and what else its notes say.
fn where_the_time_went(summary: &View, style: &Style) -> Vec<String> {
    let Some(view) = summary.field_view("explanation") else { return Vec::new() };
    let (account, more) = view.notes.split_at(view.notes.len().min(1));
    let mut lines: Vec<String> = account.iter().flat_map(|note| paragraph(&note.to_string(), "", style)).collect();
    lines.extend(largest_first(view, summary.field_view("findings"), style));
    lines.extend(more.iter().flat_map(|note| paragraph(&note.to_string(), "", style)));
    lines
}

/// Causes and findings in one list. The causes keep their order, which puts first what leads to the others; a finding comes before those that
/// cost less, and before the cause that something ran where the finding says what that is.
fn largest_first(causes: &View, findings: Option<&View>, style: &Style) -> Vec<String> {
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
    let mut lines: Vec<String> = all.iter().take(SHOWN).enumerate().flat_map(told).collect();
    let left_out = all.iter().skip(SHOWN).filter(|(is_cause, ..)| !is_cause).count();
    if left_out > 0 {
        lines.push(format!("… {left_out} more: dwell report findings"));
    }
    lines
}

fn top_objects(summary: &View, style: &Style) -> Vec<String> {
    match summary.field_view("top_objects") {
        Some(view) if !view.rows.is_empty() => body(&with_columns(view, &OBJECT_COLUMNS), style, 1),
        _ => Vec::new(),
    }
}

/// The view with these columns only, in this order.
fn with_columns(view: &View, ids: &[&str]) -> View {
    let kept = ids.iter().filter_map(|id| view.columns.iter().position(|column| column.id == *id));
    let kept: Vec<usize> = kept.collect();
    let row = |row: &Row| Row {
        depth: row.depth,
        values: kept.iter().map(|&column| row.values.get(column).cloned().unwrap_or(Value::None)).collect(),
    };
    View {
        columns: kept.iter().map(|&column| view.columns[column].clone()).collect(),
        rows: view.rows.iter().map(row).collect(),
        ..View::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::{findings, summary};

    #[test]
    fn what_is_wrong_comes_with_number_place_and_remedy() {
        let mut view = summary();
        let column = view.columns.iter().position(|column| column.id == "nothing").unwrap();
        view.columns[column].id = "findings";
        view.rows[0].values[column] = Value::Rows(Box::new(findings()));
        view.columns.push(dwell_view::Column { id: "explanation", ..view.columns[column].clone() });
        view.rows[0].values.push(Value::Rows(Box::default()));
        insta::assert_snapshot!(render(&view, 0, &Style::plain(80)));
    }

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
        let lines = largest_first(&causes, Some(&findings), &Style::plain(80)).join(" ");
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
                &Style::plain(80),
            );
            lines[0].contains("Small writes")
        };
        assert!(first("write_row (a.c:1)", 80));
        assert!(!first("write_row (a.c:1)", 20), "that is a small part of it");
        assert!(!first("other (a.c:2)", 80));
    }

    #[test]
    fn a_summary_without_fields_does_not_fail() {
        assert!(render(&View::default(), 0, &Style::plain(80)).contains("Elapsed Time"));
    }
}
