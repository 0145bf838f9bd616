//! The tables of a result as they are, each with its row number: what ids of other tables mean.

use std::io::{self, Write};

use dwell_model::SYSCALLS;
use dwell_store::tables::TABLES;
use dwell_store::{ColumnDef, ColumnType, TableDef};

use super::view_def::quoted;

/// Where the tables of a result lie.
pub struct ResultTables<'r> {
    /// Their folder.
    pub folder: &'r str,
    /// The trace format: columns that came later are not in the files.
    pub trace_format: u32,
    /// Whether there is a table of this name.
    pub present: &'r dyn Fn(&str) -> bool,
}

/// Writes a view for each table.
pub fn write(tables: &ResultTables<'_>, out: &mut dyn Write) -> io::Result<()> {
    for table in TABLES {
        let present = (tables.present)(table.name);
        let columns: Vec<String> =
            table.columns.iter().map(|column| expression(column, present, tables.trace_format)).collect();
        let (row, from) =
            if present { ("file_row_number", file(tables, table)) } else { ("0::bigint", NO_ROWS.into()) };
        writeln!(out, "create or replace view raw.{} as select {row} as row_id,", table.name)?;
        writeln!(out, "  {}\n  from {from};", columns.join(", "))?;
    }
    let calls: Vec<String> = SYSCALLS.iter().map(|call| format!("({}, {})", call.number, quoted(call.name))).collect();
    writeln!(out, "create or replace view raw.system_calls as select * from (values")?;
    writeln!(out, "  {}) as calls(number, name);", calls.join(", "))
}

const NO_ROWS: &str = "(select 1) where false";

fn file(tables: &ResultTables<'_>, table: &TableDef) -> String {
    let path = format!("{}/{}.parquet", literal(tables.folder), table.name);
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

/// A column of the file, or its empty value in a table that lacks it. Times become signed numbers, which can be subtracted.
fn expression(column: &ColumnDef, present: bool, trace_format: u32) -> String {
    let ColumnDef { name, ty, since, .. } = column;
    let quoted = format!("\"{name}\"");
    let value = match ty {
        _ if !present => "null",
        _ if *since <= trace_format && is_time(column) => return format!("cast({quoted} as bigint) as {quoted}"),
        _ if *since <= trace_format => return quoted,
        ColumnType::Bool => "false",
        ColumnType::Text => "''",
        ColumnType::Id => "null",
        ColumnType::Bytes => "''",
        _ => "0",
    };
    format!("cast({value} as {}) as {quoted}", sql_type(column))
}

fn is_time(column: &ColumnDef) -> bool {
    column.ty == ColumnType::U64 && column.name.ends_with("_ns")
}

fn sql_type(column: &ColumnDef) -> &'static str {
    match column.ty {
        _ if is_time(column) => "bigint",
        ColumnType::U8 => "utinyint",
        ColumnType::U16 => "usmallint",
        ColumnType::U32 | ColumnType::Id => "uinteger",
        ColumnType::U64 => "ubigint",
        ColumnType::I16 => "smallint",
        ColumnType::I32 => "integer",
        ColumnType::F64 => "double",
        ColumnType::Bool => "boolean",
        ColumnType::Text => "varchar",
        ColumnType::Bytes => "blob",
    }
}
