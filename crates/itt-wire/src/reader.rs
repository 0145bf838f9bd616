//! The collector's side: drains a shared file while its process writes it.
//!
//! All reading is by `pread`: the program can truncate its file at any time, which would kill a reader that had it mapped,
//! and what was copied does not change any more. Heads are believed only within the bounds of what was not read yet.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::layout::{self, Header, NAMES_AT, RINGS_AT, RINGS_BYTES, SLOT_BYTES, SLOTS_AT, State, header, slot};
use crate::{events, name};

/// Most bytes that a [`Sink`] is handed at once: fits into a record of the raw trace.
pub const CHUNK_BYTES: usize = 60_000;
/// Most bytes that a round reads from one file: a busy program's two largest rings, several times over.
const ROUND_BYTES: u64 = 64 << 20;

/// Takes what was drained, in chunks of whole records of at most [`CHUNK_BYTES`].
pub trait Sink {
    /// Records for [`crate::names`].
    fn names(&mut self, bytes: &[u8]);
    /// Records for [`crate::events`], all of the thread `tid`. `lost`: how many events the thread lost since the chunk
    /// before, because its ring was full or a signal handler interrupted a call; then `bytes` may be empty.
    fn events(&mut self, tid: u32, lost: u32, bytes: &[u8]);
}

/// What a round found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Bytes drained.
    pub bytes: u64,
    /// Whether there was more than a round may read; the next one continues there.
    pub more: bool,
    /// Whether the program has paused the collection, or detached from it.
    pub program_paused: bool,
    /// Names lost so far, since the file was made.
    pub names_lost: u64,
    /// Events lost so far of threads for which no ring could be made.
    pub ringless_lost: u64,
    /// Bytes so far that were no records and were passed over.
    pub damaged_bytes: u64,
}

/// Drains one file.
#[derive(Debug)]
pub struct Reader {
    file: File,
    header: Header,
    names_tail: u64,
    rings: Vec<Ring>,
    /// The slot that the next round begins with, so that a busy one starves no other.
    next: usize,
    damaged_bytes: u64,
    buffer: Vec<u8>,
}

/// What was read of a slot's ring. Heads and losses go on when it is given to another thread.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    tail: u64,
    lost: u64,
}

/// A slot as it was at one moment.
#[derive(Clone, Copy)]
struct Snapshot {
    head: u64,
    lost: u64,
    tid: u32,
    offset: u64,
    capacity: u64,
}

impl Ring {
    /// Where reading begins: where a collection before this one ended, whose losses are not told again.
    fn begin(slot: &[u64; slot::WORDS]) -> Self {
        let tail = slot[slot::TAIL];
        if tail == 0 || slot[slot::TAIL_CHECK] != !tail || tail > slot[slot::HEAD] {
            return Self::default();
        }
        Self { tail, lost: slot[slot::LOST].wrapping_add(slot[slot::NESTED]) }
    }
}

impl Snapshot {
    /// A slot that was the same before and after: `None` while it is being given to another thread, or is none.
    fn of(before: &[u64; slot::WORDS], after: &[u64; slot::WORDS]) -> Option<Self> {
        let sequence = before[slot::SEQUENCE];
        let is_steady = sequence != 0 && sequence.is_multiple_of(2) && sequence == after[slot::SEQUENCE];
        let lost = |words: &[u64; slot::WORDS]| words[slot::LOST].wrapping_add(words[slot::NESTED]);
        let (offset, capacity) = (before[slot::OFFSET], before[slot::CAPACITY]);
        let is_ring = capacity.is_power_of_two()
            && (layout::SMALLEST_RING..=layout::LARGEST_RING).contains(&capacity)
            && (RINGS_AT..RINGS_AT + RINGS_BYTES).contains(&offset);
        (is_steady && is_ring).then(|| Self {
            head: before[slot::HEAD].min(after[slot::HEAD]) & !7,
            lost: lost(before),
            tid: before[slot::THREAD] as u32,
            offset,
            capacity,
        })
    }
}

impl Reader {
    /// Begins to read `file`, which has to be open for reading and writing.
    ///
    /// # Errors
    ///
    /// Those of reading; [`io::ErrorKind::WouldBlock`] when the file is not ready yet, or is of another version.
    pub fn open(file: File) -> io::Result<Self> {
        let header = read_header(&file)?;
        Ok(Self { file, header, names_tail: 0, rings: Vec::new(), next: 0, damaged_bytes: 0, buffer: Vec::new() })
    }

    /// The header as it was when last read: on opening, and in each round.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Tells the program what is wanted of it.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn set_state(&self, state: State) -> io::Result<()> {
        self.file.write_all_at(&(state as u32).to_le_bytes(), header::SWITCH as u64 * 8)
    }

    /// Hands everything new to `sink`, up to a bound: names first, so that no event comes before what it mentions.
    ///
    /// # Errors
    ///
    /// Those of reading and writing. What was handed over is not handed over again.
    pub fn drain(&mut self, sink: &mut impl Sink) -> io::Result<Round> {
        let mut round = Round::default();
        let before = self.read_slots()?;
        let after = self.read_slots()?;
        // Names after the heads: what the events up to there mention was named before.
        self.header = read_header(&self.file)?;
        self.drain_names(sink, &mut round)?;
        self.rings.extend(before.iter().skip(self.rings.len()).map(Ring::begin));
        let count = before.len().min(after.len());
        let first = self.next;
        for index in (0..count).map(|index| (index + first) % count) {
            if round.bytes >= ROUND_BYTES {
                self.next = index;
                round.more = true;
                break;
            }
            if let (Some(before), Some(after)) = (before.get(index), after.get(index))
                && let Some(snapshot) = Snapshot::of(before, after)
            {
                self.drain_ring(index, snapshot, sink, &mut round)?;
            }
        }
        round.program_paused = self.header.program_paused;
        round.names_lost = self.header.names_lost;
        round.ringless_lost = self.header.ringless_lost;
        round.damaged_bytes = self.damaged_bytes;
        Ok(round)
    }

    fn read_slots(&mut self) -> io::Result<Vec<[u64; slot::WORDS]>> {
        let slots = read_header(&self.file)?.slots;
        let bytes = self.read(SLOTS_AT, slots * SLOT_BYTES as usize)?;
        let words = |slot: &[u8]| {
            let mut words = [0; slot::WORDS];
            layout::read_words(slot, &mut words).map(|()| words)
        };
        Ok(bytes.chunks_exact(SLOT_BYTES as usize).filter_map(words).collect())
    }

    /// At most `length` bytes at `at`; fewer where the file ends.
    fn read(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        self.buffer.resize(length, 0);
        let read = read_at(&self.file, &mut self.buffer, at)?;
        Ok(self.buffer.get(..read).unwrap_or_default())
    }

    fn drain_names(&mut self, sink: &mut impl Sink, round: &mut Round) -> io::Result<()> {
        while self.names_tail < self.header.names_head {
            if round.bytes >= ROUND_BYTES {
                round.more = true;
                return Ok(());
            }
            let wanted = (self.header.names_head - self.names_tail).min(CHUNK_BYTES as u64);
            let chunk = self.read(NAMES_AT + self.names_tail, wanted as usize)?;
            let whole = whole_records(chunk, name::record_bytes);
            if whole == 0 {
                // No record: nothing behind it can be found either.
                self.pass_over(self.header.names_head - self.names_tail);
                self.names_tail = self.header.names_head;
                return Ok(());
            }
            sink.names(chunk.get(..whole).unwrap_or_default());
            self.names_tail += whole as u64;
            round.bytes += whole as u64;
        }
        Ok(())
    }

    fn drain_ring(
        &mut self,
        index: usize,
        snapshot: Snapshot,
        sink: &mut impl Sink,
        round: &mut Round,
    ) -> io::Result<()> {
        let Some(mut ring) = self.rings.get(index).copied() else { return Ok(()) };
        let mut lost = u32::try_from(snapshot.lost.saturating_sub(ring.lost)).unwrap_or(u32::MAX);
        let started = ring.tail;
        let ahead = snapshot.head.saturating_sub(ring.tail);
        if ahead > snapshot.capacity {
            self.pass_over(ahead - snapshot.capacity);
            ring.tail = snapshot.head - snapshot.capacity;
        }
        while ring.tail < snapshot.head {
            let wanted = (snapshot.head - ring.tail).min(CHUNK_BYTES as u64) as usize;
            let chunk = self.read_ring(snapshot, ring.tail, wanted)?;
            let whole = whole_records(chunk, events::record_bytes);
            if whole == 0 {
                // The next record that surely begins somewhere begins at the head.
                self.pass_over(snapshot.head - ring.tail);
                ring.tail = snapshot.head;
                break;
            }
            sink.events(snapshot.tid, std::mem::take(&mut lost), chunk.get(..whole).unwrap_or_default());
            ring.tail += whole as u64;
            round.bytes += whole as u64;
        }
        if lost > 0 {
            sink.events(snapshot.tid, lost, &[]);
        }
        ring.lost = ring.lost.max(snapshot.lost);
        if let Some(known) = self.rings.get_mut(index) {
            *known = ring;
        }
        if ring.tail == started { Ok(()) } else { self.give_back(index, ring.tail) }
    }

    fn pass_over(&mut self, bytes: u64) {
        self.damaged_bytes = self.damaged_bytes.saturating_add(bytes);
    }

    /// Bytes `tail..tail + length` of a ring, which may lie around its end.
    fn read_ring(&mut self, snapshot: Snapshot, tail: u64, length: usize) -> io::Result<&[u8]> {
        let at = tail % snapshot.capacity;
        let to_end = (snapshot.capacity - at).min(length as u64) as usize;
        self.buffer.resize(length, 0);
        let (end, start) = self.buffer.split_at_mut(to_end);
        let mut read = read_at(&self.file, end, snapshot.offset + at)?;
        if read == to_end {
            read += read_at(&self.file, start, snapshot.offset)?;
        }
        Ok(self.buffer.get(..read).unwrap_or_default())
    }

    /// Tells the program how far its ring can be written again.
    fn give_back(&self, index: usize, tail: u64) -> io::Result<()> {
        let mut words = [0; 16];
        let (first, second) = words.split_at_mut(8);
        first.copy_from_slice(&tail.to_le_bytes());
        second.copy_from_slice(&(!tail).to_le_bytes());
        self.file.write_all_at(&words, SLOTS_AT + index as u64 * SLOT_BYTES + slot::TAIL as u64 * 8)
    }
}

fn read_header(file: &File) -> io::Result<Header> {
    let mut bytes = [0; header::WORDS * 8];
    let read = read_at(file, &mut bytes, 0)?;
    let bytes = bytes.get(..read).unwrap_or_default();
    Header::parse(bytes)
        .ok_or_else(|| io::Error::new(io::ErrorKind::WouldBlock, "no shared file of this version, or not yet"))
}

/// Fills `buffer` as far as the file goes.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// How many bytes of whole records `bytes` begin with.
fn whole_records(bytes: &[u8], record_bytes: impl Fn(&[u8]) -> Option<usize>) -> usize {
    let mut done = 0;
    while let Some(length) = bytes.get(done..).and_then(&record_bytes) {
        done += length;
    }
    done
}

#[cfg(test)]
mod tests {
    use std::array;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;

    use super::*;
    use crate::Slot;
    use crate::layout::SMALLEST_RING;

    /// Records of 8 bytes that the ring of the model holds.
    const RECORDS: usize = 2;
    /// The threads that have the slot, one after the other, and the last record of the first.
    const FIRST: u32 = 7;
    const SECOND: u32 = 8;
    const LAST_OF_FIRST: u64 = 3;

    /// A slot and its ring, shared by a program and the collector.
    struct Shared {
        slot: Slot<AtomicU64>,
        records: [AtomicU64; RECORDS],
    }

    impl Shared {
        fn new() -> Self {
            let slot = Slot::of(array::from_fn(|word| match word {
                slot::THREAD => AtomicU64::new(1 << 32),
                slot::OFFSET => AtomicU64::new(RINGS_AT),
                slot::CAPACITY => AtomicU64::new(SMALLEST_RING),
                slot::TAIL_CHECK => AtomicU64::new(!0),
                _ => AtomicU64::new(0),
            }));
            Self { slot, records: array::from_fn(|_| AtomicU64::new(0)) }
        }

        fn record(&self, at: u64) -> &AtomicU64 {
            &self.records[(at / 8) as usize % RECORDS]
        }

        /// The program: a thread takes the slot when it is free, writes records and leaves. Returns those that it wrote; the
        /// others are counted as lost. As `crates/itt/src/events.rs` does it.
        fn write(&self, tid: u32, records: &[u64]) -> Vec<u64> {
            if !self.slot.is_free(SMALLEST_RING) {
                return Vec::new();
            }
            let mut head = self.slot.give(tid);
            let mut limit = head + 8 * RECORDS as u64;
            let mut has_room = |head: u64| {
                if limit < head + 8 {
                    limit = self.slot.tail().map_or(limit, |tail| tail + 8 * RECORDS as u64);
                }
                limit >= head + 8
            };
            let mut written = Vec::new();
            for record in records {
                if has_room(head) {
                    self.record(head).store(*record, Relaxed);
                    head += 8;
                    self.slot.publish(head);
                    written.push(*record);
                } else {
                    self.slot.word(slot::LOST).fetch_add(1, Relaxed);
                }
            }
            self.slot.close();
            written
        }

        /// The slot as one read copies it: word by word, in order.
        fn copy(&self) -> [u64; slot::WORDS] {
            array::from_fn(|word| match word {
                slot::SEQUENCE | slot::HEAD | slot::LOST | slot::THREAD => self.slot.word(word).load(Acquire),
                slot::OFFSET => RINGS_AT,
                slot::CAPACITY => SMALLEST_RING,
                _ => 0,
            })
        }

        /// The collector: a round. Adds what it drained, each record with the thread that it is told of.
        fn drain(&self, tail: &mut u64, drained: &mut Vec<(u32, u64)>) {
            let (before, after) = (self.copy(), self.copy());
            let Some(snapshot) = Snapshot::of(&before, &after).filter(|it| it.head > *tail) else { return };
            while *tail < snapshot.head {
                drained.push((snapshot.tid, self.record(*tail).load(Relaxed)));
                *tail += 8;
            }
            self.slot.word(slot::TAIL).store(*tail, Release);
            self.slot.word(slot::TAIL_CHECK).store(!*tail, Release);
        }
    }

    /// All interleavings, within two preemptions, of a program in which two threads have a slot one after the other and a
    /// collector that drains it meanwhile.
    #[test]
    #[cfg_attr(miri, ignore = "loom switches stacks by itself")]
    fn no_interleaving_loses_doubles_or_misattributes_a_record() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Arc::new(Shared::new());
            let program = Arc::clone(&shared);
            let program = thread::spawn(move || {
                let first = program.write(FIRST, &[1, 2, LAST_OF_FIRST]);
                (first, program.write(SECOND, &[4]))
            });
            let (mut tail, mut drained) = (0, Vec::new());
            shared.drain(&mut tail, &mut drained);
            shared.drain(&mut tail, &mut drained);
            let (first, second) = program.join().expect("the program");
            shared.drain(&mut tail, &mut drained);
            assert!(first.len() >= RECORDS, "an empty ring has room");
            let records: Vec<u64> = drained.iter().map(|(_, record)| *record).collect();
            assert_eq!(records, [first, second].concat(), "each once and in order");
            assert!(drained.iter().all(|&(tid, record)| (tid == FIRST) == (record <= LAST_OF_FIRST)), "{drained:?}");
        });
    }
}
