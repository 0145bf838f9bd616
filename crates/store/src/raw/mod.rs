//! The raw trace: fixed-layout records in a spool of self-contained, checksummed chunks.
//! It takes records in the order in which they come and gives them back, chunk by chunk, after a crash too.
//! It neither orders records by time nor interprets them.

mod record;
mod spool;

pub use dwell_wire as wire;

pub use record::{Record, RecordBuffer, Records, c_string, prefix, unix_socket_name};
pub use spool::{ChunkInfo, SpoolFault, SpoolReader, SpoolWriter, Stream};
