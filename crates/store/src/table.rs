//! Tables as columns: one declaration gives the struct of vectors, its row, the Parquet writer and reader, and the docs.

use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int16Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use dwell_model::{
    CodeId, CounterId, DelaySourceId, FrameId, InlineId, ModuleId, ObjectId, ProcessId, SocketId, SocketWaitId,
    SourceId, StackId, TaskId, TaskTypeId, ThreadId,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::error::{Error, Result};
use crate::result::ResultFolder;

/// Rows per row group: the unit that is read in parallel.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// What a column's cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ColumnType {
    U8,
    U16,
    U32,
    U64,
    I16,
    I32,
    F64,
    Bool,
    Text,
    Bytes,
    /// A row number of another table, null for none.
    Id,
}

impl ColumnType {
    fn arrow(self) -> DataType {
        match self {
            Self::U8 => DataType::UInt8,
            Self::U16 => DataType::UInt16,
            Self::U32 | Self::Id => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::I16 => DataType::Int16,
            Self::I32 => DataType::Int32,
            Self::F64 => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
        }
    }
}

/// One column: what the trace-format document says of it.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDef {
    /// Name, with its unit.
    pub name: &'static str,
    /// Type of the cells.
    pub ty: ColumnType,
    /// Trace format in which it first appeared.
    pub since: u32,
    /// What it holds.
    pub doc: &'static str,
}

/// One table: what the trace-format document says of it.
#[derive(Clone, Copy, Debug)]
pub struct TableDef {
    /// Name, and the file's without `.parquet`.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnDef],
}

/// A value that a column can hold.
pub trait Cell: Sized {
    /// The column's type.
    const TYPE: ColumnType;
    /// The cells as an Arrow array.
    fn array(cells: &[Self]) -> ArrayRef;
    /// Appends the array's cells; `None` when the array is of another type.
    fn extend(cells: &mut Vec<Self>, array: &dyn Array) -> Option<()>;
    /// Puts the cells of column `column` into another result.
    fn relocate(_cells: &mut [Self], _column: &str, _to: &Relocation) {}
}

/// The columns of 64 bits that are times since the start of the collection; the others are durations and amounts.
const TIMES: &[&str] = &["start_ns", "end_ns", "time_ns", "opened_ns", "closed_ns"];

macro_rules! primitive_cells {
    ($($cell:ty, $arrow:ty, $ty:ident, $relocate:ident;)*) => {$(
        impl Cell for $cell {
            const TYPE: ColumnType = ColumnType::$ty;
            fn array(cells: &[Self]) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::from_iter_values(cells.iter().copied()))
            }
            fn extend(cells: &mut Vec<Self>, array: &dyn Array) -> Option<()> {
                let array = array.as_primitive_opt::<$arrow>()?;
                (array.null_count() == 0).then(|| cells.extend_from_slice(array.values()))
            }
            fn relocate(cells: &mut [Self], column: &str, to: &Relocation) {
                $relocate(cells, column, to);
            }
        }
    )*};
}

primitive_cells! {
    u8, UInt8Type, U8, stays;
    u16, UInt16Type, U16, move_cpu;
    u32, UInt32Type, U32, stays;
    u64, UInt64Type, U64, move_time;
    i16, Int16Type, I16, stays;
    i32, Int32Type, I32, stays;
    f64, Float64Type, F64, stays;
}

fn stays<T>(_cells: &mut [T], _column: &str, _to: &Relocation) {}

fn move_time(cells: &mut [u64], column: &str, to: &Relocation) {
    if TIMES.contains(&column) {
        cells.iter_mut().for_each(|time| *time = time.saturating_add(to.time_ns));
    }
}

fn move_cpu(cells: &mut [u16], column: &str, to: &Relocation) {
    if column == "cpu" {
        let known = cells.iter_mut().filter(|cpu| **cpu != u16::MAX);
        known.for_each(|cpu| *cpu = cpu.saturating_add(to.first_cpu).min(u16::MAX - 1));
    }
}

macro_rules! id_cells {
    ($($id:ty: $rows:ident;)*) => {
        /// Where rows of another result come to lie in this one: their times, CPUs and the ids that they name.
        #[derive(Clone, Debug, Default)]
        #[allow(missing_docs, reason = "each is the table's first new row")]
        pub struct Relocation {
            /// Added to every time, ns.
            pub time_ns: u64,
            /// Added to every CPU's number.
            pub first_cpu: u16,
            $(pub $rows: usize,)*
        }
    $(
        impl Cell for $id {
            fn relocate(cells: &mut [Self], _column: &str, to: &Relocation) {
                for id in cells {
                    *id = id.get().map_or(Self::NONE, |row| Self::new(row + to.$rows));
                }
            }
            const TYPE: ColumnType = ColumnType::Id;
            fn array(cells: &[Self]) -> ArrayRef {
                let cells = cells.iter().map(|id| id.is_some().then(|| id.raw()));
                Arc::new(cells.collect::<PrimitiveArray<UInt32Type>>())
            }
            fn extend(cells: &mut Vec<Self>, array: &dyn Array) -> Option<()> {
                let array = array.as_primitive_opt::<UInt32Type>()?;
                if array.null_count() == 0 {
                    cells.extend(array.values().iter().map(|&raw| <$id>::from_raw(raw)));
                } else {
                    cells.extend(array.iter().map(|raw| raw.map_or(<$id>::NONE, <$id>::from_raw)));
                }
                Some(())
            }
        }
    )*}
}

id_cells! {
    ProcessId: processes;
    ThreadId: threads;
    ModuleId: modules;
    FrameId: frames;
    StackId: stacks;
    ObjectId: objects;
    CodeId: code;
    InlineId: inlines;
    SourceId: sources;
    TaskTypeId: task_types;
    TaskId: tasks;
    CounterId: counters;
    SocketId: sockets;
    SocketWaitId: socket_waits;
    DelaySourceId: delay_sources;
}

impl Cell for bool {
    const TYPE: ColumnType = ColumnType::Bool;
    fn array(cells: &[Self]) -> ArrayRef {
        Arc::new(BooleanArray::from(cells.to_vec()))
    }
    fn extend(cells: &mut Vec<Self>, array: &dyn Array) -> Option<()> {
        cells.extend(array.as_boolean_opt()?.iter().map(|cell| cell.unwrap_or(false)));
        Some(())
    }
}

impl Cell for String {
    const TYPE: ColumnType = ColumnType::Text;
    fn array(cells: &[Self]) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(cells))
    }
    fn extend(cells: &mut Vec<Self>, array: &dyn Array) -> Option<()> {
        cells.extend(array.as_string_opt::<i32>()?.iter().map(|cell| cell.unwrap_or_default().to_owned()));
        Some(())
    }
}

impl Cell for Vec<u8> {
    const TYPE: ColumnType = ColumnType::Bytes;
    fn array(cells: &[Self]) -> ArrayRef {
        Arc::new(BinaryArray::from_iter_values(cells))
    }
    fn extend(cells: &mut Vec<Self>, array: &dyn Array) -> Option<()> {
        cells.extend(array.as_binary_opt::<i32>()?.iter().map(|cell| cell.unwrap_or_default().to_owned()));
        Some(())
    }
}

/// A table of the result.
pub trait Table: Default + Send {
    /// Its declaration.
    const DEF: TableDef;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether it has no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Rows `from .. to` as Arrow arrays, in the declaration's order.
    fn arrays(&self, from: usize, to: usize) -> Vec<ArrayRef>;
    /// Appends one column's cells; `None` when the type is another.
    fn extend_column(&mut self, column: usize, array: &dyn Array) -> Option<()>;
    /// Fills column `column`, absent in an older trace, with `rows` defaults.
    fn default_column(&mut self, column: usize, rows: usize);
    /// Moves the rows of `other` behind ours.
    fn append(&mut self, other: Self);
    /// Puts all rows into another result.
    fn relocate(&mut self, to: &Relocation);
    /// The rows in another order: row i becomes what row `order[i]` was.
    #[must_use]
    fn permuted(&self, order: &[usize]) -> Self;
}

/// Declares the tables: `/// doc` `Struct Row "file" { column: type, since, "doc"; … }`.
macro_rules! tables {
    ($($(#[doc = $doc:literal])* $name:ident $row:ident $file:literal {
        $($column:ident: $ty:ty, $since:literal, $cdoc:literal;)*
    })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $(#[doc = $cdoc] pub $column: Vec<$ty>,)* }

        #[doc = concat!("A row of [`", stringify!($name), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $row { $(#[doc = $cdoc] pub $column: $ty,)* }

        impl $name {
            /// Appends a row; returns its number.
            pub fn push(&mut self, row: $row) -> usize {
                $(self.$column.push(row.$column);)*
                $crate::table::Table::len(self) - 1
            }
            /// A copy of row `index`, `None` past the end.
            pub fn row(&self, index: usize) -> Option<$row> {
                Some($row { $($column: self.$column.get(index)?.clone(),)* })
            }
            /// The rows by the times of the column `times`; those of one time stay in their order.
            #[must_use]
            pub fn in_order_of(self, times: impl Fn(&Self) -> &[u64]) -> Self {
                if times(&self).is_sorted() {
                    return self;
                }
                let mut order: Vec<usize> = (0..times(&self).len()).collect();
                order.sort_by_key(|&row| times(&self)[row]);
                self.permuted(&order)
            }
            /// The rows in the order of `permutation`, a permutation of the row numbers.
            #[must_use]
            pub fn permuted(&self, permutation: &[usize]) -> Self {
                Self { $($column: permutation.iter().map(|&row| self.$column[row].clone()).collect(),)* }
            }
        }

        impl $crate::table::Table for $name {
            const DEF: $crate::table::TableDef = $crate::table::TableDef {
                name: $file,
                doc: concat!($($doc,)*),
                columns: &[$($crate::table::ColumnDef {
                    name: stringify!($column),
                    ty: <$ty as $crate::table::Cell>::TYPE,
                    since: $since,
                    doc: $cdoc,
                },)*],
            };
            fn len(&self) -> usize {
                [$(self.$column.len(),)*][0]
            }
            fn arrays(&self, from: usize, to: usize) -> Vec<arrow_array::ArrayRef> {
                vec![$($crate::table::Cell::array(&self.$column[from..to]),)*]
            }
            fn extend_column(&mut self, column: usize, array: &dyn arrow_array::Array) -> Option<()> {
                let mut index = 0;
                $(
                    if index == column {
                        return $crate::table::Cell::extend(&mut self.$column, array);
                    }
                    index += 1;
                )*
                let _ = index;
                None
            }
            fn default_column(&mut self, column: usize, rows: usize) {
                let mut index = 0;
                $(
                    if index == column {
                        let rows = self.$column.len() + rows;
                        self.$column.resize(rows, $crate::table::Absent::absent());
                    }
                    index += 1;
                )*
                let _ = index;
            }
            fn append(&mut self, mut other: Self) {
                $(self.$column.append(&mut other.$column);)*
            }
            fn relocate(&mut self, to: &$crate::table::Relocation) {
                $(<$ty as $crate::table::Cell>::relocate(&mut self.$column, stringify!($column), to);)*
            }
            fn permuted(&self, order: &[usize]) -> Self {
                Self { $($column: order.iter().map(|&row| self.$column[row].clone()).collect(),)* }
            }
        }
    )*

        /// Every table, in the order of the trace-format document.
        pub const TABLES: &[$crate::table::TableDef] = &[$(<$name as $crate::table::Table>::DEF,)*];
    };
}
pub(crate) use tables;

/// The value of a column that an older trace does not have.
pub(crate) trait Absent {
    /// Zero, empty or none.
    fn absent() -> Self;
}

macro_rules! absent {
    ($($ty:ty = $value:expr;)*) => {$(impl Absent for $ty { fn absent() -> Self { $value } })*};
}

absent! {
    u8 = 0; u16 = 0; u32 = 0; u64 = 0; i16 = 0; i32 = 0; f64 = 0.0; bool = false; String = String::new();
    ProcessId = Self::NONE; ThreadId = Self::NONE; ModuleId = Self::NONE;
    FrameId = Self::NONE; StackId = Self::NONE; ObjectId = Self::NONE;
    CodeId = Self::NONE; InlineId = Self::NONE; SourceId = Self::NONE;
    TaskTypeId = Self::NONE; TaskId = Self::NONE; CounterId = Self::NONE;
    SocketId = Self::NONE; SocketWaitId = Self::NONE; DelaySourceId = Self::NONE; Vec<u8> = Vec::new();
}

fn schema<T: Table>() -> Arc<Schema> {
    let fields = T::DEF.columns.iter().map(|column| {
        let nullable = column.ty == ColumnType::Id;
        Field::new(column.name, column.ty.arrow(), nullable)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn properties<T: Table>() -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
    for column in T::DEF.columns.iter().filter(|column| column.ty == ColumnType::U64) {
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
    writer: ArrowWriter<File>,
    table: PhantomData<T>,
}

impl<T: Table> TableWriter<T> {
    /// Begins the table of a result that is written, in place of the one that is there.
    pub fn replace(folder: &ResultFolder) -> Result<Self> {
        Self::create(&folder.path().join("tables"))
    }

    /// Begins `folder/NAME.parquet`.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(format!("{}.parquet", T::DEF.name));
        let file = File::create(&path).map_err(|error| Error::io(&path, error))?;
        let writer = ArrowWriter::try_new(file, schema::<T>(), Some(properties::<T>()));
        let writer = writer.map_err(|error| Error::table(&path, error))?;
        Ok(Self { path, writer, table: PhantomData })
    }

    /// Appends rows.
    pub fn write(&mut self, table: &T) -> Result<()> {
        let mut from = 0;
        while from < table.len() {
            let to = table.len().min(from + ROW_GROUP_ROWS);
            let batch = RecordBatch::try_new(schema::<T>(), table.arrays(from, to));
            let batch = batch.map_err(|error| Error::table(&self.path, error))?;
            self.writer.write(&batch).map_err(|error| Error::table(&self.path, error))?;
            from = to;
        }
        Ok(())
    }

    /// Ends the table.
    pub fn close(self) -> Result<()> {
        self.writer.close().map(drop).map_err(|error| Error::table(&self.path, error))
    }
}

/// Writes the whole table to `folder/NAME.parquet`.
pub(crate) fn write<T: Table>(folder: &Path, table: &T) -> Result<()> {
    let mut writer = TableWriter::create(folder)?;
    writer.write(table)?;
    writer.close()
}

/// Reads `folder/NAME.parquet`, row groups side by side on all CPUs. Columns newer than the file are filled with
/// defaults; columns older than this version are passed over.
pub(crate) fn read<T: Table>(folder: &Path) -> Result<T> {
    let path = folder.join(format!("{}.parquet", T::DEF.name));
    let groups = builder(&path)?.metadata().num_row_groups();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(groups.max(1));
    let per_worker = groups.div_ceil(workers);
    let parts: Vec<Result<T>> = std::thread::scope(|scope| {
        let path = &path;
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                let groups = (worker * per_worker)..groups.min((worker + 1) * per_worker);
                scope.spawn(move || read_groups::<T>(path, groups.collect()))
            })
            .collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            handle.join().unwrap_or_else(|_| Err(Error::table(path, "the Parquet reader gave up on this file")))
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
pub(crate) fn rows(folder: &Path, name: &str) -> Result<usize> {
    let builder = builder(&folder.join(format!("{name}.parquet")))?;
    Ok(usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0))
}

/// Number of row groups of `folder/NAME.parquet`.
pub(crate) fn groups(folder: &Path, name: &str) -> Result<usize> {
    Ok(builder(&folder.join(format!("{name}.parquet")))?.metadata().num_row_groups())
}

/// Reads one row group.
pub(crate) fn read_group<T: Table>(folder: &Path, group: usize) -> Result<T> {
    read_groups(&folder.join(format!("{}.parquet", T::DEF.name)), vec![group])
}

/// Tells the thread of each row, and whether the row is an estimate, reading nothing else.
pub(crate) fn for_each_thread(folder: &Path, name: &str, mut tell: impl FnMut(usize, bool)) -> Result<()> {
    let path = folder.join(format!("{name}.parquet"));
    let builder = builder(&path)?;
    let wanted = |name: &str| builder.schema().fields().iter().position(|field| field.name() == name);
    let columns = [wanted("thread"), wanted("estimated")];
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.into_iter().flatten());
    let reader = builder.with_projection(mask).with_batch_size(1 << 16).build();
    for batch in reader.map_err(|error| Error::table(&path, error))? {
        let batch = batch.map_err(|error| Error::table(&path, error))?;
        let threads = batch.column_by_name("thread").and_then(|column| column.as_primitive_opt::<UInt32Type>());
        let threads = threads.ok_or_else(|| Error::table(&path, "column thread has another type"))?;
        let estimated = batch.column_by_name("estimated").and_then(|column| column.as_boolean_opt());
        for (row, thread) in threads.iter().enumerate() {
            if let Some(thread) = thread {
                tell(thread as usize, estimated.is_some_and(|estimated| estimated.value(row)));
            }
        }
    }
    Ok(())
}

fn builder(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| Error::table(path, error))?;
    // The Parquet reader would panic on these (ColumnChunkMetaData::byte_range).
    let columns = builder.metadata().row_groups().iter().flat_map(|group| group.columns());
    let mut starts =
        columns.map(|column| (column.dictionary_page_offset(), column.data_page_offset(), column.compressed_size()));
    let sound = starts.all(|(dictionary, data, size)| dictionary.unwrap_or(0) >= 0 && data >= 0 && size >= 0);
    sound.then_some(builder).ok_or_else(|| Error::table(path, "a column has no place in the file"))
}

fn read_groups<T: Table>(path: &Path, groups: Vec<usize>) -> Result<T> {
    let builder = builder(path)?;
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let known = T::DEF.columns.iter().map(|column| names.iter().position(|name| name == column.name));
    let known: Vec<Option<usize>> = known.collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), known.iter().flatten().copied());
    let reader = builder.with_row_groups(groups).with_projection(mask).with_batch_size(1 << 16).build();
    let mut table = T::default();
    for batch in reader.map_err(|error| Error::table(path, error))? {
        let batch = batch.map_err(|error| Error::table(path, error))?;
        for (index, column) in T::DEF.columns.iter().enumerate() {
            match batch.column_by_name(column.name) {
                Some(array) => table
                    .extend_column(index, array.as_ref())
                    .ok_or_else(|| Error::table(path, format!("column {} has another type", column.name)))?,
                None => table.default_column(index, batch.num_rows()),
            }
        }
    }
    Ok(table)
}
