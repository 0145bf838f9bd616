//! A trace and its index: opens a result through it, and writes the events of one that has none.

use std::sync::mpsc::sync_channel;

use dwell_files::Folder;

use super::events::{Events, Making, OffCpuEvents, SampleEvents};
use super::finalized::Trace;
use crate::error::{Error, Result};
use crate::folder::ResultFolder;
use crate::index::{DAMAGED, Index, IndexWriter, Packed, identity, places};
use crate::table::{Table, TableDef, TableReader};
use crate::tables::{OffCpu, Samples};

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
    pub const KEY_WAITS: u64 = 23;
}

impl Events {
    /// Those of an index.
    fn of_index(index: &Index) -> Self {
        Self {
            off_cpu: OffCpuEvents {
                ranges: index.column(section::OFF_RANGES),
                rows: Packed { heads: index.column(section::OFF_HEADS), bytes: index.column(section::OFF_BYTES) },
            },
            samples: SampleEvents {
                ranges: index.column(section::SAMPLE_RANGES),
                rows: Packed { heads: index.column(section::SAMPLE_HEADS), bytes: index.column(section::SAMPLE_BYTES) },
            },
            estimates: index.column(section::ESTIMATES),
            keys: index.column(section::KEYS),
            key_waits: index.column(section::KEY_WAITS),
            totals: index.column(section::TOTALS).first().copied().unwrap_or_default(),
        }
    }
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
        let events = Events::of_index(&index);
        let sound = events.check(self.threads.tid.len(), self.stacks.frame.len(), self.objects.kind.len());
        sound.ok().filter(|()| !index.is_damaged())?;
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

impl IndexWriter {
    /// Begins an index of `folder` in the first place that can be written, and writes the events, row group by row
    /// group. `trace` has them then. Fails when no place can be written, or a table is damaged.
    pub fn begin(folder: &ResultFolder, trace: Trace) -> Result<(Self, Trace)> {
        let identity = identity(folder)?;
        let mut refused = Error::io(folder.path(), std::io::Error::other("no place for an index"));
        for place in places(folder, identity) {
            match Self::create(place, identity) {
                Ok(mut writer) => {
                    let made = writer.events(folder, &trace).and_then(|()| writer.with_events(trace));
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

    /// Puts the index in its place and opens `trace` through it.
    pub fn finish(self, trace: Trace) -> Result<Trace> {
        let index = self.put_in_place()?;
        let path = index.path();
        trace.indexed(index).ok_or_else(|| Error::table(&path, DAMAGED))
    }

    /// The trace with the events written so far.
    fn with_events(&mut self, trace: Trace) -> Result<Trace> {
        let index = self.reopen()?;
        let damaged = || Error::table(&self.path(), "a table names rows that are not there, or is out of order");
        trace.indexed(index.ok_or_else(damaged)?).ok_or_else(damaged)
    }

    fn events(&mut self, folder: &ResultFolder, trace: &Trace) -> Result<()> {
        let tables = folder.tables()?;
        let threads = trace.threads.tid.len();
        let counts = |def| counts(&TableReader::new(tables.clone()), def, threads);
        let mut making = Making::new(&counts(&OffCpu::DEF)?, &counts(&Samples::DEF)?, &trace.objects);
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
        let (keys, key_waits, estimates) = making.number_keys();
        self.append(section::KEYS, &keys)?;
        self.append(section::KEY_WAITS, &key_waits)?;
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
fn for_each_group<T: Table>(tables: &TableReader, mut visit: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let table = &tables.open(&T::DEF)?;
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Result<T>>(1);
        let ahead = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Whoever has given up receives no more.
            (0..table.groups()).try_for_each(|group| sender.send(table.read_group(group)))
        });
        if ahead.is_err() {
            return (0..table.groups()).try_for_each(|group| visit(&table.read_group(group)?));
        }
        for table in receiver {
            visit(&table?)?;
        }
        Ok(())
    })
}
