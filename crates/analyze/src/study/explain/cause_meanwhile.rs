//! Of which causes it is told what others did meanwhile.

use dwell_query::engine::fold::Fold;

use crate::study::explain::awaited_ends::is_awaited;
use crate::study::explain::meanwhile::{MeanwhileKind, meanwhile};
use crate::study::explain::names::Names;
use crate::study::explain::pollers::{any_looks_for_lock, may_keep_a_lock, pollers};
use crate::study::explain::roots::RootCause;
use crate::study::explain::sleeps::{sleep_within, sleeps_for_lock};
use crate::study::explain::terms::CauseKind;

/// Of the path to the program's end at least one part in so many is a wait for an answer that is told.
const AWAITED_PART: u64 = 20;
/// Causes of which it is told what others did meanwhile.
const LOOKED_BESIDE: usize = 3;

/// Looks what others did during causes that only the program's end waited for, sleeps, and waits whose enders sampling did not see.
pub fn set_meanwhile<'t>(fold: &Fold<'t>, path_ns: u64, names: &mut Names<'_, 't>, causes: &mut [RootCause]) {
    // What a runtime's poller was told may have been this program's own.
    let of_fibers = names.are_of_sampled_fibers();
    let is_unseen = |root: &RootCause| {
        let kinds = [CauseKind::Unknown, CauseKind::Network, CauseKind::Unfinished];
        of_fibers && kinds.contains(&root.cause.kind)
    };
    let sleeps = |root: &RootCause| root.cause.kind == CauseKind::Slept;
    let looked_at = |root: &&mut RootCause| root.is_of_the_end() || sleeps(root) || is_unseen(root);
    let mut looked = 0;
    for root in causes.iter_mut().filter(looked_at) {
        // It looks at all rows: nobody needs to hear of a small part of the path.
        let is_much = root.path_ns >= path_ns / AWAITED_PART;
        root.is_awaited = root.is_of_the_end() && is_much && is_awaited(fold.trace, &fold.sums.stacks, names, root);
        // Whoever asks from outside waits for the sleep itself.
        let is_own_pause = sleeps(root) && !root.is_for_outside();
        let is_alone = root.is_of_the_end() && (is_own_pause || root.is_awaited);
        // A library sleeps for somebody; what the program sleeps for itself is its own pause.
        let is_librarys = sleep_within(&fold.sums.stacks, names, root).is_some();
        let has_lock = root.is_for_outside() && sleeps(root) && !sleeps_for_lock(&fold.sums.stacks, names, root);
        let is_told = is_alone || is_librarys || is_unseen(root);
        if (is_told || has_lock) && looked < LOOKED_BESIDE {
            looked += 1;
            let polled = |names: &mut _| pollers(fold.trace, names, &root.cause);
            let first = has_lock.then(|| polled(names)).flatten();
            let first = first.or_else(|| is_told.then(|| meanwhile(fold.trace, names, &root.cause)).flatten());
            root.meanwhile = first.or_else(|| (is_alone && is_much).then(|| polled(names)).flatten());
        }
        // Nobody was seen to end it, but somebody slept all the time.
        root.is_awaited |=
            root.is_of_the_end() && is_much && root.meanwhile.as_ref().is_some_and(|it| it.did == MeanwhileKind::Slept);
    }
    if any_looks_for_lock(fold.trace) {
        let waits = |root: &&mut RootCause| !root.is_of_the_end() && !sleeps(root) && may_keep_a_lock(root.cause.kind);
        for root in causes.iter_mut().filter(waits).filter(|root| root.meanwhile.is_none()).take(LOOKED_BESIDE) {
            root.meanwhile = pollers(fold.trace, names, &root.cause);
        }
    }
}
