//! The trace: the raw spool that a collection appends to, and the result that finalization makes of it.
//!
//! A result is a folder: `manifest.json`, `tables/*.parquet`, `modules/`, `log.txt`, and `spool/` until it is finalized.
//! The tables and their columns are declared once, in [`tables`]; writer, reader, version check and
//! `docs/trace-format.md` come from that declaration.

mod annotations;
mod cells;
mod checked;
mod code_tables;
mod column;
mod delays;
pub mod error;
mod events;
mod hash;
mod index;
mod kept;
mod manifest;
mod nesting;
mod packed;
mod pages;
mod parquet_file;
pub mod raw;
mod result;
mod room;
mod sockets;
mod states;
mod table;
mod table_reader;
pub mod tables;

/// For the fuzzer.
pub mod readers {
    pub use crate::index::sealed as sealed_index;
}

pub use annotations::Annotations;
pub use code_tables::CodeTables;
pub use column::Column;
pub use delays::DelayTables;
pub use dwell_files::Folder;
pub use error::{Error, Result};
pub use events::{Estimate, EventKey, Events, OffCpuEvents, OffCpuTimes, SampleEvents, Totals};
pub use hash::{WordHasher, WordMap};
pub use index::{Index, IndexWriter, Opened, caches};
pub use kept::{Kept, module_identity};
pub use manifest::{CpuInfo, CpuPlace, DelayEdges, DelayFacts, Edges, LossTime, Manifest, State, TRACE_FORMAT};
pub use nesting::{Nesting, OUTSIDE, Scope};
pub use parquet_file::TableWriter;
pub use result::{ResultFolder, Trace, peak_bytes};
pub use sockets::SocketTables;
pub use states::{SpanState, ThreadStates};
pub use table::{Cell, ColumnDef, ColumnType, Relocation, Table, TableDef};
