//! What a machine lets Dwell record, and what it does to latency: [`CHECKS`], one table. Each check reads files under a root, the
//! machine's own or a folder with copies of `/proc` and `/sys`, and says what it found, what that does, and what changes it.
//! Nothing is changed but by [`apply`].

mod apply;
mod change;
mod cpus;
mod finding;
mod groups;
mod kernel;
mod limits;
mod machine;
mod memory;
mod power;
mod recording;

pub use apply::{Applied, apply, restore, undo};
pub use change::Change;
pub use cpus::{nodes, siblings};
pub use finding::{Finding, Verdict};
pub use groups::{Quota, Throttling, cpu_groups, quota_in_cpus, quota_uses, throttling};
pub use machine::Machine;
pub use power::{governors, set_governor};

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// What Dwell can record.
    Recording,
    /// How long threads are held up.
    Latency,
}

impl Topic {
    /// As in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Latency => "latency",
        }
    }
}

/// One thing that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What it is, as [`apply`] and JSON call it.
    pub name: &'static str,
    /// What it is about.
    pub topic: Topic,
    /// Looks at it.
    pub look: fn(&Machine) -> Finding,
}

const fn recording(name: &'static str, look: fn(&Machine) -> Finding) -> Check {
    Check { name, topic: Topic::Recording, look }
}

const fn latency(name: &'static str, look: fn(&Machine) -> Finding) -> Check {
    Check { name, topic: Topic::Latency, look }
}

/// All checks, in the order in which they are shown.
pub const CHECKS: &[Check] = &[
    recording("capabilities", recording::capabilities),
    recording("btf", recording::btf),
    recording("bpf", recording::bpf),
    recording("tracefs", recording::tracefs),
    recording("uprobes", recording::uprobes),
    recording("kprobes", recording::kprobes),
    recording("lockdown", recording::lockdown),
    recording("perf_event_paranoid", recording::perf_event_paranoid),
    recording("kptr_restrict", recording::kptr_restrict),
    recording("pmu", recording::pmu),
    recording("intel-pt", recording::intel_pt),
    latency("virtualisation", cpus::virtualisation),
    latency("steal", cpus::steal),
    latency("governor", power::governor),
    latency("frequency-driver", power::frequency_driver),
    latency("energy-preference", power::energy_preference),
    latency("turbo", power::turbo),
    latency("c-states", power::c_states),
    latency("smt", cpus::smt),
    latency("numa", cpus::numa),
    latency("numa-balancing", cpus::numa_balancing),
    latency("isolcpus", cpus::isolcpus),
    latency("nohz_full", cpus::nohz_full),
    latency("rcu_nocbs", cpus::rcu_nocbs),
    latency("irq-affinity", cpus::irq_affinity),
    latency("tick", kernel::tick),
    latency("preemption", kernel::preemption),
    latency("rt-throttling", kernel::rt_throttling),
    latency("clocksource", kernel::clocksource),
    latency("mitigations", kernel::mitigations),
    latency("watchdog", kernel::watchdog),
    latency("thp", memory::thp),
    latency("thp-defrag", memory::thp_defrag),
    latency("swap", memory::swap),
    latency("cgroup-quota", limits::cgroup_quota),
    latency("ulimits", limits::ulimits),
];
