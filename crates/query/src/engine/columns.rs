//! n(t), c(t) and the classes in columns of time, for charts.

use dwell_store::Trace;

use crate::engine::sweep::{SweepInput, Visitor};
use crate::question::query::Query;
use crate::question::windows::Windows;

/// Sums of one column.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnSums {
    /// Running threads times time.
    pub running_ns: f64,
    /// Running or runnable threads times time.
    pub ready_ns: f64,
    /// Time that is not paused.
    pub active_ns: f64,
    /// Most running threads.
    pub most_running: usize,
    /// Most running or runnable threads.
    pub most_ready: usize,
}

/// Equal parts of a stretch of time.
pub struct Columns {
    /// Where it begins, ns.
    pub from: u64,
    /// Where it ends, ns.
    pub to: u64,
    /// Their sums.
    pub columns: Vec<ColumnSums>,
}

impl Columns {
    /// `count` columns of `from .. to` inside `windows`; fewer when it has fewer nanoseconds. Swept.
    pub fn exact(trace: &Trace, windows: &Windows, (from, to): (u64, u64), count: usize) -> Self {
        let count = count.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let mut columns = Self { from, to, columns: vec![ColumnSums::default(); count] };
        let swept = SweepInput::new(trace, &Query::default());
        windows.inside(from, to).for_each(|part| {
            swept.sweep(part, &mut columns);
        });
        columns
    }

    /// Start of a column.
    pub fn edge(&self, column: usize) -> u64 {
        let span = u128::from(self.to - self.from);
        self.from + (span * column as u128 / self.columns.len().max(1) as u128) as u64
    }

    /// The column that an instant is in.
    pub fn column_of(&self, time: u64) -> usize {
        let span = u128::from(self.to - self.from).max(1);
        (u128::from(time.saturating_sub(self.from)) * self.columns.len() as u128 / span) as usize
    }
}

impl Visitor for Columns {
    fn level(&mut self, mut from: u64, to: u64, running: usize, ready: usize) {
        let mut column = self.column_of(from);
        while from < to && column < self.columns.len() {
            let end = self.edge(column + 1).min(to);
            if from < end {
                let (sums, ns) = (&mut self.columns[column], (end - from) as f64);
                sums.active_ns += ns;
                sums.running_ns += ns * running as f64;
                sums.ready_ns += ns * ready as f64;
                sums.most_running = sums.most_running.max(running);
                sums.most_ready = sums.most_ready.max(ready);
                from = end;
            }
            column += 1;
        }
    }
}
