//! What holds for every trace.

use dwell_itrace::{Block, Mark, Word};
use proptest::prelude::*;

use crate::{Depth, MACHINES, Machine, Observer, Replay};

/// Any bytes as a block of code.
fn block() -> impl Strategy<Value = Block> {
    (0u64..1 << 47, prop::collection::vec(1u8..=15, 1..20), any::<u64>()).prop_map(|(address, lengths, seed)| {
        let bytes: usize = lengths.iter().map(|&length| usize::from(length)).sum();
        let code: Vec<u8> = (0..bytes as u64).map(|i| (seed.wrapping_mul(i * 2 + 1) >> 24) as u8).collect();
        Block::new(address, &code, &lengths).unwrap()
    })
}

/// Anything that can be in a stream, and what cannot.
fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        6 => (0u32..12).prop_map(Word::block),
        12 => (0u64..1 << 20, 0u16..24, 0u8..8, any::<bool>()).prop_map(|(at, i, size, store)| Word::access(at << 3, i, size, store)),
        1 => (0u32..3).prop_map(|thread| Word::mark(Mark::Thread(thread))),
        1 => Just(Word::mark(Mark::Gap)),
        1 => any::<u64>().prop_map(Word),
    ]
}

fn replayed(machine: &Machine, depth: Depth, blocks: &[Block], slices: &[&[Word]]) -> Replay {
    let mut replay = Replay::new(machine, depth).unwrap();
    for (id, block) in blocks.iter().enumerate() {
        replay.block(id as u32, block).unwrap();
    }
    for words in slices {
        replay.words(words, &mut ());
    }
    replay.finish(&mut ());
    replay
}

/// A few instructions of all kinds run.
pub fn smoke(machine: &Machine) {
    let code: Vec<u8> = (0u8..=255).flat_map(|byte| [byte, 0x0f, byte.wrapping_mul(7)]).collect();
    let block = Block::new(0x1000, &code, &[3; 256]).unwrap();
    let words: Vec<Word> = (0..2000u64)
        .flat_map(|i| [Word::block(0), Word::access(i * 64, 5, 3, false), Word::access(i * 8, 9, 5, true)])
        .collect();
    let replay = replayed(machine, Depth::Full, &[block], &[&words]);
    assert_eq!(replay.total().ticks(), replay.ticks());
    assert_eq!(replay.total().loads, 2000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn sums_are_exact(blocks in prop::collection::vec(block(), 1..10), words in prop::collection::vec(word(), 0..3000),
                      machine in 0usize..MACHINES.len(), cut in 0usize..3000) {
        let machine = Machine::named(MACHINES[machine].0).unwrap();
        let replay = replayed(&machine, Depth::Full, &blocks, &[&words]);
        let total = replay.total();
        // The split is all of the clock, level by level fewer misses, each access is a hit or a miss.
        prop_assert_eq!(total.ticks(), replay.ticks());
        prop_assert!(total.l1d_load_misses <= total.loads && total.l1d_store_misses <= total.stores);
        prop_assert!(total.l2_load_misses <= total.l1d_load_misses && total.llc_load_misses <= total.l2_load_misses);
        prop_assert!(total.l2_store_misses <= total.l1d_store_misses && total.llc_store_misses <= total.l2_store_misses);
        prop_assert!(total.walks <= total.dtlb_misses + total.itlb_misses);
        prop_assert!(total.mispredicts + total.resteers <= total.branches);
        // Every word is counted once.
        let lost = replay.lost();
        let accesses = words.iter().filter(|word| word.is_access()).count() as u64;
        prop_assert_eq!(total.loads + total.stores + lost.accesses, accesses);
        let executed = words.iter().filter(|word| word.is_block()).count() as u64;
        prop_assert_eq!(total.executions + total.string_iterations + lost.blocks, executed);
        // Where slices are cut does not matter, nor does a second run.
        let (head, tail) = words.split_at(cut.min(words.len()));
        let again = replayed(&machine, Depth::Full, &blocks, &[head, &[], tail]);
        prop_assert_eq!(again.rows(), replay.rows());
    }

    #[test]
    fn the_caches_alone_see_the_same_accesses(blocks in prop::collection::vec(block(), 1..10), words in prop::collection::vec(word(), 0..3000)) {
        let machine = Machine::named("zen4").unwrap();
        let caches = replayed(&machine, Depth::Caches, &blocks, &[&words]).total();
        prop_assert_eq!(caches.ticks(), 0);
        let full = replayed(&machine, Depth::Full, &blocks, &[&words]).total();
        prop_assert_eq!((caches.instructions, caches.executions), (full.instructions, full.executions));
    }
}

/// Puts everything into one row, and watches.
#[derive(Default)]
struct Watch {
    begun: u64,
    instructions: u64,
    last: u64,
}

impl Observer for Watch {
    const INSTRUCTIONS: bool = true;

    fn begin(&mut self, _: u32, _: u32, ticks: u64) -> u32 {
        assert!(ticks >= self.last, "the clock goes back");
        self.last = ticks;
        self.begun += 1;
        0
    }

    fn instruction(&mut self, seen: &crate::Instruction) {
        assert!(seen.begun <= seen.dispatched && seen.dispatched <= seen.executed && seen.executed <= seen.retired);
        self.instructions += 1;
    }
}

#[test]
fn an_observer_sees_everything_and_names_the_rows() {
    let machine = Machine::named("zen5").unwrap();
    let mut replay = Replay::new(&machine, Depth::Full).unwrap();
    replay.block(0, &Block::new(0x1000, &[0x48, 0x8b, 0x00, 0x75, 0xfb], &[3, 2]).unwrap()).unwrap();
    let mut watch = Watch::default();
    for i in 0..100 {
        replay.words(&[Word::block(0), Word::access(i * 4096, 0, 3, false)], &mut watch);
    }
    replay.finish(&mut watch);
    assert_eq!((watch.begun, watch.instructions, replay.rows().len()), (100, 200, 1));
    assert_eq!(replay.rows()[0].loads, 100);
}
