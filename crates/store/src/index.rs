//! The index beside a result: its events thread by thread, and what analysis adds, in one file that is read through a
//! map. It can be deleted; whoever needs it makes it again.
//!
//! The file is written under a name of its own and renamed when it is whole. It says of which result it is, by the
//! manifest's checksum and the tables' sizes; one that is of another, of another version or cut off counts as none. Each
//! piece of it has a checksum that is compared when the piece is first used ([`crate::checked`]).

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use bytemuck::Pod;
use dwell_files::Folder;

use crate::checked::{Checked, PIECE, Sums};
use crate::column::{Column, map};
use crate::error::{Error, Result};
use crate::events::{Events, Making, OffCpuEvents, SampleEvents};
use crate::packed::Packed;
use crate::parquet_file;
use crate::result::{ResultFolder, Trace};
use crate::table::{Table, TableDef};
use crate::table_reader::TableReader;
use crate::tables::{OffCpu, Samples};

/// Version of the index's form; also raised when what analysis adds changes.
const VERSION: u64 = 11;
const MAGIC: u64 = u64::from_le_bytes(*b"DWELLIDX");
/// Bytes of the header: magic, version, identity, then number, place and size of each section, and a checksum.
const HEADER: usize = 4096;
const SECTIONS: usize = 128;
/// Sections begin at multiples of it.
const ALIGNED: usize = 64;
/// Others may write into a file.
const OTHERS_WRITE: u32 = 0o022;
const NAME: &str = "index.cache";

/// Numbers of the sections that this crate writes; analysis has those from 100 on.
mod section {
    pub const OFF_RANGES: u64 = 1;
    pub const OFF_HEADS: u64 = 2;
    pub const OFF_BYTES: u64 = 3;
    pub const SAMPLE_RANGES: u64 = 10;
    pub const SAMPLE_HEADS: u64 = 11;
    pub const SAMPLE_BYTES: u64 = 12;
    pub const ESTIMATES: u64 = 20;
    pub const KEYS: u64 = 21;
    pub const TOTALS: u64 = 22;
}

/// Place of a section in the file, bytes.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Section {
    id: u64,
    at: u64,
    size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Header {
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
    file: Arc<Checked>,
    sections: Vec<Section>,
    place: Place,
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
        self.file.release();
    }

    /// Whether any of it that was used is not what was written: what was computed meanwhile may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.file.is_damaged()
    }

    /// Deletes a damaged index, so that it is made anew.
    pub fn discard(&self) -> Result<()> {
        self.place.folder.remove(&self.place.name).map_err(|error| Error::io(&self.place.path(), error))
    }

    fn events(&self) -> Events {
        Events {
            off_cpu: OffCpuEvents {
                ranges: self.column(section::OFF_RANGES),
                rows: Packed { heads: self.column(section::OFF_HEADS), bytes: self.column(section::OFF_BYTES) },
            },
            samples: SampleEvents {
                ranges: self.column(section::SAMPLE_RANGES),
                rows: Packed { heads: self.column(section::SAMPLE_HEADS), bytes: self.column(section::SAMPLE_BYTES) },
            },
            estimates: self.column(section::ESTIMATES),
            keys: self.column(section::KEYS),
            totals: self.column(section::TOTALS).first().copied().unwrap_or_default(),
        }
    }

    /// Opens the file when it is whole and of this result.
    fn open(place: &Place, identity: [u64; 4]) -> Option<Self> {
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
        let file = Arc::new(Checked::new(map, HEADER..usize::try_from(header.end).ok()?, sums)?);
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
    let mut sums = Sums::default();
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

/// Of which result an index is.
fn identity(folder: &ResultFolder) -> Result<[u64; 4]> {
    let manifest = folder.manifest_bytes().map_err(|error| Error::io(&folder.path().join("manifest.json"), error))?;
    let mut sizes = crc32fast::Hasher::new();
    let tables = folder.tables()?;
    let size = |name: &str| tables.size(&parquet_file::file_name(name));
    for table in crate::tables::TABLES {
        sizes.update(&size(table.name).to_le_bytes());
    }
    let checksums = u64::from(crc32fast::hash(&manifest)) << 32 | u64::from(sizes.finalize());
    let program = u64::from(crc32fast::hash(env!("CARGO_PKG_VERSION").as_bytes()));
    Ok([checksums, size(OffCpu::DEF.name), size(Samples::DEF.name), program])
}

/// The file of an index.
#[derive(Clone, Debug)]
struct Place {
    folder: Folder,
    name: String,
}

impl Place {
    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}

/// Where the index of a result may lie: beside it, or where the user's caches are when the result is another's. An index of
/// ours is no stranger's then, root's neither, and no stranger finds one of ours.
fn places(folder: &ResultFolder, identity: [u64; 4]) -> Vec<Place> {
    let beside =
        Some(folder.held().clone()).filter(Folder::is_this_users).map(|folder| Place { folder, name: NAME.into() });
    let name = format!("{:016x}-{:x}.index", identity[0], identity[1] ^ identity[2]);
    let cached = caches().map(|folder| Place { folder, name });
    beside.into_iter().chain(cached).collect()
}

/// The user's folder of Dwell's caches, made where it is not there yet; `None` where it cannot be, or is another's. Root has
/// one of its own where its home, as sudo leaves it, is the user's.
pub fn caches() -> Option<Folder> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let users = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    let roots = rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/cache"));
    users.into_iter().chain(roots).filter(|path| path.is_absolute()).find_map(|path| {
        let _ = Folder::create(&path, 0o700); // it is there, most likely; the next step tells
        let caches = Folder::open(&path).ok().filter(Folder::is_this_users)?;
        let own = caches.folder("dwell").or_else(|_| caches.make_folder("dwell", 0o700)).ok()?;
        Some(own).filter(Folder::is_this_users)
    })
}

impl Trace {
    /// Reads a finalized result through its index, when there is one or the result has less than `least` events; else
    /// without its events. Fails as [`Trace::read`] does.
    pub fn open(folder: &ResultFolder, least: usize) -> Result<Opened> {
        let tables = TableReader::new(folder.tables()?);
        let trace = Self::read_without_events(folder, &tables)?;
        let rows = tables.open(&OffCpu::DEF)?.rows() + tables.open(&Samples::DEF)?.rows();
        if rows < least {
            return Ok(Opened::Ready(Box::new(Self::read(folder)?)));
        }
        let identity = identity(folder)?;
        for place in places(folder, identity) {
            if let Some(index) = Index::open(&place, identity)
                && let Some(trace) = trace.clone().indexed(index)
            {
                return Ok(Opened::Ready(Box::new(trace)));
            }
        }
        Ok(Opened::Unindexed(Box::new(trace)))
    }

    /// With the events of an index; `None` when these are damaged.
    fn indexed(mut self, index: Index) -> Option<Self> {
        let events = index.events();
        events.check(&self).ok().filter(|()| !index.is_damaged())?;
        self.set_events(events, index);
        Some(self)
    }
}

/// A result that was opened.
pub enum Opened {
    /// With its events.
    Ready(Box<Trace>),
    /// Without them: an [`IndexWriter`] makes the index.
    Unindexed(Box<Trace>),
}

/// Writes an index.
pub struct IndexWriter {
    identity: [u64; 4],
    place: Place,
    partial: Place,
    file: File,
    end: u64,
    sections: Vec<Section>,
    sums: Sums,
}

impl IndexWriter {
    /// Begins an index of `folder` in the first place that can be written, and writes the events, row group by row
    /// group. `trace` has them then. Fails when no place can be written, or a table is damaged.
    pub fn begin(folder: &ResultFolder, trace: Trace) -> Result<(Self, Trace)> {
        let identity = identity(folder)?;
        let mut refused = Error::io(folder.path(), std::io::Error::other("no place for an index"));
        for place in places(folder, identity) {
            match Self::create(place, identity) {
                Ok(mut writer) => {
                    let made = writer.events(folder, &trace).and_then(|()| writer.reopen(trace));
                    return match made {
                        Ok(trace) => Ok((writer, trace)),
                        Err(error) => {
                            writer.abandon();
                            Err(error)
                        }
                    };
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn create(place: Place, identity: [u64; 4]) -> Result<Self> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}.partial.{}.{}", NAME, std::process::id(), since.subsec_nanos());
        let partial = Place { folder: place.folder.clone(), name };
        let file = partial.folder.create_file(&partial.name).map_err(|error| Error::io(&partial.path(), error))?;
        let mode = file.metadata().map(|metadata| metadata.mode() & !OTHERS_WRITE);
        let private = mode.and_then(|mode| file.set_permissions(Permissions::from_mode(mode)));
        private.map_err(|error| Error::io(&partial.path(), error))?;
        let (end, sections, sums) = (HEADER as u64, Vec::new(), Sums::default());
        Ok(Self { identity, place, partial, file, end, sections, sums })
    }

    fn fail(&self, error: std::io::Error) -> Error {
        Error::io(&self.partial.path(), error)
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

    /// Puts the index in its place and opens `trace` through it.
    pub fn finish(mut self, trace: Trace) -> Result<Trace> {
        let renamed = |writer: &Self| writer.place.folder.rename(&writer.partial.name, &writer.place.name);
        let done = self.header().and_then(|()| renamed(&self).map_err(|error| self.fail(error)));
        if let Err(error) = done {
            self.abandon();
            return Err(error);
        }
        let index = Index::open(&self.place, self.identity);
        let indexed = index.and_then(|index| trace.indexed(index));
        indexed.ok_or_else(|| Error::table(&self.place.path(), "the index is damaged"))
    }

    /// Deletes what was written.
    pub fn abandon(&mut self) {
        // It may be gone already; nothing depends on it.
        let _ = self.partial.folder.remove(&self.partial.name);
    }

    fn header(&mut self) -> Result<()> {
        let mut header = Header {
            magic: MAGIC,
            version: VERSION,
            identity: self.identity,
            sections: [Section { id: 0, at: 0, size: 0 }; SECTIONS],
            end: self.end,
            sums: 0,
            checksum: 0,
        };
        for (slot, section) in header.sections.iter_mut().zip(&self.sections) {
            *slot = *section;
        }
        let sums: Vec<u8> = self.sums.so_far().iter().flat_map(|sum| sum.to_le_bytes()).collect();
        header.sums = u64::from(crc32fast::hash(&sums));
        header.checksum = header.checksum();
        let begin = self.end.next_multiple_of(ALIGNED as u64);
        // Where sums were that covered less.
        self.file.set_len(self.end).map_err(|error| self.fail(error))?;
        self.file.set_len(begin).map_err(|error| self.fail(error))?;
        self.file.write_all_at(&sums, begin).map_err(|error| self.fail(error))?;
        self.file.write_all_at(bytemuck::bytes_of(&header), 0).map_err(|error| self.fail(error))?;
        self.file.flush().map_err(|error| self.fail(error))
    }

    /// The trace with the events written so far.
    fn reopen(&mut self, trace: Trace) -> Result<Trace> {
        self.header()?;
        let damaged =
            || Error::table(&self.partial.path(), "a table names rows that are not there, or is out of order");
        let index = Index::open(&self.partial, self.identity).ok_or_else(damaged)?;
        trace.indexed(index).ok_or_else(damaged)
    }

    fn events(&mut self, folder: &ResultFolder, trace: &Trace) -> Result<()> {
        let tables = folder.tables()?;
        let threads = trace.threads.tid.len();
        let counts = |def| counts(&TableReader::new(tables.clone()), def, threads);
        let mut making = Making::new(&counts(&OffCpu::DEF)?, &counts(&Samples::DEF)?);
        let reader = &TableReader::new(tables.clone());
        let ends = &trace.stacks.end;
        let mut order = InOrder::new(&tables, "column off_cpu.start_ns is damaged");
        let begin = self.begin_section()?;
        for_each_group::<OffCpu>(reader, |table| {
            making.off_cpu_rows(table, ends);
            self.extend(&making.off_cpu.take())?;
            order.check(&table.start_ns)
        })?;
        making.off_cpu.finish();
        self.extend(&making.off_cpu.take())?;
        self.end_section(section::OFF_BYTES, begin);
        let mut order = InOrder::new(&tables, "column samples.time_ns is damaged");
        let begin = self.begin_section()?;
        for_each_group::<Samples>(reader, |table| {
            making.sample_rows(table, ends);
            self.extend(&making.samples.take())?;
            order.check(&table.time_ns)
        })?;
        making.samples.finish();
        self.extend(&making.samples.take())?;
        self.end_section(section::SAMPLE_BYTES, begin);
        let (keys, estimates) = making.number_keys();
        self.append(section::KEYS, &keys)?;
        self.append(section::ESTIMATES, &estimates)?;
        self.append(section::TOTALS, &[making.totals])?;
        self.append(section::OFF_RANGES, &making.off_cpu.ranges)?;
        self.append(section::OFF_HEADS, &making.off_cpu.heads)?;
        self.append(section::SAMPLE_RANGES, &making.samples.ranges)?;
        self.append(section::SAMPLE_HEADS, &making.samples.heads)
    }
}

/// Whether the row groups of a table go on in order of time.
struct InOrder<'a> {
    tables: &'a Folder,
    otherwise: &'static str,
    last: u64,
}

impl<'a> InOrder<'a> {
    fn new(tables: &'a Folder, otherwise: &'static str) -> Self {
        Self { tables, otherwise, last: 0 }
    }

    fn check(&mut self, times: &[u64]) -> Result<()> {
        let follows = times.is_sorted() && times.first().is_none_or(|first| *first >= self.last);
        self.last = times.last().copied().unwrap_or(self.last);
        follows.then_some(()).ok_or_else(|| Error::table(self.tables.path(), self.otherwise))
    }
}

/// Rows of each thread; estimates are left out.
fn counts(tables: &TableReader, def: &TableDef, threads: usize) -> Result<Vec<u64>> {
    let mut counts = vec![0u64; threads];
    tables.for_each_thread(def, |thread, estimated| {
        if let Some(count) = counts.get_mut(thread).filter(|_| !estimated) {
            *count += 1;
        }
    })?;
    Ok(counts)
}

/// Tells a table's row groups in order; the next one is read meanwhile.
fn for_each_group<T: Table>(tables: &TableReader, mut tell: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let table = &tables.open(&T::DEF)?;
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Result<T>>(1);
        let ahead = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Whoever has given up receives no more.
            (0..table.groups()).try_for_each(|group| sender.send(table.read_group(group)))
        });
        if ahead.is_err() {
            return (0..table.groups()).try_for_each(|group| tell(&table.read_group(group)?));
        }
        for table in receiver {
            tell(&table?)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_is_opened_while_it_is_written_is_sound() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder: Folder::open(folder.path()).unwrap(), name: NAME.into() };
        let mut writer = IndexWriter::create(place.clone(), [7; 4]).unwrap();
        writer.append(1, &vec![1u8; 100 * PIECE]).unwrap();
        writer.header().unwrap();
        assert!(Index::open(&writer.partial, [7; 4]).is_some());
        // Shorter than the checksums that lie there by now.
        (2..5).for_each(|id| writer.append(id, &[3u8; 5]).unwrap());
        writer.header().unwrap();
        writer.partial.folder.rename(&writer.partial.name, NAME).unwrap();
        let index = Index::open(&place, [7; 4]).unwrap();
        index.file.check(0..index.file.bytes().len());
        assert!(!index.is_damaged());
    }
}
