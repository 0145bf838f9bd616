//! Locks that no object shows: each thread waits on an object of its own, and whoever has the lock wakes the next one.
//!
//! Java's `ReentrantLock` parks threads so, InnoDB its row locks, and many a lock of a program's own. Objects that are waited on
//! at one place are one lock where their threads wake one another by turns: whoever wakes the next one is who was woken last.
//! Workers that are given work wait for a thread that does not work with them, or wake one another in any order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::{ObjectId, ObjectType, Outcome};
use dwell_query::stacks::channels::takes_message;
use dwell_query::stacks::object::object_type;
use dwell_store::{Trace, WordMap};

use crate::study::explain::bare_stacks::{is_bare, is_of_nameless_pool};
use crate::study::explain::circles::{WakeUps, have_circle};
use crate::study::explain::terms::{PlaceId, parks_threads};

/// Threads from which they are a queue.
const THREADS: usize = 3;
/// Part of the wake-ups that must be made by who was woken before.
const BY_TURNS: f64 = 0.6;
/// How many others a thread wakes for each time that it is woken, at most, where it queues as they do.
const TAKES_PART: usize = 4;
/// Wake-ups of a place that are looked at, at most.
const LOOKED_AT: usize = 100_000;

/// What one thread waits on.
#[derive(Default)]
struct Group {
    objects: BTreeSet<ObjectId>,
    waiting: BTreeSet<u32>,
    waking: BTreeSet<u32>,
    /// End of the wait, who was woken, who woke it.
    wake_ups: Vec<(u64, u32, u32)>,
}

/// The objects that are one lock with others, each waited on by threads of one place.
pub fn by_turns(trace: &Trace, place_of: &mut dyn FnMut(&dwell_store::EventKey) -> PlaceId) -> BTreeSet<ObjectId> {
    let events = trace.events();
    let mut groups: BTreeMap<(ObjectType, PlaceId), Group> = BTreeMap::new();
    let mut of_key: WordMap<u32, (ObjectType, PlaceId)> = WordMap::default();
    let mut threads_of: HashMap<ObjectId, BTreeSet<u32>> = HashMap::new();
    for (number, key) in events.keys.iter().enumerate() {
        let kind = object_type(trace, key.object());
        let waits = Outcome::from_code(key.outcome()) == Outcome::Woken && key.waker().is_some();
        // A ring of threads that send one another messages goes from hand to hand, too.
        let may_be_lock =
            || !takes_message(trace, key.stack()) && !is_bare(trace, key.stack()) && !is_of_nameless_pool(trace, key);
        if !waits || !parks_threads(kind) || !may_be_lock() {
            continue;
        }
        let of = (kind, place_of(key));
        let group = groups.entry(of).or_default();
        group.objects.insert(key.object());
        group.waiting.insert(key.thread().raw());
        group.waking.insert(key.waker().raw());
        threads_of.entry(key.object()).or_default().insert(key.thread().raw());
        of_key.insert(number as u32, of);
    }
    groups.retain(|_, group| {
        let own =
            group.objects.iter().filter(|object| threads_of.get(object).is_some_and(|threads| threads.len() == 1));
        own.count() >= THREADS && group.waiting.intersection(&group.waking).count() >= THREADS
    });
    if groups.is_empty() {
        return BTreeSet::new();
    }
    for thread in 0..trace.threads.tid.len() {
        events.off_cpu.for_each_wait(events.off_cpu.of(thread), |row, wait_ns, key| {
            let group = of_key.get(&key).and_then(|of| groups.get_mut(of)).filter(|_| wait_ns > 0);
            if let Some(group) = group.filter(|group| group.wake_ups.len() < LOOKED_AT) {
                group.wake_ups.push((events.off_cpu.woken_ns(row), thread as u32, events.key(key).waker().raw()));
            }
        });
    }
    groups
        .into_values()
        .filter_map(|group| goes_from_hand_to_hand(group.wake_ups).then_some(group.objects))
        .flatten()
        .collect()
}

/// Whether who wakes a thread is who was woken before, or woke that one and took the lock again before it could.
fn goes_from_hand_to_hand(mut wake_ups: Vec<(u64, u32, u32)>) -> bool {
    wake_ups.sort_unstable();
    let mut counts: HashMap<u32, (usize, usize)> = HashMap::new();
    for (_, woken, waker) in &wake_ups {
        counts.entry(*woken).or_default().0 += 1;
        counts.entry(*waker).or_default().1 += 1;
    }
    // Who gives work to others is hardly ever woken.
    let takes_part = |thread: u32| counts.get(&thread).is_some_and(|(woken, waking)| TAKES_PART * woken >= *waking);
    let passed_on =
        |pair: &[(u64, u32, u32)]| pair[1].2 == pair[0].1 || (pair[1].2 == pair[0].2 && takes_part(pair[1].2));
    let by_turns = wake_ups.windows(2).filter(|pair| passed_on(pair)).count();
    let alone: BTreeSet<u32> = wake_ups.iter().map(|(.., waker)| *waker).collect();
    let mut pairs = WakeUps::default();
    wake_ups.iter().for_each(|(_, woken, waker)| *pairs.entry((*waker, *woken)).or_default() += 1);
    alone.len() >= THREADS && by_turns as f64 >= BY_TURNS * (wake_ups.len() - 1) as f64 && have_circle(&pairs)
}
