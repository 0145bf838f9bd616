//! Curves below the timeline: how many threads ran and were ready, pixel by pixel.

use dwell_store::Trace;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::index::ChartBuckets;
use crate::query::{Query, QueryError};
use crate::sweep::{Swept, Visitor};
use crate::windows::Windows;

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// `cpu_usage`, `running`, `concurrency`.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// `%` or `threads`.
    pub unit: &'static str,
    /// Upper end of its scale: what the machine or the program can reach.
    pub max: f64,
    /// Time average of each pixel.
    pub mean: Vec<f64>,
    /// Highest value in each pixel.
    pub peak: Vec<f64>,
}

/// The curves of a part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Charts {
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// The curves; columns of equal length.
    pub series: Vec<Series>,
}

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
    from: u64,
    to: u64,
    /// Their sums.
    pub columns: Vec<ColumnSums>,
}

impl Columns {
    /// `count` columns of `from .. to` inside `windows`; fewer when it has fewer nanoseconds. Swept.
    pub fn exact(trace: &Trace, windows: &Windows, (from, to): (u64, u64), count: usize) -> Self {
        let count = count.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let mut columns = Self { from, to, columns: vec![ColumnSums::default(); count] };
        let swept = Swept::new(trace, &Query::default());
        windows.inside(from, to).for_each(|part| {
            swept.sweep(part, &mut columns);
        });
        columns
    }

    /// The same from the index's buckets where a column has several of them: right to a bucket at each edge.
    pub fn of(trace: &Trace, windows: &Windows, (from, to): (u64, u64), count: usize) -> Self {
        let count = count.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let buckets = ChartBuckets::of(trace);
        let fine = |buckets: &ChartBuckets| buckets.bucket_ns() * 2.0 <= (to - from) as f64 / count as f64;
        let Some(buckets) = buckets.filter(fine) else { return Self::exact(trace, windows, (from, to), count) };
        let mut columns = Self { from, to, columns: vec![ColumnSums::default(); count] };
        buckets.add(&mut columns);
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

/// The curves of `from .. to` on `width` pixels. All threads count, whatever the query's filters.
pub fn charts(analysis: &Analysis, query: &Query, (from, to): (u64, u64), width: usize) -> Result<Charts, QueryError> {
    let query = Query { range: Some((from, to)), ..query.clone() };
    let windows = Windows::of_query(&analysis.trace, &query)?;
    let to = to.min(analysis.elapsed_ns());
    let columns = Columns::of(&analysis.trace, &windows, (from, to), width.clamp(1, 1 << 14));
    Ok(Charts { from, to, series: series(analysis, &columns.columns) })
}

fn series(analysis: &Analysis, columns: &[ColumnSums]) -> Vec<Series> {
    let cpus = f64::from(analysis.trace.manifest.cpus.usable.max(1));
    let mean = |sum: fn(&ColumnSums) -> f64, scale: f64| -> Vec<f64> {
        columns.iter().map(|column| sum(column) / column.active_ns.max(1.0) * scale).collect()
    };
    let peak = |most: fn(&ColumnSums) -> usize, scale: f64| -> Vec<f64> {
        columns.iter().map(|column| most(column) as f64 * scale).collect()
    };
    let top = |peak: &[f64]| peak.iter().copied().fold(cpus, f64::max);
    let percent = 100.0 / cpus;
    let running = peak(|column| column.most_running, 1.0);
    let ready = peak(|column| column.most_ready, 1.0);
    vec![
        Series {
            id: "cpu_usage",
            title: "CPU Usage",
            unit: "%",
            max: 100.0,
            mean: mean(|column| column.running_ns, percent),
            peak: peak(|column| column.most_running, percent),
        },
        Series {
            id: "running",
            title: "Running Threads",
            unit: "threads",
            max: top(&running),
            mean: mean(|column| column.running_ns, 1.0),
            peak: running,
        },
        Series {
            id: "concurrency",
            title: "Thread Concurrency",
            unit: "threads",
            max: top(&ready),
            mean: mean(|column| column.ready_ns, 1.0),
            peak: ready,
        },
    ]
}
