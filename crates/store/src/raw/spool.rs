//! The spool: files of chunks, each compressed, checksummed and readable on its own.
//!
//! `meta-000000.dws` holds what must survive a bounded recording (threads, mappings, stacks, objects); `events-NNNNNN.dws`
//! hold switches and samples in segments, of which a bounded recording deletes the oldest. `meta-NNNNNN.all.dws` replaces all
//! segments of its stream before it. A writer that dies leaves whole chunks and at most one torn one at the end of each file,
//! which the reader reports and skips.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use dwell_files::Folder;

use crate::error::{Error, Result};

const SUFFIX: &str = ".dws";
/// The end of the name of a segment that replaces those before it …
const REPLACING: &str = ".all.dws";
/// … and the name that it has until it is whole.
const UNFINISHED: &str = "unfinished";
const FILE_MAGIC: [u8; 8] = *b"DWELLSP1";
const CHUNK_MAGIC: u32 = 0x4b4e_4843; // "CHNK"
/// A chunk never holds more than this, so that a corrupt length allocates no more either.
const MAX_CHUNK_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ChunkHeader {
    magic: u32,
    crc32: u32, // of all that follows: the rest of the header and the stored bytes
    stored_bytes: u32,
    raw_bytes: u32,
    first_ns: u64,
    last_ns: u64,
}

/// Which of the spool's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Threads, mappings, stacks, objects.
    Meta,
    /// Switches and samples.
    Events,
}

impl Stream {
    fn prefix(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Events => "events",
        }
    }

    fn has(self, file: &str) -> bool {
        file.starts_with(self.prefix()) && file.ends_with(SUFFIX)
    }

    fn file_name(self, segment: u32) -> String {
        format!("{}-{segment:06}{SUFFIX}", self.prefix())
    }
}

/// Appends chunks to one stream of a spool folder.
pub struct SpoolWriter {
    folder: Folder,
    stream: Stream,
    segment: u32,
    file: File,
    stored: Vec<u8>,
    /// Compressed bytes written so far, deleted segments included.
    pub written_bytes: u64,
}

impl SpoolWriter {
    /// Starts the stream's first segment in `folder`.
    pub fn create(folder: &Folder, stream: Stream) -> Result<Self> {
        let file = create_segment(folder, &stream.file_name(0))?;
        Ok(Self { folder: folder.clone(), stream, segment: 0, file, stored: Vec::new(), written_bytes: 8 })
    }

    /// Appends `records`, which span `first_ns ..= last_ns`, as one chunk. Fails when the disk is full; what was
    /// written before stays readable.
    pub fn append(&mut self, records: &[u8], first_ns: u64, last_ns: u64) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let head = size_of::<ChunkHeader>();
        self.stored.resize(head + lz4_flex::block::get_maximum_output_size(records.len()), 0);
        let stored = lz4_flex::block::compress_into(records, &mut self.stored[head..])
            .map_err(|error| Error::io(&self.path(), io::Error::other(error)))?;
        self.stored.truncate(head + stored);
        let header = ChunkHeader {
            magic: CHUNK_MAGIC,
            crc32: 0,
            stored_bytes: stored as u32,
            raw_bytes: records.len() as u32,
            first_ns,
            last_ns,
        };
        self.stored[..head].copy_from_slice(bytes_of(&header));
        let crc = crc32fast::hash(&self.stored[8..]);
        self.stored[4..8].copy_from_slice(&crc.to_ne_bytes());
        self.file.write_all(&self.stored).map_err(|error| Error::io(&self.path(), error))?;
        self.written_bytes += self.stored.len() as u64;
        Ok(())
    }

    /// Begins the next segment and returns the number of the one that is now complete.
    pub fn next_segment(&mut self) -> Result<u32> {
        let done = self.segment;
        self.segment += 1;
        self.file = create_segment(&self.folder, &self.stream.file_name(self.segment))?;
        self.written_bytes += 8;
        Ok(done)
    }

    /// Begins a segment in which `fill` writes what replaces the stream so far, which it can still read. Fails as
    /// [`SpoolWriter::append`] does; the stream is as it was then, and when the writer dies meanwhile.
    pub fn replace(&mut self, fill: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let failed = |error| Error::io(&self.folder.path().join(UNFINISHED), error);
        self.folder.remove(UNFINISHED).map_err(failed)?;
        let old = self.folder.names().map_err(failed)?;
        self.file = create_segment(&self.folder, UNFINISHED)?;
        self.segment += 1;
        self.written_bytes += 8;
        fill(self)?;
        let name = format!("{}-{:06}{REPLACING}", self.stream.prefix(), self.segment);
        let failed = |error| Error::io(&self.folder.path().join(&name), error);
        self.folder.rename(UNFINISHED, &name).map_err(failed)?;
        let mut old = old.iter().filter_map(|name| name.to_str()).filter(|name| self.stream.has(name));
        old.try_for_each(|name| self.folder.remove(name)).map_err(failed)
    }

    /// Deletes a complete segment; a missing segment is no error.
    pub fn delete_segment(&self, segment: u32) -> Result<()> {
        let name = self.stream.file_name(segment);
        self.folder.remove(&name).map_err(|error| Error::io(&self.folder.path().join(name), error))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.stream.file_name(self.segment))
    }
}

fn create_segment(folder: &Folder, name: &str) -> Result<File> {
    let failed = |error| Error::io(&folder.path().join(name), error);
    let mut file = folder.create_file(name).map_err(failed)?;
    file.write_all(&FILE_MAGIC).map_err(failed)?;
    Ok(file)
}

/// The time span of a chunk that was read.
#[derive(Clone, Copy, Debug)]
pub struct ChunkInfo {
    /// Earliest time in it, ns.
    pub first_ns: u64,
    /// Latest time in it, ns.
    pub last_ns: u64,
}

/// What a spool file held that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolFault {
    /// The file.
    pub path: PathBuf,
    /// Bytes passed over.
    pub bytes: u64,
    /// Why.
    pub reason: &'static str,
}

/// Reads the chunks of one stream, segment after segment; faults are collected, never fatal.
pub struct SpoolReader {
    folder: Folder,
    files: std::vec::IntoIter<String>,
    current: Option<(PathBuf, BufReader<File>, u64)>,
    stored: Vec<u8>,
    /// What could not be read so far.
    pub faults: Vec<SpoolFault>,
}

impl SpoolReader {
    /// Opens the stream in `folder`. Fails when the folder cannot be listed.
    pub fn open(folder: &Folder, stream: Stream) -> Result<Self> {
        let names = folder.names().map_err(|error| Error::io(folder.path(), error))?;
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let mut files: Vec<String> = names.filter(|name| stream.has(name)).collect();
        let first = files.iter().rposition(|name| name.ends_with(REPLACING)).unwrap_or(0);
        let files = files.split_off(first).into_iter();
        Ok(Self { folder: folder.clone(), files, current: None, stored: Vec::new(), faults: Vec::new() })
    }

    /// Decompresses the next good chunk into `raw`. `None` at the end of the stream.
    pub fn next_chunk(&mut self, raw: &mut Vec<u8>) -> Option<ChunkInfo> {
        loop {
            if self.current.is_none() {
                let name = self.files.next()?;
                self.current = self.open_file(&name);
                continue;
            }
            match self.read_chunk(raw) {
                Ok(Some(info)) => return Some(info),
                Ok(None) => self.current = None,
                Err(reason) => self.abandon_file(reason),
            }
        }
    }

    fn open_file(&mut self, name: &str) -> Option<(PathBuf, BufReader<File>, u64)> {
        let mut magic = [0; 8];
        let path = self.folder.path().join(name);
        let opened = self.folder.read(name).and_then(|file| {
            let length = file.metadata()?.len();
            let mut reader = BufReader::with_capacity(1 << 20, file);
            reader.read_exact(&mut magic)?;
            Ok((reader, length))
        });
        match opened {
            Ok((reader, length)) if magic == FILE_MAGIC => Some((path, reader, length - 8)),
            Ok((_, length)) => {
                self.faults.push(SpoolFault { path, bytes: length, reason: "not a spool file of this version" });
                None
            }
            Err(_) => {
                self.faults.push(SpoolFault { path, bytes: 0, reason: "unreadable or too short" });
                None
            }
        }
    }

    fn read_chunk(&mut self, raw: &mut Vec<u8>) -> std::result::Result<Option<ChunkInfo>, &'static str> {
        let Some((_, file, left)) = &mut self.current else { return Ok(None) };
        if *left == 0 {
            return Ok(None);
        }
        let mut head = [0; size_of::<ChunkHeader>()];
        file.read_exact(&mut head).map_err(|_| "torn chunk at the end")?;
        let header: ChunkHeader = pod_read_unaligned(&head);
        let (stored_bytes, raw_bytes) = (header.stored_bytes as usize, header.raw_bytes as usize);
        if header.magic != CHUNK_MAGIC || stored_bytes > MAX_CHUNK_BYTES || raw_bytes > MAX_CHUNK_BYTES {
            return Err("damaged chunk header");
        }
        self.stored.resize(stored_bytes, 0);
        file.read_exact(&mut self.stored).map_err(|_| "torn chunk at the end")?;
        *left = left.saturating_sub((head.len() + stored_bytes) as u64);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head[8..]);
        crc.update(&self.stored);
        if crc.finalize() != header.crc32 {
            return Err("checksum does not match");
        }
        raw.resize(raw_bytes, 0);
        match lz4_flex::block::decompress_into(&self.stored, raw) {
            Ok(bytes) if bytes == raw_bytes => {}
            _ => return Err("chunk does not decompress"),
        }
        Ok(Some(ChunkInfo { first_ns: header.first_ns, last_ns: header.last_ns }))
    }

    /// Gives the rest of the current file up: after a damaged chunk no boundary can be trusted.
    fn abandon_file(&mut self, reason: &'static str) {
        if let Some((path, _, bytes)) = self.current.take() {
            self.faults.push(SpoolFault { path, bytes, reason });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tempfile::TempDir;

    use super::*;

    fn held(folder: &TempDir) -> Folder {
        Folder::open(folder.path()).expect("folder")
    }

    fn chunks(folder: &TempDir) -> (Vec<Vec<u8>>, Vec<SpoolFault>) {
        let mut reader = SpoolReader::open(&held(folder), Stream::Events).expect("folder");
        let (mut chunks, mut raw) = (Vec::new(), Vec::new());
        while reader.next_chunk(&mut raw).is_some() {
            chunks.push(raw.clone());
        }
        (chunks, reader.faults)
    }

    #[test]
    fn chunks_come_back_in_order_over_segments() {
        let folder = tempfile::tempdir().expect("tempdir");
        let mut writer = SpoolWriter::create(&held(&folder), Stream::Events).expect("create");
        writer.append(&[1; 1000], 1, 2).expect("append");
        assert_eq!(writer.next_segment().expect("segment"), 0);
        writer.append(&[2; 10], 3, 4).expect("append");
        assert_eq!(chunks(&folder), (vec![vec![1; 1000], vec![2; 10]], vec![]));
        writer.delete_segment(0).expect("delete");
        assert_eq!(chunks(&folder).0, vec![vec![2; 10]]);
    }

    proptest! {
        #[test]
        fn a_cut_file_loses_only_its_last_chunk(cut in 0usize..300) {
            let folder = tempfile::tempdir().expect("tempdir");
            let mut writer = SpoolWriter::create(&held(&folder), Stream::Events).expect("create");
            let mut ends = vec![8];
            for byte in 0..5 {
                writer.append(&[byte; 64], 0, 0).expect("append");
                ends.push(writer.written_bytes as usize);
            }
            let path = folder.path().join(Stream::Events.file_name(0));
            let bytes = std::fs::read(&path).expect("read");
            let cut = cut.min(bytes.len());
            std::fs::write(&path, &bytes[..cut]).expect("write");
            let whole = ends.iter().filter(|&&end| end <= cut).count().saturating_sub(1);
            let (chunks, faults) = chunks(&folder);
            prop_assert_eq!(chunks.len(), whole);
            prop_assert_eq!(faults.is_empty(), ends.contains(&cut));
        }

        #[test]
        fn a_flipped_byte_never_yields_a_wrong_chunk(at in 8usize..300, bit in 0u8..8) {
            let folder = tempfile::tempdir().expect("tempdir");
            let mut writer = SpoolWriter::create(&held(&folder), Stream::Events).expect("create");
            for byte in 0..5 {
                writer.append(&[byte; 64], 0, 0).expect("append");
            }
            let path = folder.path().join(Stream::Events.file_name(0));
            let mut bytes = std::fs::read(&path).expect("read");
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).expect("write");
            let (chunks, faults) = chunks(&folder);
            prop_assert!(!faults.is_empty());
            for (index, chunk) in chunks.iter().enumerate() {
                prop_assert_eq!(chunk, &vec![index as u8; 64]);
            }
        }
    }
}
