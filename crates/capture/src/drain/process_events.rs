//! What a source of records tells of processes, for user space to follow in the order of time.

use crate::kernel::perf::Mapping;

/// What happened to a process, or asks user space to look something up while it still can.
pub enum ProcessEvent {
    ThreadNew { tgid: u32, parent: u32, is_first: bool },
    ThreadExit(u32),
    Program { pid: u32 },
    Mapped(Mapping),
    EpollMembers { pid: u32, fd: i32, key: u64 },
}
