//! The reports, as documents and with their columns.

use dwell_analyze::source::{SourceQuery, Syntax};
use dwell_analyze::{Fold, METRICS, Query, Report};
use dwell_store::{CodeTables, Trace};
use dwell_view::json::{Kind, Sentences};
use dwell_view::{Column, Row, View, answer, json};
use serde_json::{Map, Value as Json};

use super::params::Params;
use super::{transport, words};
use crate::problem::Problem;

/// Rows of one level that a report has, unless asked otherwise: no page shows a hundred thousand.
pub const MOST_ROWS: usize = 10_000;

/// The report of this name.
pub fn parse(name: &str) -> Result<Report, Problem> {
    Report::parse(name).map_err(|error| Problem::missing(&error))
}

/// A question without what its report does not look at, so that one answer serves all that differ in nothing else: the
/// critical path is the same whatever the filters.
pub fn asked(report: Report, params: Params) -> Params {
    if report == Report::CriticalPath { params.without_filters() } else { params }
}

/// The document of `dwell report NAME --format json --limit 10000`, byte for byte but for texts of more than 4 KiB, which
/// are cut.
pub fn report(report: Report, fold: &Fold<'_>, _: &Params) -> Result<String, Problem> {
    Ok(json::render(&view(report, fold)?))
}

fn view(report: Report, fold: &Fold<'_>) -> Result<View, Problem> {
    // These show few rows unless asked for more.
    let has_own_limit = matches!(report, Report::Latency | Report::Outlier | Report::LongestTasks);
    let limit = fold.query.limit.or((!has_own_limit).then_some(MOST_ROWS));
    let query = Query { limit, ..fold.query.clone() };
    let mut view = dwell_analyze::report_of(report, &fold.asked(&query))?;
    transport::cut(&mut view);
    Ok(view)
}

/// A report with a description of its columns, for grids that know no report.
pub fn columns(report: Report, fold: &Fold<'_>, _: &Params) -> Result<String, Problem> {
    let view = view(report, fold)?;
    transport::written(&with_columns(&view, totals(&view, fold)))
}

answer! {
    /// A report with what its columns are, for grids that know no report.
    pub struct ViewDocument {
        /// The columns.
        pub columns: Vec<ViewColumn>,
        /// The rows.
        pub rows: Vec<ViewRow>,
        /// Remarks, as texts.
        pub notes: Vec<String>,
        /// The same sentence by sentence, for translation.
        pub notes_parts: Vec<Sentences>,
        /// Sums of the additive metrics over all that is selected, whatever rows the limit leaves.
        pub total: Map<String, Json>,
    }
}

answer! {
    /// A column of a report.
    pub struct ViewColumn {
        /// The field's name.
        pub id: &'static str,
        /// Its heading.
        pub title: &'static str,
        /// One line of help.
        pub help: &'static str,
        /// What its values are.
        pub kind: Kind,
    }
}

answer! {
    /// A row of a report.
    pub struct ViewRow {
        /// Its level in a tree.
        pub depth: usize,
        /// As many as there are columns.
        pub values: Vec<Json>,
    }
}

/// A view with what its columns are, and the sums of its rows and those left out.
pub fn with_columns(view: &View, total: Map<String, Json>) -> ViewDocument {
    let column = |(index, column): (usize, &Column)| ViewColumn {
        id: column.id,
        title: column.title,
        help: column.help,
        kind: json::kind(view, index),
    };
    let row = |row: &Row| ViewRow { depth: row.depth, values: row.values.iter().map(json::value).collect() };
    ViewDocument {
        columns: view.columns.iter().enumerate().map(column).collect(),
        rows: view.rows.iter().map(row).collect(),
        notes: json::texts(&view.notes),
        notes_parts: json::parts(&view.notes),
        total,
    }
}

/// The document of `dwell source --format json`.
pub fn source(trace: &Trace, tables: &CodeTables, params: &Params) -> Result<String, Problem> {
    let file = params.text(words::FILE);
    let name = file.or_else(|| params.text(words::FUNCTION)).ok_or_else(|| Problem::query("`function` is missing"))?;
    let asked = SourceQuery {
        name: name.to_owned(),
        module: params.text(words::MODULE).map(str::to_owned),
        whole_file: file.is_some(),
        syntax: if params.text(words::SYNTAX) == Some("att") { Syntax::Att } else { Syntax::Intel },
    };
    let mut view = dwell_analyze::source::source(trace, tables, &params.query, &asked)?.document();
    transport::cut(&mut view);
    Ok(json::render(&view))
}

/// Sums of the additive metrics over all that is selected, whatever rows the limit leaves.
fn totals(view: &View, fold: &Fold<'_>) -> Map<String, Json> {
    let shown = |id: &str| METRICS.iter().find(|metric| metric.id == id && metric.additive);
    let sums = view.columns.iter().filter_map(|column| Some((column.id.to_owned(), fold.total(shown(column.id)?))));
    sums.map(|(id, value)| (id, json::value(&value))).collect()
}
