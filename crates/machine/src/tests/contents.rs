//! What the caches hold, against models that are too simple to be wrong.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::program::*;
use crate::cache::{Cache, Geometry};
use crate::{Depth, Machine, Replacement, Reservation, Reserved};

/// LRU as a list.
fn by_list(sets: u64, ways: usize, keys: &[u64]) -> Vec<bool> {
    let mut lists = vec![VecDeque::new(); sets as usize];
    keys.iter()
        .map(|&key| {
            let list = &mut lists[(key % sets) as usize];
            let found = list.iter().position(|&known| known == key);
            found.map(|at| list.remove(at));
            list.push_front(key);
            list.truncate(ways);
            found.is_some()
        })
        .collect()
}

fn hits(cache: &mut Cache, keys: &[u64]) -> Vec<bool> {
    keys.iter()
        .map(|&key| {
            let found = cache.touch(key).is_some();
            if !found {
                cache.fill(key, 0, 0);
            }
            assert!(cache.holds(key));
            found
        })
        .collect()
}

fn geometry(sets: u64, ways: usize, replacement: Replacement) -> Geometry {
    Geometry { slices: 1, sets, ways, replacement }
}

proptest! {
    #[test]
    fn lru_is_a_list(keys in prop::collection::vec(0u64..200, 1..2000), sets in 0u32..5, ways in 1usize..20) {
        let mut cache = Cache::new(geometry(1 << sets, ways, Replacement::Lru));
        prop_assert_eq!(hits(&mut cache, &keys), by_list(1 << sets, ways, &keys));
    }

    #[test]
    fn what_fits_stays(replacement in prop::sample::select(vec![Replacement::Lru, Replacement::Plru, Replacement::Random]),
                       ways in 1usize..17, order in prop::collection::vec(0usize..1000, 1..500)) {
        let mut cache = Cache::new(geometry(4, ways, replacement));
        let keys: Vec<u64> = (0..4 * ways as u64).chain(order.iter().map(|i| (i % (4 * ways)) as u64)).collect();
        let seen = hits(&mut cache, &keys);
        prop_assert!(seen[4 * ways..].iter().all(|&hit| hit));
    }
}

#[test]
fn pseudo_lru_is_near_lru_and_never_drops_what_was_just_used() {
    let keys: Vec<u64> = (0..100_000u64).map(|i| i.wrapping_mul(i).wrapping_mul(0x9e37) >> 5 & 0xff).collect();
    let share = |replacement| {
        let seen = hits(&mut Cache::new(geometry(8, 12, replacement)), &keys);
        seen.iter().filter(|&&hit| hit).count() as f64 / keys.len() as f64
    };
    near(share(Replacement::Plru), share(Replacement::Lru), 0.1);
    let mut cache = Cache::new(geometry(1, 12, Replacement::Plru));
    for key in 0..1000 {
        let old = cache.touch(7);
        assert_eq!(old.is_some(), key > 0 && cache.holds(7));
        if old.is_none() {
            cache.fill(7, 0, 0);
        }
        cache.fill(100 + key, 0, 0);
        assert!(cache.holds(7));
    }
}

#[test]
fn an_inclusive_level_takes_its_lines_with_it() {
    let mut machine = plain();
    machine.l2 = None;
    let Some(llc) = &mut machine.llc else { unreachable!() };
    (llc.size_kib, llc.slices, llc.ways) = (64, 1, 16);
    llc.inclusion = crate::Inclusion::Inclusive;
    let misses = |machine: &Machine| {
        let mut program = Program::on(machine, Depth::Caches);
        let body = program.block(0x40_0000, &[LOAD, LOAD]);
        // One line that is always used, and a stream that goes through the LLC.
        for i in 0..100_000u64 {
            program.run(body).load(0, 0x1000_0000).load(1, 0x2000_0000 + i * 64);
        }
        program.counts().l1d_load_misses
    };
    let inclusive = misses(&machine);
    machine.llc.as_mut().unwrap().inclusion = crate::Inclusion::NonInclusive;
    // The LLC does not see the hits of L1D, and drops the line that is used most.
    assert_eq!(misses(&machine), 100_001);
    // Once in each 1024 lines, the size of the LLC.
    near((inclusive - 100_000) as f64, 100_000.0 / 1024.0, 0.05);
}

#[test]
fn reserved_ways_keep_what_they_are_reserved_for() {
    let mut machine = plain();
    machine.l2 = None;
    let Some(llc) = &mut machine.llc else { unreachable!() };
    (llc.size_kib, llc.slices, llc.ways) = (1024, 1, 16);
    llc.inclusion = crate::Inclusion::NonInclusive;
    let kept = 256 * 1024;
    let misses = |machine: &Machine| {
        let mut program = Program::on(machine, Depth::Caches);
        let body = program.block(0x40_0000, &[LOAD, LOAD]);
        for i in 0..1_000_000u64 {
            program.run(body).load(0, 0x1000_0000 + i * 64 % kept).load(1, 0x4000_0000 + i * 128);
            program.run(body).load(0, 0x1000_0000 + i * 64 % kept).load(1, 0x4000_0000 + i * 128 + 64);
            program.run(body).load(0, 0x1000_0000 + i * 64 % kept).load(1, 0x8_4000_0000 + i * 64);
            program.run(body).load(0, 0x1000_0000 + i * 64 % kept).load(1, 0xc_4000_0000 + i * 64);
        }
        program.counts().llc_load_misses
    };
    let shared = misses(&machine);
    let of = Reserved::Addresses("10000000-20000000".into());
    machine.llc.as_mut().unwrap().reserve.push(Reservation { ways: 4, of });
    let reserved = misses(&machine);
    assert_eq!(reserved, 4_000_000 + kept / 64);
    assert!(shared > 4_900_000, "{shared}");
}
