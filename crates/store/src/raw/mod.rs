//! The raw trace: fixed-layout records in a spool of self-contained, checksummed chunks.

mod record;
mod spool;
pub mod wire;

pub use record::{Record, RecordBuffer, Records, c_string, prefix};
pub use spool::{ChunkInfo, SpoolFault, SpoolReader, SpoolWriter, Stream};
