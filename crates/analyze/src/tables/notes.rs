//! What a reader of any view must know: losses, how much the filters show, what is estimated, what is idle.

use dwell_model::losses::NEGLIGIBLE;
use dwell_query::engine::fold::Fold;
use dwell_query::measure::utilization::total;
use dwell_query::measure::weights::Weights;
use dwell_query::question::windows::elapsed_ns;
use dwell_view::{Prose, Sentence, Word, duration};

use crate::notices::remarks;
use crate::sentences::say;
use crate::tables::losses::{gaps, warning};

/// Remarks of the collection in a summary; the report of the losses has all.
const REMARKS_IN_SUMMARY: usize = 1;

/// The notes of a view of `fold`, the most important first.
pub fn notes(fold: &Fold<'_>) -> Vec<Prose> {
    let mut notes = of_recording(fold);
    notes.extend(idle(fold, fold.shown()).map(Prose::from));
    notes.extend(limits(fold));
    notes
}

/// The notes of an explanation: its account says who was idle, and causes are ranked without that.
pub fn notes_of_explanation(fold: &Fold<'_>) -> Vec<Prose> {
    let mut notes = of_recording(fold);
    notes.extend(limits(fold));
    notes
}

/// What was recorded, and which part of it is shown.
fn of_recording(fold: &Fold<'_>) -> Vec<Prose> {
    let mut notes = warnings_of(fold);
    notes.extend(remarks(fold.trace));
    notes.extend(question(fold));
    notes
}

/// The notes of the summary: without what its fields say already, and with the remarks of the collection in brief.
pub fn notes_of_summary(fold: &Fold<'_>) -> Vec<Prose> {
    let mut notes = warnings_of(fold);
    let all: Vec<Prose> = remarks(fold.trace).collect();
    let more = all.len().saturating_sub(REMARKS_IN_SUMMARY);
    notes.extend(all.into_iter().take(REMARKS_IN_SUMMARY));
    notes.extend((more > 0).then(|| say!(MORE_REMARKS, remarks = more).into()));
    notes.extend(question(fold));
    notes.extend(limits(fold));
    notes
}

/// What makes the figures wrong.
fn warnings_of(fold: &Fold<'_>) -> Vec<Prose> {
    warning(fold.trace).into_iter().chain(damage(fold)).map(Prose::from).collect()
}

/// Which part of the recording the figures are of.
fn question(fold: &Fold<'_>) -> impl Iterator<Item = Prose> {
    [share(fold, fold.shown(), fold.whole()), range(fold)].into_iter().flatten().map(Prose::from)
}

/// What the figures do not say.
fn limits(fold: &Fold<'_>) -> impl Iterator<Item = Prose> {
    let whole = fold.whole();
    let notes = [unknown(whole).map(Prose::from), gaps(fold.trace), estimated(fold, whole).map(Prose::from)];
    notes.into_iter().flatten()
}

fn damage(fold: &Fold<'_>) -> Vec<Sentence> {
    let mut notes = Vec::new();
    if fold.trace.manifest.end_ns == 0 {
        notes.push(say!(ENDED_BADLY));
    }
    if fold.sums.levels.misplaced_rows > 0 {
        notes.push(say!(MISPLACED, rows = fold.sums.levels.misplaced_rows));
    }
    notes
}

/// How much the filters show.
fn share(fold: &Fold<'_>, shown: &Weights, whole: &Weights) -> Option<Sentence> {
    if !fold.query.is_filtered() {
        return None;
    }
    let part = |part: u64, whole: u64| (whole > 0).then(|| Word::part(part, whole));
    let (cpu, wait) = (part(shown.cpu_ns(), whole.cpu_ns()), part(shown.wait_ns(), whole.wait_ns()));
    Some(match (cpu, wait) {
        (None, None) => say!(FILTERED_NOTHING),
        (Some(cpu), None) => say!(FILTERED_CPU, cpu = cpu),
        (None, Some(wait)) => say!(FILTERED_WAIT, wait = wait),
        (Some(cpu), Some(wait)) => say!(FILTERED, cpu = cpu, wait = wait),
    })
}

fn range(fold: &Fold<'_>) -> Option<Sentence> {
    let elapsed = elapsed_ns(fold.trace);
    let share = Word::part(fold.sums.windows.length_ns(), elapsed);
    let left_out: Vec<String> = fold
        .query
        .excluded_ranges
        .iter()
        .map(|(from, to)| format!("{} to {}", duration(*from), duration((*to).min(elapsed))))
        .collect();
    let without = left_out.join(", ");
    match (fold.query.range, without.is_empty()) {
        (None, true) => None,
        (None, false) => Some(say!(ALL_WITHOUT, left_out = without, share = share)),
        (Some((from, to)), true) => Some(say!(RANGE, from = Word::Ns(from), to = Word::Ns(to), share = share)),
        (Some((from, to)), false) => {
            Some(say!(RANGE_WITHOUT, from = Word::Ns(from), to = Word::Ns(to), left_out = without, share = share))
        }
    }
}

fn idle(fold: &Fold<'_>, shown: &Weights) -> Option<Sentence> {
    let idle = total(&shown.idle);
    let share = Word::part(idle, shown.wait_ns());
    (idle > 0).then(|| match fold.query.include_idle {
        true => say!(IDLE_RANKED, idle = Word::Ns(idle), share = share),
        false => say!(IDLE_LAST, idle = Word::Ns(idle), share = share),
    })
}

fn unknown(whole: &Weights) -> Option<Sentence> {
    let unknown = total(&whole.unknown);
    let lives = whole.cpu_ns() + whole.wait_ns() + total(&whole.runnable) + unknown;
    (unknown > 0 && unknown as f64 >= NEGLIGIBLE * lives as f64)
        .then(|| say!(UNKNOWN_TIME, unknown = Word::Ns(unknown)))
}

/// What of the CPU time's split over code is estimated.
fn estimated(fold: &Fold<'_>, whole: &Weights) -> Option<Sentence> {
    let cpu = whole.cpu_ns();
    let missing = fold.sums.sites.iter().filter(|site| site.key.reason.is_none() && !site.key.stack.is_some());
    let missing: u64 = missing.map(|site| total(&site.time)).sum();
    let events = fold.trace.events();
    let estimated = events.estimates.iter().fold(0u64, |sum, estimate| sum.saturating_add(estimate.weight_ns));
    if cpu == 0 {
        return None;
    }
    let guessed = Word::part(estimated, events.totals.weights_ns.max(1));
    match (estimated > 0, missing > 0) {
        (false, false) => None,
        (true, false) => Some(say!(ESTIMATED, estimated = guessed)),
        (false, true) => Some(say!(NO_SAMPLE, missing = Word::part(missing, cpu))),
        (true, true) => Some(say!(ESTIMATED_NO_SAMPLE, estimated = guessed, missing = Word::part(missing, cpu))),
    }
}
