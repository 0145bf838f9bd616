//! Files of other profilers as raw records of Dwell's, of which `resolve` makes a result as of its own: now perf.data, as
//! `perf record` of Linux writes it into files and pipes.
//! It takes a file or a stream, and fills the spool and the manifest of a new result.
//! It names nothing: symbols and objects are found when the result is finalized.
//!
//! The file is read once, front to back: `records` cuts the stream into records, `order` sorts them by time, `translate`
//! makes Dwell's records of them. Nothing in it is trusted; each size is checked, and memory is bounded.

mod attribute;
mod cpus;
mod cursor;
mod description;
mod error;
mod formats;
mod import;
mod kernel;
mod mappings;
mod order;
mod plan;
mod raw_trace;
mod records;
mod sample;
mod sampling;
mod sources;
mod tally;
#[cfg(test)]
mod tests;
mod threads;
mod translate;

pub use error::Error;
pub use import::{Imported, import};
pub use sources::PerfSource;
