//! The times of each key by number of running threads, in blocks of time: what the classes of any target concurrency,
//! and any limits of theirs, are summed from.
//!
//! A key has as many times as there are numbers of running threads, so that smaller blocks would take too much room; what
//! is left of a range at the ends of these is swept.

use std::sync::atomic::{AtomicUsize, Ordering};

use dwell_store::{Column, IndexWriter, Trace};
use dwell_work::{parallel, stop};

use super::levels::pieces;
use crate::engine::index::levels::{FAN_OUT, Head, edge, levels};
use crate::engine::index::times::{Packer, for_each_by_class, merged};
use crate::engine::sums::{KeySums, Numbering, Places};
use crate::engine::sweep::{ConcurrencyStats, OffCpuSplit, SweepInput, Visitor};
use crate::question::query::Query;
use crate::question::windows::{Part, Windows};

/// Numbers of the sections of the index: which numbers of running threads there are, where the blocks are, their words.
const SECTIONS: [u64; 3] = [106, 107, 108];
/// Blocks of the lowest level at most, and how many of the index's own are in each at least.
const BLOCKS: u64 = 16;
const PARTS: u64 = 16;
/// Classes of one sweep: one for each number of running threads, and one for all others.
const CLASSES: usize = 32;
/// Numbers of running threads from which it is not worth its room.
const MOST_COUNTS: usize = 256;
/// Times of all blocks that are being made, together, from which it is not: half a GiB, however many CPUs there are.
const MOST_TIMES: usize = 1 << 26;
/// Blocks made at once.
const BATCH: u64 = 8;

/// The times by number of running threads of an index.
pub struct ByRunning {
    /// The numbers of running threads, ascending.
    counts: Column<u64>,
    /// Of each block, the lowest level first: where its running time without samples begins, where that ends, and where
    /// its running and blocked times and its times in the run queue do.
    places: Column<[u64; 4]>,
    words: Column<u64>,
    blocks: u64,
}

impl ByRunning {
    /// Those of the index of `trace`, when it has any.
    pub fn of(trace: &Trace, head: &Head) -> Option<Self> {
        let (index, blocks) = (trace.index()?, blocks_of(head));
        let [counts, places, words] = SECTIONS;
        let (places, words) = (index.column(places), index.column(words));
        let found = Self { counts: index.column(counts), places, words, blocks };
        (found.places.len() as u64 == levels(blocks).iter().sum::<u64>()).then_some(found)
    }

    /// Blocks of the lowest level.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Adds a block's times by the classes of `swept`; skips numbers outside of `keys`.
    pub fn add(&self, block: usize, swept: &SweepInput<'_>, keys: Numbering, sums: &mut KeySums) {
        let class = |count: &u64| usize::from(swept.class_of(usize::try_from(*count).unwrap_or(usize::MAX)));
        let classes: Vec<usize> = self.counts.iter().map(class).collect();
        let [begin, unsampled, time, runnable] = self.places.get(block).copied().unwrap_or_default();
        let words = |from: u64, to: u64| self.words.get(from as usize..to as usize).unwrap_or_default();
        for_each_by_class(words(begin, unsampled), &classes, |thread, times| sums.add_unsampled(thread, times));
        for_each_by_class(words(unsampled, time), &classes, |number, times| {
            if keys.contains(number) {
                sums.slot(number).add_time(times);
            }
        });
        for_each_by_class(words(time, runnable), &classes, |number, times| {
            if keys.contains(number) {
                sums.slot(number).add_runnable(times);
            }
        });
    }

    /// Makes them, with one sweep for every few numbers of running threads; none when they take too much room.
    pub fn write(writer: &mut IndexWriter, trace: &Trace, head: &Head) -> dwell_store::Result<()> {
        let whole = Windows::whole(trace);
        let (counts, blocks) = (counts_of(trace, &whole), blocks_of(head));
        if counts.len() > MOST_COUNTS {
            return Ok(());
        }
        let begin = writer.begin_section()?;
        let mut written = Written::new(writer, counts.len(), blocks);
        let room = TimeBudget(AtomicUsize::new(MOST_TIMES));
        for first in (0..blocks).step_by(BATCH as usize) {
            let block = |number: usize| {
                let edge = |block: u64| edge(head.elapsed_ns, blocks, block);
                let block = first + number as u64;
                let parts: Vec<Part> = whole.inside(edge(block), edge(block + 1)).collect();
                of_parts(trace, &parts, &counts, &room)
            };
            for made in parallel::map(BATCH.min(blocks - first) as usize, block) {
                let Some(made) = made else { return Ok(()) };
                written.add(0, made)?;
            }
        }
        let places = written.places;
        writer.end_section(SECTIONS[2], begin);
        writer.append(SECTIONS[0], &counts.iter().map(|count| *count as u64).collect::<Vec<_>>())?;
        writer.append(SECTIONS[1], &places)
    }
}

/// A block's rows: running time without samples, running and blocked times, times in the run queue.
type Made = [Vec<u64>; 3];

/// Blocks that are written as they come, and those above them once their parts have come.
struct Written<'w> {
    writer: &'w mut IndexWriter,
    columns: usize,
    words: u64,
    places: Vec<[u64; 4]>,
    /// Number of the next block of each level, and those that the one above is still to be made of.
    next: Vec<usize>,
    parts: Vec<Vec<Made>>,
}

impl<'w> Written<'w> {
    fn new(writer: &'w mut IndexWriter, columns: usize, blocks: u64) -> Self {
        let levels = levels(blocks);
        let first = |before: &mut u64, count: &u64| {
            *before += count;
            Some((*before - count) as usize)
        };
        let next: Vec<usize> = levels.iter().scan(0, first).collect();
        let places = vec![[0; 4]; levels.iter().sum::<u64>() as usize];
        Self { writer, columns, words: 0, places, parts: vec![Vec::new(); next.len()], next }
    }

    fn add(&mut self, level: usize, made: Made) -> dwell_store::Result<()> {
        let mut place = [self.words; 4];
        for (rows, end) in made.iter().zip(&mut place[1..]) {
            self.writer.extend(rows)?;
            self.words += rows.len() as u64;
            *end = self.words;
        }
        self.places[self.next[level]] = place;
        self.next[level] += 1;
        self.parts[level].push(made);
        if level + 1 == self.next.len() || self.parts[level].len() < FAN_OUT as usize {
            return Ok(());
        }
        let parts = std::mem::take(&mut self.parts[level]);
        let of_kind = |kind: usize| parts.iter().map(|part| part[kind].as_slice()).collect::<Vec<_>>();
        let above = parallel::map(3, |kind| merged(&of_kind(kind), self.columns));
        self.add(level + 1, above.try_into().unwrap_or_default())
    }
}

/// The largest number of blocks of a level that is not above [`BLOCKS`], each of [`PARTS`].
fn blocks_of(head: &Head) -> u64 {
    levels(head.blocks).into_iter().find(|count| *count <= BLOCKS.min(head.blocks / PARTS)).unwrap_or(1)
}

/// The numbers of threads that ever ran at once, in these windows.
fn counts_of(trace: &Trace, windows: &Windows) -> Vec<usize> {
    struct Nothing;
    impl Visitor for Nothing {}
    let swept = SweepInput::new(trace, &Query::default());
    let parts: Vec<Part> = pieces(&windows.inside(0, u64::MAX).collect::<Vec<_>>(), BLOCKS);
    let add = |levels: &mut ConcurrencyStats, part: usize| levels.add(&swept.sweep(parts[part], &mut Nothing));
    let mut levels = ConcurrencyStats::default();
    parallel::fold(parts.len(), ConcurrencyStats::default, add).iter().for_each(|part| levels.add(part));
    let times = levels.histogram_cpu.iter().enumerate();
    times.filter(|(_, ns)| **ns > 0).map(|(count, _)| count).collect()
}

/// The times of these parts; `None` when they are too many.
fn of_parts(trace: &Trace, parts: &[Part], counts: &[usize], room: &TimeBudget) -> Option<Made> {
    let mut times = Times::new(trace, counts.len(), room);
    for (sweep, of_sweep) in counts.chunks(CLASSES - 1).enumerate() {
        let swept = SweepInput::by_running(trace, of_sweep);
        times.columns = (sweep * (CLASSES - 1), of_sweep.len());
        parts.iter().for_each(|part| {
            swept.sweep(*part, &mut times);
        });
        stop::check();
        if times.is_full() {
            return None;
        }
    }
    Some([times.unsampled.packed(), times.time.packed(), times.runnable.packed()])
}

/// How many times may still be added.
struct TimeBudget(AtomicUsize);

impl TimeBudget {
    fn take(&self, times: usize) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(times)).is_ok()
    }
}

/// Rows of times while they are summed.
struct Rows<'r> {
    width: usize,
    places: Places,
    numbers: Vec<u64>,
    times: Vec<u64>,
    room: &'r TimeBudget,
    /// There was no room for all.
    full: bool,
}

impl<'r> Rows<'r> {
    fn new(width: usize, dense: usize, room: &'r TimeBudget) -> Self {
        Self { width, places: Places::new(dense), numbers: Vec::new(), times: Vec::new(), room, full: false }
    }

    /// Adds the times of a number in the columns from `first` on.
    fn add(&mut self, number: u64, first: usize, times: &[u64]) {
        if self.full || times.iter().all(|ns| *ns == 0) {
            return;
        }
        let place = self.places.get_or_set(number, self.numbers.len() as u32) as usize;
        if place == self.numbers.len() {
            if !self.room.take(self.width) {
                self.full = true;
                return;
            }
            self.numbers.push(number);
            self.times.resize(self.numbers.len() * self.width, 0);
        }
        let sums = &mut self.times[place * self.width + first..];
        for (sum, ns) in sums.iter_mut().zip(times) {
            *sum = sum.saturating_add(*ns);
        }
    }

    fn packed(&self) -> Vec<u64> {
        let mut order: Vec<usize> = (0..self.numbers.len()).collect();
        order.sort_unstable_by_key(|place| self.numbers[*place]);
        let mut packer = Packer::new(self.width);
        for place in order {
            packer.push(self.numbers[place], &self.times[place * self.width..(place + 1) * self.width]);
        }
        packer.finish()
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        self.room.0.fetch_add(self.times.len(), Ordering::Relaxed);
    }
}

/// Times by number of running threads while they are summed.
struct Times<'t> {
    trace: &'t Trace,
    keys: Numbering,
    threads: Numbering,
    /// The first column of the sweep's numbers of running threads, and how many they are.
    columns: (usize, usize),
    unsampled: Rows<'t>,
    time: Rows<'t>,
    runnable: Rows<'t>,
}

impl<'t> Times<'t> {
    fn new(trace: &'t Trace, width: usize, room: &'t TimeBudget) -> Self {
        let (keys, threads) = (Numbering::of_keys(trace), Numbering::of_threads(trace));
        let rows = |numbering: Numbering| Rows::new(width, numbering.outside(), room);
        let (unsampled, time, runnable) = (rows(threads), rows(keys), rows(keys));
        Self { trace, keys, threads, columns: (0, 0), unsampled, time, runnable }
    }

    fn is_full(&self) -> bool {
        [&self.unsampled, &self.time, &self.runnable].iter().any(|rows| rows.full)
    }
}

impl Visitor<CLASSES> for Times<'_> {
    // Class 0 is of other sweeps.
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit<CLASSES>) {
        let (first, count) = self.columns;
        let number = self.keys.number(self.trace.events().off_cpu.key(row), split.context);
        self.time.add(number, first, &split.blocked[1..=count]);
        self.runnable.add(number, first, &split.runnable[1..=count]);
    }

    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &[u64; CLASSES]) {
        let (first, count) = self.columns;
        let key = sample.map(|row| self.trace.events().samples.key(row));
        match key.map(|key| self.keys.number(key, context)) {
            Some(number) => self.time.add(number, first, &running[1..=count]),
            None => self.unsampled.add(self.threads.number(thread as u32, context), first, &running[1..=count]),
        }
    }
}
