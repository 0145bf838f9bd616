//! What Java programs compile at run time, without a flag and without an agent.
//! Takes the memory of processes that have mapped HotSpot's libjvm.so; gives a log of their code beside the result's modules, in the
//! form that other runtimes write themselves (`jit-PID.dump`), which the crate resolve reads.
//! It does not understand a JVM's structures: the crate hotspot does.

mod code_log;
mod frames;
mod jvm;

use std::collections::HashMap;

use dwell_model::{Notice, losses, notice};
use dwell_store::Folder;

use self::jvm::Jvm;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::kernel::perf::Mapping;
use crate::stacks::unwinding::Unwinding;

/// Processes that are read at most.
const MOST_JVMS: usize = 256;

/// The JVMs among the recorded processes.
#[derive(Default)]
pub struct JavaCode {
    jvms: HashMap<u32, Jvm>,
    notices: Vec<Notice>,
    /// Logs that were not written whole, and JVMs that were too many.
    lost: u64,
}

impl JavaCode {
    /// A file was mapped executable into a recorded process.
    pub fn mapped(&mut self, mapping: &Mapping) {
        if !is_libjvm(&mapping.path) {
            return;
        }
        let pid = mapping.header.h.tid;
        if self.jvms.len() >= MOST_JVMS {
            self.lost += 1;
            return;
        }
        match Jvm::of(mapping) {
            Ok(jvm) => {
                self.jvms.entry(pid).or_insert(jvm);
            }
            Err(reason) => self.notices.push(notice!(JAVA_CODE_UNREAD, pid = pid, reason = reason)),
        }
    }

    /// Process `tgid` runs another program, or none.
    pub fn forget(&mut self, tgid: u32) {
        self.jvms.remove(&tgid);
    }

    /// Reads what is due, or all that there is `at_end`, writes it into the result's folder of modules, and makes it known to
    /// whoever walks stacks.
    pub fn read(&mut self, modules: &Folder, unwinding: &mut Unwinding, at_end: bool) -> Result<()> {
        for (&pid, jvm) in &mut self.jvms {
            if !at_end && !jvm.is_due(monotonic_ns()) {
                continue;
            }
            match jvm.read(modules) {
                Ok(changed) => {
                    for (region, rows) in changed {
                        unwinding.set_run_time_code(pid, (region.start, region.end), &rows)?;
                    }
                }
                Err(reason) => {
                    self.notices.push(notice!(JAVA_CODE_UNREAD, pid = pid, reason = reason));
                    self.lost += 1;
                    jvm.give_up();
                }
            }
        }
        Ok(())
    }

    /// What was not written: name and count, zeros left out.
    pub fn losses(&self) -> Option<(String, u64)> {
        (self.lost > 0).then(|| (losses::JIT_MAPS_UNREADABLE.to_owned(), self.lost))
    }

    /// Whose methods have no names, and why.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

fn is_libjvm(path: &[u8]) -> bool {
    path.strip_suffix(b" (deleted)").unwrap_or(path).ends_with(b"/libjvm.so")
}
