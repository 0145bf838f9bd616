//! Phases in which one thread works alone.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, StackId};
use dwell_query::engine::columns::Columns;
use dwell_query::engine::fold::Fold;
use dwell_query::engine::target::target_concurrency;
use dwell_query::measure::utilization::total;
use dwell_query::question::query::Query;
use dwell_query::stacks::own_code::{self, FIRST_SCRIPT};
use dwell_view::{Word, glob};

use crate::findings::claim::{Claim, of_thread};
use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::explain::{function_at, mostly_ran};

/// One thread works for a long time.
pub const SINGLE_THREADED_PHASE: FindingDef = FindingDef {
    id: "single-threaded-phase",
    title: "Single-threaded phase",
    help: "For a large part of the run a single thread works, in a program that works in parallel at other times: the \
           serial part that limits the speed-up (Amdahl's law).",
    advice: "Do the phase's work in parallel, overlap it with the parallel part, or do less of it.",
    japanese_title: "シングルスレッドの区間",
    japanese_advice: "その区間の処理を並列化するか、並列部分と重ねるか、減らしてください。",
};

/// Part of the elapsed time that the longest phase must take.
const PHASE_SHARE: f64 = 0.1;
/// Part of the elapsed time in which at least two threads must have work: else the program is not a parallel one.
const PARALLEL_SHARE: f64 = 0.05;
/// Part of the CPU time that other threads must have: a program whose work one thread does has no parallel part.
const OTHERS_SHARE: f64 = 0.1;
/// Bins of the search: a phase is at least as long as PHASE_SHARE of them.
const BINS: usize = 500;
/// Threads with work in a phase's bin, on average: running or, on a busy machine, in a run queue; a little more than
/// one when another thread starts or ends in it.
const ONE_THREAD: std::ops::Range<f64> = 0.7..1.2;
/// Functions that load programs.
const LOADING: &[&str] =
    &["_dl_start*", "_dl_main", "dl_main", "_dl_relocate_object*", "_dl_map_object*", "resolve_map", "execve"];
/// Part of the phase that the thread must run.
const RAN: f64 = 0.5;
/// Part of the phase's work that must be one thread's.
const SAME_THREAD: f64 = 0.8;

pub fn single_threaded_phase(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    let parallel: u64 = fold.sums.levels.histogram_concurrency.iter().skip(2).sum();
    let target = u64::from(target_concurrency(fold.trace, fold.query));
    // Whoever was there before the recording, and may be there behind it, has no phases that anybody waits for.
    let is_attached = !fold.trace.manifest.target_pids.is_empty() && fold.trace.manifest.exit_status.is_none();
    if target < 2 || evidence.share(parallel) < PARALLEL_SHARE || is_attached {
        return Vec::new();
    }
    let Some((from, to)) = longest_phase(evidence) else { return Vec::new() };
    let length = fold.sums.windows.overlap_ns(from, to);
    if evidence.share(length) < PHASE_SHARE {
        return Vec::new();
    }
    let Some((thread, ran_ns, (place, stack))) = worker(evidence, from, to) else { return Vec::new() };
    if others_share(fold, thread) < OTHERS_SHARE {
        return Vec::new();
    }
    let name = &fold.trace.threads.name[thread];
    let text = say!(
        SINGLE_THREADED_PHASE,
        from = Word::Ns(from),
        to = Word::Ns(to),
        share = Word::part(length, evidence.elapsed_ns),
        thread = name.clone(),
        place = place.clone(),
        target = target,
    );
    let subject = place.as_deref().map_or(name.as_str(), function_at).to_owned();
    vec![Finding {
        subject,
        evidence: text.into(),
        stack,
        place,
        cost_ns: length.saturating_mul(target - 1),
        during: Some((from, to)),
        claims: vec![Claim::at_least("threads", &of_thread(fold, thread, (from, to)), "running_ns", ran_ns)],
        ..Finding::default()
    }]
}

/// Part of the CPU time that is of other threads than this one.
fn others_share(fold: &Fold<'_>, thread: usize) -> f64 {
    let (mut all_ns, mut own_ns) = (0u64, 0u64);
    for (_, site, weights) in fold.selected() {
        all_ns += weights.cpu_ns();
        own_ns += if site.key.thread.get() == Some(thread) { weights.cpu_ns() } else { 0 };
    }
    all_ns.saturating_sub(own_ns) as f64 / all_ns.max(1) as f64
}

/// The longest stretch of bins in which one thread had work.
fn longest_phase(evidence: &Evidence<'_, '_>) -> Option<(u64, u64)> {
    let parts = evidence.fold.sums.windows.parts();
    let (from, to) = (parts.first()?.0, parts.last()?.1);
    let (trace, windows) = (evidence.fold.trace, &evidence.fold.sums.windows);
    let columns = match evidence.fold.rows().share < 1.0 {
        true => Columns::of(trace, windows, (from, to), BINS),
        false => Columns::exact(trace, windows, (from, to), BINS),
    };
    let is_single = |bin: usize| {
        let width = columns.edge(bin + 1) - columns.edge(bin);
        ONE_THREAD.contains(&(columns.columns[bin].ready_ns / width.max(1) as f64))
    };
    let bins = columns.columns.len();
    let single: Vec<bool> = (0..bins).map(is_single).collect();
    let mut best = 0..0;
    let mut begin = 0;
    for bin in 0..=bins {
        if !single.get(bin).copied().unwrap_or(false) {
            if bin - begin > best.len() {
                best = begin..bin;
            }
            begin = bin + 1;
        }
    }
    (!best.is_empty()).then(|| (columns.edge(best.start), columns.edge(best.end)))
}

/// The function in which a thread ran mostly, with its line, and a stack there.
type Place = (Option<String>, StackId);

/// The thread that did nearly all of the phase's work, how long it ran, ns, and where.
fn worker(evidence: &Evidence<'_, '_>, from: u64, to: u64) -> Option<(usize, u64, Place)> {
    let asked = evidence.fold.query;
    let query = Query { range: Some((from, to)), filters: Vec::new(), exclude: Vec::new(), ..asked.clone() };
    let phase = Fold::new(evidence.fold.trace, &query).ok()?;
    let mut worked: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (_, site, weights) in phase.selected() {
        if let Some(thread) = site.key.thread.get() {
            let (ran, ready) = worked.entry(thread).or_default();
            *ran += weights.cpu_ns();
            *ready += total(&weights.runnable);
        }
    }
    let all: u64 = worked.values().map(|(ran, ready)| ran + ready).sum();
    let (thread, (ran, ready)) = worked.into_iter().max_by_key(|(_, (ran, ready))| ran + ready)?;
    // A thread that is ready does not run; on a busy machine it waits for its turns.
    let ran_enough = ran as f64 >= RAN * phase.sums.windows.length_ns() as f64;
    if !ran_enough || ((ran + ready) as f64) < SAME_THREAD * all as f64 {
        return None;
    }
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    let (mut waited, mut idle) = (0, 0);
    for (_, site, weights) in phase.selected_if(|site| site.key.thread.get() == Some(thread)) {
        if site.key.stack.is_some() {
            *places.entry(site.key.stack).or_default() += weights.cpu_ns();
        }
        waited += weights.wait_ns();
        idle += total(&weights.idle);
    }
    // A loop that waits for whatever comes has as much work as others give it.
    if idle > 0 && 2 * idle >= waited {
        return None;
    }
    let (place, stack) = mostly_ran(&phase, &places).map(|ran| (ran.at, ran.stack)).unzip();
    let stack = stack.unwrap_or(StackId::NONE);
    (!is_start_up(&phase, stack) && !loads_modules(&phase, &places)).then_some((thread, ran, (place, stack)))
}

/// Whether it mostly loads modules of a script there, which is done one after another whoever asks.
fn loads_modules(fold: &Fold<'_>, places: &BTreeMap<StackId, u64>) -> bool {
    let is_loading = |stack: StackId| {
        let names = || fold.sums.stacks.whole_names(stack);
        own_code::loads_modules(names(), names().any(|name| name == FIRST_SCRIPT))
    };
    let loading_ns: u64 = places.iter().filter(|(stack, _)| is_loading(**stack)).map(|(_, ns)| ns).sum();
    2 * loading_ns > places.values().sum::<u64>()
}

/// Whether a program is being loaded there.
fn is_start_up(fold: &Fold<'_>, stack: StackId) -> bool {
    let stacks = &fold.sums.stacks;
    let mut names = stacks.whole_chain(stack).map(|place| stacks.function_name(stacks.function(place)));
    names.any(|name| LOADING.iter().any(|function| glob(function, name)))
}
