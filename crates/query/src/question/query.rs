//! What a report is asked for: range, filters, grouping, metrics.

use dwell_model::MetricDef;

use crate::measure::utilization::Thresholds;
use crate::question::filter::{Filter, is_of_time};
use crate::question::level::{CallStackMode, Level};
use crate::question::rates::FrameRates;

/// What is asked. The default is the whole collection, in each report's own grouping and columns.
#[derive(Clone, Debug)]
pub struct Query {
    /// Only this part of the collection: `from .. to`, ns since its start.
    pub range: Option<(u64, u64)>,
    /// Parts of the collection that are left out.
    pub excluded_ranges: Vec<(u64, u64)>,
    /// Only what these let through. n(t) and c(t) count all threads in any case.
    pub filters: Vec<Filter>,
    /// Nothing that any of these matches.
    pub exclude: Vec<Filter>,
    /// Grouping, outermost first; empty: the report's own.
    pub group_by: Vec<Level>,
    /// Whether of threads, objects and stacks nothing is told, only of CPUs: then few sums are needed.
    pub only_cpus: bool,
    /// Columns; empty: the report's own.
    pub metrics: Vec<&'static MetricDef>,
    /// Order of the rows, largest first; none: the report's own.
    pub sort: Option<&'static MetricDef>,
    /// At most so many rows on each level.
    pub limit: Option<usize>,
    /// T of the utilization classes; none: as collected, or the CPUs that the program may use.
    pub target_concurrency: Option<u32>,
    /// Limits of the utilization classes.
    pub thresholds: Thresholds,
    /// Whether waits of idle workers rank like any other; else they come last.
    pub include_idle: bool,
    /// How much of a stack is shown.
    pub call_stack_mode: CallStackMode,
    /// Whether inlined functions are shown as functions.
    pub inlines: bool,
    /// Whether fibers (goroutines) stand for the threads that carried them; none: where the report is about causes of waits.
    pub fibers: Option<bool>,
    /// The object of `blame`, the function of `caller-callee`; exact, or with `*`.
    pub subject: Option<String>,
    /// Whose waits `explain` explains: a role, a thread or an object; exact, or with `*`. None: everybody's.
    pub waiters: Option<String>,
    /// Whether `explain` looks at every wait, however many there are.
    pub exact: bool,
    /// Intervals longer than this are outliers, ns; none: those far from the median of their type.
    pub outlier_ns: Option<u64>,
    /// Bins of the time line.
    pub bins: usize,
    /// Which frames are slow, and which are fast.
    pub frame_rates: FrameRates,
}

impl Query {
    /// What of the query decides the sums; questions that agree in it share a fold.
    #[must_use]
    pub fn selection(&self) -> Self {
        let by_cpu = self.group_by.contains(&Level::Cpu);
        Self {
            range: self.range,
            filters: self.filters.clone(),
            exclude: self.exclude.clone(),
            excluded_ranges: self.excluded_ranges.clone(),
            group_by: if by_cpu { vec![Level::Cpu] } else { Vec::new() },
            only_cpus: self.only_cpus,
            target_concurrency: self.target_concurrency,
            thresholds: self.thresholds,
            call_stack_mode: self.call_stack_mode,
            inlines: self.inlines,
            ..Self::default()
        }
    }

    /// Whether it looks at a part of what there is, in the same time.
    pub fn is_filtered(&self) -> bool {
        !self.all_filters().all(is_of_time)
    }

    /// Whether it looks at all of the threads and at all of the time.
    pub fn is_of_all(&self) -> bool {
        !self.is_filtered() && !self.is_cut()
    }

    /// Whether waits of all threads are explained, in all of the time.
    pub fn explains_all(&self) -> bool {
        self.is_of_all() && self.waiters.is_none()
    }

    /// Whether what it sums is all that there is, counted as without options.
    pub fn is_of_whole(&self) -> bool {
        let usual = Self::default();
        let is_counted_as_usual = self.target_concurrency.is_none()
            && self.thresholds == usual.thresholds
            && self.call_stack_mode == usual.call_stack_mode
            && self.inlines == usual.inlines;
        is_counted_as_usual && self.is_of_all()
    }

    /// Keeps as many of `rows` as the limit lets; how many it left out.
    pub fn limit_rows<T>(&self, rows: &mut Vec<T>) -> usize {
        let all = rows.len();
        rows.truncate(self.limit.unwrap_or(usize::MAX));
        all - rows.len()
    }

    /// Whether it looks at a part of the time.
    pub fn is_cut(&self) -> bool {
        let by_time = || self.all_filters().any(is_of_time);
        self.range.is_some() || !self.excluded_ranges.is_empty() || by_time()
    }

    fn all_filters(&self) -> impl Iterator<Item = &Filter> {
        self.filters.iter().chain(&self.exclude)
    }
}

impl Default for Query {
    fn default() -> Self {
        Self {
            range: None,
            excluded_ranges: Vec::new(),
            filters: Vec::new(),
            exclude: Vec::new(),
            group_by: Vec::new(),
            only_cpus: false,
            metrics: Vec::new(),
            sort: None,
            limit: None,
            target_concurrency: None,
            thresholds: Thresholds::default(),
            include_idle: false,
            call_stack_mode: CallStackMode::UserPlusOne,
            inlines: true,
            fibers: None,
            subject: None,
            waiters: None,
            exact: false,
            outlier_ns: None,
            bins: 60,
            frame_rates: FrameRates::default(),
        }
    }
}
