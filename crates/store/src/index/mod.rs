//! The index beside a result: columns and packed rows in one file that is read through a map.
//! It takes sections of plain numbers and gives them back as columns, each piece compared with its checksum at first use.
//! It does not know what the numbers mean: `trace/indexing.rs` writes events, analysis adds sections of its own.

mod checked;
mod column;
mod file;
mod index_location;
mod packed;
mod writer;

pub use column::Column;
pub use file::Index;
pub use file::sealed;
pub use index_location::caches;
pub(crate) use index_location::{identity, places};
pub(crate) use packed::{CHUNK, Packed, Packer};
pub(crate) use writer::DAMAGED;
pub use writer::IndexWriter;
