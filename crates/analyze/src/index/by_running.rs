//! The times of each key by number of running threads, in a few blocks of time: what the classes of any target
//! concurrency, and any limits of theirs, are summed from.
//!
//! A key has as many times as there are numbers of running threads, so that smaller blocks would take too much room; what
//! is left of a range at the ends of these is swept.

use std::collections::BTreeMap;

use dwell_store::{Column, IndexWriter, Trace};

use super::blocks::{Head, edge, levels};
use super::code::{Reader, put};
use crate::parallel;
use crate::query::Query;
use crate::stop;
use crate::sums::{KeySums, Numbering, Places};
use crate::sweep::{Levels, OffCpuSplit, Swept, Visitor};
use crate::windows::{Part, Windows};

/// Numbers of the sections of the index: which numbers of running threads there are, where the blocks are, their bytes.
const SECTIONS: [u64; 3] = [106, 107, 108];
/// Blocks at most.
const BLOCKS: u64 = 16;
/// Classes of one sweep: one for each number of running threads, and one for all others.
const CLASSES: usize = 32;
/// Numbers of running threads, and times that are summed at once, from which it is not worth its room.
const MOST_COUNTS: usize = 256;
const MOST_TIMES: usize = 1 << 24;

/// The times by number of running threads of an index.
pub struct ByRunning {
    /// The numbers of running threads, ascending.
    counts: Column<u64>,
    /// Ends of the blocks in the bytes.
    ends: Column<u64>,
    bytes: Column<u8>,
}

impl ByRunning {
    /// Those of the index of `trace`, when it has any.
    pub fn of(trace: &Trace, head: &Head) -> Option<Self> {
        let index = trace.index()?;
        let found = Self {
            counts: index.column(SECTIONS[0]),
            ends: index.column(SECTIONS[1]),
            bytes: index.column(SECTIONS[2]),
        };
        (found.ends.len() as u64 == blocks_of(head)).then_some(found)
    }

    /// How many blocks there are, of equal length.
    pub fn blocks(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Adds a block's times by the classes of `swept`.
    pub fn add(&self, block: usize, swept: &Swept<'_>, keys: Numbering, sums: &mut KeySums) {
        let begin = block.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize);
        let end = self.ends.get(block).map_or(0, |end| *end as usize);
        let class = |count: &u64| usize::from(swept.class_of(usize::try_from(*count).unwrap_or(usize::MAX))).min(4);
        let classes: Vec<usize> = self.counts.iter().map(class).collect();
        // Damaged bytes end early: the index is the user's own, and can be deleted.
        let _ = decode(self.bytes.get(begin..end).unwrap_or_default(), &classes, keys, sums);
    }

    /// Makes them, with one sweep for every few numbers of running threads; none when they take too much room.
    pub fn write(writer: &mut IndexWriter, trace: &Trace, head: &Head) -> dwell_store::Result<()> {
        let whole = Windows::whole(trace);
        let counts = counts_of(trace, &whole);
        let blocks = blocks_of(head);
        let made = (counts.len() <= MOST_COUNTS).then(|| {
            let block = |block: usize| {
                let edge = |block: u64| edge(head.elapsed_ns, blocks, block);
                let parts: Vec<Part> = whole.inside(edge(block as u64), edge(block as u64 + 1)).collect();
                of_parts(trace, &parts, &counts)
            };
            parallel::map(blocks as usize, block).into_iter().collect::<Option<Vec<Vec<u8>>>>()
        });
        let Some(made) = made.flatten() else { return Ok(()) };
        let ends = made.iter().scan(0u64, |end, block| {
            *end += block.len() as u64;
            Some(*end)
        });
        writer.append(SECTIONS[0], &counts.iter().map(|count| *count as u64).collect::<Vec<_>>())?;
        writer.append(SECTIONS[1], &ends.collect::<Vec<_>>())?;
        writer.append(SECTIONS[2], &made.concat())
    }
}

/// The largest number of blocks of a level that is not above [`BLOCKS`].
fn blocks_of(head: &Head) -> u64 {
    levels(head.blocks).into_iter().find(|count| *count <= BLOCKS).unwrap_or(1)
}

/// The numbers of threads that ever ran at once, in these windows.
fn counts_of(trace: &Trace, windows: &Windows) -> Vec<usize> {
    struct Nothing;
    impl Visitor for Nothing {}
    let swept = Swept::new(trace, &Query::default());
    let parts: Vec<Part> = super::blocks::pieces(&windows.inside(0, u64::MAX).collect::<Vec<_>>(), BLOCKS);
    let add = |levels: &mut Levels, part: usize| levels.add(&swept.sweep(parts[part], &mut Nothing));
    let mut levels = Levels::default();
    parallel::fold(parts.len(), Levels::default, add).iter().for_each(|part| levels.add(part));
    let times = levels.histogram_cpu.iter().enumerate();
    times.filter(|(_, ns)| **ns > 0).map(|(count, _)| count).collect()
}

/// The times of these parts as bytes; `None` when they are too many.
fn of_parts(trace: &Trace, parts: &[Part], counts: &[usize]) -> Option<Vec<u8>> {
    let mut times = Times::new(trace, counts.len());
    for (sweep, of_sweep) in counts.chunks(CLASSES - 1).enumerate() {
        let swept = Swept::by_running(trace, of_sweep);
        times.first = sweep * (CLASSES - 1);
        times.swept = of_sweep.len();
        parts.iter().for_each(|part| {
            swept.sweep(*part, &mut times);
        });
        stop::check();
        if times.is_full {
            return None;
        }
    }
    Some(times.encode())
}

/// Times by number of running threads while they are summed.
struct Times<'t> {
    trace: &'t Trace,
    keys: Numbering,
    threads: Numbering,
    /// Times of one number.
    width: usize,
    /// The column of the sweep's first number of running threads, and how many it has.
    first: usize,
    swept: usize,
    places: Places,
    numbers: Vec<u64>,
    /// Running or blocked times of each number, and times in the run queue.
    times: Vec<u64>,
    runnable: Vec<u64>,
    unsampled: BTreeMap<u64, Vec<u64>>,
    is_full: bool,
}

impl<'t> Times<'t> {
    fn new(trace: &'t Trace, width: usize) -> Self {
        let (keys, threads) = (Numbering::of_keys(trace), Numbering::of_threads(trace));
        Self {
            trace,
            keys,
            threads,
            width,
            first: 0,
            swept: 0,
            places: Places::new(keys.outside()),
            numbers: Vec::new(),
            times: Vec::new(),
            runnable: Vec::new(),
            unsampled: BTreeMap::new(),
            is_full: false,
        }
    }

    /// Where the times of a number are.
    fn place(&mut self, number: u64) -> usize {
        let place = self.places.get_or_set(number, self.numbers.len() as u32) as usize;
        if place == self.numbers.len() {
            self.numbers.push(number);
            self.times.resize(self.numbers.len() * self.width, 0);
            self.runnable.resize(self.numbers.len() * self.width, 0);
            self.is_full |= self.times.len() > MOST_TIMES;
        }
        place * self.width + self.first
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, self.unsampled.len() as u64);
        for (number, times) in &self.unsampled {
            put(&mut out, *number);
            put_times(&mut out, times);
        }
        let mut order: Vec<usize> = (0..self.numbers.len()).collect();
        order.sort_unstable_by_key(|place| self.numbers[*place]);
        put(&mut out, order.len() as u64);
        let mut last = 0;
        for place in order {
            put(&mut out, self.numbers[place] - last);
            last = self.numbers[place];
            let times = place * self.width..(place + 1) * self.width;
            put_times(&mut out, &self.times[times.clone()]);
            put_times(&mut out, &self.runnable[times]);
        }
        out
    }
}

fn add_all(ours: &mut [u64], theirs: &[u64]) {
    for (ours, theirs) in ours.iter_mut().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}

impl Visitor<CLASSES> for Times<'_> {
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit<CLASSES>) {
        // Class 0 is of other sweeps.
        if self.is_full || split.blocked[1..].iter().chain(&split.runnable[1..]).all(|ns| *ns == 0) {
            return;
        }
        let number = self.keys.number(self.trace.events().off_cpu.key(row), split.context);
        let (at, count) = (self.place(number), self.swept);
        add_all(&mut self.times[at..at + count], &split.blocked[1..]);
        add_all(&mut self.runnable[at..at + count], &split.runnable[1..]);
    }

    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &[u64; CLASSES]) {
        if self.is_full || running[1..].iter().all(|ns| *ns == 0) {
            return;
        }
        let (first, count, width) = (self.first, self.swept, self.width);
        match sample {
            Some(row) => {
                let number = self.keys.number(self.trace.events().samples.key(row), context);
                let at = self.place(number);
                add_all(&mut self.times[at..at + count], &running[1..]);
            }
            None => {
                let number = self.threads.number(thread as u32, context);
                let times = self.unsampled.entry(number).or_insert_with(|| vec![0; width]);
                add_all(&mut times[first..first + count], &running[1..]);
            }
        }
    }
}

/// From the first to the last one that is not zero.
fn put_times(out: &mut Vec<u8>, times: &[u64]) {
    let first = times.iter().position(|ns| *ns > 0).unwrap_or(times.len());
    let behind = times.iter().rposition(|ns| *ns > 0).map_or(first, |last| last + 1);
    put(out, (behind - first) as u64);
    if first < behind {
        put(out, first as u64);
        times[first..behind].iter().for_each(|ns| put(out, *ns));
    }
}

/// Reads times and tells each with its class.
fn for_each_time(reader: &mut Reader<'_>, classes: &[usize], mut tell: impl FnMut(usize, u64)) -> Option<()> {
    let count = usize::try_from(reader.number()?).ok()?;
    let first = if count > 0 { usize::try_from(reader.number()?).ok()? } else { 0 };
    for class in classes.get(first..first.checked_add(count)?)? {
        tell(*class, reader.number()?);
    }
    Some(())
}

/// Adds a block to `sums`; numbers that are none of `keys` are passed over. `None` when the bytes are damaged.
fn decode(bytes: &[u8], classes: &[usize], keys: Numbering, sums: &mut KeySums) -> Option<()> {
    let reader = &mut Reader::new(bytes);
    for _ in 0..reader.number()? {
        let (number, mut running) = (reader.number()?, [0u64; 5]);
        for_each_time(reader, classes, |class, ns| running[class] = running[class].saturating_add(ns))?;
        sums.add_unsampled(number, &running);
    }
    let mut number = 0u64;
    for step in 0..reader.number()? {
        if step.is_multiple_of(1024) {
            stop::check();
        }
        number = number.checked_add(reader.number()?)?;
        let (mut time, mut runnable) = ([0u64; 5], [0u64; 5]);
        for_each_time(reader, classes, |class, ns| time[class] = time[class].saturating_add(ns))?;
        for_each_time(reader, classes, |class, ns| runnable[class] = runnable[class].saturating_add(ns))?;
        if keys.contains(number) {
            let sums = sums.slot(number);
            sums.add_time(&time);
            sums.add_runnable(&runnable);
        }
    }
    Some(())
}
