//! Answers of a result in which fibers stand for the threads that carried them.

use dwell_store::Trace;

use crate::engine::fold::Fold;
use crate::question::error::QueryError;
use crate::study::fiber_enders::name_enders;

/// The result with fibers for threads; none where no fiber was seen, or is asked for.
pub fn fiber_view(fold: &Fold<'_>) -> Option<Trace> {
    fold.query.fibers.unwrap_or(true).then(|| fold.trace.with_fibers_as_threads()).flatten()
}

/// The same for questions of causes: where fibers were sampled, their places tell who ended their waits.
pub fn fiber_view_with_enders(fold: &Fold<'_>) -> Option<Trace> {
    let mut view = fiber_view(fold)?;
    if view.manifest.fiber_interval_ns > 0 {
        name_enders(&mut view);
    }
    Some(view)
}

/// `answer` to a question of sums: of fibers where there are any, else of threads.
pub fn of_fibers<T>(fold: &Fold<'_>, answer: impl FnOnce(&Fold<'_>) -> Result<T, QueryError>) -> Result<T, QueryError> {
    match fiber_view(fold) {
        Some(view) => answer(&Fold::new(&view, fold.query)?),
        None => answer(fold),
    }
}

/// `answer` to the question of causes: of fibers where there are any, else of threads.
pub fn of_causes<T>(fold: &Fold<'_>, answer: impl FnOnce(&Fold<'_>) -> Result<T, QueryError>) -> Result<T, QueryError> {
    match fiber_view_with_enders(fold) {
        Some(view) => answer(&Fold::new(&view, fold.query)?),
        None => answer(fold),
    }
}
