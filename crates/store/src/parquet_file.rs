//! Tables as Parquet files: a file a table, compressed with zstd, in row groups that are read side by side.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use dwell_files::Folder;
use dwell_model::ThreadId;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::cells;
use crate::error::{Error, Result};
use crate::result::ResultFolder;
use crate::table::{Absent, Cell, ColumnType, Table, TableDef};

/// What is wrong with a file, without its path.
type Attempt<T> = std::result::Result<T, String>;

/// Rows per row group: the unit that is read in parallel.
const ROW_GROUP_ROWS: usize = 1 << 20;

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

/// Writes a table piece by piece.
pub struct TableWriter<T> {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
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
        let writer = schema(&T::DEF)
            .and_then(|schema| SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties(&T::DEF))));
        let writer = writer.map_err(|error| Error::table(&path, error))?;
        Ok(Self { path, writer, pending: T::default() })
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
        self.writer.close().map(drop).map_err(|error| Error::table(&self.path, error))
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
        let failed = |error| Error::table(&self.path, error);
        let mut group = self.writer.next_row_group().map_err(failed)?;
        let mut index = 0;
        while let Some(mut column) = group.next_column().map_err(failed)? {
            table.write_column(index, rows.clone(), &mut column).map_err(|error| Error::table(&self.path, error))?;
            column.close().map_err(failed)?;
            index += 1;
        }
        group.close().map(drop).map_err(failed)
    }
}

/// Writes the whole table to `folder/NAME.parquet`.
pub(crate) fn write<T: Table>(folder: &Folder, table: &T) -> Result<()> {
    let mut writer = TableWriter::<T>::create(folder)?;
    for from in (0..table.len()).step_by(ROW_GROUP_ROWS) {
        writer.write_group(table, from..table.len().min(from + ROW_GROUP_ROWS))?;
    }
    writer.close()
}

/// Reads `folder/NAME.parquet`, row groups side by side on all CPUs. Columns newer than the file are filled with
/// defaults; columns older than this version are passed over.
pub(crate) fn read<T: Table>(folder: &Folder) -> Result<T> {
    let name = T::DEF.name;
    let groups = open(folder, name)?.num_row_groups();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(groups.max(1));
    let per_worker = groups.div_ceil(workers);
    let parts: Vec<Result<T>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                let groups = (worker * per_worker)..groups.min((worker + 1) * per_worker);
                scope.spawn(move || read_groups::<T>(folder, groups))
            })
            .collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            handle.join().unwrap_or_else(|_| {
                Err(Error::table(&path_of(folder, name), "the Parquet reader gave up on this file"))
            })
        };
        handles.into_iter().map(join).collect()
    });
    let mut whole = T::default();
    for part in parts {
        whole.append(part?);
    }
    Ok(whole)
}

/// Number of rows of `folder/NAME.parquet`.
pub(crate) fn rows(folder: &Folder, name: &str) -> Result<usize> {
    let file = open(folder, name)?;
    Ok(usize::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(0))
}

/// Number of row groups of `folder/NAME.parquet`.
pub(crate) fn groups(folder: &Folder, name: &str) -> Result<usize> {
    Ok(open(folder, name)?.num_row_groups())
}

/// Reads one row group.
pub(crate) fn read_group<T: Table>(folder: &Folder, group: usize) -> Result<T> {
    read_groups(folder, group..group + 1)
}

/// Tells the thread of each row, and whether the row is an estimate, reading nothing else.
pub(crate) fn for_each_thread(folder: &Folder, name: &str, mut tell: impl FnMut(usize, bool)) -> Result<()> {
    let path = path_of(folder, name);
    let file = open(folder, name)?;
    for index in 0..file.num_row_groups() {
        let group = Group::open(&file, index).map_err(|error| Error::table(&path, error))?;
        let threads: Option<Vec<ThreadId>> = group.cells("thread").map_err(|error| Error::table(&path, error))?;
        let estimated: Option<Vec<bool>> = group.cells("estimated").map_err(|error| Error::table(&path, error))?;
        let threads = threads.ok_or_else(|| Error::table(&path, "column thread is missing"))?;
        for (row, thread) in threads.iter().enumerate() {
            if let Some(thread) = thread.get() {
                tell(thread, estimated.as_ref().is_some_and(|estimated| estimated[row]));
            }
        }
    }
    Ok(())
}

/// The file of table `name`.
pub(crate) fn file_name(name: &str) -> String {
    format!("{name}.parquet")
}

fn path_of(folder: &Folder, name: &str) -> PathBuf {
    folder.path().join(file_name(name))
}

fn open(folder: &Folder, name: &str) -> Result<SerializedFileReader<File>> {
    let path = path_of(folder, name);
    let file = folder.read(&file_name(name)).map_err(|error| Error::io(&path, error))?;
    let file = SerializedFileReader::new(file).map_err(|error| Error::table(&path, error))?;
    // The Parquet reader would panic on these (ColumnChunkMetaData::byte_range).
    let columns = file.metadata().row_groups().iter().flat_map(|group| group.columns());
    let mut starts =
        columns.map(|column| (column.dictionary_page_offset(), column.data_page_offset(), column.compressed_size()));
    let sound = starts.all(|(dictionary, data, size)| dictionary.unwrap_or(0) >= 0 && data >= 0 && size >= 0);
    sound.then_some(file).ok_or_else(|| Error::table(&path, "a column has no place in the file"))
}

fn read_groups<T: Table>(folder: &Folder, groups: Range<usize>) -> Result<T> {
    let file = open(folder, T::DEF.name)?;
    let mut table = T::default();
    for index in groups {
        let group = Group::open(&file, index);
        group
            .and_then(|group| group.read(&mut table))
            .map_err(|error| Error::table(&path_of(folder, T::DEF.name), error))?;
    }
    Ok(table)
}

/// A row group that is read.
struct Group<'f> {
    reader: Box<dyn RowGroupReader + 'f>,
    rows: usize,
}

impl<'f> Group<'f> {
    fn open(file: &'f SerializedFileReader<File>, index: usize) -> Attempt<Self> {
        let reader = file.get_row_group(index).map_err(|error| error.to_string())?;
        let rows =
            usize::try_from(reader.metadata().num_rows()).map_err(|_| "a row group has a negative number of rows")?;
        Ok(Self { reader, rows })
    }

    /// Appends the rows to the table.
    fn read<T: Table>(&self, table: &mut T) -> Attempt<()> {
        let mut absent = Vec::new();
        for (index, column) in T::DEF.columns.iter().enumerate() {
            match self.column(column.name, column.ty)? {
                Some(reader) => {
                    let read = table.read_column(index, reader, self.rows);
                    read.map_err(|error| format!("column {} {error}", column.name))?;
                }
                None => absent.push(index),
            }
        }
        // After the others, which have shown that the number of rows is right.
        if absent.len() == T::DEF.columns.len() && self.rows > 0 {
            return Err("no column is known".into());
        }
        absent.into_iter().for_each(|index| table.default_column(index, self.rows));
        Ok(())
    }

    /// The cells of one column, `None` when the file does not have it.
    fn cells<C: Cell + Absent>(&self, name: &str) -> Attempt<Option<Vec<C>>> {
        let Some(reader) = self.column(name, C::TYPE)? else { return Ok(None) };
        let mut cells = Vec::new();
        cells::read(&mut cells, reader, self.rows).map_err(|error| format!("column {name} {error}"))?;
        Ok(Some(cells))
    }

    fn column(&self, name: &str, ty: ColumnType) -> Attempt<Option<ColumnReader>> {
        let schema = self.reader.metadata().schema_descr();
        let Some(index) = schema.columns().iter().position(|column| column.path().parts() == [name]) else {
            return Ok(None);
        };
        let (found, wanted) = (schema.column(index), ty.schema(name).map_err(|error| error.to_string())?);
        let (info, wanted_info) = (found.self_type().get_basic_info(), wanted.get_basic_info());
        let same = found.physical_type() == wanted.get_physical_type()
            && info.converted_type() == wanted_info.converted_type()
            && info.repetition() == wanted_info.repetition();
        if !same {
            return Err(format!("column {name} has another type"));
        }
        self.reader.get_column_reader(index).map(Some).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
#[allow(dead_code, reason = "not every table has its rows pushed")]
mod tests {
    use dwell_files::Folder;
    use dwell_model::{ProcessId, ThreadId};
    use tempfile::TempDir;

    use super::{ROW_GROUP_ROWS, TableWriter, for_each_thread, groups, read, read_group, write};
    use crate::table::{Table, tables};

    tables! {
        /// One column of each type.
        Whole WholeRow "whole" {
            byte: u8, 1, "A cell.";
            short: u16, 1, "A cell.";
            word: u32, 1, "A cell.";
            time_ns: u64, 1, "A cell.";
            level: i16, 1, "A cell.";
            delta: i32, 1, "A cell.";
            share: f64, 1, "A cell.";
            estimated: bool, 1, "A cell.";
            name: String, 1, "A cell.";
            code: Vec<u8>, 1, "A cell.";
            thread: ThreadId, 1, "A cell.";
            process: ProcessId, 1, "A cell.";
        }
        /// The same file as an older version had it: fewer columns, one that is gone.
        Older OlderRow "whole" {
            byte: u8, 1, "A cell.";
            gone: u32, 1, "A cell.";
            thread: ThreadId, 1, "A cell.";
        }
        /// Few columns, for many rows.
        Long LongRow "long" {
            time_ns: u64, 1, "A cell.";
            thread: ThreadId, 1, "A cell.";
            estimated: bool, 1, "A cell.";
        }
        /// The same file with another type.
        Other OtherRow "whole" {
            byte: i16, 1, "A cell.";
        }
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
            assert_eq!(super::rows(&folder, "whole").unwrap(), rows);
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
        assert_eq!(groups(&folder, "long").unwrap(), 2);
        assert_eq!(read_group::<Long>(&folder, 0).unwrap().len(), ROW_GROUP_ROWS);
        let read = read::<Long>(&folder).unwrap();
        assert_eq!(read.len(), 3 * rows);
        assert!(read.time_ns[rows..2 * rows] == piece.time_ns && read.thread[2 * rows..] == piece.thread);
        let (mut threads, mut estimates) = (0, 0);
        for_each_thread(&folder, "long", |thread, estimated| {
            threads += thread;
            estimates += usize::from(estimated);
        })
        .unwrap();
        let known = || (0..rows).filter_map(|row| Some((row, thread(row).get()?)));
        assert_eq!(threads, 3 * known().map(|(_, thread)| thread).sum::<usize>());
        assert_eq!(estimates, 3 * known().filter(|(row, _)| row.is_multiple_of(2)).count());
    }

    #[test]
    fn other_versions_are_filled_or_refused() {
        let (_kept, folder) = folder();
        let older = Older { byte: vec![7, 8], gone: vec![1, 2], thread: vec![ThreadId::NONE, ThreadId::new(4)] };
        write(&folder, &older).unwrap();
        let table = read::<Whole>(&folder).unwrap();
        assert_eq!((table.byte, table.name, table.thread), (older.byte, vec![String::new(); 2], older.thread));
        let refused = read::<Other>(&folder).unwrap_err().to_string();
        assert!(refused.ends_with("column byte has another type"), "{refused}");
    }
}
