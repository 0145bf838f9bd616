//! The thread that ran all the time, where nobody who is recorded waited for another one: it may be as fast as its program can be.

use std::collections::BTreeMap;

use dwell_model::StackId;
use dwell_view::{Sentence, Word};

use crate::engine::fold::Fold;
use crate::sentences::say;

/// Part of the time for which a thread runs that always does.
const ALWAYS: f64 = 0.9;

/// What to say of the thread that ran most, if it ran nearly all of the time.
pub fn busy_thread(fold: &Fold<'_>) -> Option<Sentence> {
    let trace = fold.trace;
    // Of a part of the time or the threads others tell; goroutines share their threads.
    if fold.query.is_cut() || fold.query.is_filtered() || trace.fiber_threads > 0 {
        return None;
    }
    let mut ran: BTreeMap<usize, BTreeMap<StackId, u64>> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        if let Some(thread) = site.key.thread.get() {
            *ran.entry(thread).or_default().entry(site.key.stack).or_default() += weights.cpu_ns();
        }
    }
    let sum = |(thread, places): (usize, BTreeMap<StackId, u64>)| (places.values().sum::<u64>(), thread, places);
    let (ran_ns, thread, places) = ran.into_iter().map(sum).max_by_key(|(ran_ns, ..)| *ran_ns)?;
    let most = places.into_iter().max_by_key(|(_, ns)| *ns);
    let elapsed_ns = trace.elapsed_ns();
    (elapsed_ns > 0 && ran_ns as f64 >= ALWAYS * elapsed_ns as f64).then(|| {
        say!(
            RAN_ALL_THE_TIME,
            who = trace.threads.name[thread].clone(),
            ran = Word::Ns(ran_ns),
            elapsed = Word::Ns(elapsed_ns),
            place = most.and_then(|(stack, _)| fold.stacks.place(stack)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::query::Query;
    use crate::test_support::trace_dsl::trace;

    fn told(picture: &str, query: &Query) -> Option<String> {
        let trace = trace(picture);
        busy_thread(&Fold::new(&trace, query).unwrap()).map(|sentence| sentence.to_string())
    }

    #[test]
    fn a_thread_that_always_runs_is_named() {
        let all = told("a: 1111111111111111111e\nb: #eeeeeeeeeeeeeeeeee#", &Query::default());
        let expected = "a ran for 19.0 ms of 20.0 ms, mostly f1 (app.c:11): whatever needs it waits for that";
        assert!(all.as_ref().is_some_and(|all| all.starts_with(expected)), "{all:?}");
        assert_eq!(told("a: 1111111111111111eee#\nb: #eeeeeeeeeeeeeeeeee#", &Query::default()), None);
        let cut = Query { range: Some((0, 5_000_000)), ..Query::default() };
        assert_eq!(told("a: 1111111111111111111e", &cut), None);
    }
}
