//! `--analyze system`: reads the machine's counters at an even pace, in the collector's own loop.
//!
//! Processor time, interrupts and switches are the whole machine's, of /proc/stat. Traffic is that of the network
//! namespaces that the profiled processes are in, and of the collector's own, which is the machine's when Dwell runs
//! outside of containers. A namespace is read through a process in it and never held open: it can go when it is to go.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use bytemuck::Zeroable;
use dwell_model::losses;
use dwell_model::system::{INTERFACE_COUNTERS, MACHINE_COUNTERS};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{COUNTER_UNKNOWN, INTERFACE_FOREIGN, InterfaceHeader, MachineHeader, RecordHeader};

use crate::clock::monotonic_ns;
use crate::processor_times::{IDLE, IO_WAIT, STEAL, TIMES, numbers, processor_times};

/// Network namespaces that are read, and processes known in each: enough to follow one when its first process ends.
const MOST_NETWORKS: usize = 8;
const MOST_PROCESSES: usize = 16;
/// Interfaces of a namespace that are read.
const MOST_INTERFACES: usize = 256;
/// The readings of the machine's counters.
pub struct System {
    interval_ns: u64,
    next_ns: u64,
    stat: Option<File>,
    buffer: Vec<u8>,
    networks: Vec<Network>,
    unread: u64,
    interfaces_left_out: u64,
    networks_left_out: HashSet<u64>,
}

/// A network namespace: its inode, and processes in it. The collector's own is the first.
struct Network {
    inode: u64,
    processes: Vec<u32>,
}

impl Network {
    /// Whether a process is in it that is known to be.
    fn is_in_use(&mut self) -> bool {
        self.processes.retain(|pid| network_of(*pid) == Some(self.inode));
        !self.processes.is_empty()
    }

    fn add(&mut self, pid: u32) {
        if self.processes.len() >= MOST_PROCESSES {
            self.is_in_use();
        }
        if self.processes.len() < MOST_PROCESSES && !self.processes.contains(&pid) {
            self.processes.push(pid);
        }
    }
}

impl System {
    /// Reads every `interval_ns`.
    pub fn new(interval_ns: u64) -> Self {
        let mut system = Self {
            interval_ns,
            next_ns: 0,
            stat: File::open("/proc/stat").ok(),
            buffer: vec![0; 16 << 10],
            networks: Vec::new(),
            unread: 0,
            interfaces_left_out: 0,
            networks_left_out: HashSet::new(),
        };
        system.process(std::process::id());
        system
    }

    /// Notes the network namespace that process `pid` is in now.
    pub fn process(&mut self, pid: u32) {
        let Some(inode) = network_of(pid) else { return };
        if self.networks.len() >= MOST_NETWORKS && !self.networks.iter().any(|network| network.inode == inode) {
            self.networks.retain_mut(Network::is_in_use);
        }
        let full = self.networks.len() >= MOST_NETWORKS;
        match self.networks.iter_mut().find(|network| network.inode == inode) {
            Some(network) => network.add(pid),
            None if !full => self.networks.push(Network { inode, processes: vec![pid] }),
            None => _ = self.networks_left_out.insert(inode),
        }
    }

    /// Nanoseconds until the next reading is due.
    pub fn due_in(&self, now_ns: u64) -> u64 {
        self.next_ns.saturating_sub(now_ns)
    }

    /// Reads everything into `records`. `system_calls`: how many were made so far, when that is counted.
    pub fn read(&mut self, system_calls: Option<u64>, records: &mut RecordBuffer) {
        let now = monotonic_ns();
        // The pace is even: what was missed is not made up for.
        self.next_ns = if self.next_ns + self.interval_ns > now { self.next_ns } else { now } + self.interval_ns;
        match self.machine(system_calls) {
            Some((counters, cpus)) => {
                let h = RecordHeader { time_ns: monotonic_ns(), ..RecordHeader::zeroed() };
                records.machine(MachineHeader { h, count: 0, cpus }, &counters);
            }
            None => self.unread += 1,
        }
        for index in 0..self.networks.len() {
            self.read_network(index, records);
        }
    }

    /// What was not read.
    pub fn losses(&self) -> Vec<(String, u64)> {
        let counted = [
            (losses::SYSTEM_READINGS_FAILED, self.unread),
            (losses::INTERFACES_LEFT_OUT, self.interfaces_left_out),
            (losses::NETWORKS_LEFT_OUT, self.networks_left_out.len() as u64),
        ];
        counted.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn machine(&mut self, system_calls: Option<u64>) -> Option<(Vec<u64>, u32)> {
        let file = self.stat.as_ref()?;
        // A read of /proc/stat gives what fits and nothing of the rest: the buffer grows until all fits.
        let mut length = file.read_at(&mut self.buffer, 0).ok()?;
        while length == self.buffer.len() && length < 4 << 20 {
            self.buffer.resize(2 * length, 0);
            length = file.read_at(&mut self.buffer, 0).ok()?;
        }
        parse_stat(std::str::from_utf8(self.buffer.get(..length)?).ok()?, system_calls)
    }

    fn read_network(&mut self, index: usize, records: &mut RecordBuffer) {
        let Some(network) = self.networks.get_mut(index) else { return };
        let (tid, text) = loop {
            let Some(&pid) = network.processes.first() else { return };
            // The process may have ended, or gone to another namespace.
            let text = fs::read_to_string(format!("/proc/{pid}/net/dev")).ok();
            match text.filter(|_| network_of(pid) == Some(network.inode)) {
                Some(text) => break (pid, text),
                None => drop(network.processes.remove(0)),
            }
        };
        let h = RecordHeader { tid, time_ns: monotonic_ns(), ..RecordHeader::zeroed() };
        let flags = if index == 0 { 0 } else { INTERFACE_FOREIGN };
        let mut interfaces = text.lines().filter_map(parse_interface);
        for (name, counters) in interfaces.by_ref().take(MOST_INTERFACES) {
            records.interface(InterfaceHeader { h, count: 0, flags, network: network.inode, name }, &counters);
        }
        self.interfaces_left_out = self.interfaces_left_out.max(interfaces.count() as u64);
    }
}

/// The inode of the network namespace that the process is in.
fn network_of(pid: u32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// The counters of `MACHINE_COUNTERS`, and the number of CPUs.
fn parse_stat(text: &str, system_calls: Option<u64>) -> Option<(Vec<u64>, u32)> {
    let numbers = |name: &str| numbers(text, name);
    let first = |name: &str| numbers(name)?.first().copied();
    let mut counters = processor_times(text)?;
    counters.resize(TIMES, 0); // kernels before 2.6.11 know no steal time
    let not_busy = [IDLE, IO_WAIT, STEAL].map(|field| counters[field]);
    counters.push(counters.iter().sum::<u64>().saturating_sub(not_busy.iter().sum()));
    let soft_interrupts = numbers("softirq").unwrap_or_default();
    let soft_interrupt = |at: usize| soft_interrupts.get(at).copied();
    let counted = [first("intr"), first("ctxt"), first("processes"), system_calls, soft_interrupt(0)];
    counters.extend(counted.map(|count| count.unwrap_or(COUNTER_UNKNOWN)));
    let kinds = MACHINE_COUNTERS.len() - counters.len();
    counters.extend((1..=kinds).map(|kind| soft_interrupt(kind).unwrap_or(COUNTER_UNKNOWN)));
    let cpus = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    Some((counters, cpus as u32))
}

/// A line of /proc/net/dev: the interface's name, and `INTERFACE_COUNTERS`.
fn parse_interface(line: &str) -> Option<([u8; 16], [u64; INTERFACE_COUNTERS.len()])> {
    let (name, numbers) = line.split_once(':')?;
    let numbers: Vec<u64> = numbers.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let mut kept = [0; 16];
    let name = name.trim().as_bytes();
    kept.get_mut(..name.len().min(15))?.copy_from_slice(&name[..name.len().min(15)]);
    // Receive has eight columns, then transmit: bytes, packets, errs, drop are the first of each.
    let columns = [0, 1, 2, 3, 8, 9, 10, 11].map(|column| numbers.get(column).copied());
    let counters = columns.map(|count| count.unwrap_or(COUNTER_UNKNOWN));
    (!numbers.is_empty()).then_some((kept, counters))
}

#[cfg(test)]
mod tests {
    use dwell_store::raw::{Record, Records};

    use super::*;
    use crate::clock::ticks_per_second;

    const STAT: &str = "cpu  100 1 20 3000 5 6 7 8 50 0\ncpu0 50 0 10 1500 2 3 3 4 25 0\ncpu1 50 1 10 1500 3 3 4 4 25 0\n\
        intr 22126461 0 0 9\nctxt 88332192\nbtime 1795261253\nprocesses 1225632\nprocs_running 2\nprocs_blocked 0\n\
        softirq 339 0 97 4 27 11 0 6 76 43 75\n";

    fn counter(counters: &[u64], name: &str) -> u64 {
        counters[MACHINE_COUNTERS.iter().position(|counter| counter.name == name).unwrap()]
    }

    #[test]
    fn every_counter_is_taken_from_its_place() {
        let (counters, cpus) = parse_stat(STAT, Some(17)).unwrap();
        assert_eq!((counters.len(), cpus), (MACHINE_COUNTERS.len(), 2));
        let tick_ns = 1_000_000_000 / ticks_per_second();
        for (name, ticks) in [("User Time", 100), ("Idle Time", 3000), ("Steal Time", 8), ("Processor Time", 134)] {
            assert_eq!(counter(&counters, name), ticks * tick_ns, "{name}");
        }
        let counts = [
            ("Interrupts", 22_126_461),
            ("Context Switches", 88_332_192),
            ("Processes Created", 1_225_632),
            ("System Calls", 17),
            ("Soft Interrupts", 339),
            ("NET_RX", 27),
            ("RCU", 75),
        ];
        for (name, count) in counts {
            assert_eq!(counter(&counters, name), count, "{name}");
        }
        assert_eq!(counter(&parse_stat(STAT, None).unwrap().0, "System Calls"), COUNTER_UNKNOWN);
    }

    #[test]
    fn damaged_text_is_no_reading() {
        for text in ["", "cpu", "intr 1\n", "cpux 1 2\n"] {
            assert!(parse_stat(text, None).is_none(), "{text}");
        }
        assert_eq!(parse_stat("cpu  1 2\n", None).unwrap().0.len(), MACHINE_COUNTERS.len());
        for line in ["Inter-|   Receive", " face |bytes", "", "eth0", "eth0: x"] {
            assert!(parse_interface(line).is_none(), "{line}");
        }
    }

    #[test]
    fn an_interface_has_both_directions() {
        let (name, counters) = parse_interface("  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16").unwrap();
        assert_eq!(&name[..5], b"eth0\0");
        assert_eq!(counters, [1, 2, 3, 4, 9, 10, 11, 12]);
        assert_eq!(parse_interface("lo:1 2").unwrap().1[4], COUNTER_UNKNOWN);
    }

    #[test]
    fn this_machine_is_read_at_an_even_pace() {
        let mut system = System::new(10_000_000);
        let mut records = RecordBuffer::default();
        system.read(Some(1), &mut records);
        let due = system.next_ns;
        system.read(Some(2), &mut records);
        assert_eq!(system.next_ns, due + 10_000_000);
        let read: Vec<Record<'_>> = Records::new(&records.bytes).collect();
        let machines = read.iter().filter(|record| matches!(record, Record::Machine(..))).count();
        let loopback = read
            .iter()
            .filter(|record| matches!(record, Record::Interface(header, _) if header.name.starts_with(b"lo\0")))
            .count();
        assert_eq!((machines, loopback), (2, 2));
        assert!(system.losses().is_empty());
    }
}
