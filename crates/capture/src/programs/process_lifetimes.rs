//! Which processes are recorded, each from its first thread to its last. An id alone names whoever has it now: what is told of
//! an id belongs to a process only if it is from the time of that process.
//!
//! Ends can go unseen (lost records, a pause, switches that pass no hook). Then the id is given to somebody else: a
//! child of a recorded process says so itself, strangers are found by when they began.

use std::collections::{HashMap, HashSet};

use crate::programs::proc;

/// How often processes are looked for whose end was not seen …
const LOOK_NS: u64 = 1_000_000_000;
/// … and how many at a time: each costs some microseconds.
const MOST_LOOKS: usize = 200;

/// One process.
#[derive(Clone, Debug, Default)]
struct ProcessLife {
    /// Since when it is recorded, ns.
    since_ns: u64,
    /// Its beginning was read: an end can be read a round before it, from the ring of another CPU.
    has_begun: bool,
    /// Threads that came less those that ended.
    threads: i64,
    /// When the last of those ended that have ended, ns.
    exit_ns: u64,
    /// It had no thread at the end of the round before.
    was_empty: bool,
}

/// Whether a process is one that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMembership {
    Yes,
    No,
    /// All its threads that are known have ended; another one may be told of in the next round.
    NotYetKnown,
}

/// See the module.
#[derive(Default)]
pub struct ProcessLifetimes {
    all: HashMap<u32, ProcessLife>,
    looked_ns: u64,
    /// Those that are still to be looked for.
    to_look: Vec<u32>,
    /// Those that were not there in the round before.
    missing: Vec<u32>,
    /// Those that were looked at in this round.
    looked_at: HashSet<u32>,
    /// Those whose id another process has.
    replaced: Vec<u32>,
}

impl ProcessLifetimes {
    /// Whether a process of this id is recorded. Its mappings are found by id and time.
    pub fn contains(&self, tgid: u32) -> bool {
        self.all.get(&tgid).is_some_and(|life| life.has_begun)
    }

    /// Their ids.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.all.iter().filter(|(_, life)| life.has_begun).map(|(tgid, _)| *tgid)
    }

    /// Those that have not ended, as `/proc` shows it.
    pub fn living(&self) -> impl Iterator<Item = u32> {
        let is_alive = |tgid: u32, life: &ProcessLife| {
            life.has_begun && proc::is_alive(tgid) && Self::is_still(tgid, life.since_ns)
        };
        self.all.iter().filter(move |(tgid, life)| is_alive(**tgid, life)).map(|(tgid, _)| *tgid)
    }

    /// Process `tgid` is recorded since `time_ns` at the latest.
    pub fn begin(&mut self, tgid: u32, time_ns: u64) {
        let life = self.all.entry(tgid).or_default();
        // Its threads can be told of in another order than they came.
        life.since_ns = if life.has_begun { life.since_ns.min(time_ns) } else { time_ns };
        life.has_begun = true;
    }

    /// A thread of process `tgid` came.
    pub fn thread_new(&mut self, tgid: u32, time_ns: u64) {
        self.begin(tgid, time_ns);
        if let Some(life) = self.all.get_mut(&tgid) {
            life.threads += 1;
        }
    }

    /// Whether the first thread of a process `tgid`, which came at `time_ns`, is that of another process than the known one.
    pub fn is_reuse(&self, tgid: u32, time_ns: u64) -> bool {
        self.all.get(&tgid).is_some_and(|life| life.has_begun && life.since_ns < time_ns)
    }

    /// A thread of process `tgid` ended.
    pub fn thread_exit(&mut self, tgid: u32, time_ns: u64) {
        let life = self.all.entry(tgid).or_default();
        if life.has_begun && time_ns < life.since_ns {
            return; // of another process that had the id before
        }
        life.threads -= 1;
        life.exit_ns = life.exit_ns.max(time_ns);
    }

    /// Whether what `tgid` did at `time_ns` was done by the recorded process, as far as is known by now.
    pub fn belongs(&mut self, tgid: u32, time_ns: u64) -> ProcessMembership {
        let Some(life) = self.all.get(&tgid) else { return ProcessMembership::No };
        if !life.has_begun {
            return ProcessMembership::NotYetKnown;
        }
        let is_alive = life.threads > 0 || life.exit_ns == 0;
        if time_ns < life.since_ns {
            ProcessMembership::No
        } else if !is_alive && time_ns > life.exit_ns {
            ProcessMembership::NotYetKnown
        } else if is_alive && self.is_replaced(tgid) {
            ProcessMembership::No
        } else {
            ProcessMembership::Yes
        }
    }

    /// Whether another process has the id of a process that nobody saw end. Looks once in a round.
    fn is_replaced(&mut self, tgid: u32) -> bool {
        let since_ns = self.all.get(&tgid).map_or(0, |life| life.since_ns);
        if self.looked_at.insert(tgid) && !Self::is_still(tgid, since_ns) {
            self.replaced.push(tgid);
        }
        self.replaced.contains(&tgid)
    }

    /// Whether who has the id now may be the recorded process: not one that began after `time_ns`, at which it was there.
    pub fn is_still(tgid: u32, time_ns: u64) -> bool {
        proc::began(tgid).is_none_or(|began| !began.is_after(time_ns))
    }

    /// Forgets process `tgid`, which ended.
    pub fn end(&mut self, tgid: u32) {
        self.all.remove(&tgid);
    }

    /// Ends a round: the processes that have had no thread since the one before, and those whose end nobody saw. They are
    /// forgotten.
    pub fn end_round(&mut self, now_ns: u64) -> Vec<u32> {
        let mut over = Vec::new();
        self.all.retain(|&tgid, life| {
            // A process that was there before its threads were told has none yet.
            let is_empty = life.threads <= 0 && (life.exit_ns > 0 || !life.has_begun);
            let is_over = is_empty && life.was_empty;
            life.was_empty = is_empty;
            over.extend(is_over.then_some(tgid));
            !is_over
        });
        self.looked_at.clear();
        self.look(now_ns);
        for tgid in self.replaced.drain(..) {
            over.extend(self.all.remove(&tgid).map(|_| tgid));
        }
        over
    }

    /// Finds the processes that are not there any more, although nobody saw them end. The end of one that was there in the round
    /// before may be told in this one.
    fn look(&mut self, now_ns: u64) {
        let missing = std::mem::take(&mut self.missing);
        self.replaced.extend(missing.into_iter().filter(|&tgid| !proc::is_there(tgid)));
        if now_ns.saturating_sub(self.looked_ns) < LOOK_NS {
            return;
        }
        self.looked_ns = now_ns;
        if self.to_look.is_empty() {
            self.to_look = self.all.keys().copied().collect();
        }
        for tgid in self.to_look.split_off(self.to_look.len().saturating_sub(MOST_LOOKS)) {
            let Some(life) = self.all.get(&tgid) else { continue };
            if !proc::is_there(tgid) {
                self.missing.push(tgid);
            } else if !Self::is_still(tgid, life.since_ns) {
                self.replaced.push(tgid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id that no process has.
    const NOBODY: u32 = 1 << 30;

    fn round(lifetimes: &mut ProcessLifetimes) -> Vec<u32> {
        lifetimes.end_round(lifetimes.looked_ns.max(LOOK_NS))
    }

    #[test]
    fn a_process_is_its_id_and_its_time() {
        let mut lifetimes = ProcessLifetimes::default();
        lifetimes.thread_new(NOBODY, 10);
        lifetimes.thread_new(NOBODY, 12);
        assert_eq!(
            [9, 10, 99].map(|at| lifetimes.belongs(NOBODY, at)),
            [ProcessMembership::No, ProcessMembership::Yes, ProcessMembership::Yes]
        );
        lifetimes.thread_exit(NOBODY, 20);
        lifetimes.thread_exit(NOBODY, 22);
        assert_eq!(lifetimes.belongs(NOBODY, 22), ProcessMembership::Yes);
        assert_eq!(lifetimes.belongs(NOBODY, 23), ProcessMembership::NotYetKnown, "another thread may be told of");
        assert_eq!(round(&mut lifetimes), [] as [u32; 0], "one round without threads proves nothing");
        assert_eq!(round(&mut lifetimes), [NOBODY]);
        assert_eq!(lifetimes.belongs(NOBODY, 22), ProcessMembership::No);
        assert!(!lifetimes.contains(NOBODY));
    }

    #[test]
    fn ends_can_be_told_before_beginnings() {
        let mut lifetimes = ProcessLifetimes::default();
        lifetimes.thread_exit(NOBODY, 20);
        assert!(!lifetimes.contains(NOBODY));
        assert_eq!(round(&mut lifetimes), [] as [u32; 0]);
        lifetimes.thread_new(NOBODY, 10);
        assert!(!lifetimes.is_reuse(NOBODY, 10));
        lifetimes.thread_new(NOBODY, 11);
        assert_eq!(lifetimes.belongs(NOBODY, 30), ProcessMembership::Yes, "one of two threads is left");
    }

    #[test]
    fn a_first_thread_ends_whoever_had_the_id() {
        let mut lifetimes = ProcessLifetimes::default();
        lifetimes.thread_new(NOBODY, 10);
        assert!(lifetimes.is_reuse(NOBODY, 50));
        lifetimes.end(NOBODY);
        lifetimes.thread_new(NOBODY, 50);
        lifetimes.thread_exit(NOBODY, 40); // of the one before
        assert_eq!(
            (lifetimes.belongs(NOBODY, 45), lifetimes.belongs(NOBODY, 60)),
            (ProcessMembership::No, ProcessMembership::Yes)
        );
    }

    #[test]
    fn ends_that_nobody_saw_are_found() {
        let mut lifetimes = ProcessLifetimes::default();
        lifetimes.thread_new(NOBODY, 10);
        assert_eq!(round(&mut lifetimes), [] as [u32; 0], "its end may be told in the next round");
        assert_eq!(round(&mut lifetimes), [NOBODY]);
        let own = std::process::id();
        lifetimes.begin(own, 10); // before this process began, whose id it has
        assert_eq!(lifetimes.belongs(own, 99), ProcessMembership::No);
        assert_eq!(round(&mut lifetimes), [own]);
        lifetimes.begin(own, crate::clock::monotonic_ns());
        assert_eq!(lifetimes.belongs(own, u64::MAX), ProcessMembership::Yes);
    }
}
