//! A short fuzzing run that is the same every time: each reader takes some hundred mutations of good inputs.
//! `DWELL_FUZZ_RUNS` sets another number.

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

fn exercise(target: &Target) {
    let runs = std::env::var("DWELL_FUZZ_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(RUNS);
    let seeds = (target.seeds)();
    assert!(!seeds.is_empty(), "{} has no good input to start from", target.name);
    (target.run)(&[]);
    for (number, seed) in seeds.iter().enumerate() {
        (target.run)(seed);
        let mut random = Random(number as u64);
        (0..runs).for_each(|_| (target.run)(&mutate(seed, &mut random)));
    }
}

fn exercise_named(name: &str) {
    let exercised = TARGETS.iter().filter(|target| target.name == name).map(exercise).count();
    assert_eq!(exercised, 1, "no target {name}");
}

#[test]
fn records() {
    exercise_named("records");
}

#[test]
fn spool() {
    exercise_named("spool");
}

#[test]
fn manifest() {
    exercise_named("manifest");
}

#[test]
fn table() {
    exercise_named("table");
}

#[test]
fn unwind() {
    exercise_named("unwind");
}

#[test]
fn maps() {
    exercise_named("maps");
}

#[test]
fn perf_map() {
    exercise_named("perf_map");
}

#[test]
fn jit_dump() {
    exercise_named("jit_dump");
}

#[test]
fn debug_data() {
    exercise_named("debug_data");
}

#[test]
fn itt_rows() {
    exercise_named("itt_rows");
}

#[test]
fn python_lines() {
    exercise_named("python_lines");
}

#[test]
fn itt_records() {
    exercise_named("itt_records");
}

#[test]
fn itt_file() {
    exercise_named("itt_file");
}
