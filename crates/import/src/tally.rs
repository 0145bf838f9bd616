//! What is counted while a file is imported.

use crate::kernel::KernelPlace;

/// What a file left open.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// First and last time, by perf's clock, ns.
    pub first_ns: u64,
    /// The last one.
    pub last_ns: u64,
    /// Records that perf lost.
    pub lost: u64,
    /// Records that are cut or make no sense.
    pub unreadable: u64,
    /// Threads ran again, and nothing told when they came back.
    pub arrivals_unseen: u64,
    /// Shortest period of samples, ns; 0 without any.
    pub period_ns: u64,
    /// Highest CPU number, plus one.
    pub cpus: u32,
    /// Where the kernel lay.
    pub kernel: Option<KernelPlace>,
    /// Whether that is where this machine's kernel lies.
    pub is_this_kernel: bool,
}
