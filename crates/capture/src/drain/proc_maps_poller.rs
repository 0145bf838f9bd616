//! What recorded processes have mapped, as `/proc/PID/maps` tells it: for where the kernel's own notes, which are perf events,
//! are refused (Debian's and Ubuntu's kernels keep them to root; containers' filters refuse them).

use std::collections::{HashMap, HashSet};

use super::process_events::ProcessEvent;
use crate::kernel::perf::Mapping;
use crate::programs::proc::{self, ProcessStart};

/// Begin, length, device, inode and offset of a mapping.
type Key = (u64, u64, u32, u64, u64);

struct Process {
    /// With its id, which process it is.
    began: Option<ProcessStart>,
    /// What is found first may have been there since then.
    since_ns: u64,
    known: HashSet<Key>,
}

/// See the module.
#[derive(Default)]
pub struct LookedUp {
    processes: HashMap<u32, Process>,
}

impl LookedUp {
    /// What processes have mapped since the last look, as if it had been right behind that look: code may have run in it since.
    /// `process_events` came meanwhile; `now_ns` is the time of this look.
    pub fn look(&mut self, process_events: &[(u64, ProcessEvent)], now_ns: u64) -> Vec<Mapping> {
        self.look_by(process_events, now_ns, &mut proc::mappings)
    }

    fn look_by(
        &mut self,
        process_events: &[(u64, ProcessEvent)],
        now_ns: u64,
        mappings: &mut dyn FnMut(u32, u64) -> Vec<Mapping>,
    ) -> Vec<Mapping> {
        process_events.iter().for_each(|(time_ns, event)| self.follow(*time_ns, event));
        let mut found = Vec::new();
        self.processes.retain(|&tgid, process| {
            let all = mappings(tgid, process.since_ns);
            let is_there = !all.is_empty() && proc::began(tgid) == process.began;
            if !is_there {
                return false; // what was read may be another one's, which has the id by now
            }
            found.extend(all.into_iter().filter(|mapping| process.known.insert(key(mapping))));
            process.since_ns = now_ns;
            true
        });
        found
    }

    fn follow(&mut self, time_ns: u64, event: &ProcessEvent) {
        match *event {
            // Behind the record of the program, which has none of the mappings before.
            ProcessEvent::Program { pid } => {
                let process = Process { began: proc::began(pid), since_ns: time_ns + 1, known: HashSet::new() };
                self.processes.insert(pid, process);
            }
            ProcessEvent::ThreadNew { tgid, parent, .. } if !self.processes.contains_key(&tgid) => {
                let known = self.processes.get(&parent).map(|parent| parent.known.clone()).unwrap_or_default();
                self.processes.insert(tgid, Process { began: proc::began(tgid), since_ns: time_ns, known });
            }
            _ => {}
        }
    }
}

fn key(mapping: &Mapping) -> Key {
    let header = &mapping.header;
    (header.start, header.length, header.device, header.inode, header.file_offset)
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::wire::{MapHeader, RecordHeader, kind};

    use super::*;

    /// Process `tgid` has mappings that begin here.
    fn mapped(tgid: u32, starts: &[u64]) -> impl FnMut(u32, u64) -> Vec<Mapping> {
        move |of, time_ns| {
            let h = RecordHeader { kind: kind::MAP, size: 0, tid: of, time_ns };
            let mapping = |&start: &u64| Mapping {
                header: MapHeader { h, start, length: 1, ..MapHeader::zeroed() },
                path: b"/lib".to_vec(),
            };
            if of == tgid { starts.iter().map(mapping).collect() } else { Vec::new() }
        }
    }

    fn times(found: &[Mapping]) -> Vec<(u64, u64)> {
        found.iter().map(|mapping| (mapping.header.start, mapping.header.h.time_ns)).collect()
    }

    #[test]
    fn each_mapping_is_told_once_behind_the_last_look() {
        let mut looked = LookedUp::default();
        let program = [(10, ProcessEvent::Program { pid: 7 })];
        assert_eq!(times(&looked.look_by(&program, 20, &mut mapped(7, &[1, 2]))), [(1, 11), (2, 11)]);
        assert_eq!(times(&looked.look_by(&[], 30, &mut mapped(7, &[1, 2, 3]))), [(3, 20)]);
        let another = [(35, ProcessEvent::Program { pid: 7 })];
        assert_eq!(times(&looked.look_by(&another, 40, &mut mapped(7, &[1]))), [(1, 36)]);
        assert!(looked.look_by(&[], 50, &mut mapped(8, &[1])).is_empty());
        assert!(looked.processes.is_empty(), "one that is gone is not looked at again");
    }

    #[test]
    fn a_child_has_what_its_parent_had() {
        let mut looked = LookedUp::default();
        looked.look_by(&[(10, ProcessEvent::Program { pid: 7 })], 20, &mut mapped(7, &[1, 2]));
        let child = [(25, ProcessEvent::ThreadNew { tgid: 8, parent: 7, is_first: true })];
        assert_eq!(times(&looked.look_by(&child, 30, &mut mapped(8, &[1, 2, 3]))), [(3, 25)]);
    }
}
