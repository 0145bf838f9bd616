//! Sums of everything by what can be grouped by.

use crate::metrics::total;
use crate::sweep::ByClass;

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
    /// Waits begun.
    pub wait_count: u64,
    /// Preemptions begun.
    pub preemptions: u64,
    /// Intervals off the CPU begun.
    pub switches: u64,
    /// Longest wait begun.
    pub max_wait_ns: u64,
}

impl Weights {
    /// CPU time by class.
    pub fn cpu(&self) -> ByClass {
        std::array::from_fn(|class| self.effective[class] + self.spinning[class] + self.overheads[class])
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

    /// The Idle and Poor part of the wait time.
    pub fn wait_poor_ns(&self) -> u64 {
        self.wait[0] + self.wait[1]
    }
}
