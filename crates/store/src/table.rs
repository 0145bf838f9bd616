//! Tables as columns: one declaration gives the struct of vectors, its row, its columns in the file, and the docs.

use std::ops::Range;

use dwell_model::{
    CodeId, CounterId, DelaySourceId, FrameId, InlineId, ModuleId, ObjectId, ProcessId, SocketId, SocketWaitId,
    SourceId, StackId, TaskId, TaskTypeId, ThreadId,
};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

use crate::room::Room;

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
    /// A column of this type in the schema of a Parquet file; only ids can be null.
    pub(crate) fn schema(self, name: &str) -> parquet::errors::Result<Type> {
        let (physical, logical) = self.stored();
        let repetition = if self == Self::Id { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
    }

    /// Bytes of a cell in memory, beside its text.
    pub(crate) fn memory_bytes(self) -> u64 {
        let bytes = match self {
            Self::U8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::Id => 4,
            Self::U64 | Self::F64 => 8,
            Self::Text | Self::Bytes => size_of::<String>(),
        };
        bytes as u64
    }

    /// Parquet's physical and logical type.
    fn stored(self) -> (Physical, Option<LogicalType>) {
        match self {
            Self::U8 => (Physical::INT32, Some(LogicalType::integer(8, false))),
            Self::U16 => (Physical::INT32, Some(LogicalType::integer(16, false))),
            Self::U32 | Self::Id => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Self::U64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::I16 => (Physical::INT32, Some(LogicalType::integer(16, true))),
            Self::I32 => (Physical::INT32, None),
            Self::F64 => (Physical::DOUBLE, None),
            Self::Bool => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Bytes => (Physical::BYTE_ARRAY, None),
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
    /// Parquet's type of what is stored.
    type Stored: DataType;
    /// What is stored; `None` for null.
    fn store(&self) -> Option<<Self::Stored as DataType>::T>;
    /// The cell from what is stored; `None` when that is out of the cell's range.
    fn load(stored: &<Self::Stored as DataType>::T) -> Option<Self>;
    /// Bytes of a stored text, beside the cell itself.
    fn text_bytes(_stored: &<Self::Stored as DataType>::T) -> u64 {
        0
    }
    /// Puts the cells of column `column` into another result.
    fn relocate(_cells: &mut [Self], _column: &str, _to: &Relocation) {}
}

/// The columns of 64 bits that are times since the start of the collection; the others are durations and amounts.
const TIMES: &[&str] = &["start_ns", "end_ns", "time_ns", "opened_ns", "closed_ns"];

macro_rules! number_cells {
    ($($cell:ty, $ty:ident, $stored:ty, $relocate:ident;)*) => {$(
        impl Cell for $cell {
            const TYPE: ColumnType = ColumnType::$ty;
            type Stored = $stored;
            #[allow(clippy::cast_possible_wrap, clippy::cast_lossless, reason = "Parquet stores unsigned numbers so")]
            fn store(&self) -> Option<<$stored as DataType>::T> {
                Some(*self as <$stored as DataType>::T)
            }
            #[allow(clippy::cast_sign_loss, clippy::cast_lossless, reason = "what was stored so")]
            fn load(stored: &<$stored as DataType>::T) -> Option<Self> {
                let cell = *stored as Self;
                (cell as <$stored as DataType>::T == *stored).then_some(cell)
            }
            fn relocate(cells: &mut [Self], column: &str, to: &Relocation) {
                $relocate(cells, column, to);
            }
        }
    )*};
}

number_cells! {
    u8, U8, Int32Type, stays;
    u16, U16, Int32Type, move_cpu;
    u32, U32, Int32Type, stays;
    u64, U64, Int64Type, move_time;
    i16, I16, Int32Type, stays;
    i32, I32, Int32Type, stays;
}

impl Cell for f64 {
    const TYPE: ColumnType = ColumnType::F64;
    type Stored = DoubleType;
    fn store(&self) -> Option<f64> {
        Some(*self)
    }
    fn load(stored: &f64) -> Option<Self> {
        Some(*stored)
    }
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
            type Stored = Int32Type;
            fn store(&self) -> Option<i32> {
                self.is_some().then(|| self.raw().cast_signed())
            }
            fn load(stored: &i32) -> Option<Self> {
                Some(Self::from_raw(stored.cast_unsigned()))
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
    type Stored = BoolType;
    fn store(&self) -> Option<bool> {
        Some(*self)
    }
    fn load(stored: &bool) -> Option<Self> {
        Some(*stored)
    }
}

impl Cell for String {
    const TYPE: ColumnType = ColumnType::Text;
    type Stored = ByteArrayType;
    fn store(&self) -> Option<ByteArray> {
        Some(self.as_str().into())
    }
    fn load(stored: &ByteArray) -> Option<Self> {
        stored.as_utf8().ok().map(str::to_owned)
    }
    fn text_bytes(stored: &ByteArray) -> u64 {
        stored.len() as u64
    }
}

impl Cell for Vec<u8> {
    const TYPE: ColumnType = ColumnType::Bytes;
    type Stored = ByteArrayType;
    fn store(&self) -> Option<ByteArray> {
        Some(self.as_slice().to_vec().into())
    }
    fn load(stored: &ByteArray) -> Option<Self> {
        Some(stored.data().to_vec())
    }
    fn text_bytes(stored: &ByteArray) -> u64 {
        stored.len() as u64
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
    /// Writes the cells of column `column` in `rows`.
    fn write_column(
        &self,
        column: usize,
        rows: Range<usize>,
        to: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), String>;
    /// Appends the `rows` cells of a row group's column `column`; what they need is taken from the room.
    fn read_column(&mut self, column: usize, from: ColumnReader, rows: usize, room: &Room) -> Result<(), String>;
    /// Appends copies of rows of `other`.
    fn extend_from(&mut self, other: &Self, rows: Range<usize>);
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
            fn write_column(
                &self,
                column: usize,
                rows: std::ops::Range<usize>,
                to: &mut parquet::file::writer::SerializedColumnWriter<'_>,
            ) -> std::result::Result<(), String> {
                let mut index = 0;
                $(
                    if index == column {
                        return $crate::cells::write(&self.$column[rows], to);
                    }
                    index += 1;
                )*
                Err(format!("no column {column} of {index}"))
            }
            fn read_column(
                &mut self,
                column: usize,
                from: parquet::column::reader::ColumnReader,
                rows: usize,
                room: &$crate::room::Room,
            ) -> std::result::Result<(), String> {
                let mut index = 0;
                $(
                    if index == column {
                        return $crate::cells::read(&mut self.$column, from, rows, room);
                    }
                    index += 1;
                )*
                Err(format!("no column {column} of {index}"))
            }
            fn extend_from(&mut self, other: &Self, rows: std::ops::Range<usize>) {
                $(self.$column.extend_from_slice(&other.$column[rows.clone()]);)*
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
        #[allow(dead_code, reason = "those of tests are not documented")]
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
