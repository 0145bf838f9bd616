//! The reports, as documents and with their columns.

use dwell_analyze::view::{Value, View};
use dwell_analyze::{Fold, METRICS, Report, json};
use serde_json::{Value as Json, json};

use crate::params::Params;
use crate::problem::Problem;
use crate::transport;

/// The report of this name.
pub fn parse(name: &str) -> Result<Report, Problem> {
    Report::parse(name).map_err(|error| Problem::missing(&error))
}

/// The document of `dwell report NAME --format json`, byte for byte.
pub fn report(report: Report, fold: &Fold<'_>, _: &Params) -> Result<String, Problem> {
    Ok(json::render(&view(report, fold)?))
}

fn view(report: Report, fold: &Fold<'_>) -> Result<View, Problem> {
    let mut view = dwell_analyze::report_of(report, fold)?;
    transport::cut(&mut view);
    Ok(view)
}

/// The same with what the columns are, for grids that know no report.
pub fn columns(report: Report, fold: &Fold<'_>, _: &Params) -> Result<String, Problem> {
    let view = view(report, fold)?;
    let columns = view.columns.iter().enumerate().map(|(index, column)| {
        json!({ "id": column.id, "title": column.title, "help": column.help, "kind": kind(&view, index) })
    });
    let rows = view.rows.iter().map(|row| {
        let values: Vec<Json> = row.values.iter().map(json::value).collect();
        json!({ "depth": row.depth, "values": values })
    });
    let total = totals(&view, fold);
    Ok(json!({
        "columns": columns.collect::<Vec<_>>(),
        "rows": rows.collect::<Vec<_>>(),
        "notes": view.notes,
        "total": total,
    })
    .to_string())
}

/// What the column's values are: those of its first row that has one.
fn kind(view: &View, column: usize) -> &'static str {
    let kinds = view.rows.iter().filter_map(|row| match row.values.get(column)? {
        Value::None => None,
        Value::Text(_) => Some("text"),
        Value::Count(_) => Some("count"),
        Value::Ns(_) => Some("ns"),
        Value::Fraction(_) => Some("fraction"),
        Value::Real(_) => Some("real"),
        Value::ByClass(_) => Some("by_class"),
        Value::Histogram(_) => Some("histogram"),
        Value::Stack(_) => Some("stack"),
        Value::Rows(_) => Some("rows"),
    });
    kinds.into_iter().next().unwrap_or("text")
}

/// Sums of the additive metrics over all that is selected, whatever rows the limit leaves.
fn totals(view: &View, fold: &Fold<'_>) -> Json {
    let shown = |id: &str| METRICS.iter().find(|metric| metric.id == id && metric.additive);
    let sums = view.columns.iter().filter_map(|column| Some((column.id.to_owned(), fold.total(shown(column.id)?))));
    sums.map(|(id, value)| (id, json::value(&value))).collect()
}
