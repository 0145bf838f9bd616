//! Small made-up Go programs in memory, for tests and as good inputs for the fuzzer.

use std::borrow::Cow;

use crate::connections::NETWORK;
pub use crate::objects::SEMAPHORE_TABLE_BYTES;
use crate::offsets::{G_BYTES, Offsets, of_version};
use crate::reader::{GoroutineReader, WAIT_REASON};
use crate::runtime::Runtime;
use crate::stretches::word_at;
use crate::{MemoryStretch, StretchReader};

/// Where the memory begins: with the list of goroutines, a slice.
const BASE: u64 = 0x10000;
/// Where the table of semaphores lies …
const SEMAPHORES: u64 = 0x4000_0000;
/// … of which the first slot is at this place in the memory's bytes, and all others are empty.
const FIRST_SLOT: usize = 0x20;
const SLOT_BYTES: usize = 0x40;
/// Where each goroutine stands, leaf first.
pub const STACK: [u64; 3] = [0x40_0000, 0x40_0100, 0x40_0200];
/// The status of a goroutine that waits, which is on no thread.
const WAITING: u32 = 4;
/// A `runtime.pollDesc`: its bytes with some behind it, where it has who reads and its own address; and where the stack of one that waits for the
/// network has the address of the former.
const POLL_BYTES: usize = 512;
const READER: usize = 32;
const POLL_SELF: usize = 288;
const ENTRY_IN_STACK: usize = 64;
/// The id of the thread of each that runs.
pub const THREAD: u32 = 4711;

/// Reads the goroutines of an example of this version of Go; `None` where its layout is not known.
pub fn reader(version: &str) -> Option<GoroutineReader> {
    let (offsets, version) = (of_version(version)?, version.to_owned());
    Some(GoroutineReader::new(Runtime { version, allgs: BASE, semaphores: Some(SEMAPHORES), offsets }, 0))
}

/// A program without goroutines at first.
pub struct ExampleProgram {
    offsets: &'static Offsets,
    bytes: Vec<u8>,
    last_semaphore: u64,
}

impl ExampleProgram {
    /// Of this version of Go; `None` where its layout is not known.
    pub fn new(version: &str) -> Option<Self> {
        let bytes = vec![0; FIRST_SLOT + SLOT_BYTES];
        Some(Self { offsets: of_version(version)?, bytes, last_semaphore: 0 })
    }

    /// Adds a goroutine with this status, which stands at [`STACK`], and returns its address. Its stack has `stack_bytes`, 64 at
    /// least.
    pub fn goroutine(&mut self, id: u64, status: u32, stack_bytes: usize) -> u64 {
        let thread = self.place(self.offsets.thread_id + 8);
        self.put(thread, self.offsets.thread_id, u64::from(THREAD));
        let stack = self.place(stack_bytes);
        let last = stack_bytes - 16;
        for (offset, word) in [(16, stack + last as u64), (24, STACK[1]), (last + 8, STACK[2])] {
            self.put(stack, offset, word);
        }
        let (goroutine, offsets) = (self.place(G_BYTES), self.offsets);
        for (offset, word) in [
            (8, stack + stack_bytes as u64),
            (offsets.id, id),
            (offsets.thread, if status == WAITING { 0 } else { thread }),
            (offsets.sched_sp, stack),
            (offsets.sched_sp + 8, STACK[0]),
            (offsets.sched_bp, stack + 16),
            (offsets.call_sp, stack),
            (offsets.call_sp + 8, STACK[0]),
            (offsets.call_bp.unwrap_or(offsets.sched_bp), stack + 16),
            (offsets.status, u64::from(status)),
            (offsets.entry, 0x40_5000),
        ] {
            self.put(goroutine, offset, word);
        }
        goroutine
    }

    /// Has a goroutine mark for the collector, on the thread of another one: it calls itself waiting.
    pub fn mark(&mut self, goroutine: u64) {
        let thread = self.place(self.offsets.thread_id + 8);
        self.put(thread, self.offsets.thread_id, u64::from(THREAD));
        self.put(goroutine, self.offsets.thread, thread);
    }

    /// Has a goroutine wait at a channel.
    pub fn wait_at_channel(&mut self, goroutine: u64, channel: u64) {
        let sudog = self.place(self.offsets.sudog_channel + 8);
        self.put(sudog, self.offsets.sudog_channel, channel);
        self.put(goroutine, self.offsets.waiting, sudog);
    }

    /// Has a goroutine wait for a semaphore, other than those before.
    pub fn wait_for_semaphore(&mut self, goroutine: u64, semaphore: u64) {
        let offsets = self.offsets;
        let sudog = self.place(offsets.sudog_channel + 8);
        self.put(sudog, offsets.sudog_goroutine, goroutine);
        self.put(sudog, offsets.sudog_element, semaphore);
        match std::mem::replace(&mut self.last_semaphore, sudog) {
            0 => self.put(BASE, FIRST_SLOT + 8, sudog),
            last => self.put(last, offsets.sudog_next, sudog),
        }
    }

    /// Has a goroutine wait for the network, with a stack of 128 bytes at least.
    pub fn wait_for_network(&mut self, goroutine: u64, descriptor: u32) {
        let poll = self.place(POLL_BYTES);
        for (offset, word) in [(8, u64::from(descriptor)), (READER, goroutine), (POLL_SELF, poll)] {
            self.put(poll, offset, word);
        }
        let at = (goroutine - BASE) as usize + self.offsets.sched_sp;
        let stack = word_at(&self.bytes, at).unwrap_or(BASE);
        self.put(stack, ENTRY_IN_STACK, poll + READER as u64);
        self.put(goroutine, self.offsets.id + WAIT_REASON, u64::from(NETWORK));
    }

    /// Makes these all goroutines of the program.
    pub fn list(&mut self, goroutines: &[u64]) {
        let list = self.place(goroutines.len() * 8);
        goroutines.iter().enumerate().for_each(|(number, address)| self.put(list, number * 8, *address));
        self.put(BASE, 0, list);
        self.put(BASE, 8, goroutines.len() as u64);
    }

    /// Leaves a gap in its memory.
    pub fn skip(&mut self, bytes: usize) {
        self.place(bytes);
    }

    /// Where the program counter of a goroutine lies in the memory's bytes.
    pub fn place_of_pc(&self, goroutine: u64) -> usize {
        (goroutine - BASE) as usize + self.offsets.sched_sp + 8
    }

    /// Its memory, as for [`ExampleMemory::new`].
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its memory.
    pub fn memory(&self) -> ExampleMemory {
        ExampleMemory::new(self.bytes.clone(), Vec::new())
    }

    fn place(&mut self, bytes: usize) -> u64 {
        let address = BASE + self.bytes.len() as u64;
        self.bytes.resize(self.bytes.len() + bytes.next_multiple_of(8), 0);
        address
    }

    fn put(&mut self, address: u64, offset: usize, word: u64) {
        self.bytes[(address - BASE) as usize + offset..][..8].copy_from_slice(&word.to_le_bytes());
    }
}

/// A byte that changes while the memory is read.
#[derive(Clone, Copy, Debug)]
pub struct ChangingByte {
    /// The read, from 0 on, before which it changes.
    pub before_read: usize,
    /// Where in the memory's bytes.
    pub at: usize,
    /// What it becomes.
    pub value: u8,
}

/// Memory of which only some is there, twice: from its beginning on, and at the end of all memory, where sums overflow.
pub struct ExampleMemory {
    bytes: Vec<u8>,
    changes: Vec<ChangingByte>,
    reads: usize,
    asked_bytes: usize,
}

impl ExampleMemory {
    /// `bytes`, from the list of goroutines on, with `changes` while it is read.
    pub fn new(bytes: Vec<u8>, changes: Vec<ChangingByte>) -> Self {
        Self { bytes, changes, reads: 0, asked_bytes: 0 }
    }

    /// How many bytes were read so far, whether they are there or not.
    pub fn asked_bytes(&self) -> usize {
        self.asked_bytes
    }

    fn change(&mut self) {
        for change in self.changes.iter().filter(|change| change.before_read == self.reads) {
            self.bytes.iter_mut().skip(change.at).take(1).for_each(|byte| *byte = change.value);
        }
        self.reads += 1;
    }

    /// What is there from `address` on.
    fn rest_at(&self, address: u64) -> Cow<'_, [u8]> {
        let within = |begin: u64| address.checked_sub(begin).and_then(|at| usize::try_from(at).ok());
        if let Some(at) = within(SEMAPHORES).filter(|at| *at < SEMAPHORE_TABLE_BYTES) {
            let mut table = vec![0; SEMAPHORE_TABLE_BYTES];
            let slot = self.bytes.iter().skip(FIRST_SLOT).take(SLOT_BYTES);
            table.iter_mut().zip(slot).for_each(|(to, from)| *to = *from);
            return Cow::Owned(table.split_off(at));
        }
        let at_end = within(0_u64.wrapping_sub(self.bytes.len() as u64));
        let at = at_end.or_else(|| within(BASE)).and_then(|at| self.bytes.get(at..));
        Cow::Borrowed(at.unwrap_or_default())
    }
}

impl StretchReader for ExampleMemory {
    fn read(&mut self, stretches: &[MemoryStretch], bytes: &mut [u8]) -> usize {
        self.asked_bytes += stretches.iter().map(|stretch| stretch.length).sum::<usize>();
        self.change();
        let mut read = 0;
        for stretch in stretches {
            let there = self.rest_at(stretch.address);
            let length = stretch.length.min(there.len()).min(bytes.len() - read);
            bytes[read..][..length].copy_from_slice(&there[..length]);
            read += length;
            if length < stretch.length {
                break;
            }
        }
        read
    }
}
