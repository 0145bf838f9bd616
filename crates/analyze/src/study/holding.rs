//! Who held a lock while threads waited for it.
//! It takes the ends of all waits on the lock; it gives, for one wait, its holders one after the other.
//! It does not say what they did meanwhile.
//!
//! Whoever releases a lock that others wait for wakes one of them: the ends of the waits are the releases. Between two of them
//! the lock has one holder, the thread that makes the second one, from the first one on if that woke it. Else it took the lock
//! before the woken thread could: before that one waits again, and after its own last wait for something else. So a wait without a
//! release in it has one holder from its begin: the thread that ends it. Where waits are not on the lock itself (each thread has a
//! word of its own), or others may hold it, too (readers), only the lock's own word for its owner (`off_cpu.holder`) proves that.

use std::collections::HashMap;

use dwell_model::{ObjectId, ObjectType, Outcome};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::row_sampling::sampled_parts;

use crate::study::intervals::Activity;
use crate::study::thread_index::ThreadIndex;

/// A wake-up of a thread that waits for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Release {
    time_ns: u64,
    /// Who released the lock.
    by: Holder,
    /// The off-CPU row of the wait, and its thread.
    row: usize,
    woken: usize,
}

/// What is known of one lock.
#[derive(Default)]
struct Lock {
    /// In order of time.
    releases: Vec<Release>,
    /// Whether a release wakes one of all that wait: the waits are on the lock itself, not each on a word of its thread's.
    is_itself: bool,
    /// Whether it told its owner to a wait.
    tells_owner: bool,
}

/// A part of a wait with the thread that held the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HolderPart {
    /// Start, ns.
    pub from: u64,
    /// End, ns.
    pub to: u64,
    /// The thread.
    pub holder: Holder,
}

/// Who held a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// A thread of the program, by number.
    Thread(usize),
    /// Somebody else: no thread of the program ended the wait.
    Outside,
    /// Some thread that did not show itself.
    Unknown,
}

/// The releases of some locks.
pub struct Holding<'f, 't> {
    fold: &'f Fold<'t>,
    index: &'f ThreadIndex<'t>,
    locks: HashMap<ObjectId, Lock>,
}

impl<'f, 't> Holding<'f, 't> {
    /// Of those of `objects` that one thread holds at a time.
    pub fn new(fold: &'f Fold<'t>, index: &'f ThreadIndex<'t>, objects: &[ObjectId]) -> Self {
        let locks = objects.iter().filter(|object| fold.object_type(**object).has_holder());
        let mut holding = Self { fold, index, locks: locks.map(|object| (*object, Lock::default())).collect() };
        if !holding.locks.is_empty() {
            holding.gather();
        }
        holding
    }

    fn gather(&mut self) {
        let (trace, rows) = (self.fold.trace, &self.fold.trace.events().off_cpu);
        let (parts, _) = sampled_parts(trace, &self.fold.sums.windows);
        for thread in 0..trace.threads.tid.len() {
            let first = rows.of(thread).start;
            for part in &parts {
                let begun = rows.begun(thread, part.from, part.to.saturating_add(1));
                // The wait that began before may end inside.
                for row in begun.start.saturating_sub(1).max(first)..begun.end {
                    let Some(lock) = self.locks.get_mut(&self.fold.object_of(row)) else { continue };
                    lock.tells_owner |= owner(self.fold, row).is_some();
                    if let Some(by) = ender(self.fold, row) {
                        lock.releases.push(Release { time_ns: woken_at(self.fold, row), by, row, woken: thread });
                    }
                }
            }
        }
        for (object, lock) in &mut self.locks {
            lock.releases.sort_unstable();
            lock.releases.dedup();
            let address = object.get().and_then(|row| trace.objects.address.get(row)).copied().unwrap_or(0);
            let kind = self.fold.object_type(*object);
            lock.is_itself = match kind {
                ObjectType::Gil => true,
                ObjectType::Mutex => address != 0,
                // Where only the place is known, that may be of several locks, and none tells its owner.
                ObjectType::JvmMonitor => lock.tells_owner,
                _ => false,
            };
        }
    }

    /// Whether it knows the object: a lock.
    pub fn knows(&self, object: ObjectId) -> bool {
        self.locks.contains_key(&object)
    }

    /// Tells who held the lock during the wait `row`, the latest first: the parts fill the wait.
    pub fn emit(&self, row: usize, mut emit: impl FnMut(HolderPart)) {
        let Some(lock) = self.locks.get(&self.fold.object_of(row)) else { return };
        let from = self.fold.trace.events().off_cpu.start_ns(row);
        let (mut to, mut by) = (woken_at(self.fold, row), self.holder_at_end(row));
        let before = lock.releases.partition_point(|release| release.time_ns < to);
        let mut told = |held: HolderPart| {
            if held.from < held.to {
                emit(held);
            }
        };
        for release in lock.releases[..before].iter().rev().take_while(|release| release.time_ns > from) {
            self.after_release(lock, release, (to, by), &mut told);
            (to, by) = (release.time_ns, release.by);
        }
        self.at_begin(lock, row, (from, to, by), &mut told);
    }

    /// Who had the lock when the wait `row` ended: without a wake-up, who has it when the thread waits again.
    fn holder_at_end(&self, row: usize) -> Holder {
        let rows = self.fold.trace.events();
        let again = || {
            let thread = rows.off_cpu_key(row).thread().get()?;
            let next = self.next_wait(thread, row)?;
            owner(self.fold, next)
        };
        ender(self.fold, row).or_else(|| again().map(Holder::Thread)).unwrap_or(Holder::Unknown)
    }

    /// From a release to the next one, at `to` by `by`.
    fn after_release(
        &self,
        lock: &Lock,
        release: &Release,
        (to, by): (u64, Holder),
        emit: &mut impl FnMut(HolderPart),
    ) {
        let from = release.time_ns;
        let since = match by {
            Holder::Thread(by) if by != release.woken => {
                self.runs_since(by, from, self.waits_again(lock, release, to).unwrap_or(to))
            }
            _ => from,
        };
        emit(HolderPart { from: since, to, holder: by });
        // The lock is free, but only the woken thread knows.
        emit(HolderPart { from, to: since, holder: Holder::Thread(release.woken) });
    }

    /// From the begin of the wait `row` to the first release in it.
    fn at_begin(&self, lock: &Lock, row: usize, (from, to, by): (u64, u64, Holder), emit: &mut impl FnMut(HolderPart)) {
        let first = owner(self.fold, row).map_or(Holder::Unknown, Holder::Thread);
        let (since, last) = match by {
            _ if by == first => (from, by),
            Holder::Unknown => (from, first),
            Holder::Thread(_) if first == Holder::Unknown && lock.is_itself => (from, by),
            Holder::Thread(thread) => (self.runs_since(thread, from, to), by),
            Holder::Outside => (from, by),
        };
        emit(HolderPart { from: since, to, holder: last });
        emit(HolderPart { from, to: since, holder: first });
    }

    /// When the thread that `release` woke waits for the lock again, before `to`: then another one has it.
    fn waits_again(&self, lock: &Lock, release: &Release, to: u64) -> Option<u64> {
        let next = self.next_wait(release.woken, release.row).filter(|_| lock.is_itself)?;
        Some(self.fold.trace.events().off_cpu.start_ns(next)).filter(|start| *start < to)
    }

    /// The next row of `thread` behind `row`, if it waits for the same lock there.
    fn next_wait(&self, thread: usize, row: usize) -> Option<usize> {
        let next = self.index.rows_after(thread, row).next()?;
        (self.fold.object_of(next) == self.fold.object_of(row)).then_some(next)
    }

    /// Since when, between `from` and `to`, `thread` did not wait. A wait that it is in at `to` does not count: it has the lock.
    fn runs_since(&self, thread: usize, from: u64, to: u64) -> u64 {
        let rows = &self.fold.trace.events().off_cpu;
        let mut time = to;
        while time > from {
            let Some(piece) = self.index.before(thread, time) else { return from };
            let waited = piece.row.is_some_and(|row| rows.wait_ns(row) > 0);
            match piece.activity {
                Activity::Waiting if piece.to >= to => {}
                Activity::Runnable if piece.to >= to => {}
                Activity::Waiting | Activity::Runnable if waited => return piece.to.max(from),
                _ => {}
            }
            time = piece.from;
        }
        from
    }
}

/// When the wait `row` ended, ns.
fn woken_at(fold: &Fold<'_>, row: usize) -> u64 {
    let rows = &fold.trace.events().off_cpu;
    rows.start_ns(row).saturating_add(rows.wait_ns(row))
}

/// Who ended the wait `row`, if it was woken.
fn ender(fold: &Fold<'_>, row: usize) -> Option<Holder> {
    let key = fold.trace.events().off_cpu_key(row);
    let waker = || key.waker().get().filter(|waker| is_other(fold, row, *waker));
    let woken = Outcome::from_code(key.outcome()) == Outcome::Woken;
    woken.then(|| waker().map_or(Holder::Outside, Holder::Thread))
}

/// The thread that had the lock when the wait `row` began, where the lock tells.
fn owner(fold: &Fold<'_>, row: usize) -> Option<usize> {
    fold.trace.events().off_cpu_key(row).holder().get().filter(|owner| is_other(fold, row, *owner))
}

fn is_other(fold: &Fold<'_>, row: usize, thread: usize) -> bool {
    let key = fold.trace.events().off_cpu_key(row);
    thread < fold.trace.threads.tid.len() && key.thread().get() != Some(thread)
}
