//! What a thread did in a stretch of time: the intervals of `off_cpu`, and running between them.

use std::ops::Range;

use dwell_model::{ObjectId, ThreadId};

use crate::table::Table;
use crate::tables::OffCpu;

/// A stretch of one state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanState {
    /// On a CPU.
    Running,
    /// It could run, and waited for a CPU.
    Runnable,
    /// It waited: row of `off_cpu`, and the object.
    Waiting(usize, ObjectId),
}

/// The rows of `off_cpu` by thread.
pub struct ThreadStates<'a> {
    off_cpu: &'a OffCpu,
    rows: Vec<Vec<u32>>,
}

impl<'a> ThreadStates<'a> {
    /// Of `threads` threads.
    pub fn new(off_cpu: &'a OffCpu, threads: usize) -> Self {
        let mut rows = vec![Vec::new(); threads];
        for row in 0..off_cpu.len() {
            if let Some(rows) = off_cpu.thread[row].get().and_then(|thread| rows.get_mut(thread)) {
                rows.push(row as u32);
            }
        }
        Self { off_cpu, rows }
    }

    /// The row of `off_cpu` in which `thread` left the CPU at `start_ns`.
    pub fn row_at(&self, thread: ThreadId, start_ns: u64) -> Option<usize> {
        let rows = self.rows.get(thread.get()?)?;
        let at = rows.partition_point(|&row| self.off_cpu.start_ns[row as usize] < start_ns);
        rows.get(at).map(|&row| row as usize).filter(|&row| self.off_cpu.start_ns[row] == start_ns)
    }

    /// The states of `thread` within `range`, which they cover.
    pub fn within(&self, thread: ThreadId, range: Range<u64>) -> Vec<(Range<u64>, SpanState)> {
        let Some(rows) = thread.get().and_then(|thread| self.rows.get(thread)) else { return Vec::new() };
        let off = self.off_cpu;
        let after = rows.partition_point(|&row| off.start_ns[row as usize] <= range.start);
        let mut found = Vec::new();
        let mut at = range.start;
        let mut push = |until: u64, state: SpanState| {
            let until = until.min(range.end);
            if until > at {
                found.push((at..until, state));
                at = until;
            }
        };
        for &row in &rows[after.saturating_sub(1)..] {
            let row = row as usize;
            let start = off.start_ns[row];
            if start >= range.end {
                break;
            }
            let ready = start + off.wait_ns[row];
            push(start, SpanState::Running);
            push(ready, SpanState::Waiting(row, off.object[row]));
            push(ready + off.runnable_ns[row], SpanState::Runnable);
        }
        push(range.end, SpanState::Running);
        found
    }
}
