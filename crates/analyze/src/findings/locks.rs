//! Locks: many threads queue for one, or its holder waits for something else.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, ObjectId, ObjectType, StackId};

use super::evidence::{Evidence, heaviest};
use super::{Finding, threads};
use crate::blame::Doing;
use crate::reports::{duration, percent};

/// Types that one thread holds while others wait.
const LOCKS: &[ObjectType] = &[
    ObjectType::Mutex,
    ObjectType::RwLock,
    ObjectType::SpinLock,
    ObjectType::KernelLock,
    ObjectType::Gil,
    ObjectType::JvmMonitor,
    ObjectType::Futex,
];

/// Threads queue for one lock.
pub const LOCK_CONVOY: FindingDef = FindingDef {
    id: "lock-convoy",
    title: "Lock convoy",
    help: "Several threads queue for one lock for a large part of the run, so that they work one after another. \
           Concluded from the number of threads that wait at once, and for how long.",
    advice: "Hold the lock for less: move work out of the locked region, split the lock by the data that it protects, \
             or hand the work over to one thread through a queue.",
};

/// Average number of waiting threads, while there is one, from which it is a queue.
const CONVOY_QUEUE: f64 = 1.4;
/// Part of the elapsed time in which threads must be waiting.
const CONVOY_SHARE: f64 = 0.1;

pub fn lock_convoy(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let queues = evidence.of_types(LOCKS).filter(|(_, waits)| {
        waits.queue() >= CONVOY_QUEUE && evidence.share(waits.contended_ns) >= CONVOY_SHARE && waits.by_thread.len() > 2
    });
    let finding = |(object, waits): (ObjectId, &super::evidence::Waits)| {
        let name = evidence.fold.object_name(object);
        let text = format!(
            "{} waited {} for {name} in {} waits; while any did ({} of the time), {:.1} did on average.",
            threads(waits.by_thread.len()),
            duration(waits.weights.wait_ns()),
            waits.weights.wait_count,
            percent(waits.contended_ns, evidence.elapsed_ns),
            waits.queue(),
        );
        Finding { subject: name.into(), evidence: text, stack: waits.top_stack(), cost_ns: waits.weights.wait_ns() }
    };
    queues.map(finding).collect()
}

/// A lock's holder waits.
pub const LOCK_HELD_ACROSS_WAIT: FindingDef = FindingDef {
    id: "lock-held-across-wait",
    title: "Lock held across I/O or sleep",
    help: "While threads wait for the lock, its holder itself waits: for I/O, a sleep, another thread. Concluded from \
           what the thread that ended each wait did since it had the lock.",
    advice: "Take the waiting call out of the locked region: prepare before locking, unlock before I/O, sleep without \
             the lock.",
};

/// Part of the wait time for the lock in which its holder must be waiting.
const HELD_SHARE: f64 = 0.2;
/// Part of the elapsed time that this must be.
const HELD_ELAPSED_SHARE: f64 = 0.02;

pub fn lock_held_across_wait(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    evidence.of_types(LOCKS).filter_map(|(object, _)| held_across_wait(evidence, object)).collect()
}

fn held_across_wait(evidence: &Evidence<'_, '_>, object: ObjectId) -> Option<Finding> {
    let blame = evidence.blame(object)?;
    let mut by_object: BTreeMap<ObjectId, u64> = BTreeMap::new();
    let mut by_stack: BTreeMap<StackId, u64> = BTreeMap::new();
    for (doing, share) in &blame.holders {
        if let Doing::Waiting(on, stack) = doing
            && *on != object
        {
            *by_object.entry(*on).or_default() += share.ns;
            *by_stack.entry(*stack).or_default() += share.ns;
        }
    }
    let held_ns: u64 = by_object.values().sum();
    // Where only the longest waits were looked at, their share stands for all.
    let share = held_ns as f64 / blame.seen_ns.max(1) as f64;
    let held_ns = (share * blame.waits.ns as f64) as u64;
    let enough = share >= HELD_SHARE && evidence.share(held_ns) >= HELD_ELAPSED_SHARE;
    let (on, _) = by_object.iter().max_by_key(|(_, ns)| **ns).filter(|_| enough)?;
    let (fold, stack) = (evidence.fold, heaviest(&by_stack));
    let (name, on) = (fold.object_name(object), fold.object_name(*on));
    let place = fold.stacks.place(stack).unwrap_or_else(|| "an unknown place".into());
    let text = format!(
        "For {} ({}) of the time that threads waited for {name}, its holder was waiting itself, mostly on `{on}`, at {place}.",
        duration(held_ns),
        percent(held_ns, blame.waits.ns),
    );
    Some(Finding { subject: name.into(), evidence: text, stack, cost_ns: held_ns })
}
