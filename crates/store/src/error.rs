//! The one error of this crate: what was being read or written, and what went wrong.

use std::path::{Path, PathBuf};

/// Result of reading or writing a trace.
pub type Result<T> = std::result::Result<T, Error>;

/// What to do about [`Error::TooLarge`].
pub const TOO_LARGE_HINT: &str =
    "it is damaged, or was made to fill this machine's memory: collect again, or ask who sent it for another copy";

/// Why a trace could not be read or written; every kind names the file or folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The folder is no result.
    #[error("{} is not a Dwell result: {reason}", path.display())]
    NotAResult {
        /// The folder.
        path: PathBuf,
        /// What is missing or wrong.
        reason: String,
    },
    /// Something else than a file of a result is in the place of one.
    #[error("{}: {reason}", path.display())]
    Strange {
        /// The file.
        path: PathBuf,
        /// What is there.
        reason: String,
    },
    /// Written by a Dwell with another trace format.
    #[error("{} has trace format {found}, this Dwell reads trace format {supported}", path.display())]
    OtherFormat {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// Ours.
        supported: u32,
    },
    /// Collected, but not finalized yet.
    #[error("{} is collected but not finalized", path.display())]
    NotFinalized {
        /// The folder.
        path: PathBuf,
    },
    /// A table's file cannot be read.
    #[error("{}: damaged table: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A table takes more memory than any recording of its size.
    #[error("{} unpacks to more than {} MB, which no recording of its size does", path.display(), most_bytes >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What its result may take, bytes.
        most_bytes: u64,
    },
    /// A packed result is damaged, or was made by something else than Dwell.
    #[error("{} cannot be unpacked: {reason}", path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The result's folder is already there.
    #[error("{} already exists", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
}

impl Error {
    /// An operating-system error at `path`.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Kind;
        let path = path.to_owned();
        match source.kind() {
            Kind::InvalidInput | Kind::FileTooLarge if source.get_ref().is_some() => {
                Self::Strange { path, reason: source.to_string() }
            }
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn table(path: &Path, reason: impl std::fmt::Display) -> Self {
        Self::Table { path: path.to_owned(), reason: reason.to_string() }
    }
}
