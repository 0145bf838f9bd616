//! Reading tables: row groups side by side on all CPUs, each number and text within the room that the result has.
//!
//! Whoever made the file may have made it to be read at great cost. The footer is bounded and looked at before anything
//! is unpacked; since it may lie, pages ([`super::pages`]) and cells are counted as they come.

use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle};

use dwell_files::Folder;
use dwell_model::ThreadId;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::cell::{Cell, ColumnType};
use super::cell_io;
use super::declaration::{Table, TableDef};
use super::memory_budget::MemoryBudget;
use super::pages::{Pages, read_at};
use super::writer::{ROW_GROUP_ROWS, file_name};
use crate::error::{Error, Result};

/// What is wrong with a file, without its path.
type Attempt<T> = std::result::Result<T, String>;

/// The last bytes of a file: the footer's length and a mark.
const TAIL_BYTES: u64 = 8;
const MARK: &[u8] = b"PAR1";
/// A footer takes some 200 bytes for each column of a row group, which has a million rows unless it is the last.
const MOST_FOOTER_BYTES: u64 = 256 << 10;
/// Where a file is large, its footer has this share of it at most.
const FOOTER_SHARE: u64 = 8;

/// Reads the tables of one result, which share a room.
#[derive(Debug)]
pub(crate) struct TableReader {
    folder: Folder,
    budget: Arc<MemoryBudget>,
}

impl TableReader {
    pub fn new(folder: Folder) -> Self {
        Self { folder, budget: Arc::default() }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Reads `NAME.parquet`, row groups side by side. Every column must be there;
    /// columns that are no part of the table are passed over.
    pub fn read<T: Table>(&self) -> Result<T> {
        let table = &self.open(&T::DEF)?;
        let groups = table.groups();
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(groups.max(1));
        let per_worker = groups.div_ceil(workers);
        let parts: Vec<Result<T>> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers)
                .map(|worker| (worker * per_worker)..groups.min((worker + 1) * per_worker))
                .map(|groups| {
                    let all = groups.clone();
                    Builder::new().spawn_scoped(scope, move || table.read_groups::<T>(all)).map_err(|_| groups)
                })
                .collect();
            let join = |started: std::result::Result<ScopedJoinHandle<'_, _>, Range<usize>>| match started {
                Ok(handle) => handle.join().unwrap_or_else(|_| Err(table.file.gave_up())),
                Err(groups) => table.read_groups(groups), // no thread could be made
            };
            handles.into_iter().map(join).collect()
        });
        let mut parts = parts.into_iter();
        let mut whole = parts.next().transpose()?.unwrap_or_default();
        for part in parts {
            whole.append(part?);
        }
        Ok(whole)
    }

    /// Tells the thread of each row, and whether the row is an estimate, reading nothing else. A table without the column `estimated`
    /// has no estimates.
    pub fn for_each_thread(&self, def: &TableDef, mut visit: impl FnMut(usize, bool)) -> Result<()> {
        let table = self.open(def)?;
        let may_be_estimated = def.columns.iter().any(|column| column.name == "estimated");
        for index in 0..table.groups() {
            let (threads, estimated) = table.file.reading(|| {
                let group = table.group(index)?;
                let threads: Vec<ThreadId> = group.cells("thread")?;
                let estimated: Option<Vec<bool>> = may_be_estimated.then(|| group.cells("estimated")).transpose()?;
                Ok((threads, estimated))
            })?;
            for (row, thread) in threads.iter().enumerate() {
                if let Some(thread) = thread.get() {
                    visit(thread, estimated.as_ref().is_some_and(|estimated| estimated[row]));
                }
            }
        }
        Ok(())
    }

    /// Opens a table and looks at its footer.
    pub fn open(&self, def: &TableDef) -> Result<OpenTable> {
        let path = self.folder.path().join(file_name(def.name));
        let file = self.folder.read(&file_name(def.name)).map_err(|error| Error::io(&path, error))?;
        let metadata = file.metadata().map_err(|error| Error::io(&path, error))?;
        // A hole takes no room on the disk.
        let solid = dwell_files::bytes_before_a_hole(&file).map_err(|error| Error::io(&path, error))?;
        self.budget.grant(solid);
        let file = TableFile { path, file: Arc::new(file), bytes: metadata.len(), budget: self.budget.clone() };
        let footer = file.reading(|| file.footer(def))?;
        Ok(OpenTable { file, footer })
    }
}

/// The file of a table.
struct TableFile {
    path: PathBuf,
    file: Arc<File>,
    bytes: u64,
    budget: Arc<MemoryBudget>,
}

impl TableFile {
    /// Reads, and says in which file it went wrong, and whether the room was too small. The library panics on some files.
    fn reading<R>(&self, read: impl FnOnce() -> Attempt<R>) -> Result<R> {
        let Ok(read) = catch_unwind(AssertUnwindSafe(read)) else { return Err(self.gave_up()) };
        read.map_err(|reason| {
            if self.budget.is_spent() {
                Error::TooLarge { path: self.path.clone(), most_bytes: self.budget.granted() }
            } else {
                Error::table(&self.path, reason)
            }
        })
    }

    fn gave_up(&self) -> Error {
        Error::table(&self.path, "the Parquet reader gave up on this file")
    }

    /// Reads the footer; what it promises to hold must have room.
    fn footer(&self, def: &TableDef) -> Attempt<ParquetMetaData> {
        let tail = self.bytes_at(self.bytes.checked_sub(TAIL_BYTES).ok_or("it is cut off")?, TAIL_BYTES)?;
        let (length, mark) = tail.split_first_chunk::<4>().ok_or("it is cut off")?;
        let length = u64::from(u32::from_le_bytes(*length));
        let start = self.bytes.checked_sub(TAIL_BYTES + length);
        let start = start.filter(|_| mark == MARK).ok_or("it is cut off, or no table")?;
        if length > MOST_FOOTER_BYTES + self.bytes / FOOTER_SHARE {
            return Err(format!("its footer has {length} bytes"));
        }
        let footer = ParquetMetaDataReader::decode_metadata(&self.bytes_at(start, length)?);
        let footer = footer.map_err(|error| error.to_string())?;
        let mut rows = 0;
        for group in footer.row_groups() {
            rows += rows_of(group)?;
            if !group.columns().iter().all(has_place) {
                return Err("a column has no place in the file".into());
            }
        }
        let bytes = row_bytes(def).saturating_mul(rows);
        self.budget.take(bytes)?;
        self.budget.give_back(bytes); // each row group takes its own
        Ok(footer)
    }

    fn bytes_at(&self, start: u64, bytes: u64) -> Attempt<Vec<u8>> {
        read_at(&self.file, start, bytes).map_err(|error| error.to_string())
    }
}

/// Whether the file has a place for a column. The Parquet reader would panic (ColumnChunkMetaData::byte_range).
fn has_place(column: &ColumnChunkMetaData) -> bool {
    let dictionary = column.dictionary_page_offset().unwrap_or(0);
    dictionary >= 0 && column.data_page_offset() >= 0 && column.compressed_size() >= 0
}

fn rows_of(group: &RowGroupMetaData) -> Attempt<u64> {
    let rows = u64::try_from(group.num_rows()).map_err(|_| "a row group has a negative number of rows")?;
    if rows > ROW_GROUP_ROWS as u64 {
        return Err(format!("a row group has {rows} rows, more than {ROW_GROUP_ROWS}"));
    }
    Ok(rows)
}

/// What a row takes in memory, bytes, beside its texts.
fn row_bytes(def: &TableDef) -> u64 {
    def.columns.iter().map(|column| column.ty.memory_bytes()).sum()
}

/// A table that is open, and what its footer says.
pub(crate) struct OpenTable {
    file: TableFile,
    footer: ParquetMetaData,
}

impl OpenTable {
    /// Number of row groups.
    pub fn groups(&self) -> usize {
        self.footer.num_row_groups()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.footer.row_groups().iter().filter_map(|group| usize::try_from(group.num_rows()).ok()).sum()
    }

    /// Reads one row group.
    pub fn read_group<T: Table>(&self, group: usize) -> Result<T> {
        self.read_groups(group..group + 1)
    }

    fn read_groups<T: Table>(&self, groups: Range<usize>) -> Result<T> {
        self.file.reading(|| {
            let mut table = T::default();
            groups.into_iter().try_for_each(|index| self.group(index)?.read(&mut table))?;
            Ok(table)
        })
    }

    fn group(&self, index: usize) -> Attempt<Group<'_>> {
        let metadata = self.footer.row_groups().get(index).ok_or("a row group is gone")?;
        let rows = usize::try_from(rows_of(metadata)?).map_err(|error| error.to_string())?;
        Ok(Group { table: self, metadata, rows })
    }
}

/// A row group that is read.
struct Group<'t> {
    table: &'t OpenTable,
    metadata: &'t RowGroupMetaData,
    rows: usize,
}

impl Group<'_> {
    /// Appends the rows to the table.
    fn read<T: Table>(&self, table: &mut T) -> Attempt<()> {
        self.table.file.budget.take(row_bytes(&T::DEF).saturating_mul(self.rows as u64))?;
        for (index, column) in T::DEF.columns.iter().enumerate() {
            let reader = self.column(column.name, column.ty)?;
            let read = table.read_column(index, reader, self.rows, &self.table.file.budget);
            read.map_err(|error| format!("column {} {error}", column.name))?;
        }
        Ok(())
    }

    /// The cells of one column.
    fn cells<C: Cell>(&self, name: &str) -> Attempt<Vec<C>> {
        let reader = self.column(name, C::TYPE)?;
        let mut cells = Vec::new();
        let read = cell_io::read(&mut cells, reader, self.rows, &self.table.file.budget);
        read.map_err(|error| format!("column {name} {error}"))?;
        Ok(cells)
    }

    fn column(&self, name: &str, ty: ColumnType) -> Attempt<ColumnReader> {
        let schema = self.metadata.schema_descr();
        let index = schema.columns().iter().position(|column| column.path().parts() == [name]);
        let index = index.ok_or_else(|| format!("column {name} is missing"))?;
        let (found, wanted) = (schema.column(index), ty.schema(name).map_err(|error| error.to_string())?);
        let (info, wanted_info) = (found.self_type().get_basic_info(), wanted.get_basic_info());
        let same = found.physical_type() == wanted.get_physical_type()
            && info.converted_type() == wanted_info.converted_type()
            && info.repetition() == wanted_info.repetition();
        if !same {
            return Err(format!("column {name} has another type"));
        }
        let TableFile { file, bytes, budget, .. } = &self.table.file;
        let pages = Arc::new(Pages::new(file.clone(), *bytes, budget.clone()));
        let pages = SerializedPageReader::new(pages, self.metadata.column(index), self.rows, None);
        let pages = Box::new(pages.map_err(|error| error.to_string())?);
        Ok(get_column_reader(schema.column(index), pages))
    }
}
