//! The reports, as documents and with their columns.

use dwell_analyze::view::{Value, View};
use dwell_analyze::{Report, json};
use dwell_store::Trace;
use serde_json::{Value as Json, json};

use crate::params::Params;
use crate::problem::Problem;
use crate::transport;

/// The report of this name.
pub fn parse(name: &str) -> Result<Report, Problem> {
    Report::parse(name).map_err(|error| Problem::missing(&error))
}

/// The document of `dwell report NAME --format json`, byte for byte.
pub fn report(report: Report, trace: &Trace, params: &Params) -> Result<String, Problem> {
    Ok(json::render(&view(report, trace, params)?))
}

fn view(report: Report, trace: &Trace, params: &Params) -> Result<View, Problem> {
    let mut view = dwell_analyze::report(report, trace, &params.query)?;
    transport::cut(&mut view);
    Ok(view)
}

/// The same with what the columns are, for grids that know no report.
pub fn columns(report: Report, trace: &Trace, params: &Params) -> Result<String, Problem> {
    let view = view(report, trace, params)?;
    let columns = view.columns.iter().enumerate().map(|(index, column)| {
        json!({ "id": column.id, "title": column.title, "help": column.help, "kind": kind(&view, index) })
    });
    let rows = view.rows.iter().map(|row| {
        let values: Vec<Json> = row.values.iter().map(json::value).collect();
        json!({ "depth": row.depth, "values": values })
    });
    let total = totals(&view);
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

/// Sums of the additive metrics over the rows of the top level.
fn totals(view: &View) -> Json {
    let additive = |id: &str| dwell_analyze::METRICS.iter().any(|metric| metric.id == id && metric.additive);
    let sums = view.columns.iter().enumerate().filter(|(_, column)| additive(column.id)).map(|(index, column)| {
        let cells = view.rows.iter().filter(|row| row.depth == 0).filter_map(|row| row.values.get(index));
        (column.id.to_owned(), json::value(&cells.fold(Value::None, sum)))
    });
    sums.collect()
}

fn sum(sum: Value, value: &Value) -> Value {
    match (sum, value) {
        (Value::None, value) => value.clone(),
        (Value::Ns(a), Value::Ns(b)) => Value::Ns(a.saturating_add(*b)),
        (Value::Count(a), Value::Count(b)) => Value::Count(a.saturating_add(*b)),
        (Value::ByClass(a), Value::ByClass(b)) => {
            Value::ByClass(std::array::from_fn(|class| a[class].saturating_add(b[class])))
        }
        (sum, _) => sum,
    }
}
