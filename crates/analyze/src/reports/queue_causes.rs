//! Why threads were ready and had no CPU, where that is much: a quota, other programs, or the program's own threads.

use std::collections::BTreeMap;

use dwell_model::{ProcessId, Reason, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::sweep::ConcurrencyStats;
use dwell_query::measure::site::Site;
use dwell_query::measure::utilization::total;
use dwell_query::stacks::collectors::{ANY_SETTINGS, CollectorFunctions};
use dwell_query::stacks::go_runtime::is_of_go_runtime;
use dwell_store::{OWN_PROGRAM, QuotaUse, Rival, Table as _, Trace};
use dwell_view::{Prose, Sentence, Word, duration};

use crate::reports::cpus_used::{are_taken, cpus_of_others, cpus_used};
use crate::reports::thread_priority::ThreadPriority;
use crate::sentences::say;
use crate::study::explain::{RunQueue, UNKNOWN_FUNCTION, are_bound, machine_use, wait_place, waiting_requests};

/// What kept ready threads off the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueReason {
    /// The control group had used up its quota.
    Quota,
    /// Other programs had the CPUs.
    OtherPrograms,
    /// The same, of threads that run with a low priority.
    LowPriority(ThreadPriority),
    /// Other threads of the program had them.
    OwnThreads,
    /// The same, of a process for which several requests wait at once.
    OwnRequests,
    /// The same of processes with one thread that works each.
    OwnProcesses,
    /// The same of goroutines, which the runtime puts on threads.
    OwnFibers,
    /// The same, since all of them keep to some of the CPUs that the program may use.
    Affinity,
    /// The same, and these mostly collected garbage.
    Collector,
}

impl QueueReason {
    /// Its name in the column `kind`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Quota => "cpu-quota",
            Self::OtherPrograms => "cpus-taken",
            Self::LowPriority(_) => "low-priority",
            Self::OwnThreads | Self::OwnRequests | Self::OwnProcesses | Self::OwnFibers | Self::Affinity => {
                "oversubscription"
            }
            Self::Collector => "garbage-collection",
        }
    }

    /// Whether threads of the program had the CPUs.
    pub fn is_of_program(self) -> bool {
        !matches!(self, Self::Quota | Self::OtherPrograms | Self::LowPriority(_))
    }

    /// What to do about it.
    pub fn advice(self) -> Sentence {
        match self {
            Self::Quota => say!(ADVICE_CPU_QUOTA),
            Self::OtherPrograms => say!(ADVICE_CPUS_TAKEN),
            Self::LowPriority(priority) => say!(ADVICE_LOW_PRIORITY, priority = priority.to_string()),
            Self::OwnThreads => say!(ADVICE_OVERSUBSCRIPTION),
            Self::OwnRequests => say!(ADVICE_TOO_MANY_REQUESTS),
            Self::OwnProcesses => say!(ADVICE_TOO_MANY_PROCESSES),
            Self::OwnFibers => say!(ADVICE_QUEUED_FIBERS),
            Self::Affinity => say!(ADVICE_AFFINITY),
            Self::Collector => say!(ADVICE_COLLECTED, settings = ANY_SETTINGS),
        }
    }
}

/// Why threads waited for a CPU.
#[derive(Clone, Debug)]
pub struct QueueCause {
    /// What kept them.
    pub reason: QueueReason,
    /// The control group, the other program that had most, or the number of CPUs.
    pub subject: String,
    /// The numbers from which it is concluded.
    pub evidence: Prose,
    /// Where the program's threads ran most, if it is these.
    pub stack: StackId,
    /// Whether the threads are hardly more than there are CPUs, or share these by the runtime's turns: where they compute, fewer take as long.
    pub may_be_harmless: bool,
}

/// Part of the CPU time that the program ran or was denied from which that matters …
const DENIED_SHARE: f64 = 0.1;
/// … and part of the elapsed time, and a time: a program of some milliseconds always meets somebody.
const DENIED_ELAPSED: f64 = 0.05;
const DENIED_NS: u64 = 20_000_000;
/// Part of it for which there must be others.
const EXPLAINED: f64 = 0.3;
/// The same where the program's own threads hardly had the CPUs, and the part of the time in run queues up to which they hardly had.
const SEEN: f64 = 0.1;
const HARDLY_OWN: f64 = 0.2;
/// Part of what a program could have run from which on it must have been kept from it by others, if by nothing else.
const MOSTLY_DENIED: f64 = 0.5;
/// Part of the time for which Dwell was seen that the other program with most must have been seen for, if it is named before all others.
const MUCH_BESIDE_DWELL: f64 = 0.2;
/// Others that are named.
const NAMED: usize = 3;
/// Part of a group's periods that must have been cut short.
const THROTTLED_PERIODS: f64 = 0.05;
/// Part of the CPU time during which more threads must be ready than there are CPUs.
const OVERSUBSCRIBED_SHARE: f64 = 0.3;
/// So many threads for each CPU must be ready on average while any is: whoever starts as many as there are CPUs has more for a moment.
const READY_PER_CPU: f64 = 1.5;
/// So many for each CPU must be of one role, or so many of any.
const ONE_ROLE_PER_CPU: f64 = 1.25;
const ANY_ROLE_PER_CPU: f64 = 3.0;
/// Part of the time in which any runs that a runtime has goroutines on all CPUs, at most, if these are ready because of its limit: many that
/// share all CPUs are how it works.
const HARDLY_ALL_CPUS: f64 = 0.05;
/// Time in run queues behind the program's own threads as a part of the CPU time from which it matters.
pub const OWN_QUEUE_SHARE: f64 = 0.2;
/// Part of the CPU time from which a collector is what the others queue behind.
const COLLECTED_SHARE: f64 = 0.5;
/// Part of the time in run queues from which on it is mostly behind threads of the program.
const OWN_MOSTLY: f64 = 0.5;
/// Part of the CPU time during which more threads must be ready than CPUs that they keep to: threads that wake one another are for a moment.
const KEPT_SHARE: f64 = 0.5;
/// Part of the CPUs from which on all of them are in use.
pub const ALL_CPUS: f64 = 0.85;
/// Part of the time in run queues that must be of one thread of each process, if there are too many processes and not threads.
const ONE_THREAD_EACH: f64 = 0.8;
/// Part of the time in run queues that must be of threads of low priority, if that is why they are there.
const LOW_PRIORITY_SHARE: f64 = 0.5;
/// Stacks whose places are compared.
const PLACED: usize = 2000;
/// Requests that wait at once from which on threads are ready because of them.
const SEVERAL_REQUESTS: f64 = 1.5;
/// Part of the CPU capacity that must be used: waking many threads for a moment is no oversubscription.
const BUSY_SHARE: f64 = 0.3;
/// So many times longer than they run must threads queue behind one another, if that is too many of them though a CPU is idle: those that
/// yield in turn stay where they are.
const CROWDED: f64 = 4.0;
/// The same with what other programs used: where a CPU was idle meanwhile, threads that wake one another queued behind the waker.
const ALL_BUSY_SHARE: f64 = 0.6;
/// Part of the time in run queues that must be of threads that were preempted, if these are too many though a CPU seems idle: a hypervisor may
/// have had it.
const PREEMPTED_SHARE: f64 = 0.7;

/// The reasons that matter. Threads of the role with most to do ran or were ready for `largest_role_ns`.
pub fn queue_causes(fold: &Fold<'_>, run_queue: &RunQueue, largest_role_ns: u64) -> Vec<QueueCause> {
    let quota = cpu_quota(fold).or_else(|| quota_by_period(fold, run_queue));
    let others = if quota.is_some() { None } else { cpus_taken(fold, run_queue) };
    quota.into_iter().chain(others).chain(oversubscription(fold, run_queue.own_ns, largest_role_ns)).collect()
}

/// Other programs had the CPUs.
fn cpus_taken(fold: &Fold<'_>, run_queue: &RunQueue) -> Option<QueueCause> {
    let (all_ns, rivals) = (fold.sums.levels.denied_ns, &fold.trace.manifest.taken.rivals);
    let wanted_ns = all_ns.saturating_add(thread_time(&fold.sums.levels.histogram_cpu, u64::MAX));
    // What others took is known for the whole recording only.
    let part = fold.sums.windows.length_ns() as f64 / fold.trace.elapsed_ns().max(1) as f64;
    let (by_dwell, by_others): (Vec<&Rival>, Vec<&Rival>) = rivals.iter().partition(|rival| rival.name == OWN_PROGRAM);
    let taken_ns =
        |rivals: &[&Rival]| (rivals.iter().fold(0u64, |sum, rival| sum.saturating_add(rival.ns)) as f64 * part) as u64;
    // A quiet machine does not give back what recording takes.
    let denied_ns = all_ns.saturating_sub(taken_ns(&by_dwell)).saturating_sub(run_queue.idle_elsewhere_ns);
    let enough =
        denied_ns as f64 >= DENIED_SHARE * wanted_ns as f64 && elapsed_share(fold, denied_ns) >= DENIED_ELAPSED;
    // Where the program's own threads hardly had the CPUs, who is seen now and then had them all the time.
    let least = if is_hardly_own(run_queue) { SEEN } else { EXPLAINED };
    // Who had them in a stay of minutes may be forgotten; but if neither own threads nor a quota kept a program from most of its time, others did.
    let priority = low_priority(fold);
    let by_elimination = (priority.is_some() || !by_others.is_empty())
        && is_hardly_own(run_queue)
        && denied_ns as f64 >= MOSTLY_DENIED * wanted_ns as f64;
    // What the machine's account says of all, whether anybody was seen.
    let machine = machine_use(fold, &fold.sums.windows);
    let by_account = machine.is_some()
        && run_queue.others_ns.saturating_sub(taken_ns(&by_dwell)) as f64 >= EXPLAINED * denied_ns as f64;
    let is_explained = by_account
        || !by_others.is_empty()
            && (taken_ns(&by_others) as f64 >= least * denied_ns as f64
                || cpus_used(fold).is_some_and(|used| are_taken(fold, used)));
    if !enough || denied_ns < DENIED_NS || !(is_explained || by_elimination) {
        return None;
    }
    // Who was seen for a moment, beside Dwell, is not called the first.
    let is_much = |rival: &Rival| rival.ns as f64 * part >= MUCH_BESIDE_DWELL * taken_ns(&by_dwell) as f64;
    let name = |rival: &Rival| format!("{} {}", rival.name, duration(rival.ns));
    let names: Vec<String> = rivals.iter().take(NAMED).map(name).collect();
    let names = (!names.is_empty()).then(|| names.join(", "));
    let share = Word::part(wanted_ns.saturating_sub(all_ns), wanted_ns);
    let others = Word::Ns(machine.map_or(0, |machine| machine.others_ns));
    let text = say!(CPUS_TAKEN, share = share, others = others, names = names);
    Some(QueueCause {
        reason: priority.map_or(QueueReason::OtherPrograms, QueueReason::LowPriority),
        subject: by_others.first().filter(|rival| is_much(rival)).map(|rival| rival.name.clone()).unwrap_or_default(),
        evidence: text.into(),
        stack: StackId::NONE,
        may_be_harmless: false,
    })
}

/// The low priority that most of the time in run queues is of, if it is mostly of such threads.
fn low_priority(fold: &Fold<'_>) -> Option<ThreadPriority> {
    let (threads, mut all_ns) = (&fold.trace.threads, 0);
    let mut queued_ns: BTreeMap<ThreadPriority, u64> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        let ns = total(&weights.runnable);
        all_ns += ns;
        if let Some(thread) = site.key.thread.get().filter(|thread| *thread < threads.len()) {
            *queued_ns.entry(ThreadPriority::of(threads, thread)).or_default() += ns;
        }
    }
    queued_ns.retain(|priority, _| priority.is_low());
    let (low_ns, most) = (queued_ns.values().sum::<u64>(), queued_ns.into_iter().max_by_key(|(_, ns)| *ns));
    most.filter(|_| low_ns as f64 >= LOW_PRIORITY_SHARE * all_ns as f64).map(|(priority, _)| priority)
}

/// Whether the program's threads were in run queues for other reasons than one another, and for longer than waking up takes.
pub fn is_hardly_own(run_queue: &RunQueue) -> bool {
    let own_ns = run_queue.own_ns.saturating_add(run_queue.waking_ns).saturating_add(run_queue.idle_elsewhere_ns);
    run_queue.all_ns > 0 && own_ns as f64 <= HARDLY_OWN * run_queue.all_ns as f64
}

/// The program's control group may use no more.
fn cpu_quota(fold: &Fold<'_>) -> Option<QueueCause> {
    let quota = fold.trace.manifest.taken.quotas.iter().max_by_key(|quota| quota.throttled_ns)?;
    let denied_ns = fold.sums.levels.denied_ns;
    let often = quota.throttled_periods as f64 >= THROTTLED_PERIODS * quota.periods as f64;
    if quota.throttled_periods == 0 || !often || elapsed_share(fold, denied_ns) < DENIED_ELAPSED {
        return None;
    }
    let text = say!(
        CPU_QUOTA,
        runtime = Word::Ns(quota.runtime_us.saturating_mul(1000)),
        period = Word::Ns(quota.period_us.saturating_mul(1000)),
        throttled = quota.throttled_periods,
        periods = quota.periods,
        denied = Word::Ns(denied_ns),
    );
    Some(QueueCause {
        reason: QueueReason::Quota,
        subject: quota.group.clone(),
        evidence: Prose::from(text).and(needed(fold, quota)),
        stack: StackId::NONE,
        may_be_harmless: false,
    })
}

/// A quota that nobody counted, as threads ran again when its periods began.
fn quota_by_period(fold: &Fold<'_>, run_queue: &RunQueue) -> Option<QueueCause> {
    let RunQueue { quota_by_period_ns: Some(period_ns), quota_ns, .. } = *run_queue else { return None };
    (elapsed_share(fold, quota_ns) >= DENIED_ELAPSED).then(|| QueueCause {
        reason: QueueReason::Quota,
        subject: String::new(),
        evidence: say!(CPU_QUOTA_BY_PERIOD, stopped = Word::Ns(quota_ns), period = Word::Ns(period_ns)).into(),
        stack: StackId::NONE,
        may_be_harmless: false,
    })
}

/// The quota with which the program would have run whenever it was ready: as many CPUs as threads were, up to all.
fn needed(fold: &Fold<'_>, quota: &QuotaUse) -> Option<Sentence> {
    let has = quota.runtime_us as f64 / quota.period_us.max(1) as f64;
    let online = u64::from(fold.trace.manifest.cpus.online.max(1));
    let wanted_ns = thread_time(&fold.sums.levels.histogram_concurrency, online);
    let wanted = wanted_ns as f64 / fold.sums.windows.length_ns().max(1) as f64;
    (wanted > has).then(|| say!(CPU_QUOTA_NEEDED, cpus = Word::Real(wanted, 1), has = Word::Real(has, 2)))
}

/// More threads have work than there are CPUs: they were in run queues for `own_ns` while others of the program had the CPUs.
fn oversubscription(fold: &Fold<'_>, own_ns: u64, largest_role_ns: u64) -> Option<QueueCause> {
    let cpu_ns = fold.shown().cpu_ns();
    // New threads that queue for their first CPU are churn.
    let started = |site: &Site| site.key.reason != Some(Reason::Starting);
    let of_runtime = |site: &Site| site.key.thread.get().is_some_and(|thread| is_of_go_runtime(fold.trace, thread));
    let counts = |site: &Site| started(site) && !of_runtime(site);
    let queued_ns: u64 = fold.selected_if(counts).map(|(.., weights)| total(&weights.runnable)).sum();
    let preempted = |site: &Site| site.key.reason == Some(Reason::Preempted);
    let preempted_ns: u64 = fold.selected_if(preempted).map(|(.., weights)| total(&weights.runnable)).sum();
    let levels = &fold.sums.levels;
    let cpus = fold.trace.manifest.cpus.usable.max(1);
    let busy = ConcurrencyStats::average(&levels.histogram_cpu) / f64::from(cpus);
    let others = cpus_of_others(fold) / f64::from(cpus);
    let are_busy = busy >= BUSY_SHARE && busy + others >= ALL_BUSY_SHARE;
    // Whoever is preempted had something to do: no thread that wakes another one and goes to sleep.
    let too_many_run = preempted_ns as f64 >= PREEMPTED_SHARE * queued_ns as f64 && own_ns >= cpu_ns;
    // Who mostly queues behind threads of its own does so wherever others run.
    let is_free = |used: u32| !are_taken(fold, used) || own_ns as f64 >= OWN_MOSTLY * queued_ns as f64;
    let kept_to = cpus_used(fold).filter(|used| *used < cpus && are_bound(fold.trace, *used) && is_free(*used));
    let above_kept = |kept_to| above(&levels.histogram_concurrency, kept_to).min(cpu_ns);
    let too_many_ns = kept_to.map_or(levels.oversubscribed_ns, above_kept);
    let share = if kept_to.is_some() { KEPT_SHARE } else { OVERSUBSCRIBED_SHARE };
    let any_ns = above(&levels.histogram_cpu, 0);
    let all_ns = above(&levels.histogram_cpu, cpus.saturating_sub(1));
    let uses_all = fold.trace.fiber_threads > 0 && all_ns as f64 >= HARDLY_ALL_CPUS * any_ns as f64;
    // A runtime that may use one CPU only is busy though others are idle.
    let is_runtime_busy = fold.trace.fiber_threads > 0
        && !uses_all
        && any_ns as f64 >= ALL_BUSY_SHARE * fold.sums.windows.length_ns() as f64;
    let are_busy = are_busy || is_runtime_busy;
    let requests_wait = requests_wait(fold.trace);
    let enough = too_many_ns as f64 >= share * cpu_ns as f64
        && is_crowd(&levels.histogram_concurrency, kept_to.unwrap_or(cpus))
        && (kept_to.is_some() || is_of_one_role(&levels.histogram_concurrency, cpus, largest_role_ns))
        && (!uses_all || requests_wait)
        && queued_ns as f64 >= OWN_QUEUE_SHARE * cpu_ns as f64
        && (are_busy || kept_to.is_some() || too_many_run || own_ns as f64 >= CROWDED * cpu_ns as f64);
    if cpu_ns == 0 || !enough {
        return None;
    }
    let mut running: BTreeMap<StackId, u64> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        *running.entry(site.key.stack).or_default() += weights.cpu_ns();
    }
    if let Some(collector) = collector(fold, &running, cpu_ns) {
        return Some(collector);
    }
    let ready = average_while_any(&levels.histogram_concurrency);
    let text = say!(
        OVERSUBSCRIPTION,
        share = Word::part(too_many_ns, cpu_ns),
        cpus = kept_to.unwrap_or(cpus),
        ready = Word::Real(ready, 1),
    );
    let reason = match kept_to {
        Some(_) => QueueReason::Affinity,
        None if fold.trace.fiber_threads > 0 && !uses_all => QueueReason::OwnFibers,
        None if requests_wait => QueueReason::OwnRequests,
        None if are_processes(fold, cpus) => QueueReason::OwnProcesses,
        None => QueueReason::OwnThreads,
    };
    let may_be_harmless = match reason {
        QueueReason::OwnFibers => true,
        QueueReason::OwnThreads | QueueReason::OwnProcesses => ready < ANY_ROLE_PER_CPU * f64::from(cpus),
        _ => false,
    };
    Some(QueueCause {
        reason,
        subject: kept_to.map_or_else(|| format!("{cpus} CPUs"), |kept_to| format!("{kept_to} of {cpus} CPUs")),
        evidence: text.into(),
        stack: busiest(fold, running),
        may_be_harmless,
    })
}

/// The garbage collector, where it is what the program's threads mostly ran, each stack for so many ns.
fn collector(fold: &Fold<'_>, running: &BTreeMap<StackId, u64>, cpu_ns: u64) -> Option<QueueCause> {
    let mut collectors = CollectorFunctions::default();
    let collects = |(stack, _): &(&StackId, &u64)| collectors.are_at(&fold.sums.stacks, **stack);
    let collected_ns: u64 = running.iter().filter(collects).map(|(_, ns)| *ns).sum();
    (collected_ns as f64 >= COLLECTED_SHARE * cpu_ns as f64).then(|| {
        let share = say!(COLLECTOR_SHARE, ran = Word::Ns(collected_ns), share = Word::part(collected_ns, cpu_ns));
        QueueCause {
            reason: QueueReason::Collector,
            subject: String::new(),
            evidence: share.into(),
            stack: StackId::NONE,
            may_be_harmless: false,
        }
    })
}

/// Whether more threads of the program are ready than there are CPUs, for much of the time that they run, and by far.
pub fn are_too_many(fold: &Fold<'_>) -> bool {
    let is_much = fold.sums.levels.oversubscribed_ns as f64 >= OVERSUBSCRIBED_SHARE * fold.shown().cpu_ns() as f64;
    is_much && is_crowd(&fold.sums.levels.histogram_concurrency, fold.trace.manifest.cpus.usable.max(1))
}

/// Whether one role has more threads at work than there are CPUs, on average while any is, or all together far more. A pipeline needs a thread for
/// each of its stages.
fn is_of_one_role(histogram: &[u64], cpus: u32, largest_role_ns: u64) -> bool {
    let any_ns = above(histogram, 0);
    largest_role_ns as f64 >= ONE_ROLE_PER_CPU * f64::from(cpus) * any_ns as f64
        || average_while_any(histogram) >= ANY_ROLE_PER_CPU * f64::from(cpus)
}

/// Whether far more threads than CPUs are ready on average while any is, by the histogram over numbers of threads.
fn is_crowd(histogram: &[u64], cpus: u32) -> bool {
    average_while_any(histogram) >= READY_PER_CPU * f64::from(cpus)
}

/// The average of a histogram over numbers of threads, while there is any.
fn average_while_any(histogram: &[u64]) -> f64 {
    thread_time(histogram, u64::MAX) as f64 / above(histogram, 0).max(1) as f64
}

/// Whether several requests at once wait for a process, on average while any does.
fn requests_wait(trace: &Trace) -> bool {
    waiting_requests(trace).iter().any(|it| it.asked >= SEVERAL_REQUESTS)
}

/// Whether it is more processes than CPUs that were ready, each with one thread that works.
fn are_processes(fold: &Fold<'_>, cpus: u32) -> bool {
    let mut of_process: BTreeMap<ProcessId, BTreeMap<usize, u64>> = BTreeMap::new();
    for (_, site, weights) in fold.selected() {
        let Some(thread) = site.key.thread.get() else { continue };
        let queued_ns = of_process.entry(fold.trace.threads.process[thread]).or_default();
        *queued_ns.entry(thread).or_default() += total(&weights.runnable);
    }
    let most_of = |threads: &BTreeMap<usize, u64>| threads.values().copied().max().unwrap_or(0);
    let all_ns: u64 = of_process.values().flat_map(BTreeMap::values).sum();
    let most_ns: u64 = of_process.values().map(most_of).sum();
    of_process.len() > cpus as usize && most_ns as f64 >= ONE_THREAD_EACH * all_ns as f64
}

/// The stack with most of the time at the place with most, as the program's own sources have it.
fn busiest(fold: &Fold<'_>, running: BTreeMap<StackId, u64>) -> StackId {
    let mut running: Vec<(StackId, u64)> = running.into_iter().collect();
    running.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let mut places: BTreeMap<String, (u64, StackId)> = BTreeMap::new();
    for (stack, ns) in running.into_iter().take(PLACED) {
        let place = wait_place(fold.trace, &fold.sums.stacks, stack).at;
        places.entry(place).or_insert((0, stack)).0 += ns;
    }
    places.remove(UNKNOWN_FUNCTION);
    places.into_values().max_by_key(|(ns, _)| *ns).map_or(StackId::NONE, |(_, stack)| stack)
}

/// Time of a histogram over numbers of threads in which there were more than `count`, ns.
fn above(histogram: &[u64], count: u32) -> u64 {
    histogram.iter().skip(count as usize + 1).fold(0, |sum, ns| sum.saturating_add(*ns))
}

/// Time of a histogram over numbers of threads, each instant as often as there are threads, up to `most`, ns.
fn thread_time(histogram: &[u64], most: u64) -> u64 {
    let threads = histogram.iter().zip(0u64..);
    threads.fold(0, |sum, (ns, count)| sum.saturating_add(ns.saturating_mul(count.min(most))))
}

/// A part of the time looked at.
fn elapsed_share(fold: &Fold<'_>, ns: u64) -> f64 {
    ns as f64 / fold.sums.windows.length_ns().max(1) as f64
}

#[cfg(test)]
mod tests;
