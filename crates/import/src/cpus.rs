//! Who is on each CPU, by the tracepoint of switches: it tells when a thread came that was not seen to come.

use std::collections::HashMap;

/// Who came to a CPU, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// The thread; 0 is the idle one.
    pub tid: u32,
    /// Since when, ns.
    pub since_ns: u64,
}

/// The CPUs.
#[derive(Debug, Default)]
pub struct Cpus {
    occupants: HashMap<u16, Occupant>,
}

impl Cpus {
    /// A thread came to a CPU. Returns who came there before; none of the first.
    pub fn switch(&mut self, cpu: u16, to: Occupant) -> Option<Occupant> {
        self.occupants.insert(cpu, to)
    }

    /// Who is on a CPU; none before its first switch.
    pub fn on(&self, cpu: u16) -> Option<Occupant> {
        self.occupants.get(&cpu).copied()
    }
}
