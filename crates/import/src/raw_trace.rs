//! Writes raw records into the spool of a result: chunks of whatever comes, stacks once.

use std::collections::HashSet;
use std::hash::BuildHasher;

use bytemuck::Zeroable;
use dwell_model::StackEnd;
use dwell_store::ResultFolder;
use dwell_store::raw::wire::{MAX_FRAMES, RecordHeader, STACK_KERNEL, StackHeader, kind};
use dwell_store::raw::{RecordBuffer, SpoolWriter, Stream};
use foldhash::quality::FixedState;

use crate::error::Error;

const CHUNK_BYTES: usize = 1 << 20;

/// One of the streams.
struct Writing {
    spool: SpoolWriter,
    records: RecordBuffer,
    first_ns: u64,
    last_ns: u64,
}

impl Writing {
    fn begin(folder: &ResultFolder, stream: Stream) -> Result<Self, Error> {
        let spool = SpoolWriter::create(&folder.spool()?, stream)?;
        Ok(Self { spool, records: RecordBuffer::default(), first_ns: u64::MAX, last_ns: 0 })
    }

    fn add(&mut self, time_ns: u64, write: impl FnOnce(&mut RecordBuffer)) -> Result<(), Error> {
        write(&mut self.records);
        (self.first_ns, self.last_ns) = (self.first_ns.min(time_ns), self.last_ns.max(time_ns));
        if self.records.bytes.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.spool.append(&self.records.bytes, self.first_ns.min(self.last_ns), self.last_ns)?;
        self.records.bytes.clear();
        self.first_ns = u64::MAX;
        Ok(())
    }
}

/// The raw records of a result that is being made.
pub struct RawTrace {
    meta: Writing,
    events: Writing,
    stacks: HashSet<u64>,
    hasher: FixedState,
    marked_ns: u64,
    /// Records of what happened.
    pub count: u64,
}

impl RawTrace {
    /// Begins the spool of `folder`.
    pub fn begin(folder: &ResultFolder) -> Result<Self, Error> {
        Ok(Self {
            meta: Writing::begin(folder, Stream::Meta)?,
            events: Writing::begin(folder, Stream::Events)?,
            stacks: HashSet::new(),
            hasher: FixedState::default(),
            marked_ns: 0,
            count: 0,
        })
    }

    /// Writes what happened at `time_ns`, in the order of time.
    pub fn event(&mut self, time_ns: u64, write: impl FnOnce(&mut RecordBuffer)) -> Result<(), Error> {
        self.count += 1;
        // Nothing earlier will come: so the reader needs to hold little back.
        if self.events.records.bytes.is_empty() && self.marked_ns < time_ns {
            self.marked_ns = time_ns;
            self.events.records.mark(kind::ROUND, time_ns);
        }
        self.events.add(time_ns, write)
    }

    /// Writes what is read before all events, and takes effect at `time_ns`.
    pub fn once(&mut self, time_ns: u64, write: impl FnOnce(&mut RecordBuffer)) -> Result<(), Error> {
        self.meta.add(time_ns, write)
    }

    /// The key of a stack, 0 of an empty one; writes it when it is new. `tgid` is 0 for stacks of the kernel.
    pub fn stack(&mut self, tgid: u32, tid: u32, time_ns: u64, frames: &[u64]) -> Result<u64, Error> {
        let end = if frames.len() > MAX_FRAMES { StackEnd::TooDeep } else { StackEnd::Unknown };
        let frames = &frames[..frames.len().min(MAX_FRAMES)];
        if frames.is_empty() {
            return Ok(0);
        }
        let key = self.hasher.hash_one((tgid, frames)).max(1);
        if self.stacks.insert(key) {
            let flags = if tgid == 0 { STACK_KERNEL } else { 0 };
            let h = RecordHeader { kind: kind::STACK, size: 0, tid, time_ns };
            let header = StackHeader { h, key, tgid, flags, end: end.code(), ..StackHeader::zeroed() };
            self.meta.add(time_ns, |records| records.stack(header, frames))?;
        }
        Ok(key)
    }

    /// Writes what is left.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.meta.flush()?;
        self.events.flush()
    }
}
