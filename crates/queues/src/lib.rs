//! Queues between threads, and a benchmark over them: how long packets take through a lock-free one for one sender and one
//! receiver ([`latency`]), and how many messages a second go through one with a lock and one without ([`throughput`]).
//!
//! The benchmark is a program to be profiled, too: each packet is an ITT task of its receiver.

mod bounded;
mod itt;
pub mod latency;
mod locked;
mod ring;
pub mod throughput;
mod ticks;
mod word;

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs that this thread may run on.
///
/// # Errors
///
/// Those of sched_getaffinity(2).
pub fn usable_cpus() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// Lets the calling thread run on `cpu` only.
fn pin(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}
