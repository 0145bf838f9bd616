//! What one column of a table holds: its type, how Parquet stores it, and where its values lie in another result.

use dwell_model::{
    CodeId, CounterId, DelaySourceId, FiberId, FrameId, InlineId, ModuleId, ObjectId, ProcessId, SocketId,
    SocketWaitId, SourceId, StackId, TaskId, TaskTypeId, ThreadId,
};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::schema::types::Type;

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
    /// The cell that stands for null; `None` where the column has no nulls.
    fn null() -> Option<Self> {
        None
    }
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
            fn null() -> Option<Self> {
                Some(Self::NONE)
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
    FiberId: fibers;
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
