//! The index beside a result: its events thread by thread, and what analysis adds, in one file that is read through a
//! map. It can be deleted; whoever needs it makes it again.
//!
//! The file is written under a name of its own and renamed when it is whole. It says of which result it is, by the
//! manifest's checksum and the tables' sizes; one that is of another, of another version or cut off counts as none.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use bytemuck::Pod;
use dwell_model::StackId;
use memmap2::Mmap;

use crate::column::{Column, map, map_for_writing};
use crate::error::{Error, Result};
use crate::events::{Estimate, EventKey, Events, Keys, OffCpuEvents, SampleEvents, Totals};
use crate::result::{ResultFolder, Trace};
use crate::table::{self, Table};
use crate::tables::{OffCpu, Samples};

/// Version of the index's form; also raised when what analysis adds changes.
const VERSION: u64 = 1;
const MAGIC: u64 = u64::from_le_bytes(*b"DWELLIDX");
/// Bytes of the header: magic, version, identity, then number, place and size of each section, and a checksum.
const HEADER: usize = 4096;
const SECTIONS: usize = 128;
const NAME: &str = "index.cache";

/// Numbers of the sections that this crate writes; analysis has those from 100 on.
mod section {
    pub const OFF_BEGINS: u64 = 1;
    pub const START: u64 = 2;
    pub const WAIT: u64 = 3;
    pub const RUNNABLE: u64 = 4;
    pub const OFF_KEY: u64 = 5;
    pub const OFF_CPU: u64 = 6;
    pub const SYSCALL: u64 = 7;
    pub const SAMPLE_BEGINS: u64 = 10;
    pub const TIME: u64 = 11;
    pub const SAMPLE_KEY: u64 = 12;
    pub const SAMPLE_CPU: u64 = 13;
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
    checksum: u64,
}

impl Header {
    fn checksum(&self) -> u64 {
        let bytes = bytemuck::bytes_of(self);
        u64::from(crc32fast::hash(&bytes[..bytes.len() - 8]))
    }
}

/// A mapped index.
#[derive(Debug)]
pub struct Index {
    map: Arc<Mmap>,
    sections: Vec<Section>,
}

impl Index {
    /// A section as values; empty when it is not there.
    pub fn column<T: Pod>(&self, id: u64) -> Column<T> {
        let section = self.sections.iter().find(|section| section.id == id);
        let place = section.map_or((0, 0), |section| (section.at as usize, section.size as usize / size_of::<T>()));
        Column::mapped(&self.map, place.0, place.1)
    }

    fn events(&self) -> Events {
        Events {
            off_cpu: OffCpuEvents {
                begins: self.column(section::OFF_BEGINS),
                start_ns: self.column(section::START),
                wait_ns: self.column(section::WAIT),
                runnable_ns: self.column(section::RUNNABLE),
                key: self.column(section::OFF_KEY),
                cpu: self.column(section::OFF_CPU),
                syscall: self.column(section::SYSCALL),
            },
            samples: SampleEvents {
                begins: self.column(section::SAMPLE_BEGINS),
                time_ns: self.column(section::TIME),
                key: self.column(section::SAMPLE_KEY),
                cpu: self.column(section::SAMPLE_CPU),
            },
            estimates: self.column(section::ESTIMATES),
            keys: self.column(section::KEYS),
            totals: self.column(section::TOTALS).first().copied().unwrap_or_default(),
        }
    }

    /// Opens the file when it is whole and of this result.
    fn open(path: &Path, identity: [u64; 4]) -> Option<Self> {
        let file = File::open(path).ok()?;
        let map = Arc::new(map(&file).ok()?);
        let header: Header = bytemuck::try_pod_read_unaligned(map.get(..size_of::<Header>())?).ok()?;
        let known = header.magic == MAGIC && header.version == VERSION && header.identity == identity;
        let inside =
            |section: &Section| section.at.checked_add(section.size).is_some_and(|end| end <= map.len() as u64);
        if !known || header.checksum != header.checksum() || !header.sections.iter().all(inside) {
            return None;
        }
        let sections = header.sections.iter().filter(|section| section.id != 0).copied().collect();
        Some(Self { map, sections })
    }
}

/// Of which result an index is.
fn identity(folder: &ResultFolder) -> Result<[u64; 4]> {
    let path = folder.path().join("manifest.json");
    let manifest = fs::read(&path).map_err(|error| Error::io(&path, error))?;
    let mut sizes = crc32fast::Hasher::new();
    let tables = folder.path().join("tables");
    for table in crate::tables::TABLES {
        let size = fs::metadata(tables.join(format!("{}.parquet", table.name))).map_or(0, |found| found.len());
        sizes.update(&size.to_le_bytes());
    }
    let rows = |name: &str| fs::metadata(tables.join(name)).map_or(0, |found| found.len());
    let checksums = u64::from(crc32fast::hash(&manifest)) << 32 | u64::from(sizes.finalize());
    let program = u64::from(crc32fast::hash(env!("CARGO_PKG_VERSION").as_bytes()));
    Ok([checksums, rows("off_cpu.parquet"), rows("samples.parquet"), program])
}

/// Where the index of a result may lie: beside it, or where the user's caches are when the result is another's.
fn places(folder: &ResultFolder, identity: [u64; 4]) -> Vec<PathBuf> {
    let mut places = Vec::new();
    if is_ours(folder.path()) {
        places.push(folder.path().join(NAME));
    }
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let caches = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    if let Some(caches) = caches.filter(|caches| caches.is_absolute()) {
        let name = format!("{:016x}-{:x}.index", identity[0], identity[1] ^ identity[2]);
        places.push(caches.join("dwell").join(name));
    }
    places
}

/// Whether the folder is the user's own, so that an index in it is no stranger's and no stranger finds one of ours.
fn is_ours(folder: &Path) -> bool {
    let me = fs::metadata("/proc/self").map(|found| found.uid());
    fs::metadata(folder).is_ok_and(|found| me.is_ok_and(|me| found.uid() == me || me == 0))
}

impl Trace {
    /// Reads a finalized result through its index, when there is one or the result has less than `least` events; else
    /// without its events. Fails as [`Trace::read`] does.
    pub fn open(folder: &ResultFolder, least: usize) -> Result<Opened> {
        let tables = folder.path().join("tables");
        let trace = Self::read_without_events(folder)?;
        let rows = table::rows(&tables, OffCpu::DEF.name)? + table::rows(&tables, Samples::DEF.name)?;
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
        events.check(&self).ok()?;
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
    path: PathBuf,
    partial: PathBuf,
    file: File,
    end: u64,
    sections: Vec<Section>,
}

impl IndexWriter {
    /// Begins an index of `folder` in the first place that can be written, and writes the events, row group by row
    /// group. `trace` has them then. Fails when no place can be written, or a table is damaged.
    pub fn begin(folder: &ResultFolder, trace: Trace) -> Result<(Self, Trace)> {
        let identity = identity(folder)?;
        let mut refused = Error::io(folder.path(), std::io::Error::other("no place for an index"));
        for path in places(folder, identity) {
            match Self::create(path, identity) {
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

    fn create(path: PathBuf, identity: [u64; 4]) -> Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        }
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}.partial.{}.{}", NAME, std::process::id(), since.subsec_nanos());
        let partial = path.with_file_name(name);
        let file = File::options().read(true).write(true).create_new(true).open(&partial);
        let file = file.map_err(|error| Error::io(&partial, error))?;
        Ok(Self { identity, path, partial, file, end: HEADER as u64, sections: Vec::new() })
    }

    fn fail(&self, error: std::io::Error) -> Error {
        Error::io(&self.partial, error)
    }

    /// Leaves room for a section; returns where.
    fn reserve(&mut self, id: u64, size: usize) -> usize {
        let at = self.end.next_multiple_of(64);
        self.sections.push(Section { id, at, size: size as u64 });
        self.end = at + size as u64;
        at as usize
    }

    /// Appends a section.
    pub fn append<T: Pod>(&mut self, id: u64, values: &[T]) -> Result<()> {
        let at = self.reserve(id, size_of_val(values));
        self.file.write_all_at(bytemuck::cast_slice(values), at as u64).map_err(|error| self.fail(error))
    }

    /// Puts the index in its place and opens `trace` through it.
    pub fn finish(mut self, trace: Trace) -> Result<Trace> {
        let done = self.header().and_then(|()| fs::rename(&self.partial, &self.path).map_err(|error| self.fail(error)));
        if let Err(error) = done {
            self.abandon();
            return Err(error);
        }
        let path = self.path.clone();
        let index = Index::open(&path, self.identity).ok_or_else(|| Error::table(&path, "the index is damaged"))?;
        trace.indexed(index).ok_or_else(|| Error::table(&path, "the index is damaged"))
    }

    /// Deletes what was written.
    pub fn abandon(&mut self) {
        // It may be gone already; nothing depends on it.
        let _ = fs::remove_file(&self.partial);
    }

    fn header(&mut self) -> Result<()> {
        let mut header = Header {
            magic: MAGIC,
            version: VERSION,
            identity: self.identity,
            sections: [Section { id: 0, at: 0, size: 0 }; SECTIONS],
            checksum: 0,
        };
        for (slot, section) in header.sections.iter_mut().zip(&self.sections) {
            *slot = *section;
        }
        header.checksum = header.checksum();
        // A section at the end may be empty.
        self.file.set_len(self.end).map_err(|error| self.fail(error))?;
        self.file.write_all_at(bytemuck::bytes_of(&header), 0).map_err(|error| self.fail(error))?;
        self.file.flush().map_err(|error| self.fail(error))
    }

    /// The trace with the events written so far.
    fn reopen(&mut self, trace: Trace) -> Result<Trace> {
        self.header()?;
        let damaged = || Error::table(&self.partial, "a table names rows that are not there, or is out of order");
        let index = Index::open(&self.partial, self.identity).ok_or_else(damaged)?;
        trace.indexed(index).ok_or_else(damaged)
    }

    fn events(&mut self, folder: &ResultFolder, trace: &Trace) -> Result<()> {
        let tables = folder.path().join("tables");
        let threads = trace.threads.tid.len();
        let off_begins = begins(&tables, OffCpu::DEF.name, threads)?;
        let sample_begins = begins(&tables, Samples::DEF.name, threads)?;
        let mut keys = Keys::new(threads);
        self.append(section::OFF_BEGINS, &off_begins)?;
        let mut totals = Totals::default();
        let stack = |totals: &mut Totals, stack: StackId| totals.count(&trace.stacks.end, stack);
        self.off_cpu(&tables, off_begins, &mut keys, |of| stack(&mut totals, of))?;
        self.append(section::SAMPLE_BEGINS, &sample_begins)?;
        let (estimates, weights_ns) = self.samples(&tables, sample_begins, &mut keys, |of| stack(&mut totals, of))?;
        totals.weights_ns = weights_ns;
        self.append(section::ESTIMATES, &estimates)?;
        self.append(section::KEYS, &keys.keys)?;
        self.append(section::TOTALS, &[totals])
    }

    /// Room for columns of `rows` values of these sizes, mapped.
    fn room(&mut self, rows: usize, columns: &[(u64, usize)]) -> Result<(memmap2::MmapMut, Vec<usize>)> {
        let places = columns.iter().map(|(id, size)| self.reserve(*id, rows * size)).collect();
        self.file.set_len(self.end).map_err(|error| self.fail(error))?;
        Ok((map_for_writing(&self.file).map_err(|error| self.fail(error))?, places))
    }

    fn off_cpu(
        &mut self,
        tables: &Path,
        begins: Vec<u64>,
        keys: &mut Keys,
        mut stack: impl FnMut(StackId),
    ) -> Result<()> {
        let rows = begins.last().copied().unwrap_or(0) as usize;
        let columns = [
            (section::START, 8),
            (section::WAIT, 8),
            (section::RUNNABLE, 8),
            (section::OFF_KEY, 4),
            (section::OFF_CPU, 2),
            (section::SYSCALL, 2),
        ];
        let (mut map, places) = self.room(rows, &columns)?;
        let mut next = begins;
        let (mut last, mut in_order) = (0, true);
        for_each_group::<OffCpu>(tables, |table| {
            in_order &= table.start_ns.is_sorted() && table.start_ns.first().is_none_or(|first| *first >= last);
            last = table.start_ns.last().copied().unwrap_or(last);
            for row in 0..table.len() {
                stack(table.stack[row]);
                let Some(next) = table.thread[row].get().and_then(|thread| next.get_mut(thread)) else { continue };
                let at = *next as usize;
                *next += 1;
                put(&mut map, places[0] + at * 8, &table.start_ns[row]);
                put(&mut map, places[1] + at * 8, &table.wait_ns[row]);
                put(&mut map, places[2] + at * 8, &table.runnable_ns[row]);
                put(&mut map, places[3] + at * 4, &keys.of(EventKey::off_cpu(table, row)));
                put(&mut map, places[4] + at * 2, &table.cpu[row]);
                put(&mut map, places[5] + at * 2, &table.syscall[row]);
            }
        })?;
        in_order.then_some(()).ok_or_else(|| Error::table(tables, "column off_cpu.start_ns is damaged"))
    }

    /// Returns the estimates, and what all samples stand for.
    fn samples(
        &mut self,
        tables: &Path,
        begins: Vec<u64>,
        keys: &mut Keys,
        mut stack: impl FnMut(StackId),
    ) -> Result<(Vec<Estimate>, u64)> {
        let rows = begins.last().copied().unwrap_or(0) as usize;
        let columns = [(section::TIME, 8), (section::SAMPLE_KEY, 4), (section::SAMPLE_CPU, 2)];
        let (mut map, places) = self.room(rows, &columns)?;
        let mut next = begins;
        let (mut estimates, mut weights_ns) = (Vec::new(), 0u64);
        let (mut last, mut in_order) = (0, true);
        for_each_group::<Samples>(tables, |table| {
            in_order &= table.time_ns.is_sorted() && table.time_ns.first().is_none_or(|first| *first >= last);
            last = table.time_ns.last().copied().unwrap_or(last);
            for row in 0..table.len() {
                weights_ns = weights_ns.saturating_add(table.weight_ns[row]);
                if table.estimated[row] {
                    estimates.push(keys.estimate(table, row));
                    continue;
                }
                stack(table.stack[row]);
                let Some(next) = table.thread[row].get().and_then(|thread| next.get_mut(thread)) else { continue };
                let at = *next as usize;
                *next += 1;
                let key = EventKey::running(table.thread[row], table.stack[row]);
                put(&mut map, places[0] + at * 8, &table.time_ns[row]);
                put(&mut map, places[1] + at * 4, &keys.of(key));
                put(&mut map, places[2] + at * 2, &table.cpu[row]);
            }
        })?;
        estimates.sort_by_key(|estimate| estimate.thread);
        let whole = (estimates, weights_ns);
        in_order.then_some(whole).ok_or_else(|| Error::table(tables, "column samples.time_ns is damaged"))
    }
}

fn put<T: Pod>(bytes: &mut [u8], at: usize, value: &T) {
    // Places come from counting the same rows; a file that changed in between is found by the check afterwards.
    if let Some(slot) = bytes.get_mut(at..at + size_of::<T>()) {
        slot.copy_from_slice(bytemuck::bytes_of(value));
    }
}

/// Where each thread's rows begin, and one past the last; estimates are left out.
fn begins(tables: &Path, name: &str, threads: usize) -> Result<Vec<u64>> {
    let mut begins = vec![0u64; threads + 1];
    table::for_each_thread(tables, name, |thread, estimated| {
        if let Some(count) = begins.get_mut(thread + 1).filter(|_| !estimated) {
            *count += 1;
        }
    })?;
    for thread in 0..threads {
        begins[thread + 1] += begins[thread];
    }
    Ok(begins)
}

/// Tells a table's row groups in order; the next one is read meanwhile.
fn for_each_group<T: Table + Send>(tables: &Path, mut tell: impl FnMut(&T)) -> Result<()> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Result<T>>(1);
        scope.spawn(move || {
            let groups = match table::groups(tables, T::DEF.name) {
                Ok(groups) => groups,
                Err(error) => {
                    // A receiver that has given up needs no error.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            for group in 0..groups {
                if sender.send(table::read_group::<T>(tables, group)).is_err() {
                    return;
                }
            }
        });
        for table in receiver {
            tell(&table?);
        }
        Ok(())
    })
}
