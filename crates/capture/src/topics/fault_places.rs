//! Which mapping a page fault hit: its name is written into the record while the mapping is there. The kernel side could look
//! for it only with interrupts off, where giving the lock back takes an interrupt of its own, dearer than the fault.
//!
//! `/proc/PID/maps` is read when a fault lies in no mapping that is known, but not often: of a mapping that comes and goes
//! between two looks there is no name, or that of the one before it.

use std::collections::HashMap;
use std::fs;

use dwell_store::raw::wire::DelayRecord;

/// A process's mappings are read again not sooner …
const SOONEST_NS: u64 = 100_000_000;
/// … and are not believed for longer.
const OLDEST_NS: u64 = 1_000_000_000;
/// Those that were not read for so long are forgotten: the fault of a process can be told after its end, and that of a thread before
/// its process is known.
const FORGOTTEN_NS: u64 = 10_000_000_000;
/// Threads and processes that are remembered.
const MOST: usize = 4096;
/// Mappings that are remembered, of all processes: a process can have 65,530, unless it is allowed more.
const MOST_RANGES: usize = 1 << 18;

/// What the record has room for.
type Name = [u8; 16];

struct KnownMapping {
    read_ns: u64,
    /// Begin, end and name, in order.
    ranges: Vec<(u64, u64, Name)>,
}

impl KnownMapping {
    fn name(&self, address: u64) -> Option<Name> {
        let after = self.ranges.partition_point(|(begin, ..)| *begin <= address);
        let (_, end, name) = self.ranges.get(after.checked_sub(1)?)?;
        (address < *end).then_some(*name)
    }
}

/// The mappings of processes in which pages were missing.
#[derive(Default)]
pub struct FaultPlaces {
    processes: HashMap<u32, u32>,
    known: HashMap<u32, KnownMapping>,
    forgot_ns: u64,
}

impl FaultPlaces {
    /// A thread of process `tgid`.
    pub fn thread_new(&mut self, tid: u32, tgid: u32) {
        if self.processes.len() >= MOST {
            self.processes.clear();
        }
        self.processes.insert(tid, tgid);
    }

    /// Process `tgid` runs another program, or none.
    pub fn forget(&mut self, tgid: u32) {
        self.known.remove(&tgid);
    }

    /// The record of a fault, with the name of the mapping that it hit.
    pub fn named(&mut self, record: DelayRecord, now_ns: u64) -> DelayRecord {
        let process = self.processes.get(&record.h.tid).copied().unwrap_or(record.h.tid);
        let age_ns = self.known.get(&process).map_or(u64::MAX, |known| now_ns.saturating_sub(known.read_ns));
        let mut name = self.known.get(&process).and_then(|known| known.name(record.detail));
        if age_ns >= OLDEST_NS || (name.is_none() && age_ns >= SOONEST_NS) {
            let count: usize = self.known.values().map(|known| known.ranges.len()).sum();
            if self.known.len() >= MOST || count >= MOST_RANGES {
                self.known.clear();
            }
            self.forget_old(now_ns);
            let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
            let known = KnownMapping { read_ns: now_ns, ranges: ranges(&text) };
            name = known.name(record.detail).or(name);
            self.known.insert(process, known);
        }
        DelayRecord { text: name.unwrap_or_default(), ..record }
    }

    fn forget_old(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.forgot_ns) >= FORGOTTEN_NS {
            self.known.retain(|_, known| now_ns.saturating_sub(known.read_ns) < FORGOTTEN_NS);
            self.forgot_ns = now_ns;
        }
    }
}

/// `start-end perms offset device inode   path`, a line each.
pub fn ranges(text: &[u8]) -> Vec<(u64, u64, Name)> {
    let range = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let mut fields = line.splitn(6, ' ');
        let (begin, end) = fields.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let path = fields.nth(4).map_or("", str::trim_start);
        Some((number(begin)?, number(end)?, name(path)))
    };
    text.split(|byte| *byte == b'\n').filter_map(range).take(MOST_RANGES).collect()
}

/// A file's name without its folder, cut to what there is room for, and a zero.
fn name(path: &str) -> Name {
    let base = path.strip_suffix(" (deleted)").unwrap_or(path);
    let base = if base.starts_with('/') { base.rsplit('/').next().unwrap_or_default() } else { base };
    let base = if base.is_empty() { "[anonymous]" } else { base };
    let mut name = Name::default();
    let kept = base.len().min(name.len() - 1);
    name[..kept].copy_from_slice(&base.as_bytes()[..kept]);
    name
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::c_string;
    use dwell_store::raw::wire::{RecordHeader, kind};

    use super::*;

    const MAPS: &[u8] = b"400000-401000 r-xp 00000000 08:01 7    /usr/bin/a program\n\
        500000-502000 rw-p 00000000 00:00 0 \n\
        600000-601000 rw-p 00000000 00:00 0    [heap]\n\
        700000-701000 rw-s 00000000 00:01 9    /tmp/gone (deleted)\n\
        garbage\n";

    #[test]
    fn mappings_have_the_names_of_their_files() {
        let known = KnownMapping { read_ns: 0, ranges: ranges(MAPS) };
        let name = |address| known.name(address).map(|name| c_string(&name));
        assert_eq!(name(0x40_0fff).as_deref(), Some("a program"));
        assert_eq!(name(0x50_1000).as_deref(), Some("[anonymous]"));
        assert_eq!(name(0x60_0000).as_deref(), Some("[heap]"));
        assert_eq!(name(0x70_0000).as_deref(), Some("gone"));
        assert_eq!((name(0x40_1000), name(0)), (None, None));
        assert_eq!(c_string(&super::name("/lib/a-library-with-a-long-name.so")), "a-library-with-");
    }

    #[test]
    fn a_fault_is_named_by_the_process_of_its_thread() {
        let here = 0;
        let h = RecordHeader { kind: kind::DELAY, size: 0, tid: 1 << 30, time_ns: 0 };
        let detail = std::ptr::from_ref(&here).addr() as u64;
        let fault = DelayRecord { h, detail, ..DelayRecord::zeroed() };
        let mut places = FaultPlaces::default();
        assert_eq!(c_string(&places.named(fault, 5).text), "", "there is no such thread");
        places.thread_new(h.tid, std::process::id());
        assert_ne!(c_string(&places.named(fault, 6).text), "", "a stack of this process");
    }

    #[test]
    fn who_had_no_fault_for_long_is_forgotten() {
        let fault = |tid| {
            let h = RecordHeader { kind: kind::DELAY, size: 0, tid, time_ns: 0 };
            DelayRecord { h, ..DelayRecord::zeroed() }
        };
        let mut places = FaultPlaces::default();
        for second in 0..100 {
            places.named(fault((1 << 30) + second as u32), second * 1_000_000_000);
        }
        let (kept, seconds) = (places.known.len() as u64, FORGOTTEN_NS / 1_000_000_000);
        assert!((seconds..=2 * seconds).contains(&kept), "{kept} are known");
    }
}
