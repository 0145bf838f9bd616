//! Columns that several reports have.

use dwell_view::Column;

use super::measures::Measure;

pub const fn named(id: &'static str, title: &'static str, help: &'static str) -> Column {
    Column { id, title, help, detail: false }
}

pub const FUNCTION: Column = named("function", "Function", "The function.");
pub const MODULE: Column = named("module", "Module", "The file that it is in; `kernel` or a kernel module.");
pub const PHASE: Column = named("phase", "Phase", "The part of the work.");

pub fn with_measures(first: &[Column], columns: &[&'static Measure]) -> Vec<Column> {
    first.iter().cloned().chain(columns.iter().map(|measure| measure.column.clone())).collect()
}
