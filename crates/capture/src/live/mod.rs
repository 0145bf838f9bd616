//! How the threads of the machine stand, one instant at a time: without recording, and without a hook in the scheduler.
//! Takes nothing but what the kernel keeps of each thread; gives [`TaskSnapshot`]s, and what their waits are for.
//! [`WaitSums`] has hooks, and sees every wait.

mod by_bpf;
mod by_proc;
mod standing_stack;
mod sums;
mod targets;

use dwell_store::raw::wire::TaskSnapshot;

use crate::error::{Error, Result};
use by_bpf::ByBpf;
use by_proc::ByProc;

pub use standing_stack::{StandingFrame, StandingStack, standing_stacks};
pub use sums::{SumReading, SumScope, WaitSums};
pub use targets::{WaitTarget, on_descriptor, on_futex};

/// Takes snapshots of all threads, or of one's own.
pub struct Snapshots {
    source: Source,
}

enum Source {
    Bpf(ByBpf),
    Proc(ByProc),
}

impl Snapshots {
    /// Of all threads of the machine, by a BPF program; where this process may not load one, or the kernel has no such programs (before
    /// Linux 5.11), of those that `/proc` shows it.
    pub fn open() -> Self {
        let source = ByBpf::open().map_or_else(|_| Source::Proc(ByProc::new()), Source::Bpf);
        Self { source }
    }

    /// Whether the kernel hands them out, so that none is missing, and each is of one instant.
    pub fn are_complete(&self) -> bool {
        matches!(self.source, Source::Bpf(_))
    }

    /// All threads as they stand now.
    pub fn take(&mut self, tasks: &mut Vec<TaskSnapshot>) -> Result<()> {
        tasks.clear();
        match &mut self.source {
            Source::Bpf(source) => source.take(tasks),
            Source::Proc(source) => {
                source.take(tasks);
                if tasks.is_empty() { Err(Error::ForeignProc) } else { Ok(()) }
            }
        }
    }
}
