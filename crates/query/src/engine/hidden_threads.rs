//! Threads that views of single threads leave out.

use dwell_store::Trace;

use crate::engine::fold::Fold;
use crate::question::filter::{Filter, FilterKey};
use crate::question::windows::pauses;

/// Which threads the program asked to be left out of analyses (`__itt_thread_ignore`). They count in every sum, or
/// these would not add up; views of single threads leave them out unless a filter names threads.
pub fn hidden(fold: &Fold<'_>) -> Vec<bool> {
    let by_thread = |filter: &Filter| matches!(filter.key, FilterKey::Thread | FilterKey::Tid);
    let named = fold.query.filters.iter().any(by_thread);
    fold.trace.threads.ignored.iter().map(|ignored| *ignored && !named).collect()
}

/// Which threads began and ended within one pause: nothing was recorded of them.
pub fn only_paused(trace: &Trace) -> Vec<bool> {
    let (threads, pauses) = (&trace.threads, pauses(trace));
    let is_within = |(start, end): (&u64, &u64)| pauses.iter().any(|(from, to)| from <= start && end <= to);
    threads.start_ns.iter().zip(&threads.end_ns).map(is_within).collect()
}
