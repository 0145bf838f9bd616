//! The records of fibers, put together by fiber and in the order of time.

use dwell_store::raw::wire::{FIBER_FLAG_SEEDED, FiberNewRecord, FiberStateRecord, fiber_kind, fiber_state};

use crate::hash::FastMap;
use crate::input::meta::FiberRecord;
use crate::replay::state::Replay;
use crate::replay::threads::ImageId;

/// A program of a process, and the runtime's number for one of its fibers.
pub type FiberKey = (ImageId, u64);

/// A fiber's records.
pub struct FiberHistory<'r> {
    /// Which one it is.
    pub key: FiberKey,
    /// That it is there.
    pub new: FiberNewRecord,
    /// What it did, from one to the next.
    pub states: Vec<&'r FiberStateRecord>,
}

/// The records of each fiber, in the order of time. CPUs tell what they saw one after the other: a state may stand before its fiber.
pub fn by_fiber<'r>(records: &'r [FiberRecord], replay: &Replay) -> Vec<FiberHistory<'r>> {
    let mut seen: Vec<FiberHistory<'_>> = Vec::new();
    let mut number_of: FastMap<FiberKey, usize> = FastMap::default();
    let key = |tgid: u32, time_ns: u64, fiber: u64| {
        (replay.thread_table.image_at(tgid, replay.relative(time_ns)).unwrap_or(ImageId::MAX), fiber)
    };
    let mut entry = |seen: &mut Vec<FiberHistory<'r>>, key: FiberKey, new: FiberNewRecord| {
        *number_of.entry(key).or_insert_with(|| {
            seen.push(FiberHistory { key, new, states: Vec::new() });
            seen.len() - 1
        })
    };
    for record in records {
        if let FiberRecord::New(new) = record {
            let number = entry(&mut seen, key(new.tgid, new.h.time_ns, new.fiber), *new);
            // Who saw it being made knows more than who found it.
            if new.flags & FIBER_FLAG_SEEDED == 0 {
                seen[number].new = *new;
            }
        }
    }
    for record in records {
        if let FiberRecord::State(state) = record {
            let key = key(state.tgid, state.h.time_ns, state.fiber);
            let number = entry(&mut seen, key, unannounced(state));
            seen[number].states.push(state);
        }
    }
    // Of a process that no record tells of nothing can be shown.
    let is_known =
        |image: ImageId| replay.thread_table.images.get(image as usize).is_some_and(|it| it.process.is_some());
    seen.retain(|seen| is_known(seen.key.0));
    seen.iter_mut().for_each(|seen| put_in_order(&mut seen.states));
    seen
}

/// Of a fiber that was not seen to be made: it was there.
fn unannounced(state: &FiberStateRecord) -> FiberNewRecord {
    FiberNewRecord {
        h: state.h,
        fiber: state.fiber,
        tgid: state.tgid,
        flags: FIBER_FLAG_SEEDED,
        kind: fiber_kind::GOROUTINE,
        parent: 0,
        entry_stack: 0,
        creator_stack: 0,
        reserved: 0,
        reserved2: 0,
    }
}

/// By time, without first looks at states that were seen to begin already.
fn put_in_order(states: &mut Vec<&FiberStateRecord>) {
    states.sort_by_key(|state| state.h.time_ns);
    let mut before = 0;
    states.retain(|state| {
        let known = u32::from(state.flags) & FIBER_FLAG_SEEDED != 0 && before == stage(state.state);
        before = stage(state.state);
        !known
    });
}

/// A number that states share which are one to who sees all changes.
fn stage(state: u16) -> u16 {
    match state {
        fiber_state::RUNNING | fiber_state::IN_CALL => fiber_state::ON_THREAD,
        state => state,
    }
}
