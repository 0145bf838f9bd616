//! What is printed after a collection: like a good doctor, where the time went and what is wrong first, with number and remedy:
//! causes and findings in one list, the largest first.
//!
//! Made from the same summary view as `dwell report summary`; fields that it does not have are left out.

use dwell_view::{Row, Value, View};

use super::account;
use super::body::body;
use super::notes::note_lines;
use super::style::{Ink, Style};
use super::units;
use super::words::words;

/// Causes and findings shown; their reports have all.
const SHOWN: usize = 5;
/// Columns of the objects most waited for; the report has all.
const OBJECT_COLUMNS: [&str; 6] = ["object", "type", "wait_ns", "wait_count", "max_wait_ns", "wait_by_class"];

/// The summary view in short, without a title.
pub fn render(summary: &View, warnings: usize, style: &Style) -> String {
    let mut lines = headline(summary);
    let record = summary.rows.first();
    let told = record.and_then(|record| account::of_summary(&summary.columns, record, SHOWN, style));
    lines.extend(section("Where the time went", told.unwrap_or_default(), style));
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
        let column = |id| dwell_view::Column { id, ..view.columns[column].clone() };
        let entry = |row| vec![Value::Text("findings".into()), Value::Count(row)];
        let rows = (0..findings().rows.len() as u64).map(|row| Row { depth: 0, values: entry(row) }).collect();
        let order = View { columns: vec![column("list"), column("row")], rows, ..View::default() };
        view.columns.push(column("order"));
        view.rows[0].values.push(Value::Rows(Box::new(order)));
        insta::assert_snapshot!(render(&view, 0, &Style::plain(80)));
    }

    #[test]
    fn a_summary_without_fields_does_not_fail() {
        assert!(render(&View::default(), 0, &Style::plain(80)).contains("Elapsed Time"));
    }
}
