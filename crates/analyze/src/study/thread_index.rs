//! What each thread did when: the off-CPU rows and samples by thread, for reports that follow threads and not time.

use std::ops::Range;

use dwell_model::StackId;
use dwell_store::{Events, OffCpuTimes, Trace};

use crate::study::intervals::Activity;

/// A piece of a thread's time in which it did one thing in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPiece {
    /// What it did.
    pub activity: Activity,
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// Off-CPU row that it is of; none: it ran.
    pub row: Option<usize>,
    /// Where it ran, by the next sample, or where it left the CPU.
    pub stack: StackId,
}

impl ThreadPiece {
    /// It ran, wherever.
    pub fn running(from: u64, to: u64) -> Self {
        Self { activity: Activity::Running, from, to, row: None, stack: StackId::NONE }
    }
}

/// When a thread left the CPU, was woken, and ran again: within its life and before its next row, also in a damaged trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// It left the CPU.
    pub start: u64,
    /// It was woken.
    pub woken: u64,
    /// It ran again.
    pub ran: u64,
}

/// Rows that are looked at for one behind which a thread runs.
const NEAR: usize = 64;

/// Where searches in a thread ended the last time: the next one is not far from there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    row: usize,
    sample: usize,
}

/// Where to look for the first of `rows` for which `is_before` no longer holds: not far from `last`.
pub fn near(rows: Range<usize>, last: usize, is_before: impl Fn(usize) -> bool) -> Range<usize> {
    let (mut from, mut step) = (last.clamp(rows.start, rows.end), 1);
    let mut to = from;
    while to < rows.end && is_before(to) {
        (from, to) = (to + 1, (to + step).min(rows.end));
        step *= 2;
    }
    while from > rows.start && !is_before(from - 1) {
        (to, from) = (from - 1, (from - 1).saturating_sub(step).max(rows.start));
        step *= 2;
    }
    from..to
}

/// The times of a row after a thread's birth and before its next row.
fn within(times: OffCpuTimes, (born, next): (u64, u64)) -> Bounds {
    let start = times.start_ns.clamp(born, next);
    let woken = start.saturating_add(times.wait_ns).min(next);
    Bounds { start, woken, ran: woken.saturating_add(times.runnable_ns).min(next) }
}

/// The rows of a trace by thread.
#[derive(Clone, Copy)]
pub struct ThreadIndex<'t> {
    trace: &'t Trace,
    events: &'t Events,
}

impl<'t> ThreadIndex<'t> {
    /// The index of `trace`.
    pub fn new(trace: &'t Trace) -> Self {
        Self { trace, events: trace.events() }
    }

    /// The interval of `thread` that ends at or after `time` and begins before it; `None` before its start and after
    /// its end. Running time is one piece, not split by samples.
    pub fn before(&self, thread: usize, time: u64) -> Option<ThreadPiece> {
        let off_cpu = &self.events.off_cpu;
        let rows = off_cpu.of(thread);
        self.piece(thread, time, off_cpu.partition_point(rows, |start| start < time))
    }

    /// The same for times that are near one another.
    pub fn before_from(&self, thread: usize, time: u64, reached: &mut Reached) -> Option<ThreadPiece> {
        let off_cpu = &self.events.off_cpu;
        let near = near(off_cpu.of(thread), reached.row, |row| off_cpu.start_ns(row) < time);
        reached.row = off_cpu.partition_point(near, |start| start < time);
        self.piece(thread, time, reached.row)
    }

    /// An instant near `time` at which `thread`, alive, comes back to a CPU and runs; `None` when none is found close by.
    pub fn begins_to_run(&self, thread: usize, time: u64) -> Option<u64> {
        let (start, end) = (self.trace.threads.start_ns[thread], self.trace.threads.end_ns[thread]);
        let off_cpu = &self.events.off_cpu;
        let rows = off_cpu.of(thread);
        let behind = off_cpu.partition_point(rows.clone(), |start| start < time);
        let near = behind.saturating_sub(NEAR).max(rows.start)..behind;
        near.rev().find_map(|row| {
            let next = if row + 1 < rows.end { off_cpu.start_ns(row + 1).min(end) } else { end };
            Some(off_cpu.end_ns(row)).filter(|ran| start < *ran && *ran < next)
        })
    }

    /// What `thread` did before `time`, of which `behind` is the first row that does not begin before it.
    fn piece(&self, thread: usize, time: u64, behind: usize) -> Option<ThreadPiece> {
        let (start, end) = (self.trace.threads.start_ns[thread], self.trace.threads.end_ns[thread]);
        if time <= start || time > end {
            return None;
        }
        let off_cpu = &self.events.off_cpu;
        let rows = off_cpu.of(thread);
        let next = if behind < rows.end { off_cpu.start_ns(behind).min(end) } else { end };
        let running =
            |from| ThreadPiece { activity: Activity::Running, from, to: next, row: None, stack: StackId::NONE };
        if behind == rows.start {
            return Some(running(start));
        }
        let row = behind - 1;
        let times = off_cpu.times(row);
        let from = times.start_ns.max(start);
        let woken = times.start_ns.saturating_add(times.wait_ns);
        let (woken, ran) = (woken.min(next), woken.saturating_add(times.runnable_ns).min(next));
        let stack = self.events.off_cpu_key(row).stack();
        Some(if time > ran {
            running(ran)
        } else if time > woken {
            ThreadPiece { activity: Activity::Runnable, from: woken, to: ran, row: Some(row), stack }
        } else {
            ThreadPiece { activity: Activity::Waiting, from, to: woken, row: Some(row), stack }
        })
    }

    /// Tells times, number of the key and CPU of each of `rows`, which are `thread`'s; several times as fast as one after the
    /// other.
    pub fn for_each(&self, thread: usize, rows: Range<usize>, mut tell: impl FnMut(Bounds, u32, u16)) {
        let (threads, off_cpu) = (&self.trace.threads, &self.events.off_cpu);
        let (born, end) = (threads.start_ns[thread], threads.end_ns[thread].max(threads.start_ns[thread]));
        let mut open: Option<(u32, OffCpuTimes, u16)> = None;
        let mut close = |open: Option<(u32, OffCpuTimes, u16)>, next: u64| {
            let Some((key, times, cpu)) = open else { return };
            tell(within(times, (born, next.clamp(born, end))), key, cpu);
        };
        let behind = rows.end;
        off_cpu.for_each_run(rows, |key, times, cpu| close(open.replace((key, times, cpu)), times.start_ns));
        close(open, if behind < off_cpu.of(thread).end { off_cpu.start_ns(behind) } else { end });
    }

    /// The off-CPU rows of `thread` behind `row`.
    pub fn rows_after(&self, thread: usize, row: usize) -> impl Iterator<Item = usize> + use<> {
        let rows = self.events.off_cpu.of(thread);
        (row + 1).max(rows.start)..rows.end
    }

    /// Splits a running piece by samples, each of which stands for the running time since the one before it, the last
    /// one for what follows too. Returns the number of parts: the work done.
    pub fn split_running(&self, thread: usize, run: ThreadPiece, tell: &mut impl FnMut(ThreadPiece)) -> usize {
        let samples = &self.events.samples;
        self.split_at(thread, run, samples.partition_point(samples.of(thread), |time| time <= run.from), tell)
    }

    /// The same for pieces that are near one another.
    pub fn split_running_from(
        &self,
        thread: usize,
        run: ThreadPiece,
        reached: &mut Reached,
        tell: &mut impl FnMut(ThreadPiece),
    ) {
        let samples = &self.events.samples;
        let near = near(samples.of(thread), reached.sample, |row| samples.time_ns(row) <= run.from);
        reached.sample = samples.partition_point(near, |time| time <= run.from);
        self.split_at(thread, run, reached.sample, tell);
    }

    /// Splits a running piece by the samples from `first`, the first one behind its start.
    fn split_at(&self, thread: usize, run: ThreadPiece, first: usize, tell: &mut impl FnMut(ThreadPiece)) -> usize {
        let samples = &self.events.samples;
        let rows = samples.of(thread);
        let stack_of = |row: usize| self.events.key(samples.key(row)).stack();
        let Some(last) = rows.clone().next_back() else {
            tell(ThreadPiece { stack: self.left_at(thread, run.to), ..run });
            return 1;
        };
        let (mut from, mut count) = (run.from, 0);
        for row in first..rows.end {
            let to = samples.time_ns(row).min(run.to);
            if from < to {
                tell(ThreadPiece { from, to, stack: stack_of(row), ..run });
                count += 1;
            }
            from = to;
            if from >= run.to {
                return count;
            }
        }
        tell(ThreadPiece { from, stack: stack_of(last), ..run });
        count + 1
    }

    /// Where `thread` next leaves the CPU at or after `time`: the best guess for one that ran too little for a sample.
    fn left_at(&self, thread: usize, time: u64) -> StackId {
        let off_cpu = &self.events.off_cpu;
        let rows = off_cpu.of(thread);
        let next = off_cpu.partition_point(rows.clone(), |start| start < time);
        let row = if next < rows.end { Some(next) } else { rows.clone().next_back() };
        row.map_or(StackId::NONE, |row| self.events.off_cpu_key(row).stack())
    }
}
