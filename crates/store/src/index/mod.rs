//! The index beside a result: columns and packed rows in one file that is read through a map.
//! It takes sections of plain numbers and gives them back as columns, each piece compared with its checksum at first use.
//! It does not know what the numbers mean: `trace/indexing.rs` writes events, analysis adds sections of its own.

mod checked;
mod column;
mod file;
mod packed;
mod place;
mod writer;

pub use column::Column;
pub use file::Index;
pub use file::sealed;
pub(crate) use packed::{CHUNK, Packed, Packer};
pub use place::caches;
pub(crate) use place::{identity, places};
pub(crate) use writer::DAMAGED;
pub use writer::IndexWriter;
