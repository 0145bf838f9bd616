//! When it is asked what threads did: while they kept somebody outside of the recording, while they always ran, and on the way to the
//! program's end.

use std::collections::HashSet;

use dwell_query::engine::fold::Fold;

use crate::study::explain::always_running::always_running;
use crate::study::explain::blocked_loops::blocked_spans;
use crate::study::explain::busy_servers::busy_servers;
use crate::study::explain::chains::{NodeId, PATH, SERVED};
use crate::study::explain::classes::Classes;
use crate::study::explain::program_path::ProgramPath;
use crate::study::explain::terms::{RoleId, WaitClass};

/// A thread, a span of time in which it is asked what it did, and above which root that stands.
pub type AskedSpan = (usize, (u64, u64), NodeId);

/// All of them, with the way to the program's end, and the roles whose threads are asked only since they always ran.
pub fn asked_spans(
    fold: &Fold<'_>,
    classes: &Classes<'_, '_>,
    (saturated, path): (&[usize], ProgramPath),
    role_of: &dyn Fn(usize) -> RoleId,
) -> (Vec<AskedSpan>, HashSet<RoleId>) {
    let mut asked = kept_outside(fold, classes, saturated);
    let kept: HashSet<RoleId> = asked.iter().map(|(thread, ..)| role_of(*thread)).collect();
    // Whoever waits for a child that it started goes on after that.
    let is_needed = |thread, row, key| {
        matches!(classes.of(thread, row, key), WaitClass::Demand | WaitClass::GivenUp | WaitClass::Structure)
    };
    let mut always = always_running(fold, |thread| kept.contains(&role_of(*thread)), is_needed);
    // What one alone ran the way to the end tells.
    let on_path = path.first().map(|(thread, _)| *thread);
    let is_alone = |thread: &usize| !always.iter().any(|other| other != thread && role_of(*other) == role_of(*thread));
    let alone = on_path.filter(is_alone);
    always.retain(|thread| Some(*thread) != alone);
    // Before a thread was, its creators led to it.
    let life = |thread: usize| (fold.trace.threads.start_ns[thread], fold.trace.threads.end_ns[thread]);
    asked.extend(always.iter().map(|thread| (*thread, life(*thread), SERVED)));
    asked.extend(path.into_iter().map(|(thread, span)| (thread, span, PATH)));
    (asked, always.into_iter().map(role_of).collect())
}

/// When threads kept whoever asks from outside: all the time, while one callback kept their loop, or while requests waited and they ran.
fn kept_outside(fold: &Fold<'_>, classes: &Classes<'_, '_>, saturated: &[usize]) -> Vec<AskedSpan> {
    if fold.query.is_filtered() || fold.query.waiters.is_some() {
        return Vec::new();
    }
    let blocked = blocked_spans(fold.trace, &fold.sums.stacks, classes);
    let blocked = blocked.into_iter().filter(|(thread, _)| !saturated.contains(thread));
    let whole = saturated.iter().map(|thread| (*thread, (0, u64::MAX)));
    let mut kept: Vec<(usize, (u64, u64))> = blocked.chain(whole).collect();
    for (thread, spans) in busy_servers(fold.trace) {
        if !kept.iter().any(|(other, _)| *other == thread) {
            kept.extend(spans.into_iter().map(|span| (thread, span)));
        }
    }
    kept.into_iter().map(|(thread, span)| (thread, span, SERVED)).collect()
}

/// The parts of spans that are within one.
pub fn within(spans: &[AskedSpan], (from, to): (u64, u64)) -> impl Iterator<Item = AskedSpan> {
    let parts = spans.iter().map(move |(thread, span, root)| (*thread, (span.0.max(from), span.1.min(to)), *root));
    parts.filter(|(_, (from, to), _)| from < to)
}
