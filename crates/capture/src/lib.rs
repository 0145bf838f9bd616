//! Capture: loads the BPF programs, launches or attaches, drains the rings and writes the raw trace.
//!
//! The only crate that knows libbpf and perf events. It interprets nothing: a record goes to the spool as the kernel
//! wrote it, beside what only user space can know in time (mappings, command lines, members of epoll sets).
//!
//! Folders import only those before them: `kernel`, `programs`, `stacks`, `output`, `topics`, `drain`, then the two sources of
//! records, `hooks` and `unprivileged`, and `collect`. `bpf` is the kernel side, in C.

mod clock;
mod collect;
mod drain;
mod error;
mod event_name;
mod hooks;
mod kernel;
mod live;
mod machine;
mod options;
mod output;
mod priority;
mod probe;
mod processor_times;
mod programs;
pub mod readers;
mod stacks;
mod ticks;
mod topics;
mod unprivileged;

pub use dwell_probes::{TaskProbe, ValueProbe};

pub use collect::{BrokenOff, Collected, Progress, collect};
pub use dwell_store::raw::wire::task_flag::KERNEL_THREAD;
pub use dwell_store::raw::wire::{MOST_EVENTS, TaskSnapshot};
pub use error::{Error, Result};
pub use event_name::CountedEvent;
pub use kernel::perf::level_for_root;
pub use live::{
    Snapshots, StandingFrame, StandingStack, SumReading, SumScope, WaitSums, WaitTarget, on_descriptor, on_futex,
    standing_stacks,
};
pub use machine::{boot_id, host};
pub use options::{EventSource, FiberMode, Launch, Options, Rule, Subject, Target, Trigger, User};
pub use output::linked_result::link_all;
pub use output::outliers::FOLDER as OUTLIERS;
pub use probe::{Capability, VerifiedHook, probe, verify_hooks};
pub use programs::launch::Child;
pub use programs::proc::{may_record, pids_named};
pub use programs::signals::was_ignored;
pub use topics::itt::{Library as IttLibrary, environment};
