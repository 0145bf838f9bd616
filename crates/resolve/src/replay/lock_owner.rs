//! Who has the lock that a thread waits for.
//!
//! The memory of an interpreter or of a lock, the kernel and the program may each name one: which of them counts for a wait is decided
//! here, once. A [`LockOwner`] is a claim about the lock that its source knows. Whether the wait is for that lock is known when the
//! object of the wait is, and decided in `objects`; the column `holder` has the owners that this confirms.

use dwell_model::ThreadId;
use dwell_store::raw::wire::{FUTEX_PRIVATE, SwitchRecord, switch_flag};

use super::annotations::AnnouncedWait;
use super::threads::ThreadTable;

/// Who says who the owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnerSource {
    /// CPython's memory, of its global interpreter lock.
    Gil,
    /// The JVM's memory, of a Java lock.
    JavaLock,
    /// The kernel, of a lock on a file.
    FileLock,
    /// The program, of an object that it announces to wait for.
    Announced,
    /// The word in which a lock of a C library has its owner, if the futex is such a lock.
    LockWord,
}

/// Who has a lock, as a source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockOwner {
    /// The owner.
    pub thread: ThreadId,
    /// Who says so.
    pub source: OwnerSource,
}

impl LockOwner {
    /// The owner of what `waiter` waits for as of `record`. An announced wait is not for a lock of a C library, but for the object
    /// that the program has on top of it: its owner is the announced one, or unknown.
    pub fn of(
        waiter: ThreadId,
        record: &SwitchRecord,
        announced: Option<AnnouncedWait>,
        threads: &ThreadTable,
    ) -> Option<Self> {
        recorded(record, threads).or_else(|| match announced {
            Some(wait) => wait.owner.map(|thread| Self { thread, source: OwnerSource::Announced }),
            None => lock_word(waiter, record, threads),
        })
    }
}

/// Whom an interpreter or the kernel names.
fn recorded(record: &SwitchRecord, threads: &ThreadTable) -> Option<LockOwner> {
    let thread = threads.find(record.owner_tid).filter(|_| record.owner_tid != 0)?;
    let source = match record.flags {
        flags if flags & switch_flag::GIL != 0 => OwnerSource::Gil,
        flags if flags & switch_flag::JAVA_LOCK != 0 => OwnerSource::JavaLock,
        _ => OwnerSource::FileLock,
    };
    Some(LockOwner { thread, source })
}

/// Whom the word of a lock names: another thread, of the same process unless processes share the lock.
fn lock_word(waiter: ThreadId, record: &SwitchRecord, threads: &ThreadTable) -> Option<LockOwner> {
    let tid = threads.outer_id(record.h.tid, record.owner_inner_tid).filter(|_| record.owner_inner_tid != 0)?;
    let thread = threads.find(tid).filter(|&owner| owner != waiter)?;
    let process = |thread| threads.life(thread).map(|life| life.process);
    let is_shared = record.detail as u32 & FUTEX_PRIVATE == 0;
    let is_possible = is_shared || process(thread) == process(waiter);
    is_possible.then_some(LockOwner { thread, source: OwnerSource::LockWord })
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::wire::{RecordHeader, ThreadNewRecord};

    use super::*;
    use crate::replay::numbers::SyncNumber;

    const WAITER: u32 = 10;
    const OWNER: u32 = 11;

    /// Two threads of a process, and what a wait of the first one for something of the second one looks like with these fields.
    fn owner_of(fields: SwitchRecord, announced: Option<Option<usize>>) -> Option<(usize, OwnerSource)> {
        let header = |tid| RecordHeader { tid, ..RecordHeader::zeroed() };
        let mut threads = ThreadTable::default();
        for tid in [WAITER, OWNER] {
            threads.begin(&ThreadNewRecord { h: header(tid), tgid: WAITER, ..ThreadNewRecord::zeroed() }, 0);
        }
        let announced =
            announced.map(|owner| AnnouncedWait { object: SyncNumber::new(0), owner: owner.map(ThreadId::new) });
        let record = SwitchRecord { h: header(WAITER), ..fields };
        let owner = LockOwner::of(ThreadId::new(0), &record, announced, &threads)?;
        Some((owner.thread.get()?, owner.source))
    }

    #[test]
    fn one_source_names_the_owner() {
        let by_record = |flags| SwitchRecord { owner_tid: OWNER, flags, ..SwitchRecord::zeroed() };
        let by_word = |owner_inner_tid| SwitchRecord { owner_inner_tid, ..SwitchRecord::zeroed() };
        let recorded = |flags| owner_of(by_record(flags), Some(Some(0)));
        assert_eq!(recorded(switch_flag::GIL), Some((1, OwnerSource::Gil)));
        assert_eq!(recorded(switch_flag::JAVA_LOCK), Some((1, OwnerSource::JavaLock)));
        assert_eq!(recorded(0), Some((1, OwnerSource::FileLock)));
        assert_eq!(owner_of(by_word(OWNER), Some(Some(1))), Some((1, OwnerSource::Announced)));
        assert_eq!(owner_of(by_word(OWNER), Some(None)), None, "the program's object is not the lock below it");
        assert_eq!(owner_of(by_word(OWNER), None), Some((1, OwnerSource::LockWord)));
        assert_eq!(owner_of(by_word(WAITER), None), None, "nobody waits for a lock that he has");
        assert_eq!(owner_of(by_word(12), None), None, "no such thread");
        assert_eq!(owner_of(SwitchRecord::zeroed(), None), None);
    }
}
