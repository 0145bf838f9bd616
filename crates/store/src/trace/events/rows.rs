//! The rows of events: intervals off the CPU, samples and estimates, thread by thread.

use std::ops::Range;

use crate::index::{CHUNK, Column, Packed};

/// The off-CPU intervals, thread by thread.
#[derive(Debug, Default)]
pub struct OffCpuEvents {
    pub(in crate::trace) ranges: Column<[u64; 2]>,
    /// Start, wait, time in the run queue, key, CPU.
    pub(in crate::trace) rows: Packed<OFF_CPU_COLUMNS>,
}

/// The times of an interval off the CPU, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpuTimes {
    /// When the thread left the CPU.
    pub start_ns: u64,
    /// Time until it was woken.
    pub wait_ns: u64,
    /// Time in the run queue after that.
    pub runnable_ns: u64,
}

pub(super) const OFF_CPU_COLUMNS: usize = 5;
pub(super) const OFF_KEY: usize = 3;

impl OffCpuEvents {
    /// Rows of `thread`.
    pub fn of(&self, thread: usize) -> Range<usize> {
        range(&self.ranges, thread, self.rows.chunks())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        (0..self.ranges.len()).map(|thread| self.of(thread).len()).sum()
    }

    /// One more than the highest number of a row.
    pub fn end(&self) -> usize {
        self.rows.chunks() * CHUNK
    }

    /// The first of `rows`, which are one thread's, whose start `is_before` does not hold for.
    pub fn partition_point(&self, rows: Range<usize>, is_before: impl Fn(u64) -> bool) -> usize {
        self.rows.partition_point(rows, is_before)
    }

    /// Rows of `thread` that begin in `from .. to`.
    pub fn begun(&self, thread: usize, from: u64, to: u64) -> Range<usize> {
        let rows = self.of(thread);
        let first = self.partition_point(rows.clone(), |start| start < from);
        first..self.partition_point(first..rows.end, |start| start < to)
    }

    /// When the thread left the CPU; in order within a thread.
    pub fn start_ns(&self, row: usize) -> u64 {
        self.rows.get(0, row)
    }

    /// Time until it was woken.
    pub fn wait_ns(&self, row: usize) -> u64 {
        self.rows.get(1, row)
    }

    /// Its times: faster than one after the other.
    pub fn times(&self, row: usize) -> OffCpuTimes {
        let [start_ns, wait_ns, runnable_ns] = self.rows.first(row);
        OffCpuTimes { start_ns, wait_ns, runnable_ns }
    }

    /// Tells row, time until it was woken and number of the key of each of `rows`.
    pub fn for_each_wait(&self, rows: Range<usize>, mut visit: impl FnMut(usize, u64, u32)) {
        self.rows.for_each(rows, [1, OFF_KEY], |row, [wait_ns, key]| visit(row, wait_ns, key as u32));
    }

    /// Tells row, number of the key and times of each of `rows`.
    pub fn for_each(&self, rows: Range<usize>, mut visit: impl FnMut(usize, u32, OffCpuTimes)) {
        self.rows.for_each(rows, [0, 1, 2, OFF_KEY], |row, [start_ns, wait_ns, runnable_ns, key]| {
            visit(row, key as u32, OffCpuTimes { start_ns, wait_ns, runnable_ns });
        });
    }

    /// Tells number of the key, times and CPU of each of `rows`.
    pub fn for_each_run(&self, rows: Range<usize>, mut visit: impl FnMut(u32, OffCpuTimes, u16)) {
        let all = std::array::from_fn(|column| column);
        self.rows.for_each(rows, all, |_, [start_ns, wait_ns, runnable_ns, key, cpu]| {
            visit(key as u32, OffCpuTimes { start_ns, wait_ns, runnable_ns }, cpu as u16);
        });
    }

    /// Time in the run queue after that.
    pub fn runnable_ns(&self, row: usize) -> u64 {
        self.rows.get(2, row)
    }

    /// Number of the key.
    pub fn key(&self, row: usize) -> u32 {
        self.rows.get(OFF_KEY, row) as u32
    }

    /// CPU that it then ran on.
    pub fn cpu(&self, row: usize) -> u16 {
        self.rows.get(4, row) as u16
    }

    /// When the thread was woken: a preempted one at once.
    pub fn woken_ns(&self, row: usize) -> u64 {
        self.start_ns(row).saturating_add(self.wait_ns(row))
    }

    /// When it ran again.
    pub fn end_ns(&self, row: usize) -> u64 {
        self.woken_ns(row).saturating_add(self.runnable_ns(row))
    }
}

/// The samples, thread by thread; estimates are apart.
#[derive(Debug, Default)]
pub struct SampleEvents {
    pub(in crate::trace) ranges: Column<[u64; 2]>,
    /// Time, key, CPU.
    pub(in crate::trace) rows: Packed<SAMPLE_COLUMNS>,
}

pub(super) const SAMPLE_COLUMNS: usize = 3;
pub(super) const SAMPLE_KEY: usize = 1;

impl SampleEvents {
    /// Rows of `thread`.
    pub fn of(&self, thread: usize) -> Range<usize> {
        range(&self.ranges, thread, self.rows.chunks())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        (0..self.ranges.len()).map(|thread| self.of(thread).len()).sum()
    }

    /// The first of `rows`, which are one thread's, whose time `is_before` does not hold for.
    pub fn partition_point(&self, rows: Range<usize>, is_before: impl Fn(u64) -> bool) -> usize {
        self.rows.partition_point(rows, is_before)
    }

    /// When; in order within a thread.
    pub fn time_ns(&self, row: usize) -> u64 {
        self.rows.get(0, row)
    }

    /// Number of the key.
    pub fn key(&self, row: usize) -> u32 {
        self.rows.get(SAMPLE_KEY, row) as u32
    }

    /// CPU that it ran on.
    pub fn cpu(&self, row: usize) -> u16 {
        self.rows.get(2, row) as u16
    }
}

/// Where a thread ran that has no sample, and how much of its running time each place stands for.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Estimate {
    /// Running time that it stands for.
    pub weight_ns: u64,
    /// The thread.
    pub thread: u32,
    /// Number of the key.
    pub key: u32,
    /// CPU that it ran on.
    pub cpu: u32,
    pub(super) unused: u32,
}

fn range(ranges: &[[u64; 2]], thread: usize, chunks: usize) -> Range<usize> {
    let rows = chunks * CHUNK;
    let [begin, end] = ranges.get(thread).copied().unwrap_or_default();
    let begin = (begin as usize).min(rows);
    begin..(end as usize).clamp(begin, rows)
}
