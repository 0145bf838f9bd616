//! The trace: the raw spool that a collection appends to, and the result that finalization makes of it.
//!
//! A result is a folder: `manifest.json`, `tables/*.parquet`, `modules/`, `log.txt`, and `spool/` until it is finalized.
//! The tables and their columns are declared once, in [`tables`]; writer, reader, version check and
//! `docs/trace-format.md` come from that declaration.

mod control;
pub mod error;
mod folder;
mod hash;
mod index;
mod manifest;
mod module_files;
mod notices;
mod packed_result;
mod peak;
pub mod raw;
mod table;
pub mod tables;
mod trace;

/// For the fuzzer.
pub mod readers {
    pub use crate::index::sealed as sealed_index;
}

pub use control::{
    CONTROL_SOCKET, ControlReply, ControlRequest, ControlStatus, MOST_LINE_BYTES, MOST_PROCESSES,
    from_line as parse_control_line, to_line as control_line,
};
pub use dwell_files::Folder;
pub use error::{Error, Result};
pub use folder::ResultFolder;
pub use hash::{WordHasher, WordMap, WordSet};
pub use index::{Column, Index, IndexWriter, caches};
pub use manifest::{
    CpuInfo, CpuPlace, CpuTaken, CpuUse, DelayEdges, DelayFacts, Edges, LossTime, Manifest, OWN_PROGRAM,
    ProbeDefinition, QuotaUse, Rival, State, TRACE_FORMAT,
};
pub use module_files::{KeptFile, module_identity};
pub use packed_result::{PackFailure, PrivatePart, begins_packed_result, pack, unpack};
pub use peak::peak_bytes;
pub use table::{Cell, ColumnDef, ColumnType, Relocation, Table, TableDef, TableWriter};
pub use trace::{
    Annotations, CodeTables, DelayTables, Estimate, EventKey, EventTotals, Events, FiberTables, KeyWaits, Nesting,
    OUTSIDE, OffCpuEvents, OffCpuTimes, Opened, STACK_QUESTIONS, SampleEvents, Scope, SocketTables, SpanState,
    StackAnswers, ThreadStates, Trace,
};
