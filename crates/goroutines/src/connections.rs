//! The connections of goroutines that wait for the network.
//!
//! `runtime.netpollblock` keeps the address of the word in which the goroutine is entered, that of who reads or writes in a `runtime.pollDesc`, and
//! that has the descriptor behind its first word (`src/runtime/netpoll.go`). Where that address is in the frame depends on the version of Go; the word
//! tells by itself that it is the one, and so does the `pollDesc`, which has its own address in it.

use std::collections::HashMap;

use crate::stretches::{read_each, word_at};
use crate::{MemoryStretch, StretchReader};

/// `runtime.waitReasonIOWait`.
pub const NETWORK: u8 = 2;
/// Where the goroutine that reads is in a `pollDesc`, and the one that writes, of Go 1.18 to 1.26.
const ENTRIES: [usize; 3] = [24, 32, 40];
const DESCRIPTOR: usize = 8;
/// Of a `pollDesc` that are read from that word on, so that its own address is among them.
const BYTES: usize = 368;
/// Bytes of a goroutine's stack in which the address of the word is looked for.
const FRAME_BYTES: usize = 256;
/// Goroutines by which a pass finds out where it is.
const MOST_TRIES: usize = 8;
/// No program's memory is below.
const LOWEST_ADDRESS: u64 = 1 << 16;

/// A goroutine that waits for the network, and where its stack begins and ends.
#[derive(Clone, Copy)]
pub struct NetworkWait {
    pub goroutine: u64,
    pub sp: u64,
    pub end: u64,
}

/// Finds the descriptors of goroutines of one program.
#[derive(Default)]
pub struct Connections {
    /// Where in its stack one that waits has the address of the word with its own.
    entry_at: Option<u64>,
}

impl Connections {
    /// The descriptor that each of them waits for, by the address of its `runtime.g`; those that were found.
    pub fn read(&mut self, memory: &mut dyn StretchReader, waits: &[NetworkWait]) -> HashMap<u64, u32> {
        let mut tries = waits.iter().take(MOST_TRIES);
        while self.entry_at.is_none() {
            let Some(wait) = tries.next() else { return HashMap::new() };
            self.entry_at = find_entry(memory, wait);
        }
        let at = self.entry_at.unwrap_or_default();
        let waits: Vec<&NetworkWait> = waits.iter().filter(|wait| wait.sp.saturating_add(at + 8) <= wait.end).collect();
        let places: Vec<MemoryStretch> =
            waits.iter().map(|wait| MemoryStretch { address: wait.sp + at, length: 8 }).collect();
        let mut entries: Vec<(u64, u64)> = Vec::new();
        read_each(memory, &places, &mut |number, bytes| {
            let entry = word_at(bytes, 0).filter(|entry| *entry >= LOWEST_ADDRESS);
            entries.extend(entry.map(|entry| (waits[number].goroutine, entry)));
        });
        read_descriptors(memory, &entries)
    }
}

/// At which place from the beginning of a goroutine's stack on the address of its entry lies.
fn find_entry(memory: &mut dyn StretchReader, wait: &NetworkWait) -> Option<u64> {
    let length = usize::try_from(wait.end.saturating_sub(wait.sp)).unwrap_or(usize::MAX).min(FRAME_BYTES);
    let mut words: Vec<(u64, u64)> = Vec::new();
    read_each(memory, &[MemoryStretch { address: wait.sp, length }], &mut |_, bytes| {
        let within = |word: u64| (wait.sp..wait.end).contains(&word);
        let candidates = (0..length as u64 / 8).filter_map(|at| Some((8 * at, word_at(bytes, 8 * at as usize)?)));
        words.extend(candidates.filter(|(_, word)| *word >= LOWEST_ADDRESS && word % 8 == 0 && !within(*word)));
    });
    let is_entry = |(_, entry): &(u64, u64)| !read_descriptors(memory, &[(wait.goroutine, *entry)]).is_empty();
    words.into_iter().find(is_entry).map(|(at, _)| at)
}

/// The descriptors of goroutines, by the address of where each is entered, if it is one.
fn read_descriptors(memory: &mut dyn StretchReader, entries: &[(u64, u64)]) -> HashMap<u64, u32> {
    let most = ENTRIES[ENTRIES.len() - 1];
    let stretch = |&(_, entry): &(u64, u64)| MemoryStretch {
        address: entry.saturating_sub(most as u64).min(u64::MAX - (most + BYTES) as u64),
        length: most + BYTES,
    };
    let stretches: Vec<MemoryStretch> = entries.iter().map(stretch).collect();
    let mut found = HashMap::new();
    read_each(memory, &stretches, &mut |number, bytes| {
        let (goroutine, entry) = entries[number];
        let is_own = word_at(bytes, most) == Some(goroutine);
        let descriptor = ENTRIES.iter().filter(|_| is_own).find_map(|at| {
            let has_own_address =
                bytes[most..].chunks_exact(8).any(|word| word_at(word, 0) == Some(entry.wrapping_sub(*at as u64)));
            word_at(bytes, most - at + DESCRIPTOR).filter(|_| has_own_address)
        });
        found.extend(descriptor.and_then(|number| Some((goroutine, u32::try_from(number).ok()?))));
    });
    found
}
