//! What curves of the whole time are drawn from.

use dwell_store::{Column, Index, Trace};

use crate::engine::columns::{ColumnSums, Columns};
use crate::engine::index::levels::{HEAD_SECTION, Head, edge};
use crate::question::windows::{Windows, elapsed_ns};

/// The buckets of the curves.
pub const CHART_SECTION: u64 = 104;

/// What a curve is drawn from: an equal part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ChartBucket {
    /// Time that is not paused, ns.
    pub active_ns: f32,
    /// Running threads times time.
    pub running_ns: f32,
    /// Running or runnable threads times time.
    pub ready_ns: f32,
    /// Most running threads.
    pub most_running: u16,
    /// Most running or runnable threads.
    pub most_ready: u16,
}

/// The buckets of the curves.
pub struct ChartBuckets {
    head: Head,
    /// Buckets of a block of the lowest level.
    of_block: u64,
    buckets: Column<ChartBucket>,
}

impl ChartBuckets {
    /// Those of the index of `trace`.
    pub fn of(trace: &Trace) -> Option<Self> {
        let index: &Index = trace.index()?;
        let head = *index.column::<Head>(HEAD_SECTION).first()?;
        let buckets = index.column::<ChartBucket>(CHART_SECTION);
        let of_block = (buckets.len() as u64).checked_div(head.blocks).filter(|of_block| *of_block > 0)?;
        let fits = of_block * head.blocks == buckets.len() as u64 && head.elapsed_ns == elapsed_ns(trace);
        fits.then_some(Self { head, of_block, buckets })
    }

    /// Length of a bucket, ns.
    pub fn bucket_ns(&self) -> f64 {
        self.head.elapsed_ns as f64 / self.buckets.len() as f64
    }

    fn edge(&self, bucket: u64) -> u64 {
        let block = |block: u64| edge(self.head.elapsed_ns, self.head.blocks, block);
        let (from, to) = (block(bucket / self.of_block), block(bucket / self.of_block + 1));
        from + edge(to.saturating_sub(from), self.of_block, bucket % self.of_block)
    }

    /// Adds them to columns, each to the one in which its middle is.
    pub fn add(&self, columns: &mut Columns) {
        let (from, to) = (columns.edge(0), columns.edge(columns.columns.len()));
        let count = self.buckets.len() as u64;
        let bucket = |time: u64| ((time as f64 / self.bucket_ns()) as u64).min(count);
        for bucket in bucket(from).saturating_sub(1)..(bucket(to) + 1).min(count) {
            let middle = self.edge(bucket).midpoint(self.edge(bucket + 1));
            if middle < from || middle >= to {
                continue;
            }
            let column = columns.column_of(middle);
            let (sums, values) = (&mut columns.columns[column], &self.buckets[bucket as usize]);
            sums.active_ns += f64::from(values.active_ns);
            sums.running_ns += f64::from(values.running_ns);
            sums.ready_ns += f64::from(values.ready_ns);
            sums.most_running = sums.most_running.max(usize::from(values.most_running));
            sums.most_ready = sums.most_ready.max(usize::from(values.most_ready));
        }
    }
}

impl Columns {
    /// Columns from the index's buckets where a column has several of them: right to a bucket at each edge.
    pub fn of(trace: &Trace, windows: &Windows, (from, to): (u64, u64), count: usize) -> Self {
        let count = count.min(usize::try_from(to - from).unwrap_or(usize::MAX));
        let buckets = ChartBuckets::of(trace);
        let fine = |buckets: &ChartBuckets| buckets.bucket_ns() * 2.0 <= (to - from) as f64 / count as f64;
        let Some(buckets) = buckets.filter(fine) else { return Self::exact(trace, windows, (from, to), count) };
        let mut columns = Self { from, to, columns: vec![ColumnSums::default(); count] };
        buckets.add(&mut columns);
        columns
    }
}
