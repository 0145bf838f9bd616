//! Answers of a result in which fibers stand for the threads that carried them.

use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_store::Trace;

use crate::study::fiber_enders::name_enders;

/// The result with fibers for threads; `None` where no fiber was seen, or threads are asked for.
fn wanted_view(fold: &Fold<'_>) -> Option<Trace> {
    let are_wanted = fold.query.fibers != Some(false);
    are_wanted.then(|| fold.trace.with_fibers_as_threads()).flatten()
}

/// `answer` of fibers where there are any, else of threads.
pub fn of_fibers<T>(fold: &Fold<'_>, answer: impl FnOnce(&Fold<'_>) -> Result<T, QueryError>) -> Result<T, QueryError> {
    match fold.trace.with_fibers_as_threads() {
        Some(view) => answer(&Fold::new(&view, fold.query)?),
        None => answer(fold),
    }
}

/// `answer` to a question of causes: of fibers where there are any, unless threads are asked for.
pub fn of_causes<T>(fold: &Fold<'_>, answer: impl FnOnce(&Fold<'_>) -> Result<T, QueryError>) -> Result<T, QueryError> {
    match wanted_view(fold) {
        Some(mut view) => {
            name_enders(&mut view);
            let mut of_fibers = Fold::new(&view, fold.query)?;
            let are_estimated = view.manifest.fiber_interval_ns > 0 && !fold.query.is_filtered();
            of_fibers.threads_ran_ns = are_estimated.then(|| fold.whole().cpu_ns());
            answer(&of_fibers)
        }
        None => answer(fold),
    }
}
