//! What can go wrong with a file of perf's.

use std::io;

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is something else.
    #[error("this is no perf.data: {0}")]
    NotPerf(&'static str),
    /// It is one, but not such a one as can be read.
    #[error("this perf.data is damaged: {0}")]
    Damaged(&'static str),
    /// It lacks what a result needs.
    #[error("this perf.data has {0}")]
    Lacks(&'static str),
    /// It cannot be read.
    #[error("cannot read perf.data: {0}")]
    Io(#[from] io::Error),
    /// The result cannot be written.
    #[error(transparent)]
    Store(#[from] dwell_store::Error),
}
