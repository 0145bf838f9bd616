//! What a sweep takes and tells: events with classes in, times by class out.

use dwell_store::{Events, Nesting, Trace};

use crate::engine::target::target_concurrency;
use crate::measure::utilization::class_of;
use crate::question::query::Query;

/// The part of one off-CPU row inside the swept time and in one context, cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffCpuSplit<const N: usize = 5> {
    /// Tasks and announced waits that it was in: a number of [`Nesting`].
    pub context: u32,
    /// Blocked part.
    pub blocked: [u64; N],
    /// Part in the run queue.
    pub runnable: [u64; N],
    /// Class in which it began, when it began inside: there it is counted.
    pub began: Option<usize>,
}

/// What a sweep by `N` classes tells. All are about the time inside.
pub trait Visitor<const N: usize = 5> {
    /// Off-CPU row `row` is over, or its context or the swept time is.
    fn off_cpu(&mut self, row: usize, split: &OffCpuSplit<N>) {
        let _ = (row, split);
    }
    /// `thread` ran; `sample` is the sample that stands for it: the next one, or the thread's last. None: the thread
    /// has no samples, or none in `context`, which it was in.
    fn ran(&mut self, thread: usize, sample: Option<usize>, context: u32, running: &[u64; N]) {
        let _ = (thread, sample, context, running);
    }
    /// From `from` to `to`, `running` threads ran and `ready` ran or were runnable.
    fn level(&mut self, from: u64, to: u64, running: usize, ready: usize) {
        let _ = (from, to, running, ready);
    }
}

/// What holds for the program as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConcurrencyStats {
    /// Time at each number of running threads.
    pub histogram_cpu: Vec<u64>,
    /// Time at each number of running or runnable threads.
    pub histogram_concurrency: Vec<u64>,
    /// CPU time during which more threads were ready than there are CPUs.
    pub oversubscribed_ns: u64,
    /// CPU time for which threads were ready while CPUs that the program may use did not run them: other programs had these, or a
    /// quota was used up. ∫ (min(ready, CPUs) − running) dt.
    pub denied_ns: u64,
    /// Rows that begin while their thread is off the CPU or not alive: the trace is damaged there.
    pub misplaced_rows: u64,
}

impl ConcurrencyStats {
    /// Time average of a histogram.
    pub fn average(histogram: &[u64]) -> f64 {
        let time: u64 = histogram.iter().sum();
        let weighted: f64 = histogram.iter().enumerate().map(|(count, ns)| count as f64 * *ns as f64).sum();
        if time == 0 { 0.0 } else { weighted / time as f64 }
    }

    /// Adds those of another part of the time.
    pub fn add(&mut self, other: &Self) {
        add_histogram(&mut self.histogram_cpu, &other.histogram_cpu);
        add_histogram(&mut self.histogram_concurrency, &other.histogram_concurrency);
        self.oversubscribed_ns = self.oversubscribed_ns.saturating_add(other.oversubscribed_ns);
        self.denied_ns = self.denied_ns.saturating_add(other.denied_ns);
        self.misplaced_rows = self.misplaced_rows.saturating_add(other.misplaced_rows);
    }
}

fn add_histogram(ours: &mut Vec<u64>, theirs: &[u64]) {
    let used = theirs.iter().rposition(|ns| *ns > 0).map_or(0, |last| last + 1);
    if ours.len() < used {
        ours.resize(used, 0);
    }
    for (ours, theirs) in ours.iter_mut().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}

/// What is swept, and by which classes.
#[derive(Clone)]
pub struct SweepInput<'t> {
    pub(super) trace: &'t Trace,
    pub(super) events: &'t Events,
    pub(super) nesting: &'t Nesting,
    pub(super) class_of: Vec<u8>,
}

impl<'t> SweepInput<'t> {
    /// The events of `trace`, with the classes of `query`.
    pub fn new(trace: &'t Trace, query: &Query) -> Self {
        let events = trace.events();
        let target = target_concurrency(trace, query);
        let class = |running| class_of(running, target, &query.thresholds) as u8;
        let nesting = trace.nesting();
        Self { trace, events, nesting, class_of: (0..=trace.threads.tid.len()).map(class).collect() }
    }

    /// The events of `trace`, with a class for each of these numbers of running threads, from 1 on; 0 for all others.
    pub fn by_running(trace: &'t Trace, counts: &[usize]) -> Self {
        let class = |running| counts.iter().position(|count| *count == running).map_or(0, |class| class as u8 + 1);
        let class_of = (0..=trace.threads.tid.len()).map(class).collect();
        Self { trace, events: trace.events(), nesting: trace.nesting(), class_of }
    }

    /// The class of a number of running threads.
    pub fn class_of(&self, running: usize) -> u8 {
        self.class_of.get(running).copied().unwrap_or(0)
    }
}
