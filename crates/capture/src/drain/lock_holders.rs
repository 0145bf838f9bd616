//! Who has the locks that threads try in vain to take: the command lines of those processes, looked up while they are there.
//! A program that tries again and again meets the same holder: a process is looked up once in a while.

use std::collections::HashMap;

use dwell_store::raw::wire::{HOLDER_BYTES, VainTryRecord};

use crate::programs::proc;

/// How long what was found of a process is taken to hold, ns: its id may be another one's after that.
const KEPT_NS: u64 = 1_000_000_000;
/// Processes that are remembered, at most.
const MOST: usize = 256;

/// The holders' command lines.
pub struct LockHolders {
    /// Where this user may not know of all programs.
    own_only: bool,
    /// By process: when it was looked up, and what was found.
    found: HashMap<u32, (u64, [u8; HOLDER_BYTES])>,
}

impl LockHolders {
    /// None yet. `own_only` = programs that this user may not look at stay nameless.
    pub fn new(own_only: bool) -> Self {
        Self { own_only, found: HashMap::new() }
    }

    /// The record with the command line of the process that it names.
    pub fn named(&mut self, tried: VainTryRecord) -> VainTryRecord {
        if tried.holder_tgid == 0 {
            return tried;
        }
        VainTryRecord { holder: self.command(tried.holder_tgid, tried.h.time_ns), ..tried }
    }

    fn command(&mut self, pid: u32, time_ns: u64) -> [u8; HOLDER_BYTES] {
        let is_recent = |at_ns: u64| time_ns.saturating_sub(at_ns) < KEPT_NS;
        if let Some((_, command)) = self.found.get(&pid).filter(|(at_ns, _)| is_recent(*at_ns)) {
            return *command;
        }
        if self.found.len() >= MOST {
            self.found.clear();
        }
        let command = if proc::may_record(pid, self.own_only) { cut(&command_line(pid)) } else { [0; HOLDER_BYTES] };
        self.found.insert(pid, (time_ns, command));
        command
    }
}

/// Its arguments; of one that shows none its name.
fn command_line(pid: u32) -> Vec<u8> {
    let line = proc::command_line(pid);
    if line.is_empty() { proc::name(pid).unwrap_or_default().into_bytes() } else { line }
}

/// As much of it as a record holds, with a zero byte behind.
fn cut(line: &[u8]) -> [u8; HOLDER_BYTES] {
    let mut command = [0; HOLDER_BYTES];
    command.iter_mut().zip(line).take(HOLDER_BYTES - 1).for_each(|(to, from)| *to = *from);
    command
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable as _;

    use super::*;

    #[test]
    fn a_holder_has_its_command_line_and_one_that_is_gone_has_none() {
        let mut holders = LockHolders::new(false);
        let tried = |pid: u32| VainTryRecord { holder_tgid: pid, ..VainTryRecord::zeroed() };
        let line = proc::command_line(std::process::id());
        let named = holders.named(tried(std::process::id()));
        let kept = line.len().min(HOLDER_BYTES - 1);
        assert_eq!(named.holder[..kept], line[..kept]);
        assert_eq!(named.holder[HOLDER_BYTES - 1], 0);
        assert_eq!(holders.named(tried(u32::MAX >> 1)).holder, [0; HOLDER_BYTES]);
        assert_eq!(holders.named(tried(0)).holder, [0; HOLDER_BYTES]);
    }
}
