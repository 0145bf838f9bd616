//! Threads that the program asked to be left out.

use crate::engine::fold::Fold;
use crate::question::filter::{Filter, FilterKey};

/// Which threads the program asked to be left out of analyses (`__itt_thread_ignore`). They count in every sum, or
/// these would not add up; views of single threads leave them out unless a filter names threads.
pub fn hidden(fold: &Fold<'_>) -> Vec<bool> {
    let by_thread = |filter: &Filter| matches!(filter.key, FilterKey::Thread | FilterKey::Tid);
    let named = fold.query.filters.iter().any(by_thread);
    fold.trace.threads.ignored.iter().map(|ignored| *ignored && !named).collect()
}
