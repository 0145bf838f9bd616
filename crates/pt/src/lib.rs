//! Intel PT: from the trace of a processor to a timeline of functions.
//!
//! A trace holds only where the processor's way forked; [`decoder`] asks libipt, Intel's library, to walk the program's code
//! along it, instruction by instruction, and [`calls`] makes calls and returns of that. [`perf_data`] reads the traces, and
//! which files' code lay where, from what `perf record` wrote; [`snapshot`] writes such files. libipt is loaded when a
//! trace is to be decoded, so that Dwell builds and runs without it. Damaged traces give gaps, which are counted, never
//! an error.

pub mod calls;
pub mod decoder;
mod libipt;
pub mod perf_data;
pub mod snapshot;

/// Why a trace cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No libipt on this machine.
    #[error("Intel's decoder of processor traces (libipt.so.2) cannot be loaded: {0}")]
    NoLibrary(String),
    /// The library refused.
    #[error("libipt: {0}")]
    Library(&'static str),
    /// The file is not one of perf.
    #[error("not a file of perf record: {0}")]
    NotPerf(&'static str),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

#[cfg(test)]
mod tests;
