//! Locks: many threads queue for one, or its holder waits for something else.

use std::collections::BTreeMap;

use dwell_model::{FindingDef, ObjectId, ObjectType, StackId};
use dwell_view::{Prose, Word};

use crate::findings::claim::{Claim, only};
use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::findings::handoff_locks::by_turns;
use crate::question::filter::FilterKey;
use crate::sentences::say;
use crate::study::blame::{Blame, HolderActivity};

/// Types that one thread holds while others wait.
const LOCKS: &[ObjectType] = &[
    ObjectType::Mutex,
    ObjectType::RwLock,
    ObjectType::SpinLock,
    ObjectType::KernelLock,
    ObjectType::FileLock,
    ObjectType::JvmMonitor,
    ObjectType::Futex,
];
/// The lock that a Python program has no say in.
const GIL: &[ObjectType] = &[ObjectType::Gil];

/// Threads queue for one lock.
pub const LOCK_CONVOY: FindingDef = FindingDef {
    id: "lock-convoy",
    title: "Lock convoy",
    help: "Several threads queue for one lock for a large part of the run, so that they work one after another. \
           Concluded from the number of threads that wait at once, and from the waiting times.",
    advice: "Hold the lock for less: move work out of the locked region, split the lock by the data that it protects, \
             or hand the work over to one thread through a queue.",
    japanese_title: "ロック・コンボイ",
    japanese_advice: "ロックを保持する時間を短くしてください。ロック区間から処理を出す、データごとにロックを分ける、\
                      1 つのスレッドにキューで渡す。",
};

/// Average number of waiting threads, while there is one, from which it is a queue.
const CONVOY_QUEUE: f64 = 1.4;
/// Part of the elapsed time in which threads must be waiting.
const CONVOY_SHARE: f64 = 0.1;

/// Waits of a thread from which they are a habit, or a time from which a single queue matters: threads that start meet once.
const CONVOY_WAITS: u64 = 2;
const CONVOY_NS: u64 = 100_000_000;

pub fn lock_convoy(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let queues = evidence.of_types(LOCKS).filter(|(_, waits)| {
        let threads = waits.by_thread.len() as u64;
        let matters = waits.weights.wait_count >= CONVOY_WAITS * threads || waits.contended_ns >= CONVOY_NS;
        waits.queue() >= CONVOY_QUEUE && evidence.share(waits.contended_ns) >= CONVOY_SHARE && threads > 2 && matters
    });
    let finding = |(object, waits): (ObjectId, &super::evidence::Waits)| {
        let name = evidence.fold.object_name(object);
        let waited = say!(
            LOCK_CONVOY,
            threads = waits.by_thread.len(),
            wait = Word::Ns(waits.weights.wait_ns()),
            name = name,
            waits = waits.weights.wait_count,
            share = Word::part(waits.contended_ns, evidence.elapsed_ns),
            queue = Word::Real(waits.queue(), 1),
        );
        Finding {
            subject: name.into(),
            evidence: Prose::from(waited).and(evidence.created(object)).and(evidence.within(waits)),
            stack: waits.top_stack(),
            cost_ns: waits.weights.wait_ns(),
            claims: evidence.claims(object, waits),
            ..Finding::default()
        }
    };
    queues.map(finding).chain(by_turns(evidence)).collect()
}

/// Python threads take turns.
pub const GIL_CONTENTION: FindingDef = FindingDef {
    id: "gil-contention",
    title: "GIL contention",
    help: "Threads of a Python program wait for the interpreter's lock for a large part of the run: only one of them \
           runs Python code at a time, however many CPUs there are.",
    advice: "Let processes do the work that computes (multiprocessing, concurrent.futures.ProcessPoolExecutor) or, from \
             Python 3.12 on, interpreters with a GIL of their own; use a free-threaded build (3.13t); call code that \
             releases the GIL while it computes (NumPy, Cython's nogil, Py_BEGIN_ALLOW_THREADS).",
    japanese_title: "GIL の競合",
    japanese_advice: "GIL を解放して計算する拡張 (NumPy など) に処理を移すか、プロセスに分けるか (multiprocessing)、\
                      フリースレッド版の Python を使ってください。",
};

/// Part of the elapsed time in which some thread must be waiting for it.
const GIL_SHARE: f64 = 0.1;

pub fn gil_contention(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let contended = evidence.of_types(GIL).filter(|(_, waits)| evidence.share(waits.contended_ns) >= GIL_SHARE);
    let finding = |(object, waits): (ObjectId, &super::evidence::Waits)| {
        let waited = say!(
            GIL_CONTENTION,
            threads = waits.by_thread.len(),
            wait = Word::Ns(waits.weights.wait_ns()),
            waits = waits.weights.wait_count,
            share = Word::part(waits.contended_ns, evidence.elapsed_ns),
            queue = Word::Real(waits.queue(), 1),
        );
        let holder = evidence.blame(object).and_then(|blame| running_holder(evidence, blame));
        let ran = holder.as_ref().and_then(|(stack, share)| {
            let place = evidence.fold.stacks.place(*stack)?;
            Some(say!(GIL_HOLDER, place = place, share = share.clone()))
        });
        let text = Prose::from(waited).and(ran);
        let stack = holder.map_or_else(|| waits.top_stack(), |(stack, _)| stack);
        let name = evidence.fold.object_name(object);
        Finding {
            subject: name.into(),
            evidence: text,
            stack,
            cost_ns: waits.weights.wait_ns(),
            claims: evidence.claims(object, waits),
            ..Finding::default()
        }
    };
    contended.map(finding).collect()
}

/// The function of the program's own that the holders of a lock ran most: its heaviest stack, and its part of their
/// running time.
fn running_holder(evidence: &Evidence<'_, '_>, blame: &Blame) -> Option<(StackId, Word)> {
    let stacks = &evidence.fold.stacks;
    let mut functions: BTreeMap<u32, BTreeMap<StackId, u64>> = BTreeMap::new();
    for (doing, share) in &blame.holders {
        if let HolderActivity::Running(stack) = doing {
            let function = stacks.function(stacks.own(*stack));
            *functions.entry(function).or_default().entry(*stack).or_default() += share.ns;
        }
    }
    let sum = |places: &BTreeMap<StackId, u64>| places.values().sum::<u64>();
    let all: u64 = functions.values().map(sum).sum();
    let most = functions.values().max_by_key(|places| sum(places))?;
    Some((heaviest(most), Word::part(sum(most), all)))
}

/// A lock's holder waits.
pub const LOCK_HELD_ACROSS_WAIT: FindingDef = FindingDef {
    id: "lock-held-across-wait",
    title: "Lock held across I/O or sleep",
    help: "While threads wait for the lock, its holder itself waits: for I/O, a sleep, another thread. Who held \
           it, the lock itself says, or the order of its releases.",
    advice: "Take the waiting call out of the locked region: prepare before locking, unlock before I/O, sleep without \
             the lock.",
    japanese_title: "I/O やスリープをまたいで保持されたロック",
    japanese_advice: "待機する呼び出しをロック区間から出してください。ロック前に準備し、I/O の前に解放し、\
                      ロックなしでスリープする。",
};

/// Part of the wait time for the lock in which its holder must be waiting.
const HELD_SHARE: f64 = 0.2;
/// Part of the elapsed time that this must be.
const HELD_ELAPSED_SHARE: f64 = 0.02;

pub fn lock_held_across_wait(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let locks = evidence.of_types(LOCKS).chain(evidence.of_types(GIL));
    locks.filter_map(|(object, _)| held_across_wait(evidence, object)).collect()
}

fn held_across_wait(evidence: &Evidence<'_, '_>, object: ObjectId) -> Option<Finding> {
    let blame = evidence.blame(object)?;
    let mut by_object: BTreeMap<ObjectId, u64> = BTreeMap::new();
    let mut by_stack: BTreeMap<StackId, u64> = BTreeMap::new();
    for (doing, share) in &blame.holders {
        if let HolderActivity::Waiting(on, stack) = doing
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
    let text = say!(
        LOCK_HELD_ACROSS_WAIT,
        held = Word::Ns(held_ns),
        share = Word::part(held_ns, blame.waits.ns),
        name = name,
        on = on,
        place = fold.stacks.place(stack),
    );
    let text = Prose::from(text).and(evidence.created(object));
    let waits = only(fold.query, FilterKey::Object, name);
    let claims = vec![Claim::at_least("waits", &waits, "wait_ns", held_ns)];
    Some(Finding { subject: name.into(), evidence: text, stack, cost_ns: held_ns, claims, ..Finding::default() })
}
