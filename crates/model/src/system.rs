//! The machine's counters: the one table from which the collector's records, the result's counters and docs/system.md
//! are made.

/// How a counter's sum is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// How many a second.
    PerSecond,
    /// Processor time: its share of all CPUs' time.
    Share,
}

/// One counter. Its place in its list is its place in the raw record: rows are only ever added at the end.
#[derive(Clone, Copy, Debug)]
pub struct SystemCounter {
    /// Domain in the table `counters`; an interface's name is put behind [`NETWORK`].
    pub domain: &'static str,
    /// Name in the table `counters`.
    pub name: &'static str,
    /// Unit in the table `counters`, empty for things counted.
    pub unit: &'static str,
    /// Perfmon's name for it, empty when it has none.
    pub perfmon: &'static str,
    /// Where Linux tells it.
    pub source: &'static str,
    /// What it counts.
    pub help: &'static str,
}

impl SystemCounter {
    /// How its sum is read.
    pub fn rate(&self) -> Rate {
        if self.unit == "ns" { Rate::Share } else { Rate::PerSecond }
    }
}

/// Domain of the counters of processor time.
pub const PROCESSOR: &str = "Processor";
/// Domain of what the kernel counts.
pub const SYSTEM: &str = "System";
/// Domain of software interrupts by kind.
pub const SOFT_INTERRUPTS: &str = "Soft Interrupts";
/// What the domain of an interface's counters begins with.
pub const NETWORK: &str = "Network";

macro_rules! counters {
    ($($domain:ident $name:literal $unit:literal, $perfmon:literal, $source:literal, $help:literal;)*) => {
        &[$(SystemCounter { domain: $domain, name: $name, unit: $unit, perfmon: $perfmon, source: $source, help: $help },)*]
    };
}

/// The counters of the whole machine. The first eight are in the order of the line `cpu`, and the kinds of soft
/// interrupts, which are the last, in that of the line `softirq` of /proc/stat.
pub const MACHINE_COUNTERS: &[SystemCounter] = counters! {
    PROCESSOR "User Time" "ns", "Processor(_Total)\\% User Time", "/proc/stat: cpu, user", "User code, guests of virtual machines included.";
    PROCESSOR "Nice Time" "ns", "", "/proc/stat: cpu, nice", "User code of lowered priority.";
    PROCESSOR "System Time" "ns", "Processor(_Total)\\% Privileged Time", "/proc/stat: cpu, system", "Kernel code on behalf of threads.";
    PROCESSOR "Idle Time" "ns", "Processor(_Total)\\% Idle Time", "/proc/stat: cpu, idle", "Nothing to run, no I/O outstanding.";
    PROCESSOR "I/O Wait Time" "ns", "", "/proc/stat: cpu, iowait", "Nothing to run, I/O of a thread outstanding.";
    PROCESSOR "Interrupt Time" "ns", "Processor(_Total)\\% Interrupt Time", "/proc/stat: cpu, irq", "Handlers of hardware interrupts.";
    PROCESSOR "Soft Interrupt Time" "ns", "Processor(_Total)\\% DPC Time", "/proc/stat: cpu, softirq", "Handlers of soft interrupts: the network stack's receiving half, timers, RCU.";
    PROCESSOR "Steal Time" "ns", "", "/proc/stat: cpu, steal", "Wanted to run, and the hypervisor ran something else.";
    PROCESSOR "Processor Time" "ns", "Processor(_Total)\\% Processor Time", "/proc/stat: cpu, all but idle, iowait and steal", "All but idle, I/O wait and steal time.";
    SYSTEM "Interrupts" "", "Processor(_Total)\\Interrupts/sec", "/proc/stat: intr, the first number", "Hardware interrupts serviced.";
    SYSTEM "Context Switches" "", "System\\Context Switches/sec", "/proc/stat: ctxt", "Context switches of all CPUs.";
    SYSTEM "Processes Created" "", "", "/proc/stat: processes", "Processes and threads created.";
    SYSTEM "System Calls" "", "System\\System Calls/sec", "BPF: raw tracepoint sys_enter", "System calls begun.";
    SYSTEM "Soft Interrupts" "", "Processor(_Total)\\DPCs Queued/sec", "/proc/stat: softirq, the first number", "Soft interrupts run; what is raised again before it runs, runs once.";
    SOFT_INTERRUPTS "HI" "", "", "/proc/stat: softirq, HI", "Tasklets of high priority.";
    SOFT_INTERRUPTS "TIMER" "", "", "/proc/stat: softirq, TIMER", "Timers of jiffy resolution, such as TCP's.";
    SOFT_INTERRUPTS "NET_TX" "", "", "/proc/stat: softirq, NET_TX", "Packets' transmission ended or postponed.";
    SOFT_INTERRUPTS "NET_RX" "", "", "/proc/stat: softirq, NET_RX", "Packets received, on loopback too.";
    SOFT_INTERRUPTS "BLOCK" "", "", "/proc/stat: softirq, BLOCK", "Block I/O completed.";
    SOFT_INTERRUPTS "IRQ_POLL" "", "", "/proc/stat: softirq, IRQ_POLL", "Devices polled in place of interrupts.";
    SOFT_INTERRUPTS "TASKLET" "", "", "/proc/stat: softirq, TASKLET", "Tasklets of drivers.";
    SOFT_INTERRUPTS "SCHED" "", "", "/proc/stat: softirq, SCHED", "Load balancing between CPUs.";
    SOFT_INTERRUPTS "HRTIMER" "", "", "/proc/stat: softirq, HRTIMER", "Timers of high resolution that may run later.";
    SOFT_INTERRUPTS "RCU" "", "", "/proc/stat: softirq, RCU", "Memory freed after readers are done with it.";
};

/// The counters of each network interface.
pub const INTERFACE_COUNTERS: &[SystemCounter] = counters! {
    NETWORK "Bytes Received" "bytes", "Bytes Received/sec", "/proc/PID/net/dev: receive bytes", "Bytes received, headers included.";
    NETWORK "Packets Received" "packets", "Packets Received/sec", "/proc/PID/net/dev: receive packets", "Packets received; one for a batch that was merged (GRO).";
    NETWORK "Receive Errors" "packets", "Packets Received Errors", "/proc/PID/net/dev: receive errs", "Packets received with errors.";
    NETWORK "Receive Drops" "packets", "Packets Received Discarded", "/proc/PID/net/dev: receive drop", "Packets received and dropped.";
    NETWORK "Bytes Sent" "bytes", "Bytes Sent/sec", "/proc/PID/net/dev: transmit bytes", "Bytes sent, headers included.";
    NETWORK "Packets Sent" "packets", "Packets Sent/sec", "/proc/PID/net/dev: transmit packets", "Packets sent; one for a batch that the device splits (TSO).";
    NETWORK "Send Errors" "packets", "Packets Outbound Errors", "/proc/PID/net/dev: transmit errs", "Packets not sent because of errors.";
    NETWORK "Send Drops" "packets", "Packets Outbound Discarded", "/proc/PID/net/dev: transmit drop", "Packets dropped before they were sent.";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_counter_is_explained() {
        let all = MACHINE_COUNTERS.iter().chain(INTERFACE_COUNTERS);
        let names: std::collections::BTreeSet<_> = all.clone().map(|counter| (counter.domain, counter.name)).collect();
        assert_eq!(names.len(), MACHINE_COUNTERS.len() + INTERFACE_COUNTERS.len());
        assert!(all.clone().all(|counter| !counter.help.is_empty() && !counter.source.is_empty()));
    }

    #[test]
    fn every_row_of_the_perfmon_table_has_a_counter() {
        let table = [
            "Bytes Received/sec",
            "Bytes Sent/sec",
            "Packets Received/sec",
            "Packets Sent/sec",
            "Processor(_Total)\\% Idle Time",
            "Processor(_Total)\\% Interrupt Time",
            "Processor(_Total)\\% Processor Time",
            "Processor(_Total)\\DPCs Queued/sec",
            "Processor(_Total)\\Interrupts/sec",
            "System\\Context Switches/sec",
            "System\\System Calls/sec",
        ];
        let all: Vec<_> = MACHINE_COUNTERS.iter().chain(INTERFACE_COUNTERS).map(|counter| counter.perfmon).collect();
        assert_eq!(table.iter().find(|row| !all.contains(row)), None);
    }
}
