//! Locks that no object shows: each thread waits on an object of its own, and whoever has the lock wakes the next one.
//!
//! Java's `ReentrantLock` parks threads so, InnoDB its row locks, and many a lock of a program's own. Several such objects are one
//! lock where their threads wake one another, and one of them always has been woken, and has not woken the next one, while others
//! wait: something goes from hand to hand. Workers that are given work wait for a thread that does not work with them.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{ObjectId, ObjectType, StackId};
use dwell_view::{Prose, Word};

use crate::findings::evidence::{Evidence, heaviest};
use crate::findings::finding::Finding;
use crate::sentences::say;
use crate::stacks::call_stacks::FunctionId;
use crate::study::intervals::union_ns;

/// What a thread waits on alone.
const OWN_OBJECTS: &[ObjectType] =
    &[ObjectType::ConditionVariable, ObjectType::Semaphore, ObjectType::Futex, ObjectType::JvmMonitor];
/// Threads from which they are a queue, and waits of each on average.
const THREADS: usize = 3;
const WAITS: usize = 10;
/// Part of the waits that a thread of the queue ends.
const AMONG_THEM: f64 = 0.9;
/// Part of the time in which a thread waits that another one of them must have what it waits for.
const CARRIED: f64 = 0.8;
/// Average number of waiting threads, while there is one, and part of the elapsed time: those of a convoy.
const QUEUE: f64 = 1.4;
const SHARE: f64 = 0.1;

/// Objects whose waits are at one place.
#[derive(Default)]
struct Group {
    objects: BTreeSet<ObjectId>,
    threads: BTreeSet<usize>,
    places: BTreeMap<StackId, u64>,
    waits: Vec<Wait>,
}

/// One wait: ns since the start.
struct Wait {
    from: u64,
    to: u64,
    thread: usize,
    waker: Option<usize>,
}

/// What the waits of a group are.
#[derive(Default)]
struct Turns {
    wait_ns: u64,
    contended_ns: u64,
    carried_ns: u64,
    among_them: usize,
}

/// The locks that threads pass on by waking one another.
pub fn by_turns(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let mut groups = groups(evidence);
    let of_object: BTreeMap<ObjectId, usize> =
        groups.iter().enumerate().flat_map(|(at, group)| group.objects.iter().map(move |it| (*it, at))).collect();
    if of_object.is_empty() {
        return Vec::new();
    }
    let (fold, events) = (evidence.fold, evidence.fold.trace.events());
    for (row, site) in &fold.rows().rows {
        let (row, key) = (*row as usize, events.off_cpu_key(*row as usize));
        let counts = fold.sites.get(*site as usize).is_some_and(|site| site.is_wait() && site.selected && !site.idle);
        let (Some(group), Some(thread), true) = (of_object.get(&key.object()), key.thread().get(), counts) else {
            continue;
        };
        let (from, to) = (events.off_cpu.start_ns(row), events.off_cpu.woken_ns(row));
        groups[*group].waits.push(Wait { from, to, thread, waker: key.waker().get() });
    }
    groups.into_iter().filter_map(|group| finding(evidence, group)).collect()
}

/// The objects that one thread each waits on, by type and place.
fn groups(evidence: &Evidence<'_, '_>) -> Vec<Group> {
    let stacks = &evidence.fold.stacks;
    let mut groups: BTreeMap<(ObjectType, FunctionId), Group> = BTreeMap::new();
    for (object, waits) in evidence.of_types(OWN_OBJECTS) {
        let mut threads = waits.by_thread.keys();
        let (Some(thread), None, stack) = (threads.next(), threads.next(), waits.top_stack()) else { continue };
        let place = stacks.own(stack);
        if !place.is_some() {
            continue;
        }
        let group = groups.entry((evidence.fold.object_type(object), stacks.function(place))).or_default();
        group.objects.insert(object);
        group.threads.insert(*thread);
        *group.places.entry(stack).or_default() += waits.weights.wait_ns();
    }
    groups.into_values().filter(|group| group.threads.len() >= THREADS).collect()
}

fn finding(evidence: &Evidence<'_, '_>, mut group: Group) -> Option<Finding> {
    group.waits.sort_unstable_by_key(|wait| (wait.to, wait.from));
    let turns = turns(&group);
    let (waits, threads) = (group.waits.len(), group.threads.len());
    // Rows of slices stand for those of all the time.
    let scaled = |number: u64| (number as f64 / evidence.fold.rows().share.max(1e-9)).round() as u64;
    let queue = turns.wait_ns as f64 / turns.contended_ns.max(1) as f64;
    let is_passed_on = turns.among_them as f64 >= AMONG_THEM * waits as f64
        && turns.carried_ns as f64 >= CARRIED * turns.contended_ns as f64;
    let matters = waits >= WAITS * threads && queue >= QUEUE && evidence.share(scaled(turns.contended_ns)) >= SHARE;
    if !is_passed_on || !matters {
        return None;
    }
    let stack = heaviest(&group.places);
    let place = evidence.fold.stacks.place(stack).unwrap_or_else(|| "an unknown place".into());
    let (wait_ns, contended_ns) = (scaled(turns.wait_ns), scaled(turns.contended_ns));
    let waited = say!(
        LOCK_BY_TURNS,
        threads = threads,
        wait = Word::Ns(wait_ns),
        place = place.clone(),
        waits = scaled(waits as u64),
        share = Word::part(contended_ns, evidence.elapsed_ns),
        queue = Word::Real(queue, 1),
    );
    Some(Finding { subject: place, evidence: Prose::from(waited), stack, cost_ns: wait_ns, ..Finding::default() })
}

/// What the waits say, which are ordered by their ends. What a thread has that was woken, it has until it wakes another one.
fn turns(group: &Group) -> Turns {
    let mut turns = Turns::default();
    let mut last: Option<(u64, usize)> = None;
    let mut before: Option<usize> = None;
    for wait in &group.waits {
        turns.wait_ns += wait.to - wait.from;
        let is_among = wait.waker.is_some_and(|waker| group.threads.contains(&waker));
        turns.among_them += usize::from(is_among);
        if let Some((woken_ns, woken)) = last {
            // Its waker was woken before, or took the lock again before the one that it woke could.
            let has_it = is_among && (wait.waker == Some(woken) || wait.waker == before);
            turns.carried_ns += if has_it { wait.to.saturating_sub(wait.from.max(woken_ns)) } else { 0 };
        }
        (last, before) = (Some((wait.to, wait.thread)), wait.waker);
    }
    turns.contended_ns = union_ns(group.waits.iter().map(|wait| (wait.from, wait.to)).collect());
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits as `(from, to, thread, waker)`, ms.
    fn of(waits: &[(u64, u64, usize, usize)]) -> Turns {
        let wait = |(from, to, thread, waker): &(u64, u64, usize, usize)| Wait {
            from: from * 1_000_000,
            to: to * 1_000_000,
            thread: *thread,
            waker: Some(*waker),
        };
        let waits: Vec<Wait> = waits.iter().map(wait).collect();
        turns(&Group { threads: waits.iter().map(|wait| wait.thread).collect(), waits, ..Group::default() })
    }

    #[test]
    fn who_is_woken_wakes_the_next() {
        let turns = of(&[(0, 10, 1, 3), (0, 20, 2, 1), (10, 30, 3, 2), (20, 40, 1, 3), (30, 50, 2, 1)]);
        assert_eq!((turns.contended_ns, turns.carried_ns, turns.among_them), (50_000_000, 40_000_000, 5));
    }

    #[test]
    fn workers_that_another_one_wakes_pass_nothing_on() {
        let turns = of(&[(0, 10, 1, 9), (0, 20, 2, 9), (15, 30, 3, 9), (25, 40, 1, 9)]);
        assert_eq!((turns.carried_ns, turns.among_them), (0, 0));
    }

    #[test]
    fn a_worker_that_wakes_all_others_at_once_carries_nothing_between_bursts() {
        let turns =
            of(&[(0, 50, 1, 4), (0, 50, 2, 1), (0, 50, 3, 2), (51, 100, 1, 4), (51, 100, 2, 1), (51, 100, 3, 2)]);
        assert!(turns.carried_ns * 10 < turns.contended_ns * 8, "{} of {}", turns.carried_ns, turns.contended_ns);
    }
}
