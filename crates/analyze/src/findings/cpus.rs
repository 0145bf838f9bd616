//! CPUs that the program did not get while its threads were ready: others had them, or its quota was used up.

use dwell_model::{FindingDef, StackId};
use dwell_store::{QuotaUse, Rival};
use dwell_view::{Prose, Sentence, Word, duration};

use crate::findings::claim::Claim;
use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::sentences::say;

/// Other programs had the CPUs.
pub const CPU_TAKEN: FindingDef = FindingDef {
    id: "cpus-taken",
    title: "CPUs taken by other programs",
    help: "Threads of the program are ready to run, and CPUs that they may use run other programs. Every time and wait in the \
           result contains that: a lock is held for longer when its holder is in the run queue.",
    advice: "Measure again on a quiet machine. Where the neighbours stay: give the program CPUs of its own (taskset, a cpuset, \
             CPU requests), or lower the others' weight (nice, cpu.weight, SCHED_IDLE).",
    japanese_title: "他のプログラムによる CPU の占有",
    japanese_advice: "静かなマシンで測り直してください。他のプログラムが残る場合は、専用の CPU を割り当てる (taskset、cpuset.cpus) \
                      か、他のプログラムの重みを下げてください (cpu.weight、SCHED_IDLE)。",
};

/// The program's control group may use no more.
pub const CPU_QUOTA: FindingDef = FindingDef {
    id: "cpu-quota",
    title: "Stopped by a CPU quota",
    help: "The program's control group, such as a container with a CPU limit, uses its time up before a period ends. The kernel \
           then keeps all of its threads off the CPUs until the next one begins.",
    advice: "Raise or remove the quota (cpu.max, a container's CPU limit), allow bursts (cpu.max.burst), or start no more threads \
             than the quota has CPUs (GOMAXPROCS, -XX:ActiveProcessorCount, OMP_NUM_THREADS).",
    japanese_title: "CPU クォータによる停止",
    japanese_advice: "クォータ (cpu.max、コンテナーの CPU 制限) を上げるか外す、バーストを許可する (cpu.max.burst)、またはスレッド\
                      をクォータの CPU 数以下にしてください (GOMAXPROCS、OMP_NUM_THREADS)。",
};

/// Part of the CPU time that the program ran or was denied from which that matters …
const DENIED_SHARE: f64 = 0.1;
/// … and part of the elapsed time, and a time: a program of some milliseconds always meets somebody.
const DENIED_ELAPSED: f64 = 0.05;
const DENIED_NS: u64 = 20_000_000;
/// Part of it for which there must be others.
const EXPLAINED: f64 = 0.3;
/// Others that are named.
const NAMED: usize = 3;

pub fn cpus_taken(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (denied_ns, rivals) = (evidence.fold.levels.denied_ns, &evidence.fold.trace.manifest.taken.rivals);
    let wanted_ns = denied_ns.saturating_add(running_ns(evidence));
    let enough = denied_ns as f64 >= DENIED_SHARE * wanted_ns as f64 && evidence.share(denied_ns) >= DENIED_ELAPSED;
    let enough = enough && denied_ns >= DENIED_NS;
    // What others took is known for the whole recording only.
    let taken_ns = rivals.iter().fold(0u64, |sum, rival| sum.saturating_add(rival.ns));
    let part = evidence.elapsed_ns as f64 / evidence.fold.trace.elapsed_ns().max(1) as f64;
    let by_others = taken_ns as f64 * part >= EXPLAINED * denied_ns as f64;
    if !enough || !by_others || !cpu_quota(evidence).is_empty() {
        return Vec::new();
    }
    let name = |rival: &Rival| format!("{} {}", rival.name, duration(rival.ns));
    let names: Vec<String> = rivals.iter().take(NAMED).map(name).collect();
    let text = say!(
        CPUS_TAKEN,
        denied = Word::Ns(denied_ns),
        share = Word::part(denied_ns, wanted_ns),
        names = names.join(", "),
    );
    vec![Finding {
        subject: rivals.first().map(|rival| rival.name.clone()).unwrap_or_default(),
        evidence: text.into(),
        stack: StackId::NONE,
        cost_ns: denied_ns,
        claims: vec![Claim::at_least("summary", evidence.fold.query, "preemption_ns", denied_ns)],
        ..Finding::default()
    }]
}

/// CPU time of all threads, ns.
fn running_ns(evidence: &Evidence<'_, '_>) -> u64 {
    thread_time(&evidence.fold.levels.histogram_cpu, u64::MAX)
}

/// Time of a histogram over numbers of threads, each instant as often as there are threads, up to `most`, ns.
fn thread_time(histogram: &[u64], most: u64) -> u64 {
    let threads = histogram.iter().zip(0u64..);
    threads.fold(0, |sum, (ns, count)| sum.saturating_add(ns.saturating_mul(count.min(most))))
}

/// Part of a group's periods that must have been cut short.
const THROTTLED_PERIODS: f64 = 0.05;

pub fn cpu_quota(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let quotas = evidence.fold.trace.manifest.taken.quotas.iter();
    let Some(quota) = quotas.max_by_key(|quota| quota.throttled_ns) else { return Vec::new() };
    let denied_ns = evidence.fold.levels.denied_ns;
    let often = quota.throttled_periods as f64 >= THROTTLED_PERIODS * quota.periods as f64;
    if quota.throttled_periods == 0 || !often || evidence.share(denied_ns) < DENIED_ELAPSED {
        return Vec::new();
    }
    let text = say!(
        CPU_QUOTA,
        runtime = Word::Ns(quota.runtime_us.saturating_mul(1000)),
        period = Word::Ns(quota.period_us.saturating_mul(1000)),
        throttled = quota.throttled_periods,
        periods = quota.periods,
        denied = Word::Ns(denied_ns),
    );
    let text = Prose::from(text).and(needed(evidence, quota));
    vec![Finding {
        subject: quota.group.clone(),
        evidence: text,
        stack: StackId::NONE,
        cost_ns: denied_ns,
        claims: vec![Claim::at_least("summary", evidence.fold.query, "preemption_ns", denied_ns)],
        ..Finding::default()
    }]
}

/// The quota with which the program would have run whenever it was ready: as many CPUs as threads were, up to all.
fn needed(evidence: &Evidence<'_, '_>, quota: &QuotaUse) -> Option<Sentence> {
    let (fold, has) = (evidence.fold, quota.runtime_us as f64 / quota.period_us.max(1) as f64);
    let online = u64::from(fold.trace.manifest.cpus.online.max(1));
    let wanted_ns = thread_time(&fold.levels.histogram_concurrency, online);
    let wanted = wanted_ns as f64 / evidence.elapsed_ns.max(1) as f64;
    (wanted > has).then(|| say!(CPU_QUOTA_NEEDED, cpus = Word::Real(wanted, 1), has = Word::Real(has, 2)))
}
