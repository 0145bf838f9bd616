//! A short fuzzing run that is the same every time: each reader takes the inputs in `fuzz/corpus` and some hundred mutations of
//! these and of good ones. `DWELL_FUZZ_RUNS` sets another number.

use dwell_fuzz::{TARGETS, Target};

const RUNS: u64 = 300;

/// Numbers that look random and are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
            2 => bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0xff),
            3 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = random.below(256) as u8),
            4 => bytes.splice(at..at, (0..9).map(|i| i * 31)).for_each(drop),
            _ => drop(bytes.drain(at..bytes.len().min(at + 16))),
        }
    }
    bytes
}

/// Gives the target its good inputs, what was found to reach all of it, and mutations of both. Returns how many inputs.
fn exercise(target: &Target) -> u64 {
    let runs = std::env::var("DWELL_FUZZ_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(RUNS);
    let (seeds, corpus) = ((target.seeds)(), target.corpus());
    assert!(!seeds.is_empty(), "{} has no good input to start from", target.name);
    assert!(!corpus.is_empty(), "{} has no inputs in fuzz/corpus: make fuzz writes them", target.name);
    (target.run)(&[]);
    let mut given = 0;
    let mut give = |bytes: &[u8]| {
        (target.run)(bytes);
        given += 1;
    };
    corpus.iter().for_each(|input| give(input));
    // As many of each, however many there are.
    let of_each = runs.div_ceil((seeds.len() + corpus.len()) as u64);
    for (number, seed) in seeds.iter().chain(&corpus).enumerate() {
        give(seed);
        let mut random = Random(number as u64);
        (0..of_each).for_each(|_| give(&mutate(seed, &mut random)));
    }
    assert!(given >= runs + corpus.len() as u64, "{} ran {given} inputs only", target.name);
    given
}

macro_rules! exercised {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let given = exercise(Target::named(stringify!($name)).expect("a target"));
            println!("{given} inputs");
        })*

        #[test]
        fn every_target_is_exercised() {
            let named: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(named, [$(stringify!($name),)*]);
        }
    };
}

exercised! {
    perf_records
    proc_texts
    unwind
    call_frames
    elf_file
    debug_info
    debug_data
    symbol_name
    perf_map
    jit_dump
    code_cache
    goroutines
    python_lines
    itt_file
    itt_records
    itt_rows
    recorder
    records
    spool
    finalized
    manifest
    table
    index
    instruction_trace
    machine
    perf_data
    query
}
