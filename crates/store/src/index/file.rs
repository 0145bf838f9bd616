//! The file of an index. It can be deleted; whoever needs it makes it again.
//!
//! It says to which result it belongs, by the manifest's checksum and the tables' sizes; a file that belongs to another
//! result, has another version or is cut off counts as absent. Each piece of it has a checksum that is compared when the
//! piece is first used ([`super::checked`]).

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytemuck::Pod;

use super::checked::{CheckedIndex, FileChecksums, PIECE};
use super::column::{Column, map, release};
use super::index_location::{IndexLocation, identity};
use crate::error::{Error, Result};
use crate::folder::ResultFolder;

/// Version of the index's form; also raised when what analysis adds changes.
const VERSION: u64 = 2;
const MAGIC: u64 = u64::from_le_bytes(*b"DWELLIDX");
/// Bytes of the header: magic, version, identity, then number, place and size of each section, and a checksum.
pub(super) const HEADER: usize = 4096;
const SECTIONS: usize = 128;
/// Sections begin at multiples of it.
pub(super) const ALIGNED: usize = 64;
/// Others may write into a file.
pub(super) const OTHERS_WRITE: u32 = 0o022;

/// Place of a section in the file, bytes.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Section {
    pub id: u64,
    pub at: u64,
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Header {
    magic: u64,
    version: u64,
    identity: [u64; 4],
    sections: [Section; SECTIONS],
    /// Where the sections end; the checksums of the pieces follow.
    end: u64,
    /// Checksum of these.
    sums: u64,
    checksum: u64,
}

impl Header {
    /// The header of a file with these sections, which end at `end`; `sums` are the checksums of its pieces.
    pub fn new(identity: [u64; 4], written: &[Section], end: u64, sums: &[u8]) -> Self {
        let mut sections = [Section { id: 0, at: 0, size: 0 }; SECTIONS];
        for (slot, section) in sections.iter_mut().zip(written) {
            *slot = *section;
        }
        let sums = u64::from(crc32fast::hash(sums));
        let header = Self { magic: MAGIC, version: VERSION, identity, sections, end, sums, checksum: 0 };
        Self { checksum: header.checksum(), ..header }
    }

    fn checksum(&self) -> u64 {
        let bytes = bytemuck::bytes_of(self);
        u64::from(crc32fast::hash(&bytes[..bytes.len() - 8]))
    }

    /// The checksums of the pieces, when they are whole.
    fn sums(&self, file: &[u8]) -> Option<Vec<u32>> {
        let end = usize::try_from(self.end).ok()?;
        let bytes = end.checked_sub(HEADER)?.div_ceil(PIECE).checked_mul(size_of::<u32>())?;
        let begin = end.checked_next_multiple_of(ALIGNED)?;
        let bytes = file.get(begin..begin.checked_add(bytes)?)?;
        let sums = bytes.chunks_exact(4).map(|sum| u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]])).collect();
        (u64::from(crc32fast::hash(bytes)) == self.sums).then_some(sums)
    }
}

/// A mapped index.
#[derive(Debug)]
pub struct Index {
    file: Arc<CheckedIndex>,
    sections: Vec<Section>,
    place: IndexLocation,
}

impl Index {
    /// A section as values; empty when it is not there.
    pub fn column<T: Pod>(&self, id: u64) -> Column<T> {
        let section = self.sections.iter().find(|section| section.id == id);
        let place = section.map_or((0, 0), |section| (section.at as usize, section.size as usize / size_of::<T>()));
        Column::mapped(&self.file, place.0, place.1)
    }

    /// Gives back the memory that the mapped file takes; readers go on.
    pub fn release(&self) {
        release(self.file.map());
    }

    /// Whether any of it that was used is not what was written: what was computed meanwhile may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.file.is_damaged()
    }

    /// Where it lies, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.place.path()
    }

    /// Deletes a damaged index, so that it is made anew.
    pub fn discard(&self) -> Result<()> {
        self.place.folder.remove(&self.place.name).map_err(|error| Error::io(&self.path(), error))
    }

    /// Opens the file when it is whole and of this result.
    pub(crate) fn open(place: &IndexLocation, identity: [u64; 4]) -> Option<Self> {
        let file = place.folder.read(&place.name).ok()?;
        if !is_private(&file) {
            return None;
        }
        let map = map(&file).ok()?;
        let header: Header = bytemuck::try_pod_read_unaligned(map.get(..size_of::<Header>())?).ok()?;
        let known = header.magic == MAGIC && header.version == VERSION && header.identity == identity;
        let inside = |section: &Section| section.at.checked_add(section.size).is_some_and(|end| end <= header.end);
        if !known || header.checksum != header.checksum() || !header.sections.iter().all(inside) {
            return None;
        }
        let sums = header.sums(&map)?;
        let file = Arc::new(CheckedIndex::new(map, HEADER..usize::try_from(header.end).ok()?, sums)?);
        let sections = header.sections.iter().filter(|section| section.id != 0).copied().collect();
        Some(Self { file, sections, place: place.clone() })
    }
}

/// An index file of this result with the checksums of its header and pieces made right: what is behind them is looked at.
/// None of one that is too short.
pub fn sealed(folder: &ResultFolder, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    let mut header: Header = bytemuck::pod_read_unaligned(bytes.get(..size_of::<Header>())?);
    (header.magic, header.version, header.identity) = (MAGIC, VERSION, identity(folder).ok()?);
    header.end = header.end.clamp(HEADER as u64, (bytes.len() as u64).max(HEADER as u64));
    let end = header.end as usize;
    for section in &mut header.sections {
        section.at = section.at.min(header.end);
        section.size = section.size.min(header.end - section.at);
    }
    bytes.resize(end, 0);
    let mut sums = FileChecksums::default();
    sums.add(&bytes[HEADER..]);
    let sums: Vec<u8> = sums.so_far().iter().flat_map(|sum| sum.to_le_bytes()).collect();
    header.sums = u64::from(crc32fast::hash(&sums));
    header.checksum = header.checksum();
    bytes.resize(end.next_multiple_of(ALIGNED), 0);
    bytes.extend(sums);
    bytes[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
    Some(bytes)
}

/// Whether nobody else may write into a file: cutting it off would end who has it mapped.
fn is_private(file: &File) -> bool {
    let user = rustix::process::geteuid().as_raw();
    file.metadata().is_ok_and(|metadata| metadata.uid() == user && metadata.mode() & OTHERS_WRITE == 0)
}
