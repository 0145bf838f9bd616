//! Tables: columns in memory, and a Parquet file each.
//! It takes a declaration of columns and the folder of a result, and gives tables that are read, written, joined and moved.
//! It does not know which tables a result has (`tables.rs`), nor what their rows mean.

mod cell;
pub(crate) mod cell_io;
mod declaration;
mod memory_budget;
mod pages;
mod reader;
mod writer;

pub use cell::{Cell, ColumnType, Relocation};
pub(crate) use declaration::tables;
pub use declaration::{ColumnDef, Table, TableDef};
pub use memory_budget::MemoryBudget;
pub(crate) use reader::TableReader;
pub use writer::TableWriter;
pub(crate) use writer::{file_name, to_bytes, write};
