//! Passes over made-up memory: as a program has it, and as a hostile one may.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::offsets::of_version;
use crate::reader::{GoroutineReader, GoroutineState};
use crate::runtime::Runtime;
use crate::{MemoryStretch, StretchReader};

const LIST: u64 = 0x1000;
const SEMAPHORES: u64 = 0x8000;

/// StretchReader that is there byte by byte; all else is not.
#[derive(Default)]
struct Bytes(HashMap<u64, u8>);

impl Bytes {
    fn put(&mut self, address: u64, bytes: &[u8]) {
        self.0.extend(bytes.iter().zip(address..).map(|(byte, address)| (address, *byte)));
    }

    fn word(&mut self, address: u64, word: u64) {
        self.put(address, &word.to_le_bytes());
    }

    /// A goroutine that stands at a chain of three frames.
    fn goroutine(&mut self, address: u64, id: u64, status: u32, stack: u64) {
        let offsets = of_version("go1.26").expect("a layout");
        self.put(address, &[0; 0x200]); // with what lies up to the next one
        self.word(address + 8, stack + 0x100);
        for (offset, word) in [
            (offsets.id, id),
            (offsets.sched_sp, stack),
            (offsets.sched_sp + 8, 0x40_0000),
            (offsets.sched_bp, stack + 0x10),
            (offsets.entry, 0x40_5000),
        ] {
            self.word(address + offset as u64, word);
        }
        self.put(address + offsets.status as u64, &status.to_le_bytes());
        self.put(stack, &[0; 0x100]);
        self.word(stack + 0x10, stack + 0x30);
        self.word(stack + 0x18, 0x40_0100);
        self.word(stack + 0x38, 0x40_0200);
    }

    fn list(&mut self, goroutines: &[u64]) {
        self.word(LIST, 0x2000);
        self.word(LIST + 8, goroutines.len() as u64);
        goroutines.iter().zip(0..).for_each(|(address, number)| self.word(0x2000 + 8 * number, *address));
    }
}

impl StretchReader for Bytes {
    fn read(&mut self, stretches: &[MemoryStretch], bytes: &mut [u8]) -> usize {
        let addresses = stretches.iter().flat_map(|it| (0..it.length as u64).map(|at| it.address.wrapping_add(at)));
        let present =
            addresses.zip(bytes).map_while(|(address, byte)| self.0.get(&address).map(|known| *byte = *known));
        present.count()
    }
}

fn reader() -> GoroutineReader {
    let offsets = of_version("go1.26").expect("a layout");
    GoroutineReader::new(Runtime { version: "go1.26".into(), allgs: LIST, semaphores: Some(SEMAPHORES), offsets }, 0)
}

fn seen(reader: &mut GoroutineReader, memory: &mut dyn StretchReader) -> Vec<(u64, GoroutineState, Option<Vec<u64>>)> {
    let mut seen = Vec::new();
    let pass = reader.pass(memory, &mut |it| seen.push((it.id, it.state, it.stack.map(<[u64]>::to_vec))));
    assert_eq!(pass.expect("a list").seen, seen.len() as u64);
    seen.sort_by_key(|(id, ..)| *id);
    seen
}

#[test]
fn goroutines_are_seen_with_their_stacks_once_they_live() {
    let (mut memory, mut reader) = (Bytes::default(), reader());
    memory.goroutine(0x10_0000, 1, 4, 0x20_0000);
    memory.goroutine(0x10_0200, 2, 2, 0x20_1000);
    memory.goroutine(0x10_0400, 3, 6, 0x20_2000); // dead
    memory.list(&[0x10_0000, 0x10_0200, 0x10_0400]);
    let stack = vec![0x40_0000, 0x40_0100, 0x40_0200];
    let waiting = (1, GoroutineState::Waiting, Some(stack.clone()));
    assert_eq!(seen(&mut reader, &mut memory), [waiting.clone(), (2, GoroutineState::Running, None)]);
    memory.goroutine(0x90_0000, 9, 1, 0x20_3000);
    memory.list(&[0x10_0000, 0x10_0200, 0x10_0400, 0x90_0000]);
    assert_eq!(
        seen(&mut reader, &mut memory),
        [waiting, (2, GoroutineState::Running, None), (9, GoroutineState::Ready, Some(stack))]
    );
}

#[test]
fn stacks_of_those_that_stand_are_read_by_turns_until_they_are_forgotten() {
    let (mut memory, mut reader) = (Bytes::default(), reader());
    let goroutines: Vec<u64> = (0..600).map(|number| 0x10_0000 + 0x200 * number).collect();
    for (&address, number) in goroutines.iter().zip(1..) {
        memory.goroutine(address, number, 4, 0x100_0000 + 0x200 * number);
    }
    memory.list(&goroutines);
    let mut with_stacks =
        |reader: &mut GoroutineReader| seen(reader, &mut memory).iter().filter(|it| it.2.is_some()).count();
    assert_eq!([with_stacks(&mut reader), with_stacks(&mut reader)], [600, 512]);
    reader.forget_stacks();
    assert_eq!(with_stacks(&mut reader), 600);
}

#[test]
fn a_list_that_is_not_there_or_shrinks_is_an_end() {
    let (mut memory, mut reader) = (Bytes::default(), reader());
    assert!(reader.pass(&mut memory, &mut |_| {}).is_none());
    memory.goroutine(0x10_0000, 1, 4, 0x20_0000);
    memory.list(&[0x10_0000]);
    assert!(reader.pass(&mut memory, &mut |_| {}).is_some());
    memory.list(&[]);
    assert!(reader.pass(&mut memory, &mut |_| {}).is_none());
}

/// StretchReader that answers anything, everywhere.
struct Anything {
    words: Vec<u64>,
    at: usize,
}

impl StretchReader for Anything {
    fn read(&mut self, _: &[MemoryStretch], bytes: &mut [u8]) -> usize {
        for word in bytes.chunks_mut(8) {
            self.at = (self.at + 1) % self.words.len();
            word.copy_from_slice(&self.words[self.at].to_le_bytes()[..word.len()]);
        }
        bytes.len()
    }
}

proptest! {
    // A list may say that it has a million.
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn nothing_that_memory_says_makes_a_pass_fail(
        words in proptest::collection::vec(prop_oneof![any::<u64>(), 0..2000u64, Just(u64::MAX)], 1..200),
    ) {
        let (mut memory, mut reader) = (Anything { words, at: 0 }, reader());
        for _ in 0..2 {
            reader.pass(&mut memory, &mut |it| assert!(it.stack.is_none_or(|stack| stack.len() <= 128)));
        }
    }
}
