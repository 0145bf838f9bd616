//! `manifest.json`: what was run, when, where and how, and in which state the result is.

use dwell_model::Notice;
use serde::{Deserialize, Serialize};

/// The trace format that this crate writes, and the only one that it reads.
pub const TRACE_FORMAT: u32 = 1;

/// How far a result has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The collection runs, or died.
    Collecting,
    /// Collected; the spool waits for finalization.
    Collected,
    /// Tables are written; the result does not change any more.
    Finalized,
}

/// The machine's CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuInfo {
    /// Logical CPUs online.
    pub online: u32,
    /// CPUs that the program may use: affinity and cgroup quota, rounded up. T of the metrics.
    pub usable: u32,
    /// The processor's name.
    pub model: String,
}

/// Time around a recorded delay in which its thread did nothing either, ns; an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edges {
    /// Before its begin: what enters the kernel, up to the hook.
    pub before_ns: u64,
    /// After its end: the rest of the hook, and what leaves the kernel.
    pub after_ns: u64,
}

/// The edges of delays, measured when the collection began; zeros where they were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayEdges {
    /// Of page faults.
    pub page_fault: Edges,
    /// Of system calls.
    pub system_call: Edges,
    /// Of interrupts by other CPUs.
    pub interrupt: Edges,
}

/// Where a CPU is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlace {
    /// Its number.
    pub cpu: u32,
    /// Its NUMA node.
    pub node: u32,
    /// Its last-level cache, by the kernel's number of it.
    pub cache: u32,
}

/// What of the machine explains delays; of collections of latency.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayFacts {
    /// What is in no event.
    pub edges: DelayEdges,
    /// Each CPU's place, as far as it is known.
    pub places: Vec<CpuPlace>,
    /// The names of the CPUs' idle states, by number.
    pub idle_states: Vec<String>,
}

/// Something was lost, between two looks of the collector at its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossTime {
    /// Name of the counter.
    pub name: String,
    /// How much it grew.
    pub count: u64,
    /// The look before, CLOCK_MONOTONIC ns.
    pub start_ns: u64,
    /// The look after.
    pub end_ns: u64,
}

/// How Dwell's own process is told among [`Rival`]s, whatever its file is called.
pub const OWN_PROGRAM: &str = "dwell";

/// Other programs that ran while threads of this one were ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rival {
    /// The name of its processes.
    pub name: String,
    /// How long they ran on CPUs that such threads then got, ns; at most the last 64 turns of each time, those of 0.1 ms and more.
    pub ns: u64,
}

/// A control group's quota, and how often it stopped the program during the collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// The group's folder.
    pub group: String,
    /// CPU time that its threads may use in a period, µs.
    pub runtime_us: u64,
    /// The period, µs.
    pub period_us: u64,
    /// Periods in which it had work.
    pub periods: u64,
    /// Those of them in which it had used up its time.
    pub throttled_periods: u64,
    /// How long its CPUs stood still for that, all of them together, ns.
    pub throttled_ns: u64,
}

/// What kept CPUs from the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTaken {
    /// Other programs, the longest first.
    pub rivals: Vec<Rival>,
    /// Quotas.
    pub quotas: Vec<QuotaUse>,
    /// What all CPUs did meanwhile, where the kernel says it.
    #[serde(default)]
    pub machine: Option<CpuUse>,
}

impl CpuTaken {
    /// How long other programs were seen on CPUs, ns.
    pub fn seen_ns(&self) -> u64 {
        self.rivals.iter().fold(0, |sum, rival| sum.saturating_add(rival.ns))
    }
}

/// What all CPUs of the machine did together, ns (/proc/stat; by ticks of the clock).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// All of their time.
    pub all_ns: u64,
    /// They had nothing to run.
    pub idle_ns: u64,
    /// A hypervisor had them.
    pub stolen_ns: u64,
    /// The collector ran.
    pub collector_ns: u64,
}

/// The manifest. Times of day are seconds since 1970, durations nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`TRACE_FORMAT`] of the writer.
    pub trace_format: u32,
    /// Version of Dwell.
    pub dwell_version: String,
    /// How far it has come.
    pub state: State,
    /// `threading`.
    pub analysis: String,
    /// What was recorded: ids of [`dwell_model::Topic`].
    pub topics: Vec<String>,
    /// The command launched, or empty when attached.
    pub command: Vec<String>,
    /// Processes attached to.
    pub target_pids: Vec<u32>,
    /// Where the records come from: `bpf`, or `perf` where no rights were needed.
    pub source: String,
    /// The collector's options as given.
    pub options: Vec<String>,
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Boot id: kernel addresses are only good for the same one.
    pub boot_id: String,
    /// The machine's CPUs.
    pub cpus: CpuInfo,
    /// `--target-concurrency`, when given.
    pub target_concurrency: Option<u32>,
    /// Sampling interval, ns.
    pub sampling_interval_ns: u64,
    /// Start as time of day, seconds since 1970.
    pub started_at: f64,
    /// Start on CLOCK_MONOTONIC: zero of all times in the tables.
    pub start_ns: u64,
    /// End on CLOCK_MONOTONIC; 0 when the collector died before it could say.
    pub end_ns: u64,
    /// Exit status of the launched program as a shell reports it.
    pub exit_status: Option<i32>,
    /// CPU time of the collector itself, user + system, ns.
    pub collector_cpu_ns: u64,
    /// Largest resident set of the collector, bytes.
    pub collector_peak_bytes: u64,
    /// Largest resident set of the process that finalized, bytes.
    pub finalization_peak_bytes: u64,
    /// Mean time between two looks at the fibers of a process (goroutines), ns; 0 where there were none.
    pub fiber_interval_ns: u64,
    /// Names of the tasks that probes make (`--task-probe`), by the number that their records carry.
    pub task_probes: Vec<String>,
    /// Probes with values (`--probe`), by the number that their hits carry.
    pub probes: Vec<ProbeDefinition>,
    /// Events that were counted (`--events`), by the number that their counts carry.
    pub counted_events: Vec<String>,
    /// What delays are told with.
    pub delays: DelayFacts,
    /// What kept CPUs from the program.
    pub taken: CpuTaken,
    /// Events recorded.
    pub events: u64,
    /// Counters of what the collector could not record: name and count, zeros left out.
    pub losses: Vec<(String, u64)>,
    /// When some of that was lost.
    pub loss_times: Vec<LossTime>,
    /// Remarks for the reader.
    #[serde(with = "crate::notices")]
    pub notices: Vec<Notice>,
}

/// A probe with values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeDefinition {
    /// Its name.
    pub name: String,
    /// What its values are called, in their order.
    pub values: Vec<String>,
    /// Of each value, the names of its numbers: the bits of each, and its name.
    pub names: Vec<Vec<(u64, String)>>,
    /// What must hold of the values of a hit that is recorded, as the user wrote it; empty = nothing.
    pub condition: String,
    /// Hits that did not meet it.
    pub rejected: u64,
}

/// A finalized recording of threads in which nothing happened, for tests and made-up results to change.
impl Default for Manifest {
    fn default() -> Self {
        Self {
            trace_format: TRACE_FORMAT,
            dwell_version: "0".into(),
            state: State::Finalized,
            analysis: "threading".into(),
            topics: vec!["threading".into()],
            command: Vec::new(),
            target_pids: Vec::new(),
            source: String::new(),
            options: Vec::new(),
            host: String::new(),
            kernel: String::new(),
            boot_id: String::new(),
            cpus: CpuInfo::default(),
            target_concurrency: None,
            sampling_interval_ns: 1_000_000,
            started_at: 0.0,
            start_ns: 0,
            end_ns: 0,
            exit_status: None,
            collector_cpu_ns: 0,
            collector_peak_bytes: 0,
            finalization_peak_bytes: 0,
            fiber_interval_ns: 0,
            task_probes: Vec::new(),
            probes: Vec::new(),
            counted_events: Vec::new(),
            delays: DelayFacts::default(),
            taken: CpuTaken::default(),
            events: 0,
            losses: Vec::new(),
            loss_times: Vec::new(),
            notices: Vec::new(),
        }
    }
}
