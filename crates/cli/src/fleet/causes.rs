//! The rows of `dwell fleet report causes` as text: numbered causes, each with its estimate, the largest chain, and advice.

use dwell_fleet::AnswerColumn;
use dwell_view::{Column, Row, Value, View};

use crate::text::units::{count, duration};

/// What the text is made of.
const COLUMNS: [&str; 3] = ["title", "evidence", "advice"];

/// The view of these rows.
pub fn view(columns: &[&'static AnswerColumn], rows: &[Vec<Option<String>>]) -> View {
    if rows.is_empty() {
        return View::default();
    }
    let column = |id| Column { id, title: id, help: "", detail: false };
    let row = |cells: &Vec<Option<String>>| {
        let [title, evidence, advice] = texts(columns, cells).map(Value::Text);
        Row { depth: 0, values: vec![title, evidence, advice] }
    };
    View { columns: COLUMNS.map(column).into(), rows: rows.iter().map(row).collect(), ..View::default() }
}

/// Title, evidence and advice of one cause.
fn texts(columns: &[&'static AnswerColumn], cells: &[Option<String>]) -> [String; 3] {
    let cell = |id: &str| {
        let at = columns.iter().position(|column| column.id == id);
        at.and_then(|at| cells.get(at)?.as_deref()).unwrap_or_default()
    };
    let groups = columns.iter().zip(cells).take_while(|(column, _)| column.id != "wait_per_s");
    let title: Vec<&str> = groups.filter_map(|(_, cell)| cell.as_deref()).filter(|cell| !cell.is_empty()).collect();
    let number = |id: &str| cell(id).parse::<u64>().unwrap_or(0);
    let of = |id: &str, one: &str| match number(id) {
        1 => format!("1 {one}"),
        more => format!("{} {one}s", count(more)),
    };
    let (rate, windows) = (rate(cell("wait_per_s"), cell("wait_per_s_error")), of("windows", "window"));
    let (hosts, all) = (of("hosts", "host"), duration(number("wait_ns")));
    let mut evidence = format!("{rate} s of waiting per second, {all} in all, by {windows} of {hosts}");
    if number("versions") > 1 {
        evidence += &format!(" and {}", of("versions", "version"));
    }
    if !cell("chain").is_empty() {
        evidence += &format!(": {}", cell("chain"));
    }
    [title.join(", "), evidence, cell("advice").to_owned()]
}

/// `1.33 ± 0.28`; without an error where there are too few windows for one.
fn rate(per_s: &str, error: &str) -> String {
    let number = |text: &str| text.parse::<f64>().map(|number| format!("{number:.3}"));
    match (number(per_s), number(error)) {
        (Ok(per_s), Ok(error)) => format!("{per_s} ± {error}"),
        (Ok(per_s), Err(_)) => format!("{per_s} (too few windows for an error)"),
        (Err(_), _) => per_s.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use dwell_fleet::{DUCKDB, FleetReport, RowSelection};

    use super::*;

    #[test]
    fn a_cause_is_told_with_its_error() {
        let report = FleetReport::of("causes").unwrap();
        let columns = report.question(&DUCKDB, &RowSelection::default(), &[], None).columns;
        let cells = |error: Option<&str>| -> Vec<Option<String>> {
            let texts =
                ["web", "a: slept in f", "1.3317", "", "2500000000", "9", "f", "a waited for b", "Do not.", "1", "2"];
            let mut cells: Vec<_> = texts.iter().map(|text| Some((*text).to_owned())).collect();
            cells[3] = error.map(str::to_owned);
            cells
        };
        let [title, evidence, advice] = texts(&columns, &cells(Some("0.28")));
        assert_eq!((title.as_str(), advice.as_str()), ("web, a: slept in f", "Do not."));
        let wanted = "1.332 ± 0.280 s of waiting per second, 2.50 s in all, by 9 windows of 1 host and 2 versions: a waited for b";
        assert_eq!(evidence, wanted);
        assert!(texts(&columns, &cells(None))[1].starts_with("1.332 (too few windows for an error) s"));
    }
}
