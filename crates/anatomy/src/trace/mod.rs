//! The trace in a file: frames, each with its kind, length and checksum, in the order in which they were recorded.
//! It takes a stream of functions, blocks and words and gives it back from the file, and says what is damaged.
//! It does not interpret the words.
//!
//! | kind | payload |
//! |---|---|
//! | 1 head | JSON: [`Head`] |
//! | 2 definitions | zstd of functions, blocks and losses |
//! | 3 words | words, bytes of control, of moves and of compressed control (32 bits each), then zstd of both streams |
//! | 4 end | JSON: [`Tail`] |
//!
//! A file that has no end was cut off; what stands before is good as far as the checksums are.

mod codec;
mod definitions;
mod file;
mod reader;
mod writer;

use serde::{Deserialize, Serialize};

pub use file::{Progress, Watched, open, recorded, replay};
pub use reader::{head, read};
pub use writer::TraceWriter;

/// What the file begins with.
const MAGIC: &[u8; 8] = b"DWANAT1\n";
/// The version of the format.
const VERSION: u32 = 1;
/// Bytes before a frame's payload: kind, length, checksum.
const FRAME_HEAD: usize = 12;
/// The longest payload, and what it may unpack to.
const MOST_PAYLOAD: usize = 64 << 20;
/// Most bytes of all definitions: what they describe is kept in memory. A browser's code takes a quarter of it.
const MOST_DEFINITIONS: usize = 128 << 20;
/// The longest description of what was recorded.
const MOST_HEAD: usize = 1 << 20;
/// Most words of a frame.
const FRAME_WORDS: usize = 1 << 18;

const HEAD: u32 = 1;
const DEFINITIONS: u32 = 2;
const WORDS: u32 = 3;
const END: u32 = 4;

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the format.
    pub version: u32,
    /// The program and its arguments, or the scenario.
    pub command: Vec<String>,
    /// A whole machine, with its kernel.
    pub system: bool,
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Words that were written.
    pub words: u64,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be opened or read.
    #[error("cannot read the trace: {0}")]
    Io(#[from] std::io::Error),
    /// It begins otherwise.
    #[error("this is no instruction trace of Dwell")]
    NotATrace,
    /// It is of another version.
    #[error("the trace has format {0}; this Dwell reads format {VERSION}")]
    Version(u32),
    /// It ends in the middle.
    #[error("the trace is cut off after {words} words: its end is missing")]
    Truncated {
        /// Words that were read before.
        words: u64,
    },
    /// A frame is not what was written.
    #[error("the trace is damaged at byte {at}: {what}")]
    Damaged {
        /// Where the frame begins.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
}

impl TraceError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io(_) | Self::NotATrace => "dwell anatomy run -- PROGRAM makes a trace",
            Self::Version(_) => "read it with the Dwell that wrote it, or record again",
            Self::Truncated { .. } | Self::Damaged { .. } => {
                "it was cut off or changed after it was written: record again with dwell anatomy run"
            }
        }
    }
}
