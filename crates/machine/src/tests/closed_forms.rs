//! Programs whose cost is a formula.

use super::program::*;
use crate::{Counts, Depth, Machine};

/// A loop over addresses, each loaded by one instruction: cycles per load when it has gone on for a while.
fn loop_of_loads(machine: &Machine, load: &[u8], addresses: &[u64]) -> (f64, Counts) {
    let mut program = Program::on(machine, Depth::Full);
    let back = jnz(-(load.len() as i8 + 4));
    let body = program.block(0x40_0000, &[load, COUNT, &back]);
    let rounds = (100_000 / addresses.len()).max(1);
    let round = |program: &mut Program| {
        for &address in std::iter::repeat_n(addresses, rounds).flatten() {
            program.run(body).load(0, address);
        }
        program.counts()
    };
    let before = round(&mut program);
    let after = round(&mut program);
    ((after.cycles() - before.cycles()) / (addresses.len() * rounds) as f64, after)
}

/// Lines of a number of KiB in a fixed order that no prefetcher follows.
fn shuffled(kib: u64) -> Vec<u64> {
    let lines = kib * 1024 / 64;
    // An odd factor makes a permutation of a power of two.
    (0..lines).map(|i| 0x1000_0000 + i.wrapping_mul(0x9e37_79b1) % lines * 64).collect()
}

#[test]
fn a_pointer_chase_costs_the_latency_of_its_level() {
    let mut machine = plain();
    // Translation is tested by itself.
    machine.tlb.data.entries = 65536;
    for (kib, latency) in [(16, machine.l1d.latency), (512, 14), (8192, 70)] {
        let (cycles, _) = loop_of_loads(&machine, CHASE, &shuffled(kib));
        near(cycles, latency as f64, 0.05);
    }
    let (cycles, counts) = loop_of_loads(&machine, CHASE, &shuffled(128 * 1024));
    near(cycles, 240.0, 0.03);
    assert!(counts.topdown().memory_bound > 0.9, "{:?}", counts.topdown());
}

#[test]
fn independent_misses_overlap_as_far_as_the_fill_buffers_reach() {
    let mut machine = plain();
    machine.tlb.data.entries = 65536;
    machine.memory.bytes_per_cycle = 1000.0;
    let (cycles, _) = loop_of_loads(&machine, LOAD, &shuffled(128 * 1024));
    near(cycles, 240.0 / machine.l1d.misses_in_flight as f64, 0.05);
    machine.l1d.misses_in_flight = 0;
    if let Some(l2) = &mut machine.l2 {
        l2.misses_in_flight = 0;
    }
    // Then as far as the window: two slots an iteration, since the comparison and the jump are one.
    let (cycles, _) = loop_of_loads(&machine, LOAD, &shuffled(128 * 1024));
    near(cycles, 240.0 / (machine.core.window as f64 / 2.0), 0.1);
}

#[test]
fn a_stream_is_bound_by_the_bandwidth_of_memory() {
    let machine = Machine::named("skylake-sp").unwrap();
    let addresses: Vec<u64> = (0..4 << 20).map(|i| 0x1000_0000 + i * 8).collect();
    let mut program = Program::on(&machine, Depth::Full);
    let body = program.block(0x40_0000, &[LOAD, COUNT, &jnz(-7)]);
    for &address in &addresses {
        program.run(body).load(0, address);
    }
    let counts = program.counts();
    // Prefetchers begin anew in each page.
    near(counts.cycles(), (addresses.len() * 8) as f64 / machine.memory.bytes_per_cycle, 0.1);
    near(program.replay.traffic().memory_reads as f64, (addresses.len() / 8) as f64, 0.01);
}

#[test]
fn a_stream_of_stores_is_read_and_written_back() {
    let machine = Machine::named("skylake-sp").unwrap();
    let mut program = Program::on(&machine, Depth::Full);
    let body = program.block(0x40_0000, &[STORE, COUNT, &jnz(-7)]);
    let bytes = 256u64 << 20;
    for i in 0..bytes / 64 {
        program.run(body).store(0, 0x1000_0000 + i * 64);
    }
    let counts = program.counts();
    let traffic = program.replay.traffic();
    near(traffic.memory_writes as f64, traffic.memory_reads as f64, 0.2);
    let moved = (traffic.memory_reads + traffic.memory_writes) as f64 * 64.0;
    near(counts.cycles(), moved / machine.memory.bytes_per_cycle, 0.05);
}

/// One word per page, over so many pages.
fn strided(machine: &Machine, pages: u64) -> (f64, f64) {
    // A line of another set in each page, so that L1D holds them all.
    let addresses: Vec<u64> = (0..pages).map(|i| 0x1000_0000 + i * 4096 + i % 64 * 64).collect();
    let repeated = addresses.repeat(20);
    let (cycles, counts) = loop_of_loads(machine, CHASE, &repeated);
    (cycles, counts.dtlb_misses as f64 / counts.loads as f64)
}

#[test]
fn steps_over_more_pages_than_the_tlb_has_miss_each_time() {
    let machine = plain();
    let (cycles, misses) = strided(&machine, 64);
    near(cycles, machine.l1d.latency as f64, 0.05);
    assert!(misses < 0.03, "{misses}");
    // In 16 sets of 4 ways, 8 pages a set: LRU has always dropped the one that comes.
    let (cycles, misses) = strided(&machine, 128);
    near(cycles, (machine.l1d.latency + machine.tlb.second_latency) as f64, 0.05);
    near(misses, 1.0, 0.01);
}

#[test]
fn steps_over_more_than_the_second_level_walk_the_page_tables() {
    let machine = plain();
    let (_, counts) = loop_of_loads(&machine, CHASE, &(0..8192).map(|i| 0x1000_0000 + i * 4096).collect::<Vec<_>>());
    near(counts.walks as f64, counts.loads as f64, 0.01);
}

#[test]
fn chains_cost_latency_and_independent_work_costs_slots() {
    let machine = plain();
    let per_instruction = |instruction: &[u8]| {
        let mut program = Program::on(&machine, Depth::Full);
        let back = jnz(-(30 * instruction.len() as i16 + 4) as i8);
        let many: Vec<&[u8]> = std::iter::repeat_n(instruction, 30).chain([COUNT, &back]).collect();
        let body = program.block(0x40_0000, &many);
        for _ in 0..1000 {
            program.run(body);
        }
        let before = program.counts();
        for _ in 0..10_000 {
            program.run(body);
        }
        let (cycles, _) = since(before, program.counts());
        cycles / 10_000.0
    };
    near(per_instruction(ADD), 30.0, 0.02);
    near(per_instruction(MULTIPLY), 90.0, 0.02);
    near(per_instruction(FLOAT), 120.0, 0.02);
    // A nop needs a slot and nothing else: 31 slots with the fused pair, four a cycle.
    near(per_instruction(&[0x90]), 31.0 / 4.0, 0.05);
}

#[test]
fn a_load_of_what_was_just_stored_waits_for_it() {
    let machine = plain();
    let mut program = Program::on(&machine, Depth::Full);
    // mov rax, [rsi]; mov [rdi], rax: through the same word.
    let body = program.block(0x40_0000, &[LOAD, STORE, COUNT, &jnz(-10)]);
    for _ in 0..10_000 {
        program.run(body).load(0, 0x1000_0000).store(1, 0x1000_0000);
    }
    near(program.counts().cycles() / 10_000.0, machine.core.forward_latency as f64, 0.05);
}

/// Wrong predictions per branch, of outcomes.
fn mispredicted(machine: &Machine, outcomes: impl Iterator<Item = bool>) -> f64 {
    let mut program = Program::on(machine, Depth::Full);
    let branch = program.block(0x40_0000, &[COUNT, &jnz(16)]);
    let straight = program.block(0x40_0004, &[&[0xeb, 0xfa]]);
    let taken = program.block(0x40_0014, &[&[0xeb, 0xea]]);
    let mut count = 0u32;
    for outcome in outcomes {
        program.run(branch).run(if outcome { taken } else { straight });
        count += 1;
    }
    program.counts().mispredicts as f64 / f64::from(count)
}

/// Bits of which a share is set.
fn random(share: f64) -> impl Iterator<Item = bool> {
    let mut state = 0x1234_5678_9abc_def1u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) as f64) < share * (1u64 << 53) as f64
    })
}

#[test]
fn random_branches_are_predicted_as_well_as_their_entropy_allows() {
    let mut machine = plain();
    for predictor in [crate::Predictor::Tage, crate::Predictor::Gshare] {
        machine.branch.predictor = predictor;
        near(mispredicted(&machine, random(0.5).take(100_000)), 0.5, 0.03);
        // At best the share of the rarer way; histories of noise cost some.
        let rare = mispredicted(&machine, random(0.05).take(100_000));
        assert!((0.049..0.08).contains(&rare), "{predictor:?}: {rare}");
    }
}

#[test]
fn patterns_are_learnt() {
    let machine = plain();
    for period in [2u32, 3, 7, 20, 60] {
        let wrong = mispredicted(&machine, (0..200_000u32).map(|i| i % period == 0));
        assert!(wrong < 0.005, "period {period}: {wrong}");
    }
}

#[test]
fn a_wrong_prediction_costs_its_penalty() {
    let machine = plain();
    let cycles = |share| {
        let mut program = Program::on(&machine, Depth::Full);
        let branch = program.block(0x40_0000, &[COUNT, &jnz(16)]);
        let straight = program.block(0x40_0004, &[&[0xeb, 0xfa]]);
        let taken = program.block(0x40_0014, &[&[0xeb, 0xea]]);
        for outcome in random(share).take(100_000) {
            program.run(branch).run(if outcome { taken } else { straight });
        }
        program.counts()
    };
    let (never, often) = (cycles(0.0), cycles(0.5));
    let wrong = (often.mispredicts - never.mispredicts) as f64;
    near((often.cycles() - never.cycles()) / wrong, machine.branch.mispredict_penalty as f64, 0.25);
    assert!(often.topdown().bad_speculation > 0.7, "{:?}", often.topdown());
}

#[test]
fn returns_come_back_as_deep_as_the_return_stack() {
    let machine = plain();
    let wrong = |depth: u64| {
        let mut program = Program::on(&machine, Depth::Full);
        // call +0: each call site calls the next one.
        let calls: Vec<u32> = (0..depth).map(|i| program.block(0x40_0000 + i * 64, &[&[0xe8, 59, 0, 0, 0]])).collect();
        let returns: Vec<u32> = (0..depth).map(|i| program.block(0x40_0005 + i * 64, &[&[0xc3]])).collect();
        let innermost = program.block(0x40_0000 + depth * 64, &[&[0xc3]]);
        let again = program.block(0x30_0000, &[&[0xe9, 0xfb, 0xff, 0x0f, 0]]);
        for _ in 0..100 {
            program.run(again);
            calls.iter().for_each(|&call| _ = program.run(call).store(0, 0x7000_0000));
            program.run(innermost).load(0, 0x7000_0000);
            returns.iter().rev().for_each(|&back| _ = program.run(back).load(0, 0x7000_0000));
        }
        program.counts().mispredicts as f64 / 100.0
    };
    // The outermost return goes to nobody's call.
    near(wrong(15), 1.0, 0.1);
    near(wrong(40), 1.0 + 24.0, 0.1);
}

#[test]
fn code_that_no_cache_holds_is_bound_by_the_front_end() {
    let machine = plain();
    let mut program = Program::on(&machine, Depth::Full);
    // jmp to the next line: half a MiB of code.
    let lines = 8192u64;
    let blocks: Vec<u32> = (0..lines)
        .map(|i| {
            let back = if i + 1 == lines { -((lines * 64 - 64) as i32) - 5 } else { 59 };
            let jump: Vec<u8> = std::iter::once(0xe9).chain(back.to_le_bytes()).collect();
            program.block(0x40_0000 + i * 64, &[&jump])
        })
        .collect();
    for _ in 0..20 {
        blocks.iter().for_each(|&block| _ = program.run(block));
    }
    let counts = program.counts();
    let share = counts.topdown().frontend_bound;
    assert!(share > 0.8, "{:?}", counts.topdown());
    near(counts.l1i_misses as f64, counts.instructions as f64, 0.01);
    near(counts.uop_cache_misses as f64, counts.instructions as f64, 0.01);
}

#[test]
fn a_repeated_move_is_one_instruction_and_moves_wide_words() {
    let machine = plain();
    let mut program = Program::on(&machine, Depth::Full);
    // rep movsq, as an emulator executes it: a block for each word.
    let movsq: &[u8] = &[0xf3, 0x48, 0xa5];
    let first = program.block(0x40_0000, &[COUNT, movsq]);
    let again = program.block(0x40_0002, &[movsq]);
    let behind = program.block(0x40_0005, &[&[0xeb, 0xf9]]);
    for _ in 0..100 {
        program.run(first);
        for i in 0..512u64 {
            if i > 0 {
                program.run(again);
            }
            let at = u16::from(i == 0);
            program.load(at, 0x1000_0000 + i * 8).store(at, 0x2000_0000 + i * 8);
        }
        program.run(again).run(behind);
    }
    let counts = program.counts();
    assert_eq!(counts.instructions, 100 * 3);
    assert_eq!(counts.string_iterations, 100 * 512);
    assert_eq!((counts.loads, counts.stores), (51_200, 51_200));
    assert_eq!(counts.interruptions, 0);
    let cycles = counts.cycles() / 100.0;
    assert!((128.0..200.0).contains(&cycles), "{cycles} cycles for 4096 bytes at 32 bytes a cycle: {counts:?}");
}

/// Misses of L1D per inner step of a matrix product whose element is 8 bytes; `order` gives (i, j, k) for each step.
fn product(machine: &Machine, size: u64, order: impl Iterator<Item = (u64, u64, u64)>) -> f64 {
    let mut program = Program::on(machine, Depth::Caches);
    let body = program.block(0x40_0000, &[LOAD, LOAD, COUNT, &jnz(-10)]);
    let at = |matrix: u64, row: u64, column: u64| 0x1000_0000 * matrix + (row * size + column) * 8;
    let mut steps = 0u64;
    for (i, j, k) in order {
        program.run(body).load(0, at(1, i, k)).load(1, at(2, k, j));
        steps += 1;
    }
    program.counts().l1d_load_misses as f64 / steps as f64
}

#[test]
fn a_matrix_product_misses_by_rows_and_by_blocks_as_the_formulas_say() {
    let machine = plain();
    let size = 256;
    // By rows of one and columns of the other: the 256 lines of a column lie 2 KiB apart and so in two sets, which they
    // overflow: each step misses. A row's 32 lines stay, but for the one in such a set, whose eight steps miss once.
    let rows = (0..8).flat_map(|i| (0..size).flat_map(move |j| (0..size).map(move |k| (i, j, k))));
    near(product(&machine, size, rows), 1.0 + 1.0 / 256.0, 0.002);
    // By tiles of 8: a tile of 8 rows is 8 lines, read once for each of the 8 x 8 x 8 steps that use it: 16 lines.
    let tiles = (0..size / 8).flat_map(move |bk| (0..size / 8).map(move |bj| (0u64, bj * 8, bk * 8)));
    let tiled = tiles.flat_map(|(bi, bj, bk)| {
        (0..8).flat_map(move |i| (0..8).flat_map(move |j| (0..8).map(move |k| (bi + i, bj + j, bk + k))))
    });
    // The 8 lines of the first tile stay for the whole row of tiles; the second one's 8 lines come once each.
    near(product(&machine, size, tiled), 8.0 / 512.0, 0.1);
}
