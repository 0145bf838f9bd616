//! The tables of a result as they are, each with its row number: what ids of other tables mean.

use std::io::{self, Write};

use dwell_model::SYSCALLS;
use dwell_store::tables::TABLES;
use dwell_store::{ColumnDef, ColumnType, TableDef};

use super::view_def::quoted;

/// Writes a view for each table in `folder`.
pub fn write(folder: &str, out: &mut dyn Write) -> io::Result<()> {
    for table in TABLES {
        let columns: Vec<String> = table.columns.iter().map(expression).collect();
        writeln!(out, "create or replace view raw.{} as select file_row_number as row_id,", table.name)?;
        writeln!(out, "  {}\n  from {};", columns.join(", "), file(folder, table))?;
    }
    let calls: Vec<String> = SYSCALLS.iter().map(|call| format!("({}, {})", call.number, quoted(call.name))).collect();
    writeln!(out, "create or replace view raw.system_calls as select * from (values")?;
    writeln!(out, "  {}) as calls(number, name);", calls.join(", "))
}

fn file(folder: &str, table: &TableDef) -> String {
    let path = format!("{}/{}.parquet", literal(folder), table.name);
    format!("read_parquet({}, file_row_number = true)", quoted(&path))
}

/// A path in which DuckDB sees no pattern: a set of one character stands for each that would begin one.
fn literal(path: &str) -> String {
    let plain = |letter: char| match letter {
        '*' | '?' | '[' => format!("[{letter}]"),
        _ => letter.to_string(),
    };
    path.chars().map(plain).collect()
}

/// A column of the file. Times become signed numbers, which can be subtracted.
fn expression(column: &ColumnDef) -> String {
    let quoted = format!("\"{}\"", column.name);
    if is_time(column) { format!("cast({quoted} as bigint) as {quoted}") } else { quoted }
}

fn is_time(column: &ColumnDef) -> bool {
    column.ty == ColumnType::U64 && column.name.ends_with("_ns")
}
