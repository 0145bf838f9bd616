//! The one error of this crate: which file gives no unwind table, and why.

use std::path::{Path, PathBuf};

/// Result of making an unwind table.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file gives no unwind table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not an ELF file, or a truncated or damaged one.
    #[error("not a readable ELF file: {0}")]
    Elf(#[from] object::read::Error),
    /// An ELF file for another processor, or of another byte order or word size.
    #[error("not an x86-64 ELF file")]
    Machine,
    /// The file has no executable segment, or they lie too far apart for a table.
    #[error("no executable segments that a table could cover")]
    Layout,
    /// The file has neither `.eh_frame` nor `.debug_frame`.
    #[error("no call frame information")]
    NoFrameInformation,
    /// The file on disk is not the one that is mapped.
    #[error("{}: replaced on disk: its build-id differs from that of the mapped file", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
