//! Waits that are too many or for nothing: polling, waits too short to be worth a context switch, herds.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dwell_model::{FindingDef, ObjectId, ObjectType, StackId};
use dwell_view::{Prose, Word};

use crate::findings::claim::{Claim, only};
use crate::findings::evidence::{Evidence, Waits, heaviest};
use crate::findings::finding::Finding;
use crate::measure::utilization::total;
use crate::question::filter::FilterKey;
use crate::sentences::say;

/// A thread sleeps and looks, again and again.
pub const SLEEP_POLLING: FindingDef = FindingDef {
    id: "sleep-polling",
    title: "Sleep-polling",
    help: "A thread sleeps for a short time again and again at one place: it polls for something, finds it half a sleep \
           too late on average, and wakes a CPU for nothing in between.",
    advice: "Wait for the event itself: a condition variable, a semaphore, an eventfd or futex that the other side \
             signals.",
    japanese_title: "スリープによるポーリング",
    japanese_advice: "イベント自体を待ってください。条件変数、セマフォー、eventfd、futex。",
};

/// Sleeps of one thread at one place from which they are a loop.
const POLLS: u64 = 50;
/// Longest average sleep of polling.
const POLL_NS: u64 = 10_000_000;
/// Part of the elapsed time spent so.
const POLL_SHARE: f64 = 0.05;
/// Other threads woken per sleep, and waits for something that is neither a sleep nor a lock, up to which it polls: one that
/// does more paces its own work.
const POLL_WORK: f64 = 0.2;

pub fn sleep_polling(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    let mut worked: BTreeMap<u32, u64> = BTreeMap::new();
    let mut loops: BTreeMap<(StackId, u32), (u64, u64)> = BTreeMap::new();
    for (_, site) in fold.selected_sites().filter(|(_, site)| site.is_wait()) {
        let (kind, count) = (fold.object_type(site.key.object), site.count(fold.class_mask));
        if site.key.waker.is_some() {
            *worked.entry(site.key.waker.raw()).or_default() += count;
        }
        if kind != ObjectType::Sleep && !kind.has_holder() {
            *worked.entry(site.key.thread.raw()).or_default() += count;
        }
        if kind == ObjectType::Sleep && !site.idle {
            let sum = loops.entry((fold.stacks.shown(site.key.stack), site.key.thread.raw())).or_default();
            *sum = (sum.0 + site.busy_ns(fold.class_mask), sum.1 + count);
        }
    }
    let is_polling = |thread: u32, (ns, count): (u64, u64)| {
        let work = worked.get(&thread).copied().unwrap_or(0) as f64;
        let often = count >= POLLS && ns / count <= POLL_NS && evidence.share(ns) >= POLL_SHARE;
        often && work <= POLL_WORK * count as f64
    };
    let mut places: BTreeMap<StackId, (u64, u64, usize)> = BTreeMap::new();
    for ((stack, _), (ns, count)) in loops.into_iter().filter(|((_, thread), sum)| is_polling(*thread, *sum)) {
        let place = places.entry(stack).or_default();
        *place = (place.0 + ns, place.1 + count, place.2 + 1);
    }
    let finding = |(stack, (ns, count, on)): (StackId, (u64, u64, usize))| {
        let place = fold.stacks.place(stack).unwrap_or_else(|| "an unknown place".into());
        let text = say!(
            SLEEP_POLLING,
            place = place.clone(),
            sleeps = count,
            each = Word::Ns(ns / count.max(1)),
            all = Word::Ns(ns),
            threads = on,
        );
        // What is polled for comes half a sleep before it is found, on average.
        let sleeps = only(&only(fold.query, FilterKey::ObjectType, ObjectType::Sleep.id()), FilterKey::Idle, "no");
        let claims = vec![
            Claim::at_least("waits", &sleeps, "wait_ns", ns),
            Claim::at_least("waits", &sleeps, "wait_count", count),
        ];
        Finding { subject: place, evidence: text.into(), stack, cost_ns: ns / 2, claims, ..Finding::default() }
    };
    let told: BTreeSet<StackId> = places.keys().copied().collect();
    places.into_iter().map(finding).chain(backing_off(evidence, &told)).collect()
}

/// Sleeps in a row at one place, and how much longer the last is than the first: it was tried again each time.
const ROW: usize = 3;
const GROWTH: u64 = 2;
/// Sleeps in such rows from which it is a habit, and what may lie between two of them: a look.
const TRIES: u64 = 8;
const LOOK_NS: u64 = 1_000_000;
/// A sleep that the timer ends late may make the one after it look shorter: by so many per cent.
const LATE: u64 = 20;

/// Sleeps at one place.
#[derive(Default)]
struct Tries {
    in_rows: u64,
    sleeps: u64,
    ns: u64,
    threads: BTreeSet<usize>,
    stacks: BTreeMap<StackId, u64>,
}

/// Sleeps of one thread with nothing but a look between them: the stack and length of each.
type InARow = Vec<(StackId, u64)>;

/// Threads that try something again and again, after a longer sleep each time, as SQLite does for a lock of a file.
fn backing_off(evidence: &Evidence<'_, '_>, told: &BTreeSet<StackId>) -> Vec<Finding> {
    let fold = evidence.fold;
    let mut sleeping: BTreeSet<usize> = BTreeSet::new();
    for (_, site) in fold.selected_sites().filter(|(_, site)| site.is_wait() && !site.idle) {
        if fold.object_type(site.key.object) == ObjectType::Sleep {
            sleeping.extend(site.key.thread.get());
        }
    }
    let mut places: BTreeMap<ObjectId, Tries> = BTreeMap::new();
    for thread in sleeping {
        tries(evidence, thread, &mut places);
    }
    let matters = |tries: &Tries| {
        let is_told = tries.stacks.keys().any(|stack| told.contains(stack));
        tries.in_rows >= TRIES && evidence.share(tries.ns) >= POLL_SHARE && !is_told
    };
    let finding = |tries: Tries| {
        let stack = heaviest(&tries.stacks);
        let place = fold.stacks.place(stack).unwrap_or_else(|| "an unknown place".into());
        let text = say!(
            SLEEP_BACKOFF,
            place = place.clone(),
            sleeps = tries.sleeps,
            all = Word::Ns(tries.ns),
            threads = tries.threads.len(),
            rows = tries.in_rows,
        );
        Finding { subject: place, evidence: text.into(), stack, cost_ns: tries.ns / 2, ..Finding::default() }
    };
    places.into_values().filter(matters).map(finding).collect()
}

/// Adds the sleeps of a thread, within the time that is looked at.
fn tries(evidence: &Evidence<'_, '_>, thread: usize, places: &mut BTreeMap<ObjectId, Tries>) {
    let (fold, events) = (evidence.fold, evidence.fold.trace.events());
    let (rows, mut row_of_sleeps): (_, Option<(ObjectId, InARow)>) = (&events.off_cpu, None);
    let mut reached = 0u64;
    for row in rows.of(thread) {
        let (start, length, key) = (rows.start_ns(row), rows.wait_ns(row), events.off_cpu_key(row));
        if length == 0 {
            reached = reached.saturating_add(rows.end_ns(row).saturating_sub(start)); // It was preempted.
            continue;
        }
        let is_sleep = fold.object_type(key.object()) == ObjectType::Sleep
            && fold.windows.overlap_ns(start, start.saturating_add(length)) == length;
        // The place of a sleep is its object.
        let place = key.object();
        let goes_on = is_sleep
            && start.saturating_sub(reached) <= LOOK_NS
            && row_of_sleeps.as_ref().is_some_and(|(at, _)| *at == place);
        if !goes_on {
            note(thread, row_of_sleeps.take(), places);
        }
        if is_sleep {
            row_of_sleeps.get_or_insert_with(|| (place, Vec::new())).1.push((fold.stacks.shown(key.stack()), length));
        }
        reached = rows.end_ns(row);
    }
    note(thread, row_of_sleeps, places);
}

/// Counts the sleeps, and whether they are a row that grows: not one whose first sleep alone is shorter, as where a thread that
/// sleeps until the next of evenly spaced times was late once.
fn note(thread: usize, row: Option<(ObjectId, InARow)>, places: &mut BTreeMap<ObjectId, Tries>) {
    let Some((place, sleeps)) = row else { return };
    let is_no_shorter = |pair: &[(StackId, u64)]| pair[1].1.saturating_mul(100 + LATE) >= pair[0].1.saturating_mul(100);
    let length = |sleep: Option<&(StackId, u64)>| sleep.map_or(0, |(_, ns)| *ns);
    let last = length(sleeps.last());
    let goes_on = last.saturating_mul(100) > length(sleeps.get(1)).saturating_mul(100 + LATE);
    let grows = goes_on && last >= length(sleeps.first()).saturating_mul(GROWTH);
    let count = sleeps.len() as u64;
    let tries = places.entry(place).or_default();
    if sleeps.len() >= ROW && grows && sleeps.windows(2).all(is_no_shorter) {
        tries.in_rows += count;
    }
    tries.sleeps += count;
    tries.threads.insert(thread);
    for (stack, ns) in sleeps {
        tries.ns = tries.ns.saturating_add(ns);
        *tries.stacks.entry(stack).or_default() += ns;
    }
}

/// Many very short waits.
pub const FINE_GRAINED_WAITS: FindingDef = FindingDef {
    id: "fine-grained-waits",
    title: "Too fine-grained waits",
    help: "Threads wait on the object very often and very briefly: less than 1 ms per wait (Wait Rate), so that a large \
           part of the time goes into blocking and waking.",
    advice: "Exchange more per hand-over: batches instead of items, larger pieces of work; or spin briefly before \
             blocking.",
    japanese_title: "細かすぎる待機",
    japanese_advice: "1 回の受け渡しでより多くを交換してください。項目ではなくバッチ、より大きな仕事。\
                      または短いスピンの後にブロックする。",
};

/// Average wait below which it is too fine-grained: VTune's limit of the Wait Rate.
const FINE_NS: u64 = 1_000_000;
/// Waits from which a habit is one.
const FINE_COUNT: u64 = 500;
/// Waits per second of elapsed time.
const FINE_PER_SECOND: f64 = 500.0;
/// Part of the elapsed time spent in them and in the run queue behind them.
const FINE_SHARE: f64 = 0.1;

/// What threads hand work over with. Devices and timers are as slow as they are.
const HAND_OVER: &[ObjectType] = &[
    ObjectType::Mutex,
    ObjectType::ConditionVariable,
    ObjectType::RwLock,
    ObjectType::Semaphore,
    ObjectType::Barrier,
    ObjectType::Futex,
    ObjectType::Stream,
    ObjectType::Event,
    ObjectType::Gil,
    ObjectType::JvmMonitor,
    ObjectType::OpenMpBarrier,
];

pub fn fine_grained_waits(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let cost = |waits: &Waits| waits.weights.wait_ns().saturating_add(total(&waits.weights.runnable));
    let is_fine = |waits: &Waits| {
        let count = waits.weights.wait_count;
        count >= FINE_COUNT
            && waits.weights.wait_ns() / count < FINE_NS
            && count as f64 * 1e9 >= FINE_PER_SECOND * evidence.elapsed_ns as f64
            && evidence.share(cost(waits)) >= FINE_SHARE
    };
    let finding = |(object, waits): (ObjectId, &Waits)| {
        let name = evidence.fold.object_name(object);
        let count = waits.weights.wait_count;
        let took = say!(
            FINE_GRAINED_WAITS,
            waits = count,
            name = name,
            each = Word::Ns(waits.weights.wait_ns() / count.max(1)),
            queued = Word::Ns(total(&waits.weights.runnable)),
            share = Word::part(cost(waits), evidence.elapsed_ns),
        );
        let text = Prose::from(took).and(evidence.created(object)).and(evidence.within(waits));
        Finding {
            subject: name.into(),
            evidence: text,
            stack: waits.top_stack(),
            cost_ns: cost(waits),
            claims: evidence.claims(object, waits),
            ..Finding::default()
        }
    };
    evidence.of_types(HAND_OVER).filter(|(_, waits)| is_fine(waits)).map(finding).collect()
}

/// Many are woken, one finds something to do.
pub const THUNDERING_HERD: FindingDef = FindingDef {
    id: "thundering-herd",
    title: "Thundering herd",
    help: "One event wakes many threads, and most of them wait again at once without having found anything to do. \
           Concluded from wake-ups by one waker at one time, and how soon each thread waits on the object again.",
    advice: "Wake as many threads as there is work for: pthread_cond_signal instead of broadcast, EPOLLEXCLUSIVE, one \
             queue per thread.",
    japanese_title: "サンダリングハード",
    japanese_advice: "仕事の数だけスレッドを起床させてください。broadcast の代わりに pthread_cond_signal、\
                      EPOLLEXCLUSIVE、スレッドごとのキュー。",
};

/// What one call can wake many from; each post of a semaphore wakes one.
const HERD_OBJECTS: &[ObjectType] =
    &[ObjectType::ConditionVariable, ObjectType::Futex, ObjectType::Event, ObjectType::Socket, ObjectType::Stream];

/// Threads woken together from which they are a herd.
const HERD: usize = 3;
/// Time from one wake-up of a call to the next: a waker that runs code of the program in between takes longer.
const NEXT_NS: u64 = 20_000;
/// Running time up to which a thread found nothing to do.
const FUTILE_NS: u64 = 200_000;
/// Rows of the thread up to the next wait on the object: it takes the mutex again, maybe is preempted.
const ROWS_BETWEEN: usize = 4;
/// Herds from which it is a habit.
const HERDS: usize = 5;
/// Part of the wake-ups that must have been for nothing.
const FUTILE_SHARE: f64 = 0.5;

/// The wake-ups of an object.
#[derive(Default)]
struct Herds {
    herds: usize,
    woken: usize,
    futile: usize,
    wasted_ns: u64,
    wakers: BTreeMap<StackId, u64>,
}

pub fn thundering_herd(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let fold = evidence.fold;
    // A runtime's conditions and locks may be semaphores, as CPython's are.
    let by_semaphore = |waits: &Waits| fold.stacks.whole_names(waits.top_stack()).any(|name| name.contains("sem_wait"));
    let enough = |waits: &Waits| {
        let many = waits.by_thread.len() >= HERD && waits.weights.wait_count >= (HERD * HERDS) as u64;
        many && !by_semaphore(waits)
    };
    let candidates: Vec<ObjectId> =
        evidence.of_types(HERD_OBJECTS).filter(|(_, waits)| enough(waits)).map(|(object, _)| object).collect();
    let mut wakeups: BTreeMap<ObjectId, Vec<(u64, usize)>> =
        candidates.into_iter().map(|object| (object, Vec::new())).collect();
    if wakeups.is_empty() {
        return Vec::new();
    }
    let events = fold.trace.events();
    for (row, _) in &fold.rows().rows {
        let row = *row as usize;
        let key = events.off_cpu_key(row);
        if let Some(wakeups) = wakeups.get_mut(&key.object()).filter(|_| key.waker().is_some()) {
            wakeups.push((events.off_cpu.woken_ns(row), row));
        }
    }
    wakeups.into_iter().filter_map(|(object, wakeups)| herd_of(evidence, object, wakeups)).collect()
}

fn herd_of(evidence: &Evidence<'_, '_>, object: ObjectId, mut wakeups: Vec<(u64, usize)>) -> Option<Finding> {
    let events = evidence.fold.trace.events();
    wakeups.sort_unstable();
    let mut herds = Herds::default();
    let mut rest = wakeups.as_slice();
    while let Some((time, first)) = rest.first() {
        let (key, mut woken, mut last) = (events.off_cpu_key(*first), HashSet::new(), *time);
        // One call wakes no thread twice.
        let mut together = |(at, row): &(u64, usize)| {
            let other = events.off_cpu_key(*row);
            let same = (other.waker(), other.waker_stack()) == (key.waker(), key.waker_stack());
            let is_next = *at - std::mem::replace(&mut last, *at) <= NEXT_NS;
            is_next && same && woken.insert(other.thread())
        };
        let size = rest.iter().take_while(|wakeup| together(wakeup)).count().max(1);
        if size >= HERD {
            count_herd(evidence, &rest[..size], &mut herds);
        }
        rest = &rest[size..];
    }
    let futile = herds.futile as f64 >= FUTILE_SHARE * herds.woken as f64;
    if herds.herds < HERDS || !futile {
        return None;
    }
    let name = evidence.fold.object_name(object);
    // Rows of slices stand for those of all the time.
    let scaled = |number: f64| (number / evidence.fold.rows().share.max(1e-9)).round() as u64;
    let text = say!(
        THUNDERING_HERD,
        times = scaled(herds.herds as f64),
        threads = Word::Real(herds.woken as f64 / herds.herds as f64, 1),
        name = name,
        share = Word::part(herds.futile as u64, herds.woken as u64),
    );
    Some(Finding {
        subject: name.into(),
        evidence: Prose::from(text).and(evidence.created(object)),
        stack: heaviest(&herds.wakers),
        cost_ns: scaled(herds.wasted_ns as f64),
        claims: evidence.objects().get(&object).map(|waits| evidence.claims(object, waits)).unwrap_or_default(),
        ..Finding::default()
    })
}

fn count_herd(evidence: &Evidence<'_, '_>, herd: &[(u64, usize)], herds: &mut Herds) {
    let events = evidence.fold.trace.events();
    herds.herds += 1;
    herds.woken += herd.len();
    for (_, row) in herd {
        *herds.wakers.entry(events.off_cpu_key(*row).waker_stack()).or_default() += 1;
        if let Some(wasted_ns) = futile(evidence, *row) {
            herds.futile += 1;
            herds.wasted_ns = herds.wasted_ns.saturating_add(wasted_ns);
        }
    }
}

/// Time until the thread waits on the object of `row` again, when it did hardly anything in between.
fn futile(evidence: &Evidence<'_, '_>, row: usize) -> Option<u64> {
    let events = evidence.fold.trace.events();
    let (rows, key) = (&events.off_cpu, events.off_cpu_key(row));
    let (woken, mut reached, mut running) = (rows.woken_ns(row), rows.end_ns(row), 0u64);
    for next in evidence.index().rows_after(key.thread().get()?, row).take(ROWS_BETWEEN) {
        running = running.saturating_add(rows.start_ns(next).saturating_sub(reached));
        if running > FUTILE_NS {
            return None;
        }
        if events.off_cpu_key(next).object() == key.object() {
            return Some(rows.start_ns(next).saturating_sub(woken));
        }
        reached = rows.end_ns(next);
    }
    None
}
