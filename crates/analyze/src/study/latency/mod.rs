//! Intervals that come again and again, their outliers, and what each outlier was due to.
//!
//! An interval is a task, frame or request of one thread, a wake-up until the thread runs, or a wait on one object. Those
//! much longer than the median of their type are outliers: each one's time over the median is split among the delays of
//! its thread meanwhile ([`pieces`]), less what is usual for the type ([`split`]). Nothing is counted twice, and what
//! remains is said to be unexplained.

mod causes;
mod collectors;
mod intervals;
mod pieces;
mod rows;
mod split;
mod statistics;
#[cfg(test)]
mod tests;

use self::rows::ThreadRows;
use std::cmp::Reverse;
use std::sync::{Mutex, OnceLock, PoisonError};

use dwell_model::{StackId, ThreadId};

pub use self::causes::Causes;
pub use self::intervals::{IntervalId, Kind, MeasuredInterval};
pub use self::pieces::{DelayPiece, Origin, ThreadDelays};
pub use self::split::{Split, split};
pub use self::statistics::{LEAST_DISTANCE_NS, LEAST_DISTANCE_PART, OUTLIER_DISTANCES, Statistics};

use dwell_query::engine::fold::Fold;
use dwell_work::{parallel, stop};

use self::collectors::CollectorPauses;
use self::intervals::{Named, intervals};

/// Intervals that are looked at for what is usual in those of their type.
const USUAL_INTERVALS: usize = 4096;

/// All intervals of a selection, by type.
pub struct Latency<'t> {
    delays: DelaysByThread<'t>,
    /// The types, the one with the most outlier time first.
    pub types: Vec<IntervalType>,
}

/// Intervals of one name.
pub struct IntervalType {
    /// What they are called.
    pub name: String,
    /// What they are.
    pub kind: Kind,
    /// Their lengths.
    pub statistics: Statistics,
    /// In order of start.
    pub intervals: Vec<MeasuredInterval>,
    /// The longest first.
    pub outliers: Vec<Outlier>,
    /// What is usual in an interval that is no outlier, on average.
    pub usual: Causes,
}

/// An interval that is much longer than others of its type, and why.
#[derive(Clone, Debug)]
pub struct Outlier {
    /// The interval.
    pub interval: MeasuredInterval,
    /// Its length over the median.
    pub over_ns: u64,
    /// What that time was for.
    pub split: Split,
}

impl<'t> Latency<'t> {
    /// The intervals that the query of `fold` lets through: time in proportion to them and to the delays of their threads.
    pub fn new(fold: &Fold<'t>) -> Self {
        let delays = DelaysByThread::new(fold.trace);
        let named = intervals(fold).into_iter().filter(|named| !named.intervals.is_empty());
        let named: Vec<Mutex<Option<Named>>> = named.map(|named| Mutex::new(Some(named))).collect();
        let limit_ns = fold.query.outlier_ns;
        let make = |at: usize| {
            let named = named[at].lock().unwrap_or_else(PoisonError::into_inner).take();
            IntervalType::new(named.unwrap_or_default(), limit_ns, &delays)
        };
        let mut types = parallel::map(named.len(), make);
        types.sort_by_key(|of| (Reverse(of.outlier_ns()), Reverse(of.statistics.total_ns)));
        Self { delays, types }
    }

    /// What delayed a thread.
    pub fn delays(&self, thread: ThreadId) -> Option<&ThreadDelays> {
        self.delays.of(thread)
    }

    /// Where a thread left the CPU.
    pub fn stack_of(&self, row: usize) -> StackId {
        self.delays.trace.events().off_cpu_key(row).stack()
    }

    /// The interval of an id, and its type.
    pub fn find(&self, id: IntervalId) -> Option<(&IntervalType, MeasuredInterval)> {
        let of = |of: &&IntervalType| of.intervals.iter().any(|interval| interval.id == id);
        let found = self.types.iter().find(of)?;
        let interval = found.intervals.iter().find(|interval| interval.id == id)?;
        Some((found, *interval))
    }
}

impl IntervalType {
    fn new(named: Named, limit_ns: Option<u64>, delays: &DelaysByThread<'_>) -> Self {
        let Named { name, kind, mut intervals } = named;
        intervals.sort_by_key(|interval| (interval.start_ns, interval.id));
        let statistics = Statistics::new(intervals.iter().map(MeasuredInterval::length_ns).collect(), limit_ns);
        let usual = usual(&intervals, statistics.limit_ns, delays);
        let mut made = Self { name, kind, statistics, intervals, outliers: Vec::new(), usual };
        let limit_ns = made.statistics.limit_ns;
        let outliers = made.intervals.iter().filter(|interval| interval.length_ns() > limit_ns);
        let explain = |interval: &MeasuredInterval| {
            stop::check();
            made.explain(*interval, delays.of(interval.thread))
        };
        made.outliers = outliers.map(explain).collect();
        made.outliers.sort_by_key(|outlier| (Reverse(outlier.over_ns), outlier.interval.id));
        made
    }

    /// Why an interval of this type was longer than the median.
    pub fn explain(&self, interval: MeasuredInterval, delays: Option<&ThreadDelays>) -> Outlier {
        let over_ns = interval.length_ns().saturating_sub(self.statistics.median_ns());
        let causes = delays.map_or_else(Causes::default, |of| of.causes(interval.start_ns, interval.end_ns));
        Outlier { interval, over_ns, split: split(over_ns, &causes, &self.usual) }
    }

    /// Time of all outliers over the median.
    pub fn outlier_ns(&self) -> u64 {
        self.outliers.iter().fold(0, |sum, outlier| sum.saturating_add(outlier.over_ns))
    }

    /// Time of all outliers that nothing explains.
    pub fn unexplained_ns(&self) -> u64 {
        self.outliers.iter().fold(0, |sum, outlier| sum.saturating_add(outlier.split.unexplained_ns))
    }
}

/// What delays intervals that are no outliers, on average: of some thousands of them, evenly spread.
fn usual(intervals: &[MeasuredInterval], limit_ns: u64, delays: &DelaysByThread<'_>) -> Causes {
    let usual: Vec<&MeasuredInterval> = intervals.iter().filter(|interval| interval.length_ns() <= limit_ns).collect();
    let step = usual.len().div_ceil(USUAL_INTERVALS).max(1);
    let mut sum = Causes::default();
    let mut count = 0;
    for interval in usual.into_iter().step_by(step) {
        stop::check();
        if let Some(of) = delays.of(interval.thread) {
            sum.add(&of.causes(interval.start_ns, interval.end_ns));
        }
        count += 1;
    }
    sum.divided(count)
}

/// The delays of each thread, put in order when first asked for.
struct DelaysByThread<'t> {
    trace: &'t dwell_store::Trace,
    collectors: CollectorPauses,
    rows: Vec<ThreadRows>,
    made: Vec<OnceLock<ThreadDelays>>,
}

impl<'t> DelaysByThread<'t> {
    fn new(trace: &'t dwell_store::Trace) -> Self {
        let threads = trace.threads.tid.len();
        let mut rows = vec![ThreadRows::default(); threads];
        for (row, thread) in trace.delays.delays.thread.iter().enumerate() {
            if let Some(of) = thread.get().and_then(|thread| rows.get_mut(thread)) {
                of.delays.push(row as u32);
            }
        }
        for (row, thread) in trace.annotations.sync_waits.thread.iter().enumerate() {
            if let Some(of) = thread.get().and_then(|thread| rows.get_mut(thread)) {
                of.announced.push(row as u32);
            }
        }
        let made = (0..threads).map(|_| OnceLock::new()).collect();
        Self { trace, collectors: CollectorPauses::new(trace), rows, made }
    }

    fn of(&self, thread: ThreadId) -> Option<&ThreadDelays> {
        let row = thread.get()?;
        let make = || ThreadDelays::new(self.trace, &self.collectors, thread, &self.rows[row]);
        Some(self.made.get(row)?.get_or_init(make))
    }
}
