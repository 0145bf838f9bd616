//! Where a garbage collection moved locks to: a thread that is parked for one says so, and so does what is left of it where it was.

use crate::lock_layout::LockLayout;
use crate::memory::{RemoteMemory, number, number_at, records, word, word_at};

/// The lowest bits of the mark of an object that was moved: the others are where to.
const MOVED: u64 = 3;
/// Of an object that are read: its mark and its class.
const HEAD_BYTES: usize = 16;

impl LockLayout {
    /// The object for which the thread at `thread`, a JavaThread, is parked, and its class as objects have it.
    pub fn blocker(&self, memory: &mut impl RemoteMemory, thread: u64) -> Option<(u64, u32)> {
        let handle = word_at(memory, thread.wrapping_add(u64::from(self.thread_object)));
        let object = Some(word_at(memory, handle)).filter(|object| *object != 0)?;
        let place = object.wrapping_add(u64::from(self.park_blocker));
        let blocker = match self.oop_bytes {
            8 => word_at(memory, place),
            _ => match u64::from(number_at(memory, place)) {
                0 => 0,
                reference => self.oop_base.wrapping_add(reference << self.oop_shift),
            },
        };
        let class = number_at(memory, blocker.wrapping_add(u64::from(self.object_class)));
        Some((blocker, class)).filter(|_| blocker != 0)
    }
    /// Where each object, an address and a class, was moved to; `None` where nothing is left that says so.
    pub fn moved_to(&self, memory: &mut impl RemoteMemory, objects: &[(u64, u32)]) -> Vec<Option<u64>> {
        let mut bytes = Vec::new();
        let old: Vec<u64> = objects.iter().map(|(address, _)| *address).collect();
        let new: Vec<u64> = records(memory, &old, HEAD_BYTES, &mut bytes)
            .map(|head| if word(head, 0) & MOVED == MOVED { word(head, 0) & !MOVED } else { 0 })
            .collect();
        let heads = records(memory, &new, HEAD_BYTES, &mut bytes);
        let class = |head: &[u8]| number(head, u64::from(self.object_class));
        let found = heads.zip(&new).zip(objects);
        found.map(|((head, &to), &(_, of))| (to != 0 && of != 0 && class(head) == of).then_some(to)).collect()
    }
}
