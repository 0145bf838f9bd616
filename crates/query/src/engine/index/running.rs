//! How many threads run, from change to change, in slabs: the classes of an interval's time are found here, where few
//! intervals are asked for, without a sweep over all.

use std::ops::Range;

use dwell_store::{Column, IndexWriter, OffCpuTimes, Trace};
use dwell_view::ByClass;
use dwell_work::stop;

use crate::engine::index::began::Began;
use crate::engine::index::times::{Packer, for_each_pair};
use crate::engine::sums::{KeySums, Numbering};
use crate::engine::sweep::SweepInput;
use crate::question::windows::Part;

/// Numbers of the sections of the index: the slabs, their words.
const SECTIONS: [u64; 2] = [117, 118];
/// Changes of a slab; tests have few, to cross its limits often.
const CHANGES: usize = if cfg!(test) { 32 } else { 1 << 14 };

/// A stretch of time, up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Slab {
    from: u64,
    /// Threads that run then.
    running: u64,
    /// Where its words begin: times and changes.
    begin: u64,
}

/// The changes while they are told, in order of time.
pub struct RunningWriter {
    slabs: Vec<Slab>,
    words: Vec<u64>,
    open: Packer,
    changes: usize,
    running: u64,
}

impl Default for RunningWriter {
    fn default() -> Self {
        Self { slabs: Vec::new(), words: Vec::new(), open: Packer::new(1), changes: 0, running: 0 }
    }
}

impl RunningWriter {
    /// So many threads run from now on.
    pub fn note(&mut self, time: u64, running: usize) {
        let running = running as u64;
        if !self.slabs.is_empty() && running == self.running {
            return;
        }
        if self.slabs.is_empty() || self.changes == CHANGES {
            self.close();
            self.slabs.push(Slab { from: time, running, begin: self.words.len() as u64 });
            self.running = running;
        }
        let change = running.cast_signed() - self.running.cast_signed();
        // 0, -1, 1, -2, … as 0, 1, 2, 3, …
        self.open.push(time, &[(change << 1 ^ change >> 63).cast_unsigned()]);
        self.running = running;
        self.changes += 1;
    }

    fn close(&mut self) {
        let packed = std::mem::replace(&mut self.open, Packer::new(1)).finish();
        self.words.extend(packed);
        self.changes = 0;
    }

    /// Writes those of all parts of the time, in order.
    pub fn write(parts: Vec<Self>, writer: &mut IndexWriter) -> dwell_store::Result<()> {
        let (mut slabs, mut words) = (Vec::new(), 0);
        let begin = writer.begin_section()?;
        for mut part in parts {
            part.close();
            writer.extend(&part.words)?;
            slabs.extend(part.slabs.iter().map(|slab| Slab { begin: slab.begin + words, ..*slab }));
            words += part.words.len() as u64;
        }
        writer.end_section(SECTIONS[1], begin);
        writer.append(SECTIONS[0], &slabs)
    }
}

/// The changes of an index.
pub struct Running {
    slabs: Column<Slab>,
    words: Column<u64>,
}

impl Running {
    /// Those of the index of `trace`, when it has any.
    pub fn of(trace: &Trace) -> Option<Self> {
        let index = trace.index()?;
        let found = Self { slabs: index.column(SECTIONS[0]), words: index.column(SECTIONS[1]) };
        (!found.slabs.is_empty()).then_some(found)
    }

    /// The slabs that a part of the time lies in, each with its piece of the part.
    pub fn pieces(&self, part: Part) -> impl Iterator<Item = (usize, Part)> + '_ {
        let first = self.slabs.partition_point(|slab| slab.from <= part.from).saturating_sub(1);
        let slabs = first..self.slabs.len();
        slabs.take_while(move |slab| self.slabs[*slab].from < part.to).map(move |slab| {
            let next = self.slabs.get(slab + 1).map_or(u64::MAX, |next| next.from);
            let to = next.min(part.to);
            let from = part.from.max(self.slabs[slab].from);
            (slab, Part { from, to, to_the_end: part.to_the_end && to == part.to })
        })
    }

    /// The clock of a slab, by the classes of `swept`.
    pub fn clock(&self, slab: usize, swept: &SweepInput<'_>) -> Clock {
        let words = |slab: usize| self.slabs.get(slab).map_or(self.words.len(), |slab| slab.begin as usize);
        let mut clock = Clock::default();
        let mut running = self.slabs.get(slab).map_or(0, |slab| slab.running);
        let mut reading: ByClass = [0; 5];
        for_each_pair(self.words.get(words(slab)..words(slab + 1)).unwrap_or_default(), |time, change| {
            if let Some((last, class)) = clock.times.last().zip(clock.classes.last()) {
                reading[usize::from(*class)] += time.saturating_sub(*last);
            }
            running = running.wrapping_add_signed((change >> 1).cast_signed() ^ -(change & 1).cast_signed());
            clock.times.push(time);
            clock.readings.push(reading);
            clock.classes.push(swept.class_of(usize::try_from(running).unwrap_or(usize::MAX)).min(4));
        });
        clock
    }
}

/// Time of each class since a slab began.
#[derive(Default)]
pub struct Clock {
    times: Vec<u64>,
    readings: Vec<ByClass>,
    classes: Vec<u8>,
}

impl Clock {
    /// What it reads at `time`, which is not before the one at change `reached`.
    fn reading(&self, time: u64, reached: &mut usize) -> ByClass {
        let (mut step, mut at) = (1, *reached);
        while self.times.get(at + step).is_some_and(|change| *change <= time) {
            at += step;
            step *= 2;
        }
        let end = (at + step).min(self.times.len());
        at += self.times.get(at + 1..end).map_or(0, |near| near.partition_point(|change| *change <= time));
        *reached = at;
        let Some(mut reading) = self.readings.get(at).copied() else { return [0; 5] };
        reading[usize::from(self.classes[at])] += time.saturating_sub(self.times[at]);
        reading
    }
}

/// Off-CPU rows of which `takes` takes key and wait, summed.
pub struct TakenRows<'a, 't, F> {
    /// The result.
    pub trace: &'t Trace,
    /// The rows that began in each block.
    pub began: &'a Began,
    /// What they are summed by.
    pub keys: Numbering,
    /// Whether a row of this key and wait, ns, counts.
    pub takes: F,
}

impl<F: Fn(u32, u64) -> bool> TakenRows<'_, '_, F> {
    /// Adds what they did in a part of the time, which lies in the clock's slab.
    pub fn add(&self, clock: &Clock, part: Part, sums: &mut KeySums) {
        let off_cpu = &self.trace.events().off_cpu;
        for thread in 0..self.trace.threads.tid.len() {
            stop::check();
            let of_thread = off_cpu.of(thread);
            let first = off_cpu.partition_point(of_thread.clone(), |start| start < part.from);
            let behind = off_cpu.partition_point(first..of_thread.end, |start| part.has(start));
            let rows = first.saturating_sub(1).max(of_thread.start)..behind;
            // What follows a row ends it.
            let next = if behind < of_thread.end { off_cpu.start_ns(behind) } else { u64::MAX };
            self.add_rows(thread, (rows, next), (clock, part), sums);
        }
    }

    fn add_rows(
        &self,
        thread: usize,
        (rows, behind): (Range<usize>, u64),
        (clock, part): (&Clock, Part),
        sums: &mut KeySums,
    ) {
        let (start, end) = (self.trace.threads.start_ns[thread], self.trace.threads.end_ns[thread]);
        let (mut reached, mut last) = (0, None);
        let mut tell = |(row, key, times): (usize, u32, OffCpuTimes), next: u64| {
            if (start..=end).contains(&times.start_ns) && (self.takes)(key, times.wait_ns) {
                self.add_row((row, key, times), next.min(end), (clock, &mut reached, part), sums);
            }
        };
        self.trace.events().off_cpu.for_each(rows, |row, key, times| {
            if let Some(last) = last.replace((row, key, times)) {
                tell(last, times.start_ns);
            }
        });
        if let Some(last) = last {
            tell(last, behind);
        }
    }

    fn add_row(
        &self,
        (row, key, times): (usize, u32, OffCpuTimes),
        end: u64,
        (clock, reached, part): (&Clock, &mut usize, Part),
        sums: &mut KeySums,
    ) {
        let woken = times.start_ns.saturating_add(times.wait_ns);
        let ran = woken.saturating_add(times.runnable_ns);
        let from = times.start_ns.max(part.from);
        let end = end.min(part.to);
        let (woken, ran) = (woken.min(end).max(from), ran.min(end).max(from));
        let began = Some(row).filter(|_| times.start_ns >= part.from).and_then(|row| self.began.class(row));
        if from == ran && began.is_none() {
            return;
        }
        let readings = [from, woken, ran].map(|time| clock.reading(time, reached));
        let between = |from: &ByClass, to: &ByClass| std::array::from_fn(|class| to[class].wrapping_sub(from[class]));
        let sums = sums.slot(self.keys.number(key, dwell_store::OUTSIDE));
        sums.add_time(&between(&readings[0], &readings[1]));
        sums.add_runnable(&between(&readings[1], &readings[2]));
        if let Some(class) = began.and_then(|class| sums.classes.get_mut(class)) {
            class.began = class.began.saturating_add(1);
            class.longest = class.longest.max(times.wait_ns);
        }
    }
}
