//! Why a trace could not be finalized. Missing or damaged data is no error: it is a loss or a notice in the result.

use std::path::PathBuf;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading the manifest or writing the result failed.
    #[error(transparent)]
    Store(#[from] dwell_store::Error),
    /// The result is finalized and its raw data is gone.
    #[error("{} is finalized already, and its raw data is gone", path.display())]
    AlreadyFinalized {
        /// The result's folder.
        path: PathBuf,
    },
    /// There is nothing to finalize.
    #[error("{} has no raw data to finalize", path.display())]
    NoSpool {
        /// The result's folder.
        path: PathBuf,
    },
}
