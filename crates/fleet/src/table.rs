//! The table of a fleet's waits as a Parquet file. Its types are those that all engines of SQL share: signed numbers and texts.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;

/// Its columns, in this order.
const SCHEMA: &str = "message dwell {
    required binary host (UTF8);
    required int64 t;
    required int64 length_ns;
    required binary process (UTF8);
    required binary version (UTF8);
    required binary kind (UTF8);
    required binary object (UTF8);
    required binary object_type (UTF8);
    required int64 waits;
    required int64 wait_ns;
    required int64 longest_ns;
    required int64 running_ns;
    required int64 runnable_ns;
}";

/// One process name, kind of wait and object of a service on a host, in one row of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FleetRow {
    /// Name of the host.
    pub host: String,
    /// When the row of time began, Unix time in ns.
    pub t: i64,
    /// How long the row of time is.
    pub length_ns: i64,
    /// Name of the process; empty for what was lost.
    pub process: String,
    /// Which version of its program it runs; empty where nobody knows.
    pub version: String,
    /// Kind of wait; `cpu`: running and runnable time of the process; `lost`: what the sums had no place for.
    pub kind: String,
    /// What was waited for.
    pub object: String,
    /// Type of that.
    pub object_type: String,
    /// Waits that ended in the row of time.
    pub waits: i64,
    /// Waiting time in it, also of waits that began before or go on after it.
    pub wait_ns: i64,
    /// The longest of these waits, from where it began.
    pub longest_ns: i64,
    /// Time on a CPU; only in rows of the kinds `cpu` and `lost`.
    pub running_ns: i64,
    /// Time in the run queue; only in rows of the kinds `cpu` and `lost`.
    pub runnable_ns: i64,
}

/// A column of rows: texts or numbers.
pub(crate) enum Cells<R> {
    Texts(fn(&R) -> &str),
    Numbers(fn(&R) -> i64),
}

/// How the columns of [`SCHEMA`] are filled.
const COLUMNS: [Cells<FleetRow>; 13] = [
    Cells::Texts(|row| &row.host),
    Cells::Numbers(|row| row.t),
    Cells::Numbers(|row| row.length_ns),
    Cells::Texts(|row| &row.process),
    Cells::Texts(|row| &row.version),
    Cells::Texts(|row| &row.kind),
    Cells::Texts(|row| &row.object),
    Cells::Texts(|row| &row.object_type),
    Cells::Numbers(|row| row.waits),
    Cells::Numbers(|row| row.wait_ns),
    Cells::Numbers(|row| row.longest_ns),
    Cells::Numbers(|row| row.running_ns),
    Cells::Numbers(|row| row.runnable_ns),
];

/// The bytes of a file that has these rows.
pub(crate) fn to_parquet(rows: &[FleetRow]) -> Result<Vec<u8>> {
    parquet_of(SCHEMA, &COLUMNS, rows)
}

/// The bytes of a file with these rows, whose columns are those of the schema, in its order.
pub(crate) fn parquet_of<R>(schema: &str, columns: &[Cells<R>], rows: &[R]) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let schema = Arc::new(parse_message_type(schema)?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for cells in columns {
        let Some(mut column) = group.next_column()? else { break };
        match cells {
            Cells::Texts(of) => {
                let texts: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(of(row))).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
            }
            Cells::Numbers(of) => {
                let numbers: Vec<i64> = rows.iter().map(of).collect();
                column.typed::<Int64Type>().write_batch(&numbers, None, None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// The rows of a file; an error where it is no such table.
pub(crate) fn from_parquet(file: File) -> Result<Vec<FleetRow>> {
    let reader = SerializedFileReader::new(file)?;
    reader.get_row_iter(None)?.map(|row| row_of(&row?)).collect()
}

fn row_of(row: &Row) -> Result<FleetRow> {
    let mut read = FleetRow::default();
    let FleetRow {
        host,
        t,
        length_ns,
        process,
        version,
        kind,
        object,
        object_type,
        waits,
        wait_ns,
        longest_ns,
        running_ns,
        runnable_ns,
    } = &mut read;
    let texts =
        [("host", host), ("process", process), ("kind", kind), ("object", object), ("object_type", object_type)];
    for (name, text) in texts {
        *text = text_of(cell(row, name)?).ok_or_else(|| no_column(name))?;
    }
    // Older files have no such column.
    if let Ok(cell) = cell(row, "version") {
        *version = text_of(cell).ok_or_else(|| no_column("version"))?;
    }
    let sums = [("waits", waits), ("wait_ns", wait_ns), ("longest_ns", longest_ns)];
    let times = [("running_ns", running_ns), ("runnable_ns", runnable_ns)];
    for (name, number) in [("t", t), ("length_ns", length_ns)].into_iter().chain(sums).chain(times) {
        *number = match cell(row, name)? {
            Field::Long(number) => *number,
            _ => return Err(no_column(name)),
        };
    }
    Ok(read)
}

fn text_of(field: &Field) -> Option<String> {
    match field {
        Field::Str(text) => Some(text.clone()),
        _ => None,
    }
}

fn cell<'r>(row: &'r Row, name: &str) -> Result<&'r Field> {
    let cell = row.get_column_iter().find(|(column, _)| *column == name);
    cell.map(|(_, cell)| cell).ok_or_else(|| no_column(name))
}

fn no_column(name: &str) -> ParquetError {
    ParquetError::General(format!("it has no column {name} of the type that agents write"))
}
