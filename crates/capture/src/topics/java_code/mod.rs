//! What Java programs compile at run time or interpret, and the locks that they wait for, without a flag and without an agent.
//! Takes the memory of processes that have mapped HotSpot's libjvm.so; gives a log of their code beside the result's modules, in the
//! form that other runtimes write themselves (`jit-PID.dump`), which the crate resolve reads.
//! It does not understand a JVM's structures: the crate hotspot does.

mod compiled;
mod frames;
mod jvm;
mod locks;
mod maps;

use std::collections::HashMap;

use dwell_model::{Notice, losses, notice};
use dwell_store::Folder;
use dwell_store::raw::wire::{SwitchRecord, switch_flag};

use self::jvm::Jvm;
pub use self::locks::JavaWait;
pub use self::maps::JavaMaps;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::kernel::perf::Mapping;
use crate::stacks::unwinding::UnwindTables;

/// Processes that are read at most.
const MOST_JVMS: usize = 256;

/// The JVMs among the recorded processes.
#[derive(Default)]
pub struct JavaCode {
    jvms: HashMap<u32, Jvm>,
    /// Where the kernel side finds what it reads of them; none where there is no kernel side.
    maps: Option<JavaMaps>,
    notices: Vec<Notice>,
    /// Logs that were not written whole, and JVMs that were too many.
    lost: u64,
    /// Locks that were too many.
    locks_lost: u64,
    /// Methods without a name, and places without a line, of JVMs that are gone.
    methods_lost: u64,
    lines_lost: u64,
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
        if let Some(jvm) = self.jvms.remove(&tgid) {
            self.methods_lost += jvm.methods.unnamed();
            self.lines_lost += jvm.compiled.untold();
            self.maps.iter().for_each(|maps| maps.forget(tgid));
        }
    }

    /// From now on the kernel side tells of waits for locks, by these maps.
    pub fn set_maps(&mut self, maps: JavaMaps) {
        self.maps = Some(maps);
    }

    /// Whether the kernel side can find any JVM's locks.
    pub fn knows_locks(&self) -> bool {
        self.jvms.values().any(|jvm| jvm.locks.is_known())
    }

    /// What the trace says of a switch: the record as it is, unless its thread waits for a Java lock.
    pub fn wait(&mut self, switch: &SwitchRecord) -> Option<JavaWait> {
        if self.jvms.is_empty() && switch.flags & switch_flag::JAVA_LOCK == 0 {
            return None;
        }
        self.jvms.values_mut().for_each(|jvm| jvm.locks.goes_on(switch.next_tid));
        if switch.flags & switch_flag::JAVA_LOCK == 0 {
            return None;
        }
        let jvm = self.jvms.values_mut().find(|jvm| jvm.locks.has(switch.h.tid));
        let wait = jvm.map_or_else(|| JavaWait::unknown(switch), |jvm| jvm.wait(switch));
        self.locks_lost += u64::from(wait.switch.flags & switch_flag::JAVA_LOCK == 0);
        Some(wait)
    }

    /// Whether the methods in stacks of process `tgid` should be known.
    pub fn has(&self, tgid: u32) -> bool {
        self.jvms.contains_key(&tgid)
    }

    /// A stack of process `tgid`, seen at `time_ns`: the methods in it will be named.
    pub fn saw(&mut self, tgid: u32, frames: &[u64], time_ns: u64) {
        if let Some(jvm) = self.jvms.get_mut(&tgid) {
            jvm.methods.saw(frames, time_ns);
            jvm.compiled.saw(frames);
        }
    }

    /// Tells every lock again: what was told before will be forgotten.
    pub fn describe_again(&mut self) {
        self.jvms.values_mut().for_each(|jvm| jvm.locks.describe_again());
    }

    /// Reads what is due, or all that there is `at_end`, writes it into the result's folder of modules, and makes it known to
    /// whoever walks stacks.
    pub fn read(&mut self, modules: &Folder, unwinding: &mut UnwindTables, at_end: bool) -> Result<()> {
        for (&pid, jvm) in &mut self.jvms {
            if let Some(Err(reason)) = self.maps.as_ref().map(|maps| jvm.read_threads(maps)) {
                self.notices.push(notice!(JAVA_LOCKS_UNREAD, pid = pid, reason = reason));
            }
            let named = jvm.name_methods(modules).and_then(|()| jvm.log_compiled_calls(modules));
            if named.is_ok() && !at_end && !jvm.is_due(monotonic_ns()) {
                continue;
            }
            match named.and_then(|()| jvm.read(modules)) {
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

    /// What was not told: name and count, zeros left out.
    pub fn losses(&self) -> impl Iterator<Item = (String, u64)> {
        let unnamed = self.jvms.values().map(|jvm| jvm.methods.unnamed()).sum::<u64>() + self.methods_lost;
        let untold = self.jvms.values().map(|jvm| jvm.compiled.untold()).sum::<u64>() + self.lines_lost;
        let all = [
            (losses::JIT_MAPS_UNREADABLE, self.lost),
            (losses::JAVA_LOCKS_UNTOLD, self.locks_lost),
            (losses::JAVA_METHODS_UNNAMED, unnamed),
            (losses::JAVA_LINES_UNTOLD, untold),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count))
    }

    /// Whose methods have no names, and why.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

fn is_libjvm(path: &[u8]) -> bool {
    path.strip_suffix(b" (deleted)").unwrap_or(path).ends_with(b"/libjvm.so")
}
