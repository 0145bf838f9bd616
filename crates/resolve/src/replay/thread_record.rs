//! One life of a thread id, and its row.

use dwell_model::{ProcessId, ThreadId};
use dwell_store::tables::ThreadRow;

use super::thread_accounts::{Scheduling, ThreadAccounts};
use crate::input::texts::{TextId, Texts};

/// One life of a thread id.
#[derive(Debug)]
pub struct ThreadRecord {
    /// The id; after an exec from another thread than the first, the process's.
    pub tid: u32,
    /// Its process.
    pub process: ProcessId,
    /// Who made it.
    pub parent: ThreadId,
    /// Its name, the last one that it had.
    pub name: String,
    /// What the program itself calls it.
    pub announced_name: Option<TextId>,
    /// The program asked that it be left out.
    pub ignored: bool,
    /// Whether it was there before the collection.
    pub was_there: bool,
    /// Start, ns since the collection's start.
    pub start_ns: u64,
    /// End, when it is over.
    pub end_ns: Option<u64>,
    /// Whether its end was recorded.
    pub exited: bool,
    /// Made up: its creation was not recorded.
    pub made_up: bool,
    /// The kernel's account of its running time, 0 = unknown.
    pub kernel_cpu_ns: u64,
    /// What the kernel's accounts say of it.
    pub accounts: ThreadAccounts,
}

impl ThreadRecord {
    /// Its row, if whatever lives still ends at `end_ns`.
    pub fn row(&self, texts: &Texts, end_ns: u64) -> ThreadRow {
        let ((read_calls, read_bytes), (write_calls, write_bytes)) =
            (self.accounts.counted(0), self.accounts.counted(1));
        let Scheduling { policy, nice, cpus_allowed } = self.accounts.scheduling();
        ThreadRow {
            tid: self.tid,
            process: self.process,
            parent: self.parent,
            name: self.announced_name.map_or_else(|| self.name.clone(), |name| texts.show(name, "thread")),
            start_ns: self.start_ns,
            end_ns: self.end_ns.unwrap_or(end_ns),
            kernel_cpu_ns: self.kernel_cpu_ns,
            read_calls,
            read_bytes,
            write_calls,
            write_bytes,
            policy,
            nice,
            cpus_allowed,
            exited: self.exited,
            ignored: self.ignored,
        }
    }
}
