//! The words of the accounts below the causes: the threads' time, the run queue's, and what determined the elapsed time.

use dwell_query::engine::fold::Fold;
use dwell_view::{Prose, Sentence, Word, duration};

use crate::reports::account::whole_account;
use crate::reports::cause_rows::CauseRow;
use crate::reports::cause_words::{brief, link_text};
use crate::reports::ended_words::ended_by_signal;
use crate::reports::same_lock::SummaryCause;
use crate::sentences::{def, say};
use crate::study::explain::Explanation;

/// Part of the elapsed time from which the run queue's account is told.
const QUEUE_SHARE: f64 = 0.02;
/// While nobody knows who had the CPUs for this part of the run queue's time at most, a cause tells enough of it.
const UNKNOWN_SHARE: f64 = 0.1;
/// Waits of a program that stands still that are named.
const STANDING_WAITS: usize = 4;
/// Parts of the path that are named.
const ON_PATH: usize = 3;

/// What all threads did, or fibers in their place.
fn time_account(fold: &Fold<'_>, explanation: &Explanation<'_, '_>) -> Prose {
    let (trace, whole) = (fold.trace, whole_account(fold, explanation));
    // The account of the run queue that follows knows nothing of fibers whose threads had no CPU.
    let stalled_ns =
        fold.threads_ran_ns.map_or(0, |_| whole.run_queue_ns.saturating_sub(explanation.whole().run_queue_ns));
    let def = if trace.fiber_threads > 0 { &def::FIBER_ACCOUNT } else { &def::TIME_ACCOUNT };
    let times = [
        ("life", whole.life_ns),
        ("running", whole.running_ns),
        ("queue", whole.run_queue_ns - stalled_ns),
        ("demand", whole.demand_ns),
        ("structure", whole.structure_ns),
        ("own", whole.own_ns),
        ("idle", whole.idle_ns),
    ];
    let times = times.map(|(name, ns)| (name, Word::Ns(ns)));
    let mut words = vec![("threads", whole.threads.into())];
    if trace.fiber_threads > 0 {
        // 0 where they were exact. How long all of them ran their threads tell.
        let (known, unknown) =
            if fold.threads_ran_ns.is_some() { ("looks", "looks_alone") } else { ("looks_alone", "looks") };
        words.extend([(known, Word::Ns(trace.manifest.fiber_interval_ns)), (unknown, Word::Ns(0))]);
        words.push(("stalled", Word::Ns(stalled_ns)));
    }
    Sentence::new(def, words.into_iter().chain(times).collect()).into()
}

/// The account of the threads' time, of the run queue's, and of the elapsed time, without what the causes that are told say already.
pub fn accounts(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, told: &[SummaryCause<'_>]) -> Vec<Prose> {
    let mut notes = vec![time_account(fold, explanation)];
    notes.extend(ended_by_signal(fold).into_iter().map(Prose::from));
    let queue = &explanation.run_queue;
    let is_known = queue.unknown_ns as f64 <= UNKNOWN_SHARE * queue.all_ns as f64;
    let queue_is_told = is_known && told.iter().any(|told| matches!(told.row, CauseRow::Queue(_)));
    if !queue_is_told && queue.all_ns as f64 >= QUEUE_SHARE * explanation.elapsed_ns as f64 {
        // They may have run longer than anybody waited: of what was because of them each has its part.
        let all_ns: u64 = queue.rivals.iter().map(|(_, ns)| *ns).fold(0, u64::saturating_add);
        let part = |ns: u64| (ns as f64 * (queue.others_ns as f64 / all_ns.max(1) as f64).min(1.0)) as u64;
        let names: Vec<String> =
            queue.rivals.iter().take(2).map(|(name, ns)| format!("{name} {}", duration(part(*ns)))).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let sentence = say!(
            QUEUE_ACCOUNT,
            queue = Word::Ns(queue.all_ns),
            own = Word::Ns(queue.own_ns),
            waking = Word::Ns(queue.waking_ns),
            others = Word::Ns(queue.others_ns),
            names = names,
            quota = Word::Ns(queue.quota_ns),
            idle = Word::Ns(queue.idle_elsewhere_ns),
            stolen = Word::Ns(queue.stolen_ns),
            unknown = Word::Ns(queue.unknown_ns),
        );
        notes.push(sentence.into());
    }
    let tells_standstill =
        |told: &SummaryCause<'_>| matches!(told.row, CauseRow::Wait(root) if explanation.stands_still(root));
    let is_still = told.iter().any(tells_standstill);
    // Who broke off a program that stands still is not what its time went by with.
    let on_path = if is_still { Vec::new() } else { on_path(explanation) };
    let first_is_told = |first: &(String, u64)| match told.first().map(|told| &told.row) {
        Some(CauseRow::Wait(root)) => brief(explanation, root) == first.0,
        _ => false,
    };
    if on_path.first().is_some_and(|first| !first_is_told(first)) {
        let part = |(cause, ns): &(String, u64)| format!("{cause} {}", duration(*ns));
        let causes: Vec<String> = on_path.iter().take(ON_PATH).map(part).collect();
        notes.push(say!(PATH_CAUSES, elapsed = Word::Ns(explanation.path_ns), causes = causes.join("; ")).into());
    }
    let still = explanation.standstill.as_ref().filter(|_| !is_still);
    notes.extend(still.map(|still| {
        let waits: Vec<String> =
            still.waits.iter().take(STANDING_WAITS).map(|link| link_text(explanation, link)).collect();
        say!(STANDS_STILL, wall = Word::Ns(still.wall_ns), waits = waits.join("; ")).into()
    }));
    notes
}

/// What determined the elapsed time, each cause in a few words with its part, the largest first.
fn on_path(explanation: &Explanation<'_, '_>) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    for root in explanation.causes.iter().filter(|root| root.path_ns > 0) {
        let cause = brief(explanation, root);
        match parts.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, ns)) => *ns += root.path_ns,
            None => parts.push((cause, root.path_ns)),
        }
    }
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    parts
}
