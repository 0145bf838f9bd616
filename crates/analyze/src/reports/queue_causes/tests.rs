//! Why threads had no CPU, in drawn traces.

use dwell_model::SchedulingPolicy;
use dwell_query::question::query::Query;
use dwell_trace_dsl::{CELL, build};

use super::*;

fn repeated(lines: &[(&'static str, &str)], times: usize) -> Trace {
    let lines: Vec<(&str, Vec<char>)> =
        lines.iter().map(|(name, cells)| (*name, cells.repeat(times).chars().collect())).collect();
    build(&lines, 2)
}

fn causes(trace: &Trace) -> Vec<QueueCause> {
    let query = Query::default();
    queue_causes(&Fold::new(trace, &query).unwrap(), &RunQueue::default(), u64::MAX)
}

fn reasons(trace: &Trace) -> Vec<QueueReason> {
    causes(trace).iter().map(|cause| cause.reason).collect()
}

#[test]
fn four_threads_on_two_cpus() {
    let lines = [("a", "####----"), ("b", "####----"), ("c", "----####"), ("d", "----####")];
    assert_eq!(reasons(&repeated(&lines, 10)), [QueueReason::OwnThreads]);
    assert_eq!(reasons(&repeated(&[("a", "########"), ("b", "#######-")], 10)), []);
    let beside_a_feeder = [("a", "####----"), ("b", "----####"), ("feeder", "cccc-###")];
    assert_eq!(reasons(&repeated(&beside_a_feeder, 10)), [], "one more than CPUs for a while");
}

/// Stages of a pipeline are more threads than CPUs, though none of its roles is.
#[test]
fn too_many_threads_are_of_one_role() {
    let of_role = |threads: u64| {
        let trace = repeated(&[("a", "####----"), ("b", "####----"), ("c", "----####"), ("d", "----####")], 10);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let causes = queue_causes(&fold, &RunQueue::default(), threads * trace.elapsed_ns());
        causes.iter().map(|cause| cause.reason).collect::<Vec<_>>()
    };
    assert_eq!(of_role(4), [QueueReason::OwnThreads]);
    assert_eq!(of_role(2), []);
}

#[test]
fn processes_that_are_too_many_are_no_threads() {
    let lines = [("a", "####----"), ("b", "####----"), ("c", "----####"), ("d", "----####")];
    let mut trace = repeated(&lines, 10);
    let first = trace.processes.row(0).unwrap();
    for thread in 1..4 {
        trace.threads.process[thread] = ProcessId::new(trace.processes.push(first.clone()));
    }
    trace.tables_changed();
    assert_eq!(reasons(&trace), [QueueReason::OwnProcesses]);
}

#[test]
fn cpus_that_others_had_are_no_affinity() {
    let reasons = |others: u64, allowed: u32| {
        let mut trace = repeated(&[("a", "#-#-#-#-"), ("b", "-#-#-#-#")], 100);
        trace.manifest.taken.rivals = vec![Rival { name: "other".into(), ns: others * CELL }];
        trace.threads.cpus_allowed.fill(allowed);
        trace.tables_changed();
        reasons(&trace)
    };
    assert_eq!(reasons(10, 1), [QueueReason::Affinity]);
    assert_eq!(reasons(180, 1), [QueueReason::OtherPrograms]);
    assert_eq!(reasons(10, 0), [], "they happen to be there");
}

#[test]
fn threads_that_preempt_one_another_are_too_many_though_a_cpu_seems_idle() {
    let told = |lines: &[(&'static str, &str)]| {
        let trace = repeated(lines, 10);
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let behind_own = RunQueue { own_ns: 2 * fold.shown().cpu_ns(), ..RunQueue::default() };
        queue_causes(&fold, &behind_own, u64::MAX).iter().map(|cause| cause.reason).collect::<Vec<_>>()
    };
    assert_eq!(told(&[("a", "#---"), ("b", "-#--"), ("c", "--#-"), ("d", "---#")]), [QueueReason::OwnThreads]);
    // Each waits, and is woken while another one runs.
    assert_eq!(told(&[("a", "#c--"), ("b", "-#c-"), ("c", "--#c"), ("d", "c--#")]), []);
}

/// Two threads compute on two CPUs and get one of them; `name` had the other for so long.
fn beside(name: &str, cells: u64) -> Trace {
    let mut trace = repeated(&[("a", "#-#-#-#-"), ("b", "-#-#-#-#")], 10);
    trace.manifest.taken.rivals = vec![Rival { name: name.into(), ns: cells * CELL }];
    trace
}

#[test]
fn cpus_that_others_took_are_told_with_their_names() {
    let causes = causes(&beside("stress", 60));
    let taken = causes.iter().find(|cause| cause.reason == QueueReason::OtherPrograms).unwrap();
    let text = taken.evidence.to_string();
    assert_eq!(taken.subject, "stress");
    assert!(text.contains("got 50.0 % of the CPU time") && text.contains("stress 60.0 ms"), "{text}");
    let mut beside_dwell = beside("stress", 60);
    beside_dwell.manifest.taken.rivals.insert(0, Rival { name: OWN_PROGRAM.into(), ns: 60 * CELL });
    assert_eq!(self::causes(&beside_dwell)[0].subject, "stress");
    beside_dwell.manifest.taken.rivals[0].ns = 400 * CELL;
    assert_eq!(self::causes(&beside_dwell).first().map_or("", |cause| &cause.subject), "", "hardly seen beside Dwell");
    let dwell = reasons(&beside(OWN_PROGRAM, 60));
    assert!(!dwell.contains(&QueueReason::OtherPrograms), "it is the measurement itself");
    let nobody = reasons(&beside("stress", 10));
    assert!(!nobody.contains(&QueueReason::OtherPrograms), "nobody is known who took so much");
}

#[test]
fn threads_of_low_priority_are_told_with_it() {
    let reasons_of = |policy: u8, nice: i32| {
        let mut trace = beside("stress", 60);
        trace.threads.policy[1] = policy;
        trace.threads.nice[1] = nice;
        trace.tables_changed();
        causes(&trace).remove(0)
    };
    let told = |policy, nice| reasons_of(policy, nice).reason;
    let idle = told(SchedulingPolicy::Idle.code(), 0);
    assert!(matches!(idle, QueueReason::LowPriority(priority) if priority.to_string() == "SCHED_IDLE"), "{idle:?}");
    let nice = told(0, 19);
    assert!(matches!(nice, QueueReason::LowPriority(priority) if priority.to_string() == "nice 19"), "{nice:?}");
    assert_eq!(nice.id(), "low-priority");
    assert_eq!([told(0, -5), told(SchedulingPolicy::Fifo.code(), 19)], [QueueReason::OtherPrograms; 2]);
}

#[test]
fn a_quota_is_told_with_what_the_program_wanted() {
    let mut trace = repeated(&[("a", "#---"), ("b", "#---")], 20);
    trace.manifest.cpus.online = 2;
    trace.manifest.taken.quotas = vec![QuotaUse {
        group: "/sys/fs/cgroup/app".into(),
        runtime_us: 50_000,
        period_us: 100_000,
        periods: 10,
        throttled_periods: 9,
        throttled_ns: 60 * CELL,
    }];
    let quota = causes(&trace).remove(0);
    let text = quota.evidence.to_string();
    assert_eq!((quota.reason, quota.subject.as_str()), (QueueReason::Quota, "/sys/fs/cgroup/app"));
    assert!(text.contains("9 of 10 periods") && text.contains("2.0 CPUs on average; the quota is 0.50"), "{text}");
    trace.manifest.taken.quotas[0].throttled_periods = 0;
    assert!(!reasons(&trace).contains(&QueueReason::Quota));
}
