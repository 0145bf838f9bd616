//! Synchronization objects that programs tell of, and the waits for them that they announce.
//!
//! An object is an address of a program since the latest time that one was created there. While a thread has announced a
//! wait, what it waits for in the kernel is that object: [`SyncBook::awaited`].

use std::collections::HashMap;

use dwell_model::{ObjectType, SyncOutcome, ThreadId};

use super::counted::UnkeptCounts;
use super::event_context::EventContext;
use crate::input::texts::TextId;
use crate::replay::numbers::SyncNumber;
use crate::replay::rows::{RawSyncWaitRow, RawSyncWaits};
use crate::replay::threads::{ImageId, ThreadTable};

/// Most objects of a trace.
const MOST_OBJECTS: usize = 1 << 20;
/// Most waits that a thread has announced at once.
const MOST_PREPARED: usize = 64;
/// Most rows.
const MOST_ROWS: usize = 250_000_000;

/// An object as the program told of it.
#[derive(Clone, Debug)]
pub struct SyncObject {
    /// The program whose threads wait for it, once one did.
    pub image: Option<ImageId>,
    /// Where it lies.
    pub address: u64,
    /// Its type.
    pub kind: ObjectType,
    /// What the program calls its type.
    pub class: TextId,
    /// Its name, empty for none.
    pub name: TextId,
    owner: Option<ThreadId>,
}

/// A wait that goes on, as its program announced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnnouncedWait {
    /// What for.
    pub object: SyncNumber,
    /// The other thread that acquired it for itself, if one did.
    pub owner: Option<ThreadId>,
}

/// What a program says of a new object: type, the program's word for it, name.
pub type SyncDescription = (ObjectType, TextId, TextId);

#[derive(Clone, Debug, Default)]
struct Prepared {
    image: ImageId,
    /// How often its program, or everyone, had begun to record again.
    turn: u32,
    /// Objects and the rows of the waits for them, the latest last.
    open: Vec<(SyncNumber, usize)>,
}

/// Every object and announced wait so far.
#[derive(Default)]
pub struct SyncBook {
    /// Every object. Programs choose the addresses: a hash that they cannot foresee.
    pub objects: Vec<SyncObject>,
    current: HashMap<(u32, u64), SyncNumber>,
    turns: HashMap<u32, u32>,
    prepared: Vec<Prepared>,
    /// Outcome 0 is a wait whose end is not known.
    waits: RawSyncWaits,
}

impl SyncBook {
    /// An object is at `address` of the program `source` from now on.
    pub fn create(&mut self, source: u32, address: u64, description: SyncDescription, counted: &mut UnkeptCounts) {
        let known = self.current.get(&(source, address)).and_then(|id| self.objects.get_mut(id.get()?));
        match known.filter(|object| object.image.is_none()) {
            // Nobody ever waited for the one that was here.
            Some(object) => (object.kind, object.class, object.name) = description,
            None => drop(self.add(source, address, description, counted)),
        }
    }

    fn add(
        &mut self,
        source: u32,
        address: u64,
        description: SyncDescription,
        counted: &mut UnkeptCounts,
    ) -> Option<SyncNumber> {
        if self.objects.len() >= MOST_OBJECTS {
            counted.objects += 1;
            self.current.remove(&(source, address));
            return None;
        }
        let id = SyncNumber::new(self.objects.len());
        let (kind, class, name) = description;
        self.objects.push(SyncObject { image: None, address, kind, class, name, owner: None });
        self.current.insert((source, address), id);
        Some(id)
    }

    /// The object at `address`; one that was never created is made up.
    fn at(&mut self, source: u32, address: u64, counted: &mut UnkeptCounts) -> Option<SyncNumber> {
        let known = self.current.get(&(source, address)).copied();
        let unknown = (ObjectType::User, TextId::EMPTY, TextId::EMPTY);
        known.or_else(|| self.add(source, address, unknown, counted))
    }

    fn change(&mut self, id: SyncNumber, change: impl FnOnce(&mut SyncObject)) {
        if let Some(object) = id.get().and_then(|at| self.objects.get_mut(at)) {
            change(object);
        }
    }

    /// The object at `address` has another name.
    pub fn rename(&mut self, source: u32, address: u64, name: TextId, counted: &mut UnkeptCounts) {
        if let Some(id) = self.at(source, address, counted) {
            self.change(id, |object| object.name = name);
        }
    }

    /// What comes to lie at `address` is another object.
    pub fn destroy(&mut self, source: u32, address: u64) {
        self.current.remove(&(source, address));
    }

    /// The program records again: which waits go on is not known any more.
    pub fn resume(&mut self, source: u32) {
        *self.turns.entry(source).or_insert(0) += 1;
    }

    /// The same, of every program.
    pub fn resume_all(&mut self) {
        self.prepared.clear();
    }

    fn of_thread(&mut self, context: &EventContext) -> &mut Prepared {
        let row = context.thread.get().unwrap_or(0);
        if row >= self.prepared.len() {
            self.prepared.resize(row + 1, Prepared::default());
        }
        let turn = self.turns.get(&context.source).copied().unwrap_or(0);
        let prepared = &mut self.prepared[row];
        if (prepared.image, prepared.turn) != (context.image, turn) {
            *prepared = Prepared { image: context.image, turn, open: Vec::new() };
        }
        prepared
    }

    /// The thread begins to wait. OpenMP's runtime says so twice, from the construct and from the lock below it: the first
    /// one counts.
    pub fn prepare(&mut self, context: &EventContext, address: u64, counted: &mut UnkeptCounts) {
        let Some(id) = self.at(context.source, address, counted) else { return };
        let prepared = self.of_thread(context);
        if prepared.open.iter().any(|(open, _)| *open == id) {
            return;
        }
        if prepared.open.len() >= MOST_PREPARED {
            prepared.open.remove(0);
        }
        if self.waits.len() >= MOST_ROWS {
            counted.rows += 1;
            return;
        }
        self.change(id, |object| object.image = Some(context.image));
        let row = self.waits.push(RawSyncWaitRow {
            thread: context.thread,
            object: id,
            start_ns: context.now_ns,
            end_ns: context.now_ns,
            outcome: SyncOutcome::Unknown.code(),
        });
        self.of_thread(context).open.push((id, row));
    }

    /// The thread has the object, or gave up. Without a wait that it announced, it had it at once.
    pub fn end(&mut self, context: &EventContext, address: u64, outcome: SyncOutcome, counted: &mut UnkeptCounts) {
        let Some(id) = self.at(context.source, address, counted) else { return };
        let prepared = self.of_thread(context);
        let at = prepared.open.iter().rposition(|(open, _)| *open == id);
        if let Some((_, row)) = at.map(|at| prepared.open.remove(at)) {
            self.close(row, context.now_ns, outcome);
        }
        if outcome == SyncOutcome::Acquired {
            self.change(id, |object| object.owner = Some(context.thread));
        }
    }

    fn close(&mut self, row: usize, time_ns: u64, outcome: SyncOutcome) {
        self.waits.end_ns[row] = time_ns.max(self.waits.start_ns[row]);
        self.waits.outcome[row] = outcome.code();
    }

    /// The thread gives the object away.
    pub fn release(&mut self, context: &EventContext, address: u64) {
        let known = self.current.get(&(context.source, address));
        let object = known.and_then(|id| self.objects.get_mut(id.get()?));
        if let Some(object) = object.filter(|object| object.owner == Some(context.thread)) {
            object.owner = None;
        }
    }

    /// Events of the thread are lost: which of its waits go on is not known any more.
    pub fn lose(&mut self, context: &EventContext) {
        self.of_thread(context).open.clear();
    }

    /// The wait that the thread, of a program, has announced last.
    pub fn awaited(&self, thread: ThreadId, image: ImageId) -> Option<AnnouncedWait> {
        let prepared = self.prepared.get(thread.get()?).filter(|prepared| prepared.image == image)?;
        let &(id, _) = prepared.open.last()?;
        let object = self.objects.get(id.get()?)?;
        let owner = object.owner.filter(|&owner| is_exclusive(object.kind) && owner != thread);
        Some(AnnouncedWait { object: id, owner })
    }

    /// The waits. Those that go on end with their threads; those whose end is not known are counted and left out.
    pub fn finish(&mut self, thread_table: &ThreadTable, end_ns: u64, counted: &mut UnkeptCounts) -> RawSyncWaits {
        for thread in 0..self.prepared.len() {
            let Prepared { image, open, .. } = std::mem::take(&mut self.prepared[thread]);
            let end = thread_table.end_of(ThreadId::new(thread), image, end_ns);
            for (_, row) in open {
                self.close(row, end, SyncOutcome::Unfinished);
            }
        }
        let waits = std::mem::take(&mut self.waits);
        let unknown = SyncOutcome::Unknown.code();
        if !waits.outcome.contains(&unknown) {
            return waits;
        }
        let known: Vec<usize> = (0..waits.len()).filter(|&row| waits.outcome[row] != unknown).collect();
        counted.unended_waits += (waits.len() - known.len()) as u64;
        waits.permuted(&known)
    }
}

/// Whether who acquires such an object has it for itself until it is released.
fn is_exclusive(kind: ObjectType) -> bool {
    !matches!(
        kind,
        ObjectType::OpenMpBarrier | ObjectType::Barrier | ObjectType::Semaphore | ObjectType::ConditionVariable
    )
}
