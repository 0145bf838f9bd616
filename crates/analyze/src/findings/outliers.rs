//! Why intervals take much longer now and then: a finding for each sort of cause that most of a type's outlier time is for.
//! Only of collections that recorded what delays threads.

use dwell_model::{Delay, FindingDef, StackId};
use dwell_query::question::query::Query;
use dwell_view::Word;

use crate::findings::claim::Claim;
use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::study::latency::{DelayPiece, IntervalType, Kind, Latency, Origin, Outlier};

/// Outliers from which on they are no accident.
const FEWEST: usize = 5;
/// Part of the outlier time of a type that the causes must have.
const CAUSE_SHARE: f64 = 0.5;
/// Part of the time of all intervals of the type that it must be.
const TYPE_SHARE: f64 = 0.01;

/// Others had the CPU.
pub const OUTLIERS_CPU_TAKEN: FindingDef = FindingDef {
    id: "outliers-cpu-taken",
    title: "Outliers: the CPU was taken",
    help: "Intervals take much longer now and then since other threads have the CPU: the thread is preempted, queues after a \
           wake-up, or is moved to another CPU. Each is recorded with who ran instead.",
    advice: "Give the thread a CPU of its own (taskset, cpuset.cpus, isolcpus=) or a real-time priority (chrt -f), pin it so \
             that it is not moved, and have fewer threads ready than there are CPUs.",
    japanese_title: "外れ値: CPU を奪われた",
    japanese_advice: "スレッドに専用の CPU (taskset、cpuset.cpus、isolcpus=) かリアルタイム優先度 (chrt -f) を与え、\
                      移動しないように固定し、実行可能なスレッドを CPU より少なくしてください。",
};

pub fn cpu_taken(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::Preemption, Delay::RunQueue, Delay::Migration])
}

/// The kernel had the CPU.
pub const OUTLIERS_INTERRUPTED: FindingDef = FindingDef {
    id: "outliers-interrupted",
    title: "Outliers: interrupts and kernel work",
    help: "Intervals take much longer now and then since interrupts, soft interrupts or threads of the kernel run in the \
           thread's time. Each is recorded with its handler.",
    advice: "Keep them off the thread's CPU: /proc/irq/N/smp_affinity_list and the network queues' rps_cpus for interrupts, \
             isolcpus=, nohz_full= and rcu_nocbs= for ticks and RCU, /sys/devices/virtual/workqueue/cpumask for kernel work.",
    japanese_title: "外れ値: 割り込みとカーネルの処理",
    japanese_advice: "スレッドの CPU から遠ざけてください。割り込みは /proc/irq/N/smp_affinity_list とネットワーク\
                      ・キューの rps_cpus、ティックと RCU は isolcpus=、nohz_full=、rcu_nocbs=、\
                      カーネルの処理は /sys/devices/virtual/workqueue/cpumask。",
};

pub fn interrupted(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(
        evidence,
        &[Delay::KernelWork, Delay::Timer, Delay::Interrupt, Delay::SoftInterrupt, Delay::Ipi, Delay::TlbShootdown],
    )
}

/// Memory was not there.
pub const OUTLIERS_MEMORY: FindingDef = FindingDef {
    id: "outliers-memory",
    title: "Outliers: memory is fetched meanwhile",
    help: "Intervals take much longer now and then in page faults, or since the thread has to free memory first.",
    advice: "Get the memory before it matters: touch it once at the start, MAP_POPULATE, mlockall(MCL_CURRENT | \
             MCL_FUTURE), huge pages; keep the allocator from returning it (M_TRIM_THRESHOLD). For reclaim, raise the \
             memory limit.",
    japanese_title: "外れ値: 途中でメモリーを用意している",
    japanese_advice: "必要になる前にメモリーを用意してください。開始時に一度触れる、MAP_POPULATE、mlockall、\
                      ヒュージページ。回収が原因ならメモリーの上限を上げてください。",
};

pub fn memory(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::MinorFault, Delay::MajorFault, Delay::Reclaim, Delay::Compaction])
}

/// The cgroup's quota was used up.
pub const OUTLIERS_QUOTA: FindingDef = FindingDef {
    id: "outliers-quota",
    title: "Outliers: CPU quota used up",
    help: "Intervals take much longer now and then since the thread's cgroup has used up its CPU time and is held until the \
           next period.",
    advice: "Raise or remove the quota (cpu.max, a container's CPU limit), allow bursts (cpu.max.burst), or run fewer \
             threads than the quota has CPUs.",
    japanese_title: "外れ値: CPU クォータを使い切った",
    japanese_advice: "クォータ (cpu.max、コンテナーの CPU 制限) を上げるか外す、\
                      貯められるようにする (cpu.max.burst)、またはスレッドをクォータの CPU 数より少なくしてくださ\
                      い。",
};

pub fn quota(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::Throttling])
}

/// Others held a lock.
pub const OUTLIERS_LOCK: FindingDef = FindingDef {
    id: "outliers-lock",
    title: "Outliers: locks held by others",
    help: "Intervals take much longer now and then since the thread waits for a lock.",
    advice: "Hold it for less, split it, or do without (a queue, read-copy-update); where a thread of lower priority holds it, \
             PTHREAD_PRIO_INHERIT. dwell report blame LOCK shows what its holders did.",
    japanese_title: "外れ値: 他のスレッドが保持するロック",
    japanese_advice: "ロックを保持する時間を短くする、分ける、または使わない (キュー)。\
                      優先度の低いスレッドが保持しているなら PTHREAD_PRIO_INHERIT。",
};

pub fn lock(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::Lock, Delay::Spin])
}

/// CPUs were asleep.
pub const OUTLIERS_IDLE: FindingDef = FindingDef {
    id: "outliers-idle",
    title: "Outliers: CPUs wake up slowly",
    help: "Wake-ups take much longer now and then since the CPU has to leave an idle state first, or all code does \
           since the CPU runs at a lower frequency.",
    advice: "Allow shallow idle states only (cpupower idle-set -D 10, /dev/cpu_dma_latency), let the thread poll instead of \
             sleep, or use the governor performance.",
    japanese_title: "外れ値: CPU の起床が遅い",
    japanese_advice: "浅いアイドル状態だけを許可する (cpupower idle-set -D 10、/dev/cpu_dma_latency)、\
                      スリープの代わりにポーリングする、または performance ガバナーを使ってください。",
};

pub fn idle(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::IdleExit, Delay::Frequency])
}

/// The thread was in the kernel by its own wish.
pub const OUTLIERS_CALLS: FindingDef = FindingDef {
    id: "outliers-calls",
    title: "Outliers: slow system calls",
    help: "Intervals take much longer now and then in system calls that the thread makes, or in waits for a device.",
    advice: "Take the call out of the work that must be fast: another thread, io_uring, memory that stays mapped as it is. dwell \
             report outlier ID names the call.",
    japanese_title: "外れ値: 遅いシステムコール",
    japanese_advice: "速くなければならない処理から呼び出しを出してください。別のスレッド、io_uring、\
                      マップしたままのメモリー。",
};

pub fn calls(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::SystemCall, Delay::BlockIo])
}

/// The runtime's collector ran.
pub const OUTLIERS_COLLECTOR: FindingDef = FindingDef {
    id: "outliers-collector",
    title: "Outliers: garbage collection",
    help: "Intervals take much longer now and then since threads are stopped until a collector's thread lets them go on.",
    advice: "Allocate less in the work that must be fast, tune the collector for short pauses (ZGC, Shenandoah, a larger young \
             generation; GCSettings.LatencyMode), or give the heap more room.",
    japanese_title: "外れ値: ガベージ・コレクション",
    japanese_advice: "速くなければならない処理での割り当てを減らす、停止の短いコレクターを使う (ZGC、Shenandoah)、\
                      またはヒープを広げてください。",
};

pub fn collector(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::GarbageCollection])
}

/// The hypervisor had the CPU.
pub const OUTLIERS_STOLEN: FindingDef = FindingDef {
    id: "outliers-stolen",
    title: "Outliers: the machine was taken away",
    help: "Intervals take much longer now and then since the hypervisor gives the CPU to others: it tells how long.",
    advice: "Use a machine with CPUs of its own (a dedicated host, a larger kind), or pin the virtual CPUs on the host.",
    japanese_title: "外れ値: マシンを奪われた",
    japanese_advice: "専用の CPU を持つマシンを使うか、ホスト上で仮想 CPU を固定してください。",
};

pub fn stolen(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::Steal])
}

/// Signals came.
pub const OUTLIERS_SIGNALS: FindingDef = FindingDef {
    id: "outliers-signals",
    title: "Outliers: signals",
    help: "Intervals take much longer now and then since a handler of a signal runs in the thread, or a signal stops it.",
    advice: "Block the signal in the thread (pthread_sigmask) and take it in another one (sigwait, signalfd); look for profilers \
             and timers that send it.",
    japanese_title: "外れ値: シグナル",
    japanese_advice: "スレッドでシグナルをブロックし (pthread_sigmask)、別のスレッドで受け取ってください (sigwait、\
                      signalfd)。シグナルを送るプロファイラーやタイマーを探してください。",
};

pub fn signals(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    by_causes(evidence, &[Delay::Signal, Delay::Stopped])
}

/// A finding for each type of intervals whose outliers are mostly for these causes. Waits are for what they are on.
fn by_causes(evidence: &Evidence<'_, '_>, causes: &[Delay]) -> Vec<Finding> {
    let Some(latency) = evidence.latency() else { return Vec::new() };
    let types = latency.types.iter().filter(|of| of.kind != Kind::Wait && of.outliers.len() >= FEWEST);
    types.filter_map(|of| finding(evidence, latency, of, causes)).collect()
}

/// What the report of latency shows of a type, where the query leaves the intervals and the limit to Dwell.
fn claims(query: &Query, of: &IntervalType) -> Vec<Claim> {
    if query.outlier_ns.is_some() {
        return Vec::new();
    }
    let numbers = [
        ("count", of.intervals.len() as u64),
        ("outliers", of.outliers.len() as u64),
        ("p50_ns", of.statistics.median_ns()),
        ("outlier_ns", of.outlier_ns()),
    ];
    numbers.map(|(column, number)| Claim::is("latency", query, column, number).of("interval", &of.name)).into()
}

fn finding(evidence: &Evidence<'_, '_>, latency: &Latency<'_>, of: &IntervalType, causes: &[Delay]) -> Option<Finding> {
    let time = |outlier: &Outlier| -> u64 {
        causes.iter().fold(0, |sum, cause| sum.saturating_add(outlier.split.causes.of(*cause)))
    };
    let cost_ns = of.outliers.iter().fold(0, |sum: u64, outlier| sum.saturating_add(time(outlier)));
    let (all_ns, total_ns) = (of.outlier_ns(), of.statistics.total_ns);
    if (cost_ns as f64) < CAUSE_SHARE * all_ns as f64 || (cost_ns as f64) < TYPE_SHARE * total_ns as f64 {
        return None;
    }
    let worst = of.outliers.iter().max_by_key(|outlier| time(outlier))?;
    let text = say!(
        OUTLIERS,
        outliers = of.outliers.len(),
        count = of.intervals.len(),
        longest = Word::Ns(worst.interval.length_ns()),
        median = Word::Ns(of.statistics.median_ns()),
        cost = Word::Ns(cost_ns),
        share = Word::part(cost_ns, all_ns),
        id = worst.interval.id.handle(),
    );
    let longest = latency.delays(worst.interval.thread).and_then(|delays| {
        let inside = delays.within(worst.interval.start_ns, worst.interval.end_ns);
        inside.filter(|piece| causes.contains(&piece.cause)).max_by_key(DelayPiece::length_ns)
    });
    let stack = match longest.map(|piece| piece.origin) {
        Some(Origin::OffCpu(row)) => latency.stack_of(row),
        _ => StackId::NONE,
    };
    let claims = claims(evidence.fold.query, of);
    Some(Finding { subject: of.name.clone(), evidence: text.into(), stack, cost_ns, claims, ..Finding::default() })
}
