//! What is summed over a group of events.

use dwell_view::ByClass;

use crate::measure::cpu_kind::OverheadKind;
use crate::measure::utilization::{add, total};

/// What is summed over the events of one group. All times in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Effective CPU time.
    pub effective: ByClass,
    /// Spin time by class.
    pub spinning: ByClass,
    /// Overhead time by class.
    pub overheads: ByClass,
    /// Spin time by kind: imbalance, lock contention, other.
    pub spin: [u64; 3],
    /// Overhead time by kind: creation, scheduling, reduction, atomics, other.
    pub overhead: [u64; 5],
    /// Wait time.
    pub wait: ByClass,
    /// The part of `wait` that idle workers spent.
    pub idle: ByClass,
    /// Blocked time of unknown reason.
    pub unknown: ByClass,
    /// Time in the run queue.
    pub runnable: ByClass,
    /// Waits begun or under way at the begin of a window.
    pub wait_count: u64,
    /// Preemptions, likewise.
    pub preemptions: u64,
    /// Intervals off the CPU begun.
    pub switches: u64,
    /// The longest of the waits that are counted, with what is outside of the windows.
    pub max_wait_ns: u64,
}

impl Weights {
    /// CPU time by class.
    pub fn cpu(&self) -> ByClass {
        let mut cpu = self.effective;
        add(&mut cpu, &self.spinning);
        add(&mut cpu, &self.overheads);
        cpu
    }

    /// CPU time.
    pub fn cpu_ns(&self) -> u64 {
        total(&self.cpu())
    }

    /// Spin time.
    pub fn spin_ns(&self) -> u64 {
        total(&self.spinning)
    }

    /// Overhead time.
    pub fn overhead_ns(&self) -> u64 {
        total(&self.overheads)
    }

    /// Overhead time in functions that take or release locks.
    pub fn locking_ns(&self) -> u64 {
        self.overhead[OverheadKind::Atomics as usize]
    }

    /// Wait time.
    pub fn wait_ns(&self) -> u64 {
        total(&self.wait)
    }

    /// The Idle and Poor part of the wait time.
    pub fn wait_poor_ns(&self) -> u64 {
        self.wait[0].saturating_add(self.wait[1])
    }

    /// The part of the wait time with poor utilization that idle workers did not spend: the rank of an object.
    pub fn blocking_poor_ns(&self) -> u64 {
        self.wait_poor_ns().saturating_sub(self.idle[0].saturating_add(self.idle[1]))
    }

    /// The part of the wait time that idle workers did not spend.
    pub fn blocking_ns(&self) -> u64 {
        self.wait_ns().saturating_sub(total(&self.idle))
    }

    /// Adds those of another group.
    pub fn add(&mut self, other: &Self) {
        let classes = [
            (&mut self.effective, &other.effective),
            (&mut self.spinning, &other.spinning),
            (&mut self.overheads, &other.overheads),
            (&mut self.overhead, &other.overhead),
            (&mut self.wait, &other.wait),
            (&mut self.idle, &other.idle),
            (&mut self.unknown, &other.unknown),
            (&mut self.runnable, &other.runnable),
        ];
        for (ours, theirs) in classes {
            add(ours, theirs);
        }
        for (ours, theirs) in self.spin.iter_mut().zip(other.spin) {
            *ours = ours.saturating_add(theirs);
        }
        self.wait_count += other.wait_count;
        self.preemptions += other.preemptions;
        self.switches += other.switches;
        self.max_wait_ns = self.max_wait_ns.max(other.max_wait_ns);
    }
}
