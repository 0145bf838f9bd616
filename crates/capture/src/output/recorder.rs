//! Routes records into the spool's two streams, in chunks, and keeps a bounded recording bounded.

use std::collections::VecDeque;

use dwell_store::Folder;
use dwell_store::raw::wire::{IttHeader, RecordHeader, kind};
use dwell_store::raw::{RecordBuffer, SpoolWriter, Stream};

use crate::error::Result;
use crate::output::spool_gc::{RetentionCutoffs, forget};
use crate::output::watch::IntervalWatch;

/// A chunk is written when it has this many bytes: a quarter of it gave a server under load half as much again at p99 …
const CHUNK_BYTES: usize = 1 << 20;
/// … within a round, this many: what one drain of full rings may gather is not bounded …
const LARGEST_CHUNK_BYTES: usize = 8 << 20;
/// … or when its first record is this old: what a killed collector loses at most.
const CHUNK_AGE_NS: u64 = 200_000_000;
/// A bounded recording forgets who ended, and what it described, when it has told this much since the last time …
const FORGET_BYTES: u64 = 256 << 10;
/// … of all who ended this long before the oldest event: what they did last can be told late.
const FORGET_AFTER_NS: u64 = 1_000_000_000;

struct Segment {
    number: u32,
    last_ns: u64,
}

/// The writing end of a raw trace.
pub struct Recorder {
    folder: Folder,
    /// What looks at the records as they come, if a trigger is set.
    pub watch: Option<IntervalWatch>,
    meta: SpoolWriter,
    events: SpoolWriter,
    meta_buffer: RecordBuffer,
    events_buffer: RecordBuffer,
    /// Bytes that are left of meta since it was written anew, and how many had been written then.
    meta_kept: (u64, u64),
    events_since_ns: u64,
    segment_since_ns: u64,
    segments: VecDeque<Segment>,
    keep_ns: Option<u64>,
    /// Since everything is described anew: of what was described before the first time, only events until the second need it.
    told_again: Option<(u64, u64)>,
    /// Time of the earliest event that is still kept: of the oldest segment.
    pub kept_since_ns: u64,
    /// Switches and samples recorded.
    pub event_count: u64,
}

impl Recorder {
    /// Starts a spool in `folder`. With `keep_ns` only about the last so many ns of events stay.
    pub fn create(folder: &Folder, now_ns: u64, keep_ns: Option<u64>) -> Result<Self> {
        Ok(Self {
            folder: folder.clone(),
            watch: None,
            meta: SpoolWriter::create(folder, Stream::Meta)?,
            events: SpoolWriter::create(folder, Stream::Events)?,
            meta_buffer: RecordBuffer::default(),
            events_buffer: RecordBuffer::default(),
            meta_kept: (0, 0),
            events_since_ns: now_ns,
            segment_since_ns: now_ns,
            segments: VecDeque::new(),
            keep_ns,
            told_again: None,
            kept_since_ns: now_ns,
            event_count: 0,
        })
    }

    /// Takes a record from a ring. Fails when a chunk is due and cannot be written.
    pub fn record(&mut self, header: &RecordHeader, bytes: &[u8]) -> Result<()> {
        if let Some(watch) = &mut self.watch {
            watch.record(header, bytes);
        }
        match header.kind {
            kind::SWITCH | kind::SAMPLE | kind::TASK_PROBE | kind::PROBE_HIT | kind::STITCH => {
                self.event_count += 1;
                self.events_buffer.bytes.extend_from_slice(bytes);
            }
            kind::CREATION
            | kind::WOKEN_FUTEX
            | kind::SOCKET_WAIT
            | kind::TCP_HOLD
            | kind::TCP_EVENT
            | kind::DELAY
            | kind::DELAYS
            | kind::REQUEST
            | kind::FIBER_STATE => {
                self.events_buffer.bytes.extend_from_slice(bytes);
            }
            _ => self.meta_buffer.bytes.extend_from_slice(bytes),
        }
        let buffered = self.meta_buffer.bytes.len().max(self.events_buffer.bytes.len());
        if buffered >= LARGEST_CHUNK_BYTES { self.flush(header.time_ns) } else { Ok(()) }
    }

    /// Takes what was drained from a program's shared file: an ITT_NAMES or ITT_EVENTS record. Fails as [`Recorder::record`].
    pub fn itt(&mut self, header: IttHeader, bytes: &[u8]) -> Result<()> {
        if let Some(watch) = &mut self.watch {
            watch.itt(&header, bytes);
        }
        let names = header.h.kind == kind::ITT_NAMES;
        let buffer = if names { &mut self.meta_buffer } else { &mut self.events_buffer };
        buffer.itt(header, bytes);
        if buffer.bytes.len() >= LARGEST_CHUNK_BYTES { self.flush(header.h.time_ns) } else { Ok(()) }
    }

    /// Where user space's own records go.
    pub fn meta(&mut self) -> &mut RecordBuffer {
        &mut self.meta_buffer
    }

    /// Where user space's own records of what happens go: with `--ring-buffer` the old ones are forgotten.
    pub fn events(&mut self) -> &mut RecordBuffer {
        &mut self.events_buffer
    }

    /// Marks that everything earlier than `time_ns` has been drained, and writes what is due.
    pub fn end_round(&mut self, time_ns: u64) -> Result<()> {
        self.events_buffer.mark(kind::ROUND, time_ns);
        let due = self.events_buffer.bytes.len() >= CHUNK_BYTES
            || time_ns.saturating_sub(self.events_since_ns) >= CHUNK_AGE_NS;
        if due { self.flush(time_ns) } else { Ok(()) }
    }

    /// Marks a pause or its end.
    pub fn mark(&mut self, kind: u16, time_ns: u64) {
        self.meta_buffer.mark(kind, time_ns);
    }

    /// Writes everything that is buffered: first what events refer to.
    pub fn flush(&mut self, now_ns: u64) -> Result<()> {
        self.meta.append(&self.meta_buffer.bytes, self.events_since_ns, now_ns)?;
        self.meta_buffer.bytes.clear();
        self.events.append(&self.events_buffer.bytes, self.events_since_ns, now_ns)?;
        self.events_buffer.bytes.clear();
        self.events_since_ns = now_ns;
        self.forget_old(now_ns)
    }

    /// Where the spool is.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Writes what is buffered and begins new files: nobody writes to those that are there any more.
    pub fn cut(&mut self, now_ns: u64) -> Result<()> {
        self.flush(now_ns)?;
        self.meta.next_segment()?;
        self.next_segment(now_ns)
    }

    /// Bytes of what a bounded recording does not forget.
    pub fn meta_bytes(&self) -> u64 {
        let (kept, written) = self.meta_kept;
        kept + self.meta.written_bytes - written
    }

    /// Bytes in the spool so far.
    pub fn written_bytes(&self) -> u64 {
        self.meta.written_bytes + self.events.written_bytes
    }

    fn next_segment(&mut self, now_ns: u64) -> Result<()> {
        let number = self.events.next_segment()?;
        self.segments.push_back(Segment { number, last_ns: now_ns });
        self.segment_since_ns = now_ns;
        Ok(())
    }

    /// Segments are a tenth of what is kept, so that between 100 % and 110 % of it is there.
    fn forget_old(&mut self, now_ns: u64) -> Result<()> {
        let Some(keep_ns) = self.keep_ns else { return Ok(()) };
        if now_ns.saturating_sub(self.segment_since_ns) < keep_ns / 10 {
            return Ok(());
        }
        self.next_segment(now_ns)?;
        while let Some(oldest) = self.segments.front().filter(|oldest| oldest.last_ns + keep_ns < now_ns) {
            self.events.delete_segment(oldest.number)?;
            self.kept_since_ns = oldest.last_ns;
            self.segments.pop_front();
        }
        self.forget_unneeded()
    }

    /// Whether what describes events should be described anew, so that older descriptions can be forgotten when the events are
    /// gone that need these. It is time when the stream has doubled: then writing it anew costs little more than the
    /// stream would if nothing was forgotten.
    pub fn wants_all_again(&self) -> bool {
        let (kept, written) = self.meta_kept;
        let grown = self.meta.written_bytes - written >= kept.max(FORGET_BYTES);
        self.keep_ns.is_some() && self.told_again.is_none() && grown
    }

    /// Everything that is referred to after `now_ns` was or will be described at `since_ns` or later.
    pub fn all_is_described_again(&mut self, since_ns: u64, now_ns: u64) {
        self.told_again = Some((since_ns, now_ns));
    }

    /// Writes the stream of descriptions anew, without what nothing refers to any more.
    fn forget_unneeded(&mut self) -> Result<()> {
        let until_ns = self.kept_since_ns.saturating_sub(FORGET_AFTER_NS);
        let Some((since_ns, _)) = self.told_again.filter(|(_, told_ns)| *told_ns < until_ns) else { return Ok(()) };
        let before = self.meta.written_bytes;
        forget(&mut self.meta, &self.folder, RetentionCutoffs { ended_ns: until_ns, described_ns: since_ns })?;
        self.meta_kept = (self.meta.written_bytes - before, self.meta.written_bytes);
        self.told_again = None;
        Ok(())
    }
}
