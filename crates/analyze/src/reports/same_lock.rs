//! Causes of waits for one lock that are one for a reader: what its holders do at one place, whether they run, wait or have no CPU.

use crate::reports::cause_rows::{CauseRow, lock_of};
use crate::study::explain::{CauseKind, Explanation, RootCause, function_at};

/// A row, and the causes that it tells as well.
pub struct SummaryCause<'e> {
    /// The row.
    pub row: CauseRow<'e>,
    /// Causes of waits for the same lock, of the same threads.
    pub also: Vec<&'e RootCause>,
}

/// The rows in their order; those that speak of the lock of an earlier one, and of the same threads in the same function or without a CPU, are
/// told with that one.
pub fn by_lock<'e>(explanation: &Explanation<'_, '_>, rows: Vec<CauseRow<'e>>) -> Vec<SummaryCause<'e>> {
    let mut told: Vec<SummaryCause<'e>> = Vec::new();
    for row in rows {
        match &row {
            CauseRow::Wait(root)
                if let Some(earlier) = told.iter_mut().find(|it| is_told_by(explanation, it, root)) =>
            {
                earlier.also.push(root);
            }
            _ => told.push(SummaryCause { row, also: Vec::new() }),
        }
    }
    told
}

fn is_told_by(explanation: &Explanation<'_, '_>, earlier: &SummaryCause<'_>, root: &RootCause) -> bool {
    let CauseRow::Wait(first) = &earlier.row else { return false };
    let is_of_threads = !first.is_of_the_end() && !root.is_of_the_end() && first.cause.role == root.cause.role;
    let has_place = || root.cause.kind == CauseKind::RunQueue || function_at(&first.at) == function_at(&root.at);
    let lock = |root| lock_of(explanation, root);
    is_of_threads && has_place() && lock(first).is_some() && lock(first) == lock(root)
}
