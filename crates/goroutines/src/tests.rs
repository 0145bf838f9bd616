//! Passes over made-up memory: as a program has it, and as a hostile one may.

use proptest::prelude::*;

use crate::example::{ExampleMemory, ExampleProgram, STACK, reader};
use crate::reader::{GoroutineReader, GoroutineState};
use crate::{MOST_FRAMES, MemoryStretch, StretchReader};

const VERSION: &str = "go1.26.1";

fn example() -> (ExampleProgram, GoroutineReader) {
    (ExampleProgram::new(VERSION).expect("a layout"), reader(VERSION).expect("a layout"))
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
    let (mut program, mut reader) = example();
    let mut goroutines = vec![program.goroutine(1, 4, 0x40), program.goroutine(2, 2, 0x40)];
    goroutines.push(program.goroutine(3, 6, 0x40)); // dead
    program.list(&goroutines);
    let stack = STACK.to_vec();
    let waiting = (1, GoroutineState::Waiting, Some(stack.clone()));
    assert_eq!(seen(&mut reader, &mut program.memory()), [waiting.clone(), (2, GoroutineState::Running, None)]);
    program.skip(0x1000);
    goroutines.push(program.goroutine(9, 1, 0x800));
    program.list(&goroutines);
    assert_eq!(
        seen(&mut reader, &mut program.memory()),
        [waiting, (2, GoroutineState::Running, None), (9, GoroutineState::Ready, Some(stack))]
    );
}

#[test]
fn a_goroutine_that_marks_for_the_collector_runs() {
    let (mut program, mut reader) = example();
    let goroutine = program.goroutine(1, 4, 0x40);
    program.mark(goroutine);
    program.list(&[goroutine]);
    assert_eq!(seen(&mut reader, &mut program.memory()), [(1, GoroutineState::Running, None)]);
}

#[test]
fn the_descriptors_of_those_that_wait_for_the_network_are_found() {
    let (mut program, mut reader) = example();
    let goroutines: Vec<u64> = (1..=3).map(|number| program.goroutine(number, 4, 0x100)).collect();
    program.wait_for_network(goroutines[1], 7);
    program.wait_for_network(goroutines[2], 12);
    program.list(&goroutines);
    let mut memory = program.memory();
    // The second pass finds them where it found the first.
    for _ in 0..2 {
        let mut descriptors = Vec::new();
        reader.pass(&mut memory, &mut |it| descriptors.push((it.id, it.descriptor))).expect("a list");
        assert_eq!(descriptors, [(1, None), (2, Some(7)), (3, Some(12))]);
    }
}

#[test]
fn stacks_of_those_that_stand_are_read_by_turns_until_they_are_forgotten() {
    let (mut program, mut reader) = example();
    let goroutines: Vec<u64> = (1..=600).map(|number| program.goroutine(number, 4, 0x40)).collect();
    program.list(&goroutines);
    let mut memory = program.memory();
    let mut with_stacks =
        |reader: &mut GoroutineReader| seen(reader, &mut memory).iter().filter(|it| it.2.is_some()).count();
    assert_eq!([with_stacks(&mut reader), with_stacks(&mut reader)], [600, 512]);
    reader.forget_stacks();
    assert_eq!(with_stacks(&mut reader), 600);
}

#[test]
fn a_list_that_is_not_there_or_shrinks_is_an_end() {
    let (mut program, mut reader) = example();
    let mut pass = |program: &ExampleProgram| reader.pass(&mut program.memory(), &mut |_| {});
    assert_eq!(pass(&program).map(|pass| pass.seen), Some(0));
    let goroutine = program.goroutine(1, 4, 0x40);
    program.list(&[goroutine]);
    assert_eq!(pass(&program).map(|pass| pass.seen), Some(1));
    program.list(&[]);
    assert!(pass(&program).is_none());
    let mut nothing = ExampleMemory::new(Vec::new(), Vec::new());
    assert!(example().1.pass(&mut nothing, &mut |_| {}).is_none());
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
        let (mut memory, mut reader) = (Anything { words, at: 0 }, example().1);
        for _ in 0..2 {
            reader.pass(&mut memory, &mut |it| assert!(it.stack.is_none_or(|stack| stack.len() <= MOST_FRAMES)));
        }
    }
}
