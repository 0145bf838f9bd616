//! What each thread did when: the off-CPU rows and samples by thread, for reports that follow threads and not time.

use dwell_model::{StackId, ThreadId};
use dwell_store::Trace;

use crate::intervals::Activity;

/// Row numbers by thread, each thread's in order of time.
struct ByThread {
    /// Where each thread's rows begin in `rows`, and one past the last.
    begins: Vec<usize>,
    rows: Vec<u32>,
}

impl ByThread {
    fn new(threads: usize, of_row: &[ThreadId]) -> Self {
        let mut begins = vec![0usize; threads + 1];
        let known = |thread: &ThreadId| thread.get().filter(|thread| *thread < threads);
        for thread in of_row.iter().filter_map(known) {
            begins[thread + 1] += 1;
        }
        for thread in 0..threads {
            begins[thread + 1] += begins[thread];
        }
        let mut next = begins.clone();
        let mut rows = vec![0u32; begins[threads]];
        for (row, thread) in of_row.iter().enumerate() {
            if let Some(thread) = known(thread) {
                rows[next[thread]] = row as u32;
                next[thread] += 1;
            }
        }
        Self { begins, rows }
    }

    fn of(&self, thread: usize) -> &[u32] {
        &self.rows[self.begins[thread]..self.begins[thread + 1]]
    }
}

/// A piece of a thread's time in which it did one thing in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
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

/// The index: time and memory in proportion to the rows.
pub struct ThreadIndex<'t> {
    trace: &'t Trace,
    off_cpu: ByThread,
    samples: ByThread,
}

impl<'t> ThreadIndex<'t> {
    /// The index of `trace`.
    pub fn new(trace: &'t Trace) -> Self {
        let threads = trace.threads.tid.len();
        let off_cpu = ByThread::new(threads, &trace.off_cpu.thread);
        Self { trace, off_cpu, samples: ByThread::new(threads, &trace.samples.thread) }
    }

    /// The interval of `thread` that ends at or after `time` and begins before it; `None` before its start and after
    /// its end. Running time is one piece, not split by samples.
    pub fn before(&self, thread: usize, time: u64) -> Option<Piece> {
        let (start, end) = (self.trace.threads.start_ns[thread], self.trace.threads.end_ns[thread]);
        if time <= start || time > end {
            return None;
        }
        let (rows, starts) = (self.off_cpu.of(thread), &self.trace.off_cpu.start_ns);
        let behind = rows.partition_point(|row| starts[*row as usize] < time);
        let next = rows.get(behind).map_or(end, |row| starts[*row as usize].min(end));
        let running = |from| Piece { activity: Activity::Running, from, to: next, row: None, stack: StackId::NONE };
        let Some(row) = behind.checked_sub(1).map(|last| rows[last] as usize) else { return Some(running(start)) };
        let from = starts[row].max(start);
        let woken = starts[row].saturating_add(self.trace.off_cpu.wait_ns[row]).min(next);
        let ran = woken.saturating_add(self.trace.off_cpu.runnable_ns[row]).min(next);
        let stack = self.trace.off_cpu.stack[row];
        Some(if time > ran {
            running(ran)
        } else if time > woken {
            Piece { activity: Activity::Runnable, from: woken, to: ran, row: Some(row), stack }
        } else {
            Piece { activity: Activity::Waiting, from, to: woken, row: Some(row), stack }
        })
    }

    /// The off-CPU rows of `thread` behind `row`.
    pub fn rows_after(&self, thread: usize, row: usize) -> impl Iterator<Item = usize> + '_ {
        let rows = self.off_cpu.of(thread);
        let behind = rows.partition_point(|other| *other as usize <= row);
        rows[behind..].iter().map(|row| *row as usize)
    }

    /// Tells what `thread` did in `from .. to`, latest first, running time split by samples.
    pub fn pieces(&self, thread: usize, from: u64, to: u64, mut tell: impl FnMut(Piece)) {
        let mut time = to.min(self.trace.threads.end_ns[thread]);
        while time > from {
            let Some(piece) = self.before(thread, time) else { break };
            let cut = Piece { from: piece.from.max(from), to: piece.to.min(time), ..piece };
            match cut.activity {
                Activity::Running => {
                    self.split_running(thread, cut, &mut tell);
                }
                _ => tell(cut),
            }
            time = cut.from;
        }
    }

    /// Splits a running piece by samples, each of which stands for the running time since the one before it, the last
    /// one for what follows too. Returns the number of parts: the work done.
    pub fn split_running(&self, thread: usize, run: Piece, tell: &mut impl FnMut(Piece)) -> usize {
        let (rows, samples) = (self.samples.of(thread), &self.trace.samples);
        let is_estimate = |row: &u32| samples.estimated[*row as usize];
        if rows.first().is_none_or(is_estimate) {
            tell(Piece { stack: self.left_at(thread, run.to), ..run });
            return 1;
        }
        let first = rows.partition_point(|row| samples.time_ns[*row as usize] <= run.from);
        let (mut from, mut count) = (run.from, 0);
        for row in &rows[first..] {
            let to = samples.time_ns[*row as usize].min(run.to);
            if from < to {
                tell(Piece { from, to, stack: samples.stack[*row as usize], ..run });
                count += 1;
            }
            from = to;
            if from >= run.to {
                return count;
            }
        }
        let last = rows.last().map_or(StackId::NONE, |row| samples.stack[*row as usize]);
        tell(Piece { from, stack: last, ..run });
        count + 1
    }

    /// Where `thread` next leaves the CPU at or after `time`: the best guess for one that ran too little for a sample.
    fn left_at(&self, thread: usize, time: u64) -> StackId {
        let rows = self.off_cpu.of(thread);
        let next = rows.partition_point(|row| self.trace.off_cpu.start_ns[*row as usize] < time);
        rows.get(next).or(rows.last()).map_or(StackId::NONE, |row| self.trace.off_cpu.stack[*row as usize])
    }
}
