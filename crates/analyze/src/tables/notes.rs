//! What a reader of any view must know: losses, how much the filters show, what is estimated, what is idle.

use dwell_model::losses::SWITCHES_UNSEEN;
use dwell_store::Trace;
use dwell_view::{Prose, Sentence, Word, answer, duration};

use crate::engine::fold::Fold;
use crate::measure::utilization::total;
use crate::measure::weights::Weights;
use crate::notices::remarks;
use crate::question::windows::elapsed_ns;
use crate::sentences::say;

/// The loss that the collector makes good.
const PUT_BACK: &str = SWITCHES_UNSEEN;

/// What the losses begin with that say why stacks are not complete.
const CUT: &str = "stacks_cut_";

/// The notes of a view of `fold`, the most important first.
pub fn notes(fold: &Fold<'_>) -> Vec<Prose> {
    let (shown, whole) = (fold.shown(), fold.whole());
    let mut notes: Vec<Prose> = Vec::new();
    notes.extend(losses(fold).map(Prose::from));
    notes.extend(damage(fold).into_iter().map(Prose::from));
    notes.extend(remarks(fold.trace));
    let ours = [
        share(fold, shown, whole),
        range(fold),
        idle(fold, shown),
        unknown(whole),
        put_back(fold),
        cut_stacks(fold.trace),
        estimated(fold, whole),
    ];
    notes.extend(ours.into_iter().flatten().map(Prose::from));
    notes
}

/// The banner: what was lost.
pub fn losses(fold: &Fold<'_>) -> Option<Sentence> {
    let told: Vec<String> = lost(fold.trace).map(|loss| loss.brief()).collect();
    (!told.is_empty()).then(|| say!(LOSSES, lost = told.join(", ")))
}

answer! {
    /// One kind of loss.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Loss<'t> {
        /// Name of the counter.
        pub name: &'t str,
        /// How many.
        pub count: u64,
        /// What is missing because of it.
        pub doc: &'t str,
        /// From when to when, since the start, ns; where that is known.
        pub time_ns: Option<(u64, u64)>,
    }
}

impl Loss<'_> {
    /// How many of what, and when.
    fn brief(&self) -> String {
        let when = self.time_ns.map(|(from, to)| format!(" ({} – {})", duration(from), duration(to)));
        format!("{} {}{}", self.name, self.count, when.unwrap_or_default())
    }
}

/// What was lost and could not be made good: what every view warns of.
pub fn lost(trace: &Trace) -> impl Iterator<Item = Loss<'_>> {
    let losses = &trace.losses;
    let times = losses.start_ns.iter().zip(&losses.end_ns);
    let rows = losses.name.iter().zip(&losses.count).zip(&losses.doc).zip(times);
    let rows = rows.map(|(((name, count), doc), (from, to))| {
        let time_ns = (*to > 0).then_some((*from, *to));
        Loss { name, count: *count, doc, time_ns }
    });
    rows.filter(|loss| loss.count > 0 && loss.name != PUT_BACK && !loss.name.starts_with(CUT))
}

/// How many of a view's notes, which begin with them, are warnings.
pub fn warnings(trace: &Trace) -> usize {
    usize::from(lost(trace).next().is_some()) + usize::from(trace.manifest.end_ns == 0)
}

/// What the collector could put back is a remark, not a banner.
fn put_back(fold: &Fold<'_>) -> Option<Sentence> {
    let losses = &fold.trace.losses;
    let row = losses.name.iter().position(|name| name == PUT_BACK)?;
    let count = losses.count.get(row).filter(|count| **count > 0)?;
    Some(say!(PUT_BACK, count = *count))
}

/// How many samples and waits have a user stack, and how many a complete one.
pub fn stacks(trace: &Trace) -> (u64, u64) {
    let totals = trace.events().totals;
    (totals.stacks, totals.complete)
}

/// The share of complete stacks, where it is not all.
fn cut_stacks(trace: &Trace) -> Option<Sentence> {
    let (stacks, complete) = stacks(trace);
    let why =
        |(name, count): (&String, &u64)| name.strip_prefix(CUT).map(|why| format!("{} {count}", why.replace('_', " ")));
    let why: Vec<String> = trace.losses.name.iter().zip(&trace.losses.count).filter_map(why).collect();
    (complete < stacks).then(|| {
        let share = format!("{:.2} %", share_of(complete, stacks));
        match why.is_empty() {
            true => say!(STACKS_CUT, share = share, stacks = stacks),
            false => say!(STACKS_CUT_WHY, share = share, stacks = stacks, why = why.join(", ")),
        }
    })
}

/// In percent, rounded down: what is not all does not read 100.
fn share_of(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64 * 1e4).floor() / 100.0
}

fn damage(fold: &Fold<'_>) -> Vec<Sentence> {
    let mut notes = Vec::new();
    if fold.trace.manifest.end_ns == 0 {
        notes.push(say!(ENDED_BADLY));
    }
    if fold.levels.misplaced_rows > 0 {
        notes.push(say!(MISPLACED, rows = fold.levels.misplaced_rows));
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
    let share = Word::part(fold.windows.length_ns(), elapsed);
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
    (unknown > 0).then(|| say!(UNKNOWN_TIME, unknown = Word::Ns(unknown)))
}

/// What of the CPU time's split over code is estimated.
fn estimated(fold: &Fold<'_>, whole: &Weights) -> Option<Sentence> {
    let cpu = whole.cpu_ns();
    let missing = fold.sites.iter().filter(|site| site.key.reason.is_none() && !site.key.stack.is_some());
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
