//! Waits that are too many or for nothing: polling, waits too short to be worth a context switch, herds.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dwell_model::{FindingDef, ObjectId, ObjectType, StackId};
use dwell_query::measure::utilization::total;
use dwell_query::stacks::call_stacks::FunctionId;
use dwell_view::{Prose, Word};

use crate::findings::evidence::{Evidence, Waits, heaviest};
use crate::findings::finding::Finding;
use crate::sentences::say;

/// Many very short waits.
pub const FINE_GRAINED_WAITS: FindingDef = FindingDef {
    id: "fine-grained-waits",
    title: "Too fine-grained waits",
    help: "Threads wait on the object very often and very briefly: less than 0.3 ms per wait (Wait Rate), and they and those \
           who wake them run for less than 70 us for each, so that a large part of the time goes into blocking and waking.",
    advice: "Exchange more per hand-over: batches instead of items, larger pieces of work; or spin briefly before \
             blocking.",
    japanese_title: "細かすぎる待機",
    japanese_advice: "1 回の受け渡しでより多くを交換してください。項目ではなくバッチ、より大きな仕事。\
                      または短いスピンの後にブロックする。",
};

/// Average wait below which it is too fine-grained. VTune's limit of the Wait Rate is 1 ms; but whoever waits for so long waits for what is done
/// meanwhile, such as a write to a disk, not for being woken.
const FINE_NS: u64 = 300_000;
/// Waits from which a habit is one.
const FINE_COUNT: u64 = 500;
/// Waits per second of elapsed time.
const FINE_PER_SECOND: f64 = 500.0;
/// Part of the elapsed time spent in them and in the run queue behind them.
const FINE_SHARE: f64 = 0.1;

/// What the threads that wait, and those who wake them, run from one of them to the next takes less than this, ns: blocking and waking cost 5 to 20 us of CPU time, and what is
/// much longer is no longer worth a batch.
const FINE_WORK_NS: u64 = 70_000;

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
    let mut cpu_ns: BTreeMap<usize, u64> = BTreeMap::new();
    // How many waits threads that were recorded ended, and these threads.
    let mut by_threads: BTreeMap<ObjectId, u64> = BTreeMap::new();
    let mut wakers: BTreeMap<ObjectId, BTreeSet<usize>> = BTreeMap::new();
    for (_, site, weights) in evidence.fold.selected() {
        if let Some(thread) = site.key.thread.get() {
            *cpu_ns.entry(thread).or_default() += weights.cpu_ns();
        }
        if site.is_wait()
            && let Some(waker) = site.key.waker.get()
        {
            *by_threads.entry(site.key.object).or_default() += weights.wait_count;
            wakers.entry(site.key.object).or_default().insert(waker);
        }
    }
    // An event loop that is quickly asked again by others has work, and whoever waits until times of its own is given nothing.
    let is_handed_over =
        |object: ObjectId, waits: &Waits| 2 * by_threads.get(&object).copied().unwrap_or(0) >= waits.weights.wait_count;
    let is_fine = |object: ObjectId, waits: &Waits| {
        let count = waits.weights.wait_count;
        let mut threads: BTreeSet<usize> = waits.by_thread.keys().copied().collect();
        threads.extend(wakers.get(&object).into_iter().flatten());
        let worked_ns: u64 = threads.iter().filter_map(|thread| cpu_ns.get(thread)).sum();
        count >= FINE_COUNT
            && worked_ns / count < FINE_WORK_NS
            && waits.weights.wait_ns() / count < FINE_NS
            && count as f64 * 1e9 >= FINE_PER_SECOND * evidence.elapsed_ns as f64
            && evidence.share(cost(waits)) >= FINE_SHARE
    };
    // Objects of one type that are waited on at one place are one thing to a reader: those of eight processes, or of many queues.
    let mut places: BTreeMap<(ObjectType, FunctionId), Vec<(ObjectId, &Waits)>> = BTreeMap::new();
    let fine = evidence
        .of_types(HAND_OVER)
        .filter(|(object, waits)| is_fine(*object, waits) && is_handed_over(*object, waits));
    for (object, waits) in fine {
        let stacks = &evidence.fold.sums.stacks;
        let place = (evidence.fold.object_type(object), stacks.function(stacks.own(waits.top_stack())));
        places.entry(place).or_default().push((object, waits));
    }
    let finding = |mut alike: Vec<(ObjectId, &Waits)>| {
        alike.sort_by_key(|(object, waits)| (std::cmp::Reverse(cost(waits)), *object));
        let (object, waits) = *alike.first()?;
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
        let others = alike.len() - 1;
        let others = (others > 0).then(|| say!(FINE_GRAINED_OTHERS, objects = others));
        Some(Finding {
            subject: name.into(),
            evidence: Prose::from(took).and(others).and(evidence.created(object)).and(evidence.within(waits)),
            stack: waits.top_stack(),
            cost_ns: alike.iter().map(|(_, waits)| cost(waits)).fold(0, u64::saturating_add),
            claims: evidence.claims(object, waits),
            ..Finding::default()
        })
    };
    places.into_values().filter_map(finding).collect()
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
/// Calls that wake one thread each, however soon one follows another.
const WAKES_ONE: &str = "pthread_cond_signal";
/// Part of the elapsed time that threads must have lost by it.
const LOST_SHARE: f64 = 0.002;
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
    let by_semaphore =
        |waits: &Waits| fold.sums.stacks.whole_names(waits.top_stack()).any(|name| name.contains("sem_wait"));
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
        let wakes_one = || evidence.fold.sums.stacks.whole_names(key.waker_stack()).any(|name| name == WAKES_ONE);
        if size >= HERD && !wakes_one() {
            count_herd(evidence, &rest[..size], &mut herds);
        }
        rest = &rest[size..];
    }
    let futile = herds.futile as f64 >= FUTILE_SHARE * herds.woken as f64;
    if herds.herds < HERDS || !futile || evidence.share(herds.wasted_ns) < LOST_SHARE {
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
