//! Writes tables as Parquet files: one file per table, compressed with zstd, in row groups that are read side by side
//! ([`super::reader`]).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use dwell_files::Folder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use super::cell::ColumnType;
use super::declaration::{Table, TableDef};
use crate::error::{Error, Result};
use crate::folder::ResultFolder;

/// Rows per row group: the unit that is read in parallel.
pub(super) const ROW_GROUP_ROWS: usize = 1 << 20;

fn schema(table: &TableDef) -> parquet::errors::Result<Type> {
    let columns = table.columns.iter().map(|column| column.ty.schema(column.name).map(Arc::new));
    Type::group_type_builder("dwell").with_fields(columns.collect::<parquet::errors::Result<_>>()?).build()
}

fn properties(table: &TableDef) -> WriterProperties {
    let mut builder = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    for column in table.columns.iter().filter(|column| column.ty == ColumnType::U64) {
        let path = ColumnPath::from(column.name);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// A file that remembers why it could not be written: of Parquet's errors not all tell.
struct Target {
    file: File,
    /// The number of the system's error; 0 = none.
    failure: Arc<AtomicI32>,
}

impl Target {
    fn noted<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| self.failure.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed))
    }
}

impl io::Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.file.write(bytes);
        self.noted(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.file.flush();
        self.noted(done)
    }
}

/// Why the table could not be written: the system's reason, if there is one.
fn not_written(path: &Path, failure: &AtomicI32, reason: impl std::fmt::Display) -> Error {
    match failure.load(Ordering::Relaxed) {
        0 => Error::table(path, reason),
        number => Error::io(path, io::Error::from_raw_os_error(number)),
    }
}

/// Writes a table piece by piece.
pub struct TableWriter<T> {
    path: PathBuf,
    writer: SerializedFileWriter<Target>,
    failure: Arc<AtomicI32>,
    /// Rows that do not fill a row group yet.
    pending: T,
}

impl<T: Table> TableWriter<T> {
    /// Begins the table of a result that is written, in place of the one that is there.
    pub fn replace(folder: &ResultFolder) -> Result<Self> {
        let tables = folder.tables()?;
        let name = file_name(T::DEF.name);
        tables.remove(&name).map_err(|error| Error::io(&tables.path().join(name), error))?;
        Self::create(&tables)
    }

    /// Begins `folder/NAME.parquet`.
    pub(crate) fn create(folder: &Folder) -> Result<Self> {
        let name = file_name(T::DEF.name);
        let path = folder.path().join(&name);
        let file = folder.create_file(&name).map_err(|error| Error::io(&path, error))?;
        let failure = Arc::<AtomicI32>::default();
        let target = Target { file, failure: Arc::clone(&failure) };
        let writer = schema(&T::DEF)
            .and_then(|schema| SerializedFileWriter::new(target, Arc::new(schema), Arc::new(properties(&T::DEF))));
        let writer = writer.map_err(|error| not_written(&path, &failure, error))?;
        Ok(Self { path, writer, failure, pending: T::default() })
    }

    /// Appends rows.
    pub fn write(&mut self, table: &T) -> Result<()> {
        let mut from = 0;
        while from < table.len() {
            let to = table.len().min(from + ROW_GROUP_ROWS - self.pending.len());
            if to - from == ROW_GROUP_ROWS {
                self.write_group(table, from..to)?;
            } else {
                self.pending.extend_from(table, from..to);
                self.flush(ROW_GROUP_ROWS)?;
            }
            from = to;
        }
        Ok(())
    }

    /// Ends the table.
    pub fn close(mut self) -> Result<()> {
        self.flush(1)?;
        self.writer.close().map(drop).map_err(|error| not_written(&self.path, &self.failure, error))
    }

    /// Writes the pending rows if there are so many.
    fn flush(&mut self, least: usize) -> Result<()> {
        if self.pending.len() < least {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.pending);
        self.write_group(&rows, 0..rows.len())
    }

    fn write_group(&mut self, table: &T, rows: Range<usize>) -> Result<()> {
        let (path, failure) = (&self.path, &self.failure);
        write_rows(&mut self.writer, table, rows).map_err(|reason| not_written(path, failure, reason))
    }
}

/// Writes a row group.
fn write_rows<T: Table, W: io::Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    table: &T,
    rows: Range<usize>,
) -> std::result::Result<(), String> {
    let failed = |error: ParquetError| error.to_string();
    let mut group = writer.next_row_group().map_err(failed)?;
    let mut index = 0;
    while let Some(mut column) = group.next_column().map_err(failed)? {
        table.write_column(index, rows.clone(), &mut column)?;
        column.close().map_err(failed)?;
        index += 1;
    }
    group.close().map(drop).map_err(failed)
}

/// The whole table as its file has it.
pub(crate) fn to_bytes<T: Table>(table: &T) -> std::result::Result<Vec<u8>, String> {
    let made = schema(&T::DEF)
        .and_then(|schema| SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties(&T::DEF))));
    let mut writer = made.map_err(|error| error.to_string())?;
    for from in (0..table.len()).step_by(ROW_GROUP_ROWS) {
        write_rows(&mut writer, table, from..table.len().min(from + ROW_GROUP_ROWS))?;
    }
    writer.into_inner().map_err(|error| error.to_string())
}

/// Writes the whole table to `folder/NAME.parquet`.
pub(crate) fn write<T: Table>(folder: &Folder, table: &T) -> Result<()> {
    let mut writer = TableWriter::<T>::create(folder)?;
    for from in (0..table.len()).step_by(ROW_GROUP_ROWS) {
        writer.write_group(table, from..table.len().min(from + ROW_GROUP_ROWS))?;
    }
    writer.close()
}

/// The file of table `name`.
pub(crate) fn file_name(name: &str) -> String {
    format!("{name}.parquet")
}

#[cfg(test)]
#[allow(dead_code, reason = "not every table has its rows pushed")]
mod tests {
    use dwell_files::Folder;
    use dwell_model::{ProcessId, ThreadId};
    use tempfile::TempDir;

    use super::{ROW_GROUP_ROWS, TableWriter, write};
    use crate::error::Result;
    use crate::table::{Table, TableReader, tables};

    tables! {
        /// One column of each type.
        Whole WholeRow "whole" {
            byte: u8, "A cell.";
            short: u16, "A cell.";
            word: u32, "A cell.";
            time_ns: u64, "A cell.";
            level: i16, "A cell.";
            delta: i32, "A cell.";
            share: f64, "A cell.";
            estimated: bool, "A cell.";
            name: String, "A cell.";
            code: Vec<u8>, "A cell.";
            thread: ThreadId, "A cell.";
            process: ProcessId, "A cell.";
        }
        /// The same file with fewer columns.
        Fewer FewerRow "whole" {
            byte: u8, "A cell.";
            thread: ThreadId, "A cell.";
        }
        /// Few columns, for many rows.
        Long LongRow "long" {
            time_ns: u64, "A cell.";
            thread: ThreadId, "A cell.";
            estimated: bool, "A cell.";
        }
        /// The same file with another type.
        Other OtherRow "whole" {
            byte: i16, "A cell.";
        }
    }

    fn read<T: Table>(folder: &Folder) -> Result<T> {
        TableReader::new(folder.clone()).read()
    }

    fn row(number: usize) -> WholeRow {
        WholeRow {
            byte: [0, u8::MAX][number % 2],
            short: [1, u16::MAX][number % 2],
            word: [2, u32::MAX][number % 2],
            time_ns: [3, u64::MAX, 1 << 63][number % 3],
            level: [i16::MIN, i16::MAX][number % 2],
            delta: [i32::MIN, i32::MAX][number % 2],
            share: number as f64 / 3.0,
            estimated: number.is_multiple_of(5),
            name: ["", "naïve", "push_item"][number % 3].into(),
            code: vec![0xff; number % 4],
            thread: if number.is_multiple_of(3) { ThreadId::NONE } else { ThreadId::new(number) },
            process: ProcessId::new(number),
        }
    }

    fn whole(rows: usize) -> Whole {
        let mut table = Whole::default();
        for number in 0..rows {
            table.push(row(number));
        }
        table
    }

    fn folder() -> (TempDir, Folder) {
        let folder = TempDir::new().unwrap();
        let held = Folder::open(folder.path()).unwrap();
        (folder, held)
    }

    #[test]
    fn cells_come_back_as_they_were() {
        for rows in [0, 1, 70_000] {
            let (_kept, folder) = folder();
            let table = whole(rows);
            write(&folder, &table).unwrap();
            assert!(read::<Whole>(&folder).unwrap() == table, "{rows} rows");
            assert_eq!(TableReader::new(folder).open(&Whole::DEF).unwrap().rows(), rows);
        }
    }

    #[test]
    fn pieces_fill_row_groups() {
        let (_kept, folder) = folder();
        let rows = ROW_GROUP_ROWS / 2 + 1;
        let thread = |row: usize| if row.is_multiple_of(4) { ThreadId::NONE } else { ThreadId::new(row % 3) };
        let piece = Long {
            time_ns: (0..rows as u64).collect(),
            thread: (0..rows).map(thread).collect(),
            estimated: (0..rows).map(|row| row.is_multiple_of(2)).collect(),
        };
        let mut writer = TableWriter::create(&folder).unwrap();
        (0..3).for_each(|_| writer.write(&piece).unwrap());
        writer.close().unwrap();
        let reader = TableReader::new(folder);
        let table = reader.open(&Long::DEF).unwrap();
        assert_eq!(table.groups(), 2);
        assert_eq!(table.read_group::<Long>(0).unwrap().len(), ROW_GROUP_ROWS);
        let read: Long = reader.read().unwrap();
        assert_eq!(read.len(), 3 * rows);
        assert!(read.time_ns[rows..2 * rows] == piece.time_ns && read.thread[2 * rows..] == piece.thread);
        let (mut threads, mut estimates) = (0, 0);
        let visited = reader.for_each_thread(&Long::DEF, |thread, estimated| {
            threads += thread;
            estimates += usize::from(estimated);
        });
        visited.unwrap();
        let known = || (0..rows).filter_map(|row| Some((row, thread(row).get()?)));
        assert_eq!(threads, 3 * known().map(|(_, thread)| thread).sum::<usize>());
        assert_eq!(estimates, 3 * known().filter(|(row, _)| row.is_multiple_of(2)).count());
    }

    #[test]
    fn a_column_that_is_missing_or_of_another_type_is_refused() {
        let (_kept, folder) = folder();
        write(&folder, &Fewer { byte: vec![7], thread: vec![ThreadId::NONE] }).unwrap();
        let missing = read::<Whole>(&folder).unwrap_err().to_string();
        assert!(missing.ends_with("column short is missing"), "{missing}");
        let other = read::<Other>(&folder).unwrap_err().to_string();
        assert!(other.ends_with("column byte has another type"), "{other}");
    }

    #[test]
    fn a_column_that_is_no_part_of_the_table_is_passed_over() {
        let (_kept, folder) = folder();
        write(&folder, &whole(2)).unwrap();
        assert_eq!(read::<Fewer>(&folder).unwrap().byte, whole(2).byte);
    }
}
