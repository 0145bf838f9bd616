//! A result as one file, to be sent to somebody: a mark, then a tar archive compressed with zstd, `manifest.json` first, then the
//! log and the tables. The mark is a frame that zstd passes over: `tar --zstd -x` reads the file as well.
//!
//! Takes the folder of a finalized result and gives the file, without private parts where these are left out; takes such a file,
//! which may be hostile, and gives a folder. The spool, the copies of the program's files and the index are in no packed result:
//! finalization has used the first two, and the index is made again where it is wanted.

mod pack;
mod private_parts;
#[cfg(test)]
mod tests;
mod unpack;

pub use pack::{PackFailure, pack};
pub use private_parts::PrivatePart;
pub use unpack::{begins_packed_result, unpack};

use crate::folder::{LOG, MANIFEST, TABLES as FOLDER};
use crate::table;
use crate::tables::TABLES;

/// How a packed result begins: the number of a frame that zstd passes over, the length of its content, and the content, which
/// ends with the version.
const MARK: &[u8; 31] = b"\x50\x2a\x4d\x18\x17\x00\x00\x00dwell packed result 01\n";
/// The part of it that every version has.
const MARK_OF_ALL_VERSIONS: usize = MARK.len() - 3;
/// A log that is packed has less than this, bytes.
const MOST_LOG_BYTES: u64 = 2 << 20;

/// What a packed result may have in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Manifest,
    Log,
    /// A table of this name.
    Table(&'static str),
}

impl Part {
    /// The part that is called so in the archive; `None` for all else.
    fn parse(name: &[u8]) -> Option<Self> {
        let known = TABLES.iter().map(|table| Self::Table(table.name)).chain([Self::Manifest, Self::Log]);
        known.into_iter().find(|part| part.archive_name().as_bytes() == name)
    }

    fn archive_name(self) -> String {
        match self {
            Self::Manifest | Self::Log => self.file_name(),
            Self::Table(_) => format!("{FOLDER}/{}", self.file_name()),
        }
    }

    fn file_name(self) -> String {
        match self {
            Self::Manifest => MANIFEST.into(),
            Self::Log => LOG.into(),
            Self::Table(name) => table::file_name(name),
        }
    }
}
