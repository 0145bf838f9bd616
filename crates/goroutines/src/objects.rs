//! What goroutines wait for: the channel of one that waits at a channel, the semaphore of one that waits for a lock.
//!
//! The first is in its `runtime.sudog`. The second is found from the other end: `runtime.semtable` has a tree for each of its
//! 251 slots, of one `sudog` per semaphore, each of which begins the list of those that wait for it (`src/runtime/sema.go`).

use std::collections::HashMap;

use crate::offsets::Offsets;
use crate::stretches::{read_each, word_at};
use crate::{MemoryStretch, StretchReader};

const SLOTS: usize = 251;
/// A slot takes a cache line.
const SLOT_BYTES: usize = 64;
/// Bytes of the table.
pub const SEMAPHORE_TABLE_BYTES: usize = SLOTS * SLOT_BYTES;
/// The root of its tree is behind its lock.
const ROOT: usize = 8;
/// Waits for semaphores that are looked at in a pass.
const MOST_WAITS: usize = 16 << 10;

/// The address that each goroutine waits for, by the address of its `runtime.g`.
#[derive(Default)]
pub struct Waited(HashMap<u64, u64>);

impl Waited {
    /// 0 where it is not known.
    pub fn of(&self, goroutine: u64) -> u64 {
        self.0.get(&goroutine).copied().unwrap_or(0)
    }
}

/// `channels`: goroutines with the first `sudog` that they wait with.
pub fn read(
    memory: &mut dyn StretchReader,
    channels: &[(u64, u64)],
    semaphores: Option<u64>,
    offsets: &Offsets,
) -> Waited {
    let mut waited = Waited::default();
    let stretches: Vec<MemoryStretch> =
        channels.iter().map(|&(_, address)| MemoryStretch { address, length: offsets.sudog_channel + 8 }).collect();
    read_each(memory, &stretches, &mut |number, sudog| {
        // One that waits for several has a list of them.
        let is_only = word_at(sudog, offsets.sudog_waitlink) == Some(0);
        let channel = word_at(sudog, offsets.sudog_channel).filter(|_| is_only);
        waited.0.extend(channel.map(|channel| (channels[number].0, channel)));
    });
    if let Some(table) = semaphores {
        read_semaphores(memory, table, offsets, &mut waited);
    }
    waited
}

fn read_semaphores(memory: &mut dyn StretchReader, table: u64, offsets: &Offsets, waited: &mut Waited) {
    let mut reached: Vec<u64> = Vec::new();
    read_each(memory, &[MemoryStretch { address: table, length: SEMAPHORE_TABLE_BYTES }], &mut |_, slots| {
        reached.extend(slots.chunks_exact(SLOT_BYTES).filter_map(|slot| word_at(slot, ROOT)).filter(|&root| root != 0));
    });
    let mut left = MOST_WAITS;
    while !reached.is_empty() && left > 0 {
        reached.truncate(left);
        left -= reached.len();
        let stretches: Vec<MemoryStretch> =
            reached.iter().map(|&address| MemoryStretch { address, length: offsets.sudog_channel + 8 }).collect();
        reached.clear();
        read_each(memory, &stretches, &mut |_, sudog| {
            let word = |at| word_at(sudog, at).unwrap_or(0);
            waited.0.insert(word(offsets.sudog_goroutine), word(offsets.sudog_element));
            let links = [offsets.sudog_next, offsets.sudog_previous, offsets.sudog_waitlink];
            reached.extend(links.into_iter().map(word).filter(|&link| link != 0));
        });
    }
}
