//! Too many threads for the CPUs, or too few of them at work.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, ObjectId, ObjectType, Reason, StackId};
use dwell_view::{Prose, Word, glob};

use crate::engine::columns::Columns;
use crate::engine::fold::Fold;
use crate::engine::sweep::ConcurrencyStats;
use crate::engine::target::target_concurrency;
use crate::findings::claim::{Claim, of_thread};
use crate::findings::evidence::{Evidence, Waits, heaviest};
use crate::findings::finding::Finding;
use crate::measure::site::Site;
use crate::measure::utilization::total;
use crate::question::query::Query;
use crate::sentences::say;
use crate::study::blame::HolderActivity;

/// More threads have work than there are CPUs.
pub const OVERSUBSCRIPTION: FindingDef = FindingDef {
    id: "oversubscription",
    title: "Oversubscription",
    help: "More threads are ready to run than there are CPUs, for much of the CPU time: they take turns, and each waits \
           in the run queue while the others run.",
    advice: "Start as many computing threads as there are CPUs; let nested parallel regions and libraries share one \
             pool (OMP_NUM_THREADS, a common TBB arena).",
    japanese_title: "オーバーサブスクリプション",
    japanese_advice: "計算スレッドは CPU の数だけ開始し、入れ子の並列リージョンとライブラリーには 1 つのプールを共\
                      有させてください。",
};

/// Part of the CPU time during which more threads must be ready than there are CPUs.
const OVERSUBSCRIBED_SHARE: f64 = 0.3;
/// Time in run queues as a part of the CPU time from which it matters.
pub const RUN_QUEUE_SHARE: f64 = 0.2;
/// Part of the CPU capacity that must be used: waking many threads for a moment is no oversubscription.
const BUSY_SHARE: f64 = 0.3;
/// Part of the CPUs that the program must have while more threads are ready: else it is others that it queues for.
const OWN_SHARE: f64 = 0.75;

pub fn oversubscription(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let levels = &evidence.fold.levels;
    let cpus = evidence.fold.trace.manifest.cpus.usable.max(1);
    let more_ns: u64 = levels.histogram_concurrency.iter().skip(cpus as usize + 1).sum();
    let has_the_cpus = levels.oversubscribed_ns as f64 >= OWN_SHARE * f64::from(cpus) * more_ns as f64;
    if has_the_cpus { too_many_ready(evidence) } else { Vec::new() }
}

/// The same whoever has the CPUs: the account of the run queue tells the part behind the program's own threads.
pub fn too_many_ready(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (fold, whole) = (evidence.fold, &evidence.whole);
    let cpu_ns = whole.cpu_ns();
    // New threads that queue for their first CPU are churn.
    let started = |site: &Site| site.key.reason != Some(Reason::Starting);
    let queued_ns: u64 = fold.selected_if(started).map(|(.., w)| total(&w.runnable)).sum();
    let levels = &fold.levels;
    let cpus = fold.trace.manifest.cpus.usable.max(1);
    let busy = ConcurrencyStats::average(&levels.histogram_cpu) / f64::from(cpus);
    let enough = levels.oversubscribed_ns as f64 >= OVERSUBSCRIBED_SHARE * cpu_ns as f64
        && queued_ns as f64 >= RUN_QUEUE_SHARE * cpu_ns as f64
        && busy >= BUSY_SHARE;
    if cpu_ns == 0 || !enough {
        return Vec::new();
    }
    let mut running: BTreeMap<StackId, u64> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        *running.entry(site.key.stack).or_default() += weights.cpu_ns();
    }
    let text = say!(
        OVERSUBSCRIPTION,
        share = Word::part(levels.oversubscribed_ns, cpu_ns),
        cpus = cpus,
        ready = Word::Real(ConcurrencyStats::average(&levels.histogram_concurrency), 1),
        queued = Word::Ns(queued_ns),
        part = Word::part(queued_ns, cpu_ns),
    );
    vec![Finding {
        subject: format!("{cpus} CPUs"),
        evidence: text.into(),
        stack: heaviest(&running),
        cost_ns: queued_ns,
        claims: vec![
            Claim::is("summary", fold.query, "oversubscription_ns", levels.oversubscribed_ns),
            Claim::at_least("summary", fold.query, "preemption_ns", queued_ns),
        ],
        ..Finding::default()
    }]
}

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
    let parallel: u64 = fold.levels.histogram_concurrency.iter().skip(2).sum();
    let target = u64::from(target_concurrency(fold.trace, fold.query));
    if target < 2 || evidence.share(parallel) < PARALLEL_SHARE {
        return Vec::new();
    }
    let Some((from, to)) = longest_phase(evidence) else { return Vec::new() };
    let length = fold.windows.overlap_ns(from, to);
    if evidence.share(length) < PHASE_SHARE {
        return Vec::new();
    }
    let Some((thread, ran_ns, stack)) = worker(evidence, from, to) else { return Vec::new() };
    let name = &fold.trace.threads.name[thread];
    let text = say!(
        SINGLE_THREADED_PHASE,
        from = Word::Ns(from),
        to = Word::Ns(to),
        share = Word::part(length, evidence.elapsed_ns),
        thread = name.clone(),
        place = fold.stacks.place(stack),
        target = target,
    );
    let subject = stack_subject(evidence, stack).unwrap_or_else(|| name.clone());
    vec![Finding {
        subject,
        evidence: text.into(),
        stack,
        cost_ns: length.saturating_mul(target - 1),
        during: Some((from, to)),
        claims: vec![Claim::at_least("threads", &of_thread(fold, thread, (from, to)), "running_ns", ran_ns)],
    }]
}

fn stack_subject(evidence: &Evidence<'_, '_>, stack: StackId) -> Option<String> {
    let stacks = &evidence.fold.stacks;
    let own = stacks.own(stack);
    own.is_some().then(|| stacks.function_name(stacks.function(own)).to_owned())
}

/// The longest stretch of bins in which one thread had work.
fn longest_phase(evidence: &Evidence<'_, '_>) -> Option<(u64, u64)> {
    let parts = evidence.fold.windows.parts();
    let (from, to) = (parts.first()?.0, parts.last()?.1);
    let (trace, windows) = (evidence.fold.trace, &evidence.fold.windows);
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

/// The thread that did nearly all of the phase's work, how long it ran, ns, and where.
fn worker(evidence: &Evidence<'_, '_>, from: u64, to: u64) -> Option<(usize, u64, StackId)> {
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
    let ran_enough = ran as f64 >= RAN * phase.windows.length_ns() as f64;
    if !ran_enough || ((ran + ready) as f64) < SAME_THREAD * all as f64 {
        return None;
    }
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    for (_, site, weights) in phase.selected_if(|site| site.key.thread.get() == Some(thread)) {
        if site.key.stack.is_some() {
            *places.entry(site.key.stack).or_default() += weights.cpu_ns();
        }
    }
    let place = heaviest(&places);
    (!is_start_up(&phase, place)).then_some((thread, ran, place))
}

/// Whether a program is being loaded there.
fn is_start_up(fold: &Fold<'_>, stack: StackId) -> bool {
    let stacks = &fold.stacks;
    let mut names = stacks.whole_chain(stack).map(|place| stacks.function_name(stacks.function(place)));
    names.any(|name| LOADING.iter().any(|function| glob(function, name)))
}

/// Threads wait for the slowest at a barrier.
pub const BARRIER_IMBALANCE: FindingDef = FindingDef {
    id: "barrier-imbalance",
    title: "Barrier imbalance",
    help: "Threads wait at a barrier for those that have more work. Concluded from the wait and spin time at barriers \
           as a part of the threads' time.",
    advice: "Share the work more evenly: smaller pieces, dynamic scheduling, work stealing.",
    japanese_title: "バリアーのインバランス",
    japanese_advice: "仕事をより均等に分けてください。小さな単位、動的スケジュール、ワークスチール。",
};

const BARRIERS: &[ObjectType] = &[ObjectType::Barrier, ObjectType::OpenMpBarrier, ObjectType::TbbScheduler];
/// Part of the waiting threads' time that must be spent at the barrier.
const BARRIER_SHARE: f64 = 0.1;
/// Part of the CPU time that spinning at barriers must take where no wait at one is seen.
const BARRIER_SPIN_SHARE: f64 = 0.1;

pub fn barrier_imbalance(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let share = |waits: &Waits| {
        let threads = waits.by_thread.len().max(1) as f64;
        evidence.share(waits.weights.wait_ns()) / threads
    };
    let waited = evidence.of_types(BARRIERS).filter(|(_, waits)| share(waits) >= BARRIER_SHARE);
    let findings: Vec<Finding> = waited.map(|(object, waits)| at_barrier(evidence, object, waits)).collect();
    if findings.is_empty() { spinning_at_barriers(evidence).into_iter().collect() } else { findings }
}

fn at_barrier(evidence: &Evidence<'_, '_>, object: ObjectId, waits: &Waits) -> Finding {
    let fold = evidence.fold;
    let name = fold.object_name(object);
    let mut meanwhile: BTreeMap<StackId, u64> = BTreeMap::new();
    for (doing, share) in evidence.blame(object).into_iter().flat_map(|blame| &blame.holders) {
        if let HolderActivity::Running(stack) | HolderActivity::Waiting(_, stack) = doing {
            *meanwhile.entry(*stack).or_default() += share.ns;
        }
    }
    let late = fold.stacks.place(heaviest(&meanwhile)).map(|place| say!(BARRIER_LATE, place = place));
    let (threads, wait_ns) = (waits.by_thread.len(), waits.weights.wait_ns());
    let waited = say!(
        BARRIER_IMBALANCE,
        threads = threads,
        wait = Word::Ns(wait_ns),
        name = name,
        each = Word::Ns(wait_ns / threads.max(1) as u64),
        share = Word::part(wait_ns, evidence.elapsed_ns.saturating_mul(threads as u64)),
    );
    Finding {
        subject: name.into(),
        evidence: Prose::from(waited).and(late).and(evidence.within(waits)),
        stack: waits.top_stack(),
        cost_ns: waits.weights.wait_ns(),
        claims: evidence.claims(object, waits),
        ..Finding::default()
    }
}

/// A runtime that spins at its barriers does not wait at them.
fn spinning_at_barriers(evidence: &Evidence<'_, '_>) -> Option<Finding> {
    let spin_ns = evidence.whole.spin[0];
    if spin_ns == 0 || (spin_ns as f64) < BARRIER_SPIN_SHARE * evidence.whole.cpu_ns() as f64 {
        return None;
    }
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    for (_, site, weights) in evidence.fold.selected() {
        *places.entry(site.key.stack).or_default() += weights.spin[0];
    }
    let text = say!(BARRIER_SPIN, spin = Word::Ns(spin_ns), share = Word::part(spin_ns, evidence.whole.cpu_ns()));
    let stack = heaviest(&places);
    let subject = stack_subject(evidence, stack).unwrap_or_else(|| "runtime's barrier".into());
    let claims = vec![Claim::at_least("summary", evidence.fold.query, "spin_ns", spin_ns)];
    Some(Finding { subject, evidence: text.into(), stack, cost_ns: spin_ns, claims, ..Finding::default() })
}
