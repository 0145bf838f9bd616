//! What is said of sleeps between tries in vain: what was tried, who has it, and what to do about that.

use dwell_model::VainTry;
use dwell_query::engine::fold::Fold;
use dwell_view::{Sentence, Word};

use crate::sentences::say;
use crate::study::explain::{Explanation, RootCause, VainSleeps, vain_sleeps};

/// What was tried right before the cause's sleeps, how long each was if that `is_new`, and who had it.
pub fn cause(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause, is_new: bool) -> Vec<Sentence> {
    let Some(VainSleeps { kind, object, holder, tries, sleeps, each_ns }) = of(fold, explanation, root) else {
        return Vec::new();
    };
    let each = Word::Ns(if is_new { each_ns } else { 0 }); // nothing is said of a time of 0
    let tried = match kind {
        VainTry::FileLock => say!(CAUSE_VAIN_LOCK, count = tries, all = sleeps, each = each, object = object),
        VainTry::Connection => say!(CAUSE_VAIN_CONNECTION, count = tries, all = sleeps, each = each, object = object),
        VainTry::Unknown => return Vec::new(),
    };
    std::iter::once(tried).chain(holder.map(|holder| say!(CAUSE_VAIN_HOLDER, holder = holder))).collect()
}

/// What to do about it.
pub fn advice(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let VainSleeps { kind, object, holder, .. } = of(fold, explanation, root)?;
    match (kind, holder) {
        (VainTry::FileLock, Some(holder)) => Some(say!(ADVICE_VAIN_LOCK_HELD, object = object, holder = holder)),
        (VainTry::FileLock, None) => Some(say!(ADVICE_VAIN_LOCK, object = object)),
        (VainTry::Connection, _) => Some(say!(ADVICE_VAIN_CONNECTION, object = object)),
        (VainTry::Unknown, _) => None,
    }
}

/// The sleeps are counted in the whole recording.
fn of(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<VainSleeps> {
    let is_whole = fold.query.is_of_all();
    vain_sleeps(fold.trace, &explanation.names, root).filter(|_| is_whole)
}
