//! The explanation of one wait: the same walk as that of all waits, which also tells what happened when.

use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::{Part, Windows};
use dwell_query::stacks::idle::IdleWaits;
use dwell_query::stacks::object::object_type;

use crate::study::explain::cause_pieces::{CausePiece, LinkedWait};
use crate::study::explain::chains::WAITS;
use crate::study::explain::classes::Classes;
use crate::study::explain::cpu_runs::CpuRuns;
use crate::study::explain::key_facts::KnownKeys;
use crate::study::explain::names::Names;
use crate::study::explain::places::function_at;
use crate::study::explain::terms::Cause;
use crate::study::explain::wait_parts::WaitPart;
use crate::study::explain::walk::{KnownFacts, WaitWalk};

/// One wait, explained.
pub struct ExplainedWait<'f, 't> {
    /// Names of what it speaks of.
    pub names: Names<'f, 't>,
    /// When it began, ns.
    pub from: u64,
    /// When it ended, ns.
    pub to: u64,
    /// The longest pieces of it, each at the thread whose time it was, in order of time: no two overlap.
    pub pieces: Vec<CausePiece>,
    /// Waits of other threads by whose way it came to them, the longest, in order of time.
    pub waits: Vec<LinkedWait>,
    /// How many pieces there are besides.
    pub more: usize,
    /// Their time, ns: with that of the pieces it is all of the wait.
    pub more_ns: u64,
}

/// Explains the wait of an off-CPU row of a thread by `most` pieces at most; `None` where it did not wait.
pub fn explain_wait<'f, 't>(
    fold: &'f Fold<'t>,
    (thread, row): (usize, usize),
    most: usize,
) -> Option<ExplainedWait<'f, 't>> {
    let trace = fold.trace;
    let rows = &trace.events().off_cpu;
    let (from, to) = (rows.start_ns(row), rows.woken_ns(row));
    if from >= to || !rows.of(thread).contains(&row) {
        return None;
    }
    let mut names = Names::new(trace, &fold.sums.stacks);
    let roles: Vec<_> = (0..trace.threads.tid.len()).map(|thread| names.role_of(thread)).collect();
    let role_of = |thread: usize| roles[thread];
    let mut idle = IdleWaits::default();
    let is_idle =
        |key: &dwell_store::EventKey| idle.is_idle(&fold.sums.stacks, key.stack(), object_type(trace, key.object()));
    let classes = Classes::new(trace, &role_of, &mut names, is_idle);
    let cpus = CpuRuns::new(trace, &Windows::of_parts(&[Part { from, to, to_the_end: false }]));
    let keys = KnownKeys::new(trace, &mut names, &classes);
    let known = KnownFacts::new(trace, &names, &keys, &classes, &cpus);
    let mut walk = WaitWalk::new(&known).with_pieces();
    let mut span = (from, to);
    walk.walk((from, to), &mut |wait, parts| {
        if (wait.thread, wait.row) == (thread, row) {
            span = wait.span;
            parts.push(WaitPart { from: wait.span.0, to: wait.span.1, root: WAITS });
        }
    });
    let pieces = walk.pieces();
    // What ran is told apart by function, not by line.
    let function = |cause: &Cause| function_at(&names.place_or_unknown(cause.place).at);
    let is_same =
        |one: &Cause, other: &Cause| Cause { place: other.place, ..*one } == *other && function(one) == function(other);
    let longest = pieces.longest(most, is_same);
    let mut waits = longest.waits;
    waits.retain(|wait| (wait.thread, wait.row) != (thread, row));
    Some(ExplainedWait {
        names,
        from: span.0,
        to: span.1,
        pieces: longest.pieces,
        waits,
        more: longest.more,
        more_ns: longest.more_ns,
    })
}

/// The pieces of each wait, with those that are not told, are the wait, and do not overlap.
#[cfg(test)]
pub fn each_wait_is_its_pieces(fold: &Fold<'_>, most: usize) -> Result<(), proptest::test_runner::TestCaseError> {
    let rows = &fold.trace.events().off_cpu;
    for thread in 0..fold.trace.threads.tid.len() {
        for wait in rows.of(thread).filter_map(|row| explain_wait(fold, (thread, row), most)) {
            proptest::prop_assert!(
                wait.pieces.len() <= most && wait.pieces.is_sorted_by(|one, next| one.to <= next.from)
            );
            let told: u64 = wait.pieces.iter().map(|piece| piece.ns()).sum();
            proptest::prop_assert_eq!(told + wait.more_ns, wait.to - wait.from);
        }
    }
    Ok(())
}
