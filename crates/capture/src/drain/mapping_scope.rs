//! Mappings of own programs only, for users who have Dwell's rights from its file.
//!
//! With CAP_PERFMON the kernel notes what every process maps, also a program that became another user's when it was started,
//! and whoever has the id of a process that ended. The user may not learn where their code lies: each mapping is
//! let through only if the kernel lets the user look at its process, or if the process has ended as the user's own.

use std::collections::{HashMap, HashSet};

use dwell_store::raw::wire::ThreadLeftRecord;

use crate::kernel::perf::Mapping;
use crate::programs::proc::{self, Look};

/// How long a mapping waits until it is told when its process ended, or became another user's.
const HELD_NS: u64 = 1_000_000_000;

/// When a process ran what its user may not look at.
#[derive(Clone, Copy)]
struct Absence {
    since_ns: u64,
    until_ns: u64,
}

/// See the module.
#[derive(Default)]
pub struct ScopeFilter {
    absences: HashMap<u32, Absence>,
    /// When the last thread of a process so far ended.
    ends: HashMap<u32, u64>,
    /// Mappings of processes that are gone, or another user's, since a moment that is not known yet.
    held: Vec<Mapping>,
    /// Mappings that were not let through.
    pub dropped: u64,
}

impl ScopeFilter {
    /// A thread was recorded until its process began to run a program that the user may not look at.
    pub fn left(&mut self, record: &ThreadLeftRecord) {
        self.absences.insert(record.exit.tgid, Absence { since_ns: record.since_ns, until_ns: u64::MAX });
    }

    /// Process `tgid` runs a program since `time_ns` that the user may look at.
    pub fn runs(&mut self, tgid: u32, time_ns: u64) {
        if let Some(absence) = self.absences.get_mut(&tgid) {
            absence.until_ns = absence.until_ns.min(time_ns);
        }
    }

    /// A thread of process `tgid` ended.
    pub fn thread_ended(&mut self, tgid: u32, time_ns: u64) {
        let end = self.ends.entry(tgid).or_default();
        *end = time_ns.max(*end);
    }

    /// Process `tgid` is no more; its id may be used again.
    pub fn forget(&mut self, tgid: u32) {
        self.absences.remove(&tgid);
        self.ends.remove(&tgid);
    }

    /// Those of `mappings`, and of the ones held before, that the user may know by now. Every process is asked once, after its
    /// mappings were read: by then it has the rights with which it mapped them. Without `now_ns`, at the end of the collection,
    /// nothing waits any longer.
    pub fn let_through(&mut self, mappings: Vec<Mapping>, now_ns: Option<u64>) -> Vec<Mapping> {
        self.let_through_by(mappings, now_ns, &mut proc::look_at)
    }

    fn let_through_by(
        &mut self,
        mappings: Vec<Mapping>,
        now_ns: Option<u64>,
        look_at: &mut dyn FnMut(u32) -> Look,
    ) -> Vec<Mapping> {
        let all: Vec<Mapping> = std::mem::take(&mut self.held).into_iter().chain(mappings).collect();
        let pids: HashSet<u32> = all.iter().map(|mapping| mapping.header.h.tid).collect();
        let looks: HashMap<u32, Look> = pids.into_iter().map(|pid| (pid, look_at(pid))).collect();
        let mut known = Vec::new();
        for mapping in all {
            let (pid, time_ns) = (mapping.header.h.tid, mapping.header.h.time_ns);
            let absence = self.absences.get(&pid);
            let is_absent = absence.is_some_and(|absence| (absence.since_ns..absence.until_ns).contains(&time_ns));
            // What it ran before, as the user's own, has gone with the exec.
            let was_own = absence.is_some_and(|absence| time_ns < absence.since_ns);
            let has_ended_as_own = self.ends.get(&pid).is_some_and(|&end_ns| time_ns <= end_ns);
            let look = looks.get(&pid).copied().unwrap_or(Look::Gone);
            let may_know = was_own || look == Look::Allowed || (look == Look::Gone && has_ended_as_own);
            let may_wait = now_ns.is_some_and(|now_ns| now_ns < time_ns.saturating_add(HELD_NS));
            if may_know && !is_absent {
                known.push(mapping);
            } else if may_wait && !is_absent {
                self.held.push(mapping); // what it was when it mapped that is still to be told
            } else {
                self.dropped += 1;
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::wire::{MapHeader, RecordHeader, ThreadExitRecord, kind};

    use super::*;

    fn mapping(tid: u32, time_ns: u64) -> Mapping {
        let h = RecordHeader { kind: kind::MAP, size: 0, tid, time_ns };
        Mapping { header: MapHeader { h, ..MapHeader::zeroed() }, path: b"/lib".to_vec() }
    }

    fn left(tgid: u32, since_ns: u64) -> ThreadLeftRecord {
        let exit = ThreadExitRecord { tgid, ..ThreadExitRecord::zeroed() };
        ThreadLeftRecord { exit, since_ns }
    }

    /// The times of the mappings that are let through when all processes look like that.
    fn times(filter: &mut ScopeFilter, mappings: Vec<Mapping>, now_ns: Option<u64>, look: Look) -> Vec<u64> {
        let known = filter.let_through_by(mappings, now_ns, &mut |_| look);
        known.iter().map(|mapping| mapping.header.h.time_ns).collect()
    }

    #[test]
    fn mappings_of_whom_the_user_may_look_at_pass() {
        let mut filter = ScopeFilter::default();
        assert_eq!(times(&mut filter, vec![mapping(7, 10)], Some(20), Look::Allowed), [10]);
        assert_eq!(times(&mut filter, vec![mapping(7, 10)], Some(20), Look::Forbidden), [] as [u64; 0]);
        assert_eq!(filter.dropped, 0);
        assert_eq!(times(&mut filter, Vec::new(), Some(10 + HELD_NS), Look::Forbidden), [] as [u64; 0]);
        assert_eq!(filter.dropped, 1);
    }

    #[test]
    fn a_short_lived_program_is_named_once_its_end_is_known() {
        let mut filter = ScopeFilter::default();
        assert_eq!(times(&mut filter, vec![mapping(7, 10)], Some(20), Look::Gone), [] as [u64; 0]);
        filter.thread_ended(7, 15);
        // Whoever had the id afterwards is another process.
        assert_eq!(times(&mut filter, vec![mapping(7, 16)], Some(40), Look::Gone), [10]);
        assert_eq!(times(&mut filter, Vec::new(), Some(16 + HELD_NS), Look::Gone), [] as [u64; 0]);
        assert_eq!(filter.dropped, 1);
    }

    #[test]
    fn what_a_set_user_id_program_maps_is_dropped_however_it_ends() {
        let mut filter = ScopeFilter::default();
        // Its end as the user's own is told when it is another's already.
        filter.left(&left(7, 10));
        filter.thread_ended(7, 14);
        let of_it = || vec![mapping(7, 9), mapping(7, 10), mapping(7, 12)];
        assert_eq!(times(&mut filter, of_it(), Some(20), Look::Gone), [9]);
        assert_eq!(times(&mut filter, of_it(), None, Look::Allowed), [9]);
        assert_eq!(times(&mut filter, of_it(), None, Look::Forbidden), [9]);
        filter.runs(7, 30);
        assert_eq!(times(&mut filter, vec![mapping(7, 29), mapping(7, 30)], Some(40), Look::Allowed), [30]);
        assert_eq!(filter.dropped, 7);
    }

    #[test]
    fn what_a_process_mapped_before_it_became_anothers_passes() {
        let mut filter = ScopeFilter::default();
        assert_eq!(times(&mut filter, vec![mapping(7, 9)], Some(20), Look::Forbidden), [] as [u64; 0]);
        filter.left(&left(7, 10));
        assert_eq!(times(&mut filter, vec![mapping(7, 12)], Some(40), Look::Forbidden), [9]);
        assert_eq!((filter.dropped, filter.held.len()), (1, 0));
    }

    #[test]
    fn nothing_waits_beyond_the_end() {
        let mut filter = ScopeFilter::default();
        assert_eq!(times(&mut filter, vec![mapping(7, 10)], None, Look::Gone), [] as [u64; 0]);
        assert_eq!((filter.dropped, filter.held.len()), (1, 0));
    }
}
