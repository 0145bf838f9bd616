//! Writes an index: sections of numbers under a name of its own, renamed when the file is whole.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;

use bytemuck::Pod;

use super::checked::FileChecksums;
use super::file::{ALIGNED, HEADER, Header, Index, OTHERS_WRITE, Section};
use super::index_location::{IndexLocation, NAME};
use crate::error::{Error, Result};

/// Why an index that was just written is of no use.
pub(crate) const DAMAGED: &str = "the index is damaged";

/// Writes an index.
pub struct IndexWriter {
    identity: [u64; 4],
    place: IndexLocation,
    partial: IndexLocation,
    file: File,
    end: u64,
    sections: Vec<Section>,
    sums: FileChecksums,
}

impl IndexWriter {
    pub(crate) fn create(place: IndexLocation, identity: [u64; 4]) -> Result<Self> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}.partial.{}.{}", NAME, std::process::id(), since.subsec_nanos());
        let partial = IndexLocation { folder: place.folder.clone(), name };
        let file = partial.folder.create_file(&partial.name).map_err(|error| Error::io(&partial.path(), error))?;
        let mode = file.metadata().map(|metadata| metadata.mode() & !OTHERS_WRITE);
        let private = mode.and_then(|mode| file.set_permissions(Permissions::from_mode(mode)));
        private.map_err(|error| Error::io(&partial.path(), error))?;
        let (end, sections, sums) = (HEADER as u64, Vec::new(), FileChecksums::default());
        Ok(Self { identity, place, partial, file, end, sections, sums })
    }

    fn fail(&self, error: std::io::Error) -> Error {
        Error::io(&self.path(), error)
    }

    /// Begins a section of a length that is not known yet; returns where.
    pub fn begin_section(&mut self) -> Result<u64> {
        // Checksums of an index that was opened meanwhile may lie here.
        let gap = self.end.next_multiple_of(ALIGNED as u64) - self.end;
        self.extend(&[0u8; ALIGNED][..gap as usize])?;
        Ok(self.end)
    }

    /// Adds to the section that was begun.
    pub fn extend<T: Pod>(&mut self, values: &[T]) -> Result<()> {
        let bytes = bytemuck::cast_slice(values);
        self.file.write_all_at(bytes, self.end).map_err(|error| self.fail(error))?;
        self.sums.add(bytes);
        self.end += size_of_val(values) as u64;
        Ok(())
    }

    /// The section that began at `begin` is whole.
    pub fn end_section(&mut self, id: u64, begin: u64) {
        self.sections.push(Section { id, at: begin, size: self.end - begin });
    }

    /// Appends a section.
    pub fn append<T: Pod>(&mut self, id: u64, values: &[T]) -> Result<()> {
        let begin = self.begin_section()?;
        self.extend(values)?;
        self.end_section(id, begin);
        Ok(())
    }

    /// Puts the index in its place and opens it.
    pub(crate) fn put_in_place(mut self) -> Result<Index> {
        let renamed = |writer: &Self| writer.place.folder.rename(&writer.partial.name, &writer.place.name);
        let done = self.header().and_then(|()| renamed(&self).map_err(|error| self.fail(error)));
        if let Err(error) = done {
            self.abandon();
            return Err(error);
        }
        let index = Index::open(&self.place, self.identity);
        index.ok_or_else(|| Error::table(&self.place.path(), DAMAGED))
    }

    /// Deletes what was written.
    pub fn abandon(&mut self) {
        // It may be gone already; nothing depends on it.
        let _ = self.partial.folder.remove(&self.partial.name);
    }

    fn header(&mut self) -> Result<()> {
        let sums: Vec<u8> = self.sums.so_far().iter().flat_map(|sum| sum.to_le_bytes()).collect();
        let header = Header::new(self.identity, &self.sections, self.end, &sums);
        let begin = self.end.next_multiple_of(ALIGNED as u64);
        // Where sums were that covered less.
        self.file.set_len(self.end).map_err(|error| self.fail(error))?;
        self.file.set_len(begin).map_err(|error| self.fail(error))?;
        self.file.write_all_at(&sums, begin).map_err(|error| self.fail(error))?;
        self.file.write_all_at(bytemuck::bytes_of(&header), 0).map_err(|error| self.fail(error))?;
        self.file.flush().map_err(|error| self.fail(error))
    }

    /// What was written so far, opened; `None` when it cannot be.
    pub(crate) fn reopen(&mut self) -> Result<Option<Index>> {
        self.header()?;
        Ok(Index::open(&self.partial, self.identity))
    }

    /// Where it is written, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.partial.path()
    }
}

#[cfg(test)]
mod tests {
    use dwell_files::Folder;

    use super::super::checked::PIECE;
    use super::*;

    #[test]
    fn an_index_that_is_opened_while_it_is_written_is_sound() {
        let folder = tempfile::tempdir().unwrap();
        let place = IndexLocation { folder: Folder::open(folder.path()).unwrap(), name: NAME.into() };
        let mut writer = IndexWriter::create(place.clone(), [7; 4]).unwrap();
        writer.append(1, &vec![1u8; 100 * PIECE]).unwrap();
        writer.header().unwrap();
        assert!(Index::open(&writer.partial, [7; 4]).is_some());
        // Shorter than the checksums that lie there by now.
        (2..5).for_each(|id| writer.append(id, &[3u8; 5]).unwrap());
        writer.header().unwrap();
        writer.partial.folder.rename(&writer.partial.name, NAME).unwrap();
        let index = Index::open(&place, [7; 4]).unwrap();
        (1..5).for_each(|id| assert!(!index.column::<u8>(id).to_vec().is_empty()));
        assert!(!index.is_damaged());
    }
}
