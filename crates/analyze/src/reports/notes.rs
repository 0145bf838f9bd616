//! What a reader of any view must know: losses, how much the filters show, what is estimated, what is idle.

use dwell_store::Trace;

use crate::fold::{Fold, Weights};
use crate::metrics::total;

/// The loss that the collector makes good.
const PUT_BACK: &str = "switches_unseen";

/// What the losses begin with that say why stacks are not complete.
const CUT: &str = "stacks_cut_";

/// The notes of a view of `fold`, the most important first.
pub fn notes(fold: &Fold<'_>) -> Vec<String> {
    let (shown, whole) = (fold.shown(), fold.whole());
    let mut notes = Vec::new();
    notes.extend(losses(fold));
    notes.extend(damage(fold));
    notes.extend(fold.trace.notices.text.iter().cloned());
    notes.extend(share(fold, shown, whole));
    notes.extend(range(fold));
    notes.extend(idle(fold, shown));
    notes.extend(unknown(whole));
    notes.extend(put_back(fold));
    notes.extend(cut_stacks(fold.trace));
    notes.extend(estimated(fold, whole));
    notes
}

/// The banner: what was lost.
pub fn losses(fold: &Fold<'_>) -> Option<String> {
    let told: Vec<String> = lost(fold.trace).map(|loss| format!("{} {}", loss.name, loss.count)).collect();
    (!told.is_empty()).then(|| format!("Not everything was recorded: {}. See the losses report.", told.join(", ")))
}

/// One kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss<'t> {
    /// Name of the counter.
    pub name: &'t str,
    /// How many.
    pub count: u64,
    /// What is missing because of it.
    pub doc: &'t str,
}

/// What was lost and could not be made good: what every view warns of.
pub fn lost(trace: &Trace) -> impl Iterator<Item = Loss<'_>> {
    let losses = &trace.losses;
    let rows = losses.name.iter().zip(&losses.count).zip(&losses.doc);
    let rows = rows.map(|((name, count), doc)| Loss { name, count: *count, doc });
    rows.filter(|loss| loss.count > 0 && loss.name != PUT_BACK && !loss.name.starts_with(CUT))
}

/// How many of a view's notes, which begin with them, are warnings.
pub fn warnings(trace: &Trace) -> usize {
    usize::from(lost(trace).next().is_some()) + usize::from(trace.manifest.end_ns == 0)
}

/// What the collector could put back is a remark, not a banner.
fn put_back(fold: &Fold<'_>) -> Option<String> {
    let losses = &fold.trace.losses;
    let row = losses.name.iter().position(|name| name == PUT_BACK)?;
    let count = losses.count.get(row).filter(|count| **count > 0)?;
    Some(format!("Switches that the kernel showed to no hook, put back from its account of running time: {count}."))
}

/// How many samples and waits have a user stack, and how many a complete one.
pub fn stacks(trace: &Trace) -> (u64, u64) {
    let totals = trace.events().totals;
    (totals.stacks, totals.complete)
}

/// The share of complete stacks, where it is not all.
fn cut_stacks(trace: &Trace) -> Option<String> {
    let (stacks, complete) = stacks(trace);
    let why =
        |(name, count): (&String, &u64)| name.strip_prefix(CUT).map(|why| format!("{} {count}", why.replace('_', " ")));
    let why: Vec<String> = trace.losses.name.iter().zip(&trace.losses.count).filter_map(why).collect();
    (complete < stacks).then(|| {
        let cut = if why.is_empty() { String::new() } else { format!("; cut: {}", why.join(", ")) };
        format!("{:.2} % of {stacks} stacks are complete{cut}.", share_of(complete, stacks))
    })
}

/// In percent, rounded down: what is not all does not read 100.
fn share_of(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64 * 1e4).floor() / 100.0
}

fn damage(fold: &Fold<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if fold.trace.manifest.end_ns == 0 {
        notes.push("The collection did not end properly: its end is the last event recorded.".into());
    }
    if fold.levels.misplaced_rows > 0 {
        let rows = fold.levels.misplaced_rows;
        notes.push(format!("{rows} intervals overlap others of their thread or lie outside its life; they were cut."));
    }
    notes
}

/// How much the filters show.
fn share(fold: &Fold<'_>, shown: &Weights, whole: &Weights) -> Option<String> {
    if !fold.query.is_filtered() {
        return None;
    }
    let part = |part: u64, whole: u64, of: &str| (whole > 0).then(|| format!("{} of the {of}", percent(part, whole)));
    let parts = [part(shown.cpu_ns(), whole.cpu_ns(), "CPU time"), part(shown.wait_ns(), whole.wait_ns(), "wait time")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(match parts.is_empty() {
        true => "The filters leave nothing to show.".into(),
        false => format!("By the filters, {} is shown.", parts.join(" and ")),
    })
}

fn range(fold: &Fold<'_>) -> Option<String> {
    let elapsed = crate::windows::elapsed_ns(fold.trace);
    let share = percent(fold.windows.length_ns(), elapsed);
    let left_out: Vec<String> = fold
        .query
        .excluded_ranges
        .iter()
        .map(|(from, to)| format!("{} to {}", duration(*from), duration((*to).min(elapsed))))
        .collect();
    let without = if left_out.is_empty() { String::new() } else { format!("without {}", left_out.join(", ")) };
    match (fold.query.range, without.is_empty()) {
        (None, true) => None,
        (None, false) => Some(format!("All {without}: {share} of the elapsed time.")),
        (Some((from, to)), _) => {
            let comma = if without.is_empty() { "" } else { ", " };
            let (from, to) = (duration(from), duration(to));
            Some(format!("Only from {from} to {to}{comma}{without}: {share} of the elapsed time."))
        }
    }
}

fn idle(fold: &Fold<'_>, shown: &Weights) -> Option<String> {
    let idle = total(&shown.idle);
    let ranked = if fold.query.include_idle { "ranked like any other" } else { "ranked last" };
    (idle > 0).then(|| {
        let share = percent(idle, shown.wait_ns());
        format!("{} of the wait time ({share}) is of idle workers and event loops, {ranked}.", duration(idle))
    })
}

fn unknown(whole: &Weights) -> Option<String> {
    let unknown = total(&whole.unknown);
    let text = "off the CPU for reasons that the trace does not say; it is no part of Wait Time.";
    (unknown > 0).then(|| format!("{} were spent {text}", duration(unknown)))
}

/// What of the CPU time's split over code is estimated.
fn estimated(fold: &Fold<'_>, whole: &Weights) -> Option<String> {
    let cpu = whole.cpu_ns();
    let missing = fold.sites.iter().filter(|site| site.key.reason.is_none() && !site.key.stack.is_some());
    let missing: u64 = missing.map(|site| total(&site.time)).sum();
    let events = fold.trace.events();
    let estimated = events.estimates.iter().fold(0u64, |sum, estimate| sum.saturating_add(estimate.weight_ns));
    if cpu == 0 || (missing == 0 && estimated == 0) {
        return None;
    }
    let whole = events.totals.weights_ns.max(1);
    let mut text = Vec::new();
    if estimated > 0 {
        text.push(format!(
            "{} is of threads too short for a sample and placed where they left the CPU",
            percent(estimated, whole)
        ));
    }
    if missing > 0 {
        text.push(format!("{} has no sample", percent(missing, cpu)));
    }
    Some(format!("CPU time is exact by thread; by function it is sampled: {}.", text.join(", ")))
}

/// `12.3 %`.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "0 %".into() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

/// A duration in a sentence: three digits and a unit.
pub fn duration(ns: u64) -> String {
    let exact = ns as f64;
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (exact / 1e3, "µs"),
        1_000_000..1_000_000_000 => (exact / 1e6, "ms"),
        _ => (exact / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}
