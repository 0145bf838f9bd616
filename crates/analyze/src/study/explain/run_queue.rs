//! The run queue's account: who had the CPUs while the program's threads were ready.

use std::collections::{BTreeMap, HashSet};

use dwell_model::Reason;
use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::Windows;
use dwell_store::{QuotaUse, Trace};
use dwell_work::parallel;

use crate::study::explain::account::Account;
use crate::study::explain::bound_threads::are_bound;
use crate::study::explain::cpu_runs::{CpuRuns, LastLooks, NO_CPU, rows_within};
use crate::study::explain::machine_use::{MachineUse, machine_use};
use crate::study::explain::terms::RoleId;
use crate::study::intervals::{union, union_ns};
use crate::study::thread_index::{Bounds, ThreadIndex};

/// A stay that is shorter is the time that waking up takes, ns.
const WAKING_UP_NS: u64 = 100_000;
/// A stay that is as long may be one that a quota ends, ns.
const STOPPED_NS: u64 = 5_000_000;
/// Periods of quotas that are tried, ns.
const PERIODS: [u64; 4] = [100_000_000, 50_000_000, 20_000_000, 10_000_000];
/// Periods at whose ends stays must end …
const ENDED_PERIODS: usize = 8;
/// … and the part of all long stays that they must be.
const STAYS_SHARE: f64 = 0.6;

/// Time in run queues, ns: the parts add up to it.
#[derive(Clone, Debug, Default)]
pub struct RunQueue {
    /// All of it.
    pub all_ns: u64,
    /// Threads of the program had the CPU.
    pub own_ns: u64,
    /// Waking up took it: nobody of the program had the CPU, and it was short.
    pub waking_ns: u64,
    /// A quota of the control group stopped the program; by the kernel's count, else by the period at which stays end.
    pub quota_ns: u64,
    /// Other programs had the CPU, at most.
    pub others_ns: u64,
    /// A hypervisor had it, at most.
    pub stolen_ns: u64,
    /// A thread of the program had it, and another CPU stood idle meanwhile.
    pub idle_elsewhere_ns: u64,
    /// Nobody is known to have had it.
    pub unknown_ns: u64,
    /// Time in which any thread was there for longer than waking up takes, or behind one of the program's threads.
    pub wall_ns: u64,
    /// The quota's period, ns, where the stays alone tell of it.
    pub quota_by_period_ns: Option<u64>,
    /// Other programs and how long they ran in the recording, ns; the longest first.
    pub rivals: Vec<(String, u64)>,
}

/// Stays of threads in run queues.
#[derive(Default)]
struct Stays {
    /// All of it, what is behind own threads, and waking up.
    sums: RunQueue,
    /// Each thread's, ns.
    of_threads: Vec<(usize, u64)>,
    /// When any thread was there for longer than waking up takes, or behind one of the program's threads.
    spans: Vec<(u64, u64)>,
    /// The long ones: end, length.
    long: Vec<(u64, u64)>,
    /// When any thread was ready on a CPU for longer than waking up takes.
    of_cpu: BTreeMap<u16, Vec<(u64, u64)>>,
    last: LastLooks,
}

impl Stays {
    /// Adds those of a thread.
    fn add_thread(&mut self, (trace, windows): (&Trace, &Windows), cpus: &CpuRuns, thread: usize) {
        let mut of_thread = 0u64;
        let is_fiber = thread < trace.fiber_threads;
        let mut add = |Bounds { start, woken, ran }, key, cpu| {
            let ns = if woken < ran { windows.overlap_ns(woken, ran) } else { 0 };
            if ns == 0 {
                return;
            }
            of_thread = of_thread.saturating_add(ns);
            let pieces = windows.clip(woken, ran).filter(|_| cpu != NO_CPU);
            let own_ns: u64 = pieces.map(|piece| cpus.ran_ns(cpu, piece, &mut self.last)).sum();
            // A fiber that is ready waits for one of the program's threads, unless its own had no CPU.
            let has_thread = || trace.events().key(key).reason() == Some(Reason::Preempted);
            let own_ns = if is_fiber && !has_thread() { ns } else { own_ns };
            self.sums.own_ns = self.sums.own_ns.saturating_add(own_ns);
            let rest = ns - own_ns;
            if woken > start && rest < WAKING_UP_NS {
                self.sums.waking_ns = self.sums.waking_ns.saturating_add(rest);
            }
            if ns >= WAKING_UP_NS || own_ns > ns / 2 {
                self.spans.extend(windows.clip(woken, ran));
            }
            if ns >= STOPPED_NS && cpu != NO_CPU {
                self.long.push((ran, ns));
            }
            if ns >= WAKING_UP_NS && cpu != NO_CPU {
                self.of_cpu.entry(cpu).or_default().extend(windows.clip(woken, ran));
            }
        };
        let index = ThreadIndex::new(trace);
        rows_within(trace, windows, thread).into_iter().for_each(|rows| index.for_each(thread, rows, &mut add));
        self.sums.all_ns = self.sums.all_ns.saturating_add(of_thread);
        self.of_threads.push((thread, of_thread));
    }

    /// Adds those of other threads.
    fn add(&mut self, other: Self) {
        self.sums.all_ns = self.sums.all_ns.saturating_add(other.sums.all_ns);
        self.sums.own_ns = self.sums.own_ns.saturating_add(other.sums.own_ns);
        self.sums.waking_ns = self.sums.waking_ns.saturating_add(other.sums.waking_ns);
        self.of_threads.extend(other.of_threads);
        self.spans.extend(other.spans);
        self.long.extend(other.long);
        other.of_cpu.into_iter().for_each(|(cpu, spans)| self.of_cpu.entry(cpu).or_default().extend(spans));
    }
}

impl RunQueue {
    /// That of windows within those of a fold; adds each role's to its account.
    pub fn new(
        (fold, windows): (&Fold<'_>, &Windows),
        cpus: &CpuRuns,
        accounts: &mut BTreeMap<RoleId, Account>,
        role_of: &dyn Fn(usize) -> RoleId,
    ) -> Self {
        let trace = fold.trace;
        let new = || Stays { last: cpus.last_looks(), ..Stays::default() };
        let add = |stays: &mut Stays, thread: usize| stays.add_thread((trace, windows), cpus, thread);
        let parts = parallel::fold(trace.threads.tid.len(), new, add);
        let mut all = new();
        parts.into_iter().for_each(|part| all.add(part));
        let Stays { mut sums, of_threads, spans, long, of_cpu, mut last } = all;
        for (thread, ns) in of_threads {
            let account = accounts.entry(role_of(thread)).or_default();
            account.run_queue_ns = account.run_queue_ns.saturating_add(ns);
        }
        sums.wall_ns = union_ns(spans);
        // The time in which any was ready on a CPU that none of the program's threads had.
        let without_own = |(cpu, spans): (u16, Vec<(u64, u64)>)| -> u64 {
            union(spans).into_iter().map(|span| span.1 - span.0 - cpus.ran_ns(cpu, span, &mut last)).sum()
        };
        let any_ready_ns = of_cpu.into_iter().map(without_own).sum();
        sums.split((trace, windows), &long, any_ready_ns);
        // Threads that keep to some of the CPUs would not run on the others.
        let usable = trace.manifest.cpus.usable.max(1);
        if let Some(machine) = machine_use(fold, windows).filter(|_| !are_bound(trace, usable - 1)) {
            sums.correct(machine);
        }
        sums
    }

    /// Corrects the parts by what the whole machine did. Who is ready behind a thread of the program, while the program has no more ready threads than
    /// there are CPUs, would run on another CPU: others had that, or it stood idle. Who had the CPU where nobody was seen is others, or a hypervisor.
    fn correct(&mut self, machine: MachineUse) {
        let behind_others_ns = self.all_ns.saturating_sub(self.own_ns);
        let elsewhere_ns = self.own_ns.min(machine.denied_ns.saturating_sub(behind_others_ns));
        let by_others_ns = elsewhere_ns.min(machine.unseen_ns);
        let idle_ns = (elsewhere_ns - by_others_ns).min(machine.idle_ns);
        let unknown_by_others_ns = self.unknown_ns.min(machine.unseen_ns - by_others_ns);
        let stolen_ns = (self.unknown_ns - unknown_by_others_ns).min(machine.stolen_ns);
        self.own_ns -= by_others_ns + idle_ns;
        self.unknown_ns -= unknown_by_others_ns + stolen_ns;
        self.others_ns += by_others_ns + unknown_by_others_ns;
        self.idle_elsewhere_ns += idle_ns;
        self.stolen_ns += stolen_ns;
    }

    /// Multiplies the parts; all of it is their sum.
    pub fn scale(&mut self, scaled: &dyn Fn(u64) -> u64) {
        let parts = [
            &mut self.own_ns,
            &mut self.waking_ns,
            &mut self.quota_ns,
            &mut self.others_ns,
            &mut self.stolen_ns,
            &mut self.idle_elsewhere_ns,
            &mut self.unknown_ns,
        ];
        self.all_ns = parts.into_iter().fold(0, |sum, part| {
            *part = scaled(*part);
            sum.saturating_add(*part)
        });
        self.wall_ns = scaled(self.wall_ns);
    }

    /// Splits the time in which the program's threads did not have the CPU. It was `any_ready_ns` in which any was ready then.
    fn split(&mut self, (trace, windows): (&Trace, &Windows), stays: &[(u64, u64)], any_ready_ns: u64) {
        let taken = &trace.manifest.taken;
        // What others took and what quotas did is known of the whole recording only.
        let part = windows.length_ns() as f64 / trace.elapsed_ns().max(1) as f64;
        let of_part = |ns: u64| (ns as f64 * part.min(1.0)) as u64;
        let mut rest = self.all_ns.saturating_sub(self.own_ns).saturating_sub(self.waking_ns);
        let counted = taken.quotas.iter().map(|quota: &QuotaUse| quota.throttled_ns).fold(0, u64::saturating_add);
        // What a group did before it was first seen, and since it was last seen, is not counted.
        let (period, stopped_ns) = stopped_by_period(stays).unzip();
        self.quota_by_period_ns = period.filter(|_| counted == 0);
        self.quota_ns = rest.min(of_part(counted).max(stopped_ns.unwrap_or(0)));
        rest -= self.quota_ns;
        // Behind one program there may be several threads in a queue.
        let queued = (rest as f64 / any_ready_ns.max(1) as f64).max(1.0);
        self.others_ns = rest.min((of_part(taken.seen_ns()) as f64 * queued) as u64);
        self.unknown_ns = rest - self.others_ns;
        self.rivals = taken.rivals.iter().map(|rival| (rival.name.clone(), rival.ns)).collect();
        self.rivals.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    }
}

/// The period at one phase of which most of the long stays end, as a quota is filled up again then, and the time of these stays, ns.
fn stopped_by_period(stays: &[(u64, u64)]) -> Option<(u64, u64)> {
    let of_period = |period: u64| {
        let mut phases: Vec<u64> = stays.iter().map(|(ran, _)| ran % period).collect();
        phases.sort_unstable();
        let middle = *phases.get(phases.len() / 2)?;
        let is_near = |(ran, _): &&(u64, u64)| (ran % period + period - middle + period / 40) % period < period / 20;
        let near: Vec<&(u64, u64)> = stays.iter().filter(is_near).collect();
        // Each period ends those of all threads at once: eight threads that once begin together are no sign.
        let ended: HashSet<u64> = near.iter().map(|(ran, _)| (ran + period / 2 - middle % period) / period).collect();
        let most = ended.len() >= ENDED_PERIODS && near.len() as f64 > STAYS_SHARE * stays.len() as f64;
        most.then(|| (period, near.iter().map(|(_, ns)| ns).sum()))
    };
    // What ends with each long period does with each short one, too: the last of equals is the longest.
    PERIODS.into_iter().rev().filter_map(of_period).max_by_key(|(_, ns)| *ns)
}

#[cfg(test)]
mod tests {
    use dwell_query::question::query::Query;
    use dwell_store::Rival;
    use dwell_trace_dsl::trace;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn stays_that_end_with_each_period_are_a_quotas() {
        let stays: Vec<(u64, u64)> = (3..23).map(|period| (period * 100 * MS + 7 * MS, 40 * MS)).collect();
        assert_eq!(stopped_by_period(&stays), Some((100 * MS, 20 * 40 * MS)));
    }

    #[test]
    fn threads_that_once_begin_together_are_stopped_by_none() {
        let together: Vec<(u64, u64)> = (0..20).map(|thread| (300 * MS + thread * 10_000, 40 * MS)).collect();
        assert_eq!(stopped_by_period(&together), None);
        let now_and_then: Vec<(u64, u64)> = (0..20).map(|stay| (stay * 137 * MS, 40 * MS)).collect();
        assert_eq!(stopped_by_period(&now_and_then), None);
    }

    #[test]
    fn several_threads_may_be_ready_behind_one_program() {
        let queue = |others: u64| {
            let mut trace = trace("a: #---------#\nb: #---------#");
            for row in 0..trace.off_cpu.cpu.len() {
                trace.off_cpu.cpu[row] = 0;
            }
            trace.manifest.taken.rivals = vec![Rival { name: "other".into(), ns: others * MS }];
            trace.tables_changed();
            let windows = Windows::whole(&trace);
            let cpus = CpuRuns::new(&trace, &windows);
            let query = Query::default();
            RunQueue::new((&Fold::new(&trace, &query).unwrap(), &windows), &cpus, &mut BTreeMap::new(), &|_| 0)
        };
        let all = queue(9);
        assert_eq!(
            (all.all_ns, all.others_ns, all.unknown_ns),
            (18 * MS, 18 * MS, 0),
            "both waited for all of its time"
        );
        let half = queue(3);
        assert_eq!((half.others_ns, half.unknown_ns), (6 * MS, 12 * MS));
    }

    /// Two threads share a CPU for ten seconds, and are never more than the CPUs.
    #[test]
    fn who_had_the_other_cpu_is_told_by_the_machine() {
        let corrected = |own: u64, machine: MachineUse| {
            let mut queue = RunQueue { all_ns: 10, own_ns: own, unknown_ns: 10 - own, ..RunQueue::default() };
            queue.correct(machine);
            let RunQueue { own_ns, others_ns, stolen_ns, idle_elsewhere_ns, unknown_ns, .. } = queue;
            assert_eq!(own_ns + others_ns + stolen_ns + idle_elsewhere_ns + unknown_ns, queue.all_ns);
            (own_ns, others_ns, stolen_ns, idle_elsewhere_ns, unknown_ns)
        };
        let denied = MachineUse { denied_ns: 10, ..MachineUse::default() };
        assert_eq!(corrected(9, denied), (9, 0, 0, 0, 1), "nothing is known");
        assert_eq!(
            corrected(9, MachineUse { unseen_ns: 20, ..denied }),
            (0, 10, 0, 0, 0),
            "a neighbour has the other CPU"
        );
        assert_eq!(corrected(9, MachineUse { idle_ns: 20, ..denied }), (0, 0, 0, 9, 1), "nobody has it");
        assert_eq!(corrected(9, MachineUse { unseen_ns: 4, idle_ns: 3, ..denied }), (2, 4, 0, 3, 1));
        let too_many = MachineUse { denied_ns: 1, unseen_ns: 20, ..MachineUse::default() };
        assert_eq!(corrected(9, too_many), (9, 1, 0, 0, 0), "more threads than CPUs wait for one another");
        assert_eq!(corrected(2, MachineUse { stolen_ns: 5, ..denied }), (2, 0, 5, 0, 3));
    }
}
