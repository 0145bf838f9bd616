//! Of a program whose threads slept for most of the time and kept nobody who is known: where, how often and for how long. Dwell cannot know
//! whether that is its pace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use dwell_model::{ObjectType, Outcome, ProcessId, WakerKind};
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::idle::IdleWaits;
use dwell_query::stacks::object::object_type;
use dwell_store::EventKey;
use dwell_view::{Sentence, duration};

use crate::reports::open_requests::wait_unexplained;
use crate::sentences::say;
use crate::study::explain::{
    Explanation, PlaceId, RoleId, is_first_of_process, is_from_program, is_of_event_loop, loop_code,
};

/// Part of the time that a thread must have slept at a place for it to be told.
const MOSTLY: f64 = 0.5;
/// Places that are told.
const TOLD: usize = 3;

/// Where a thread sleeps: at a place, or in its event loop, where it waits for timers of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SleepsIn {
    Place(PlaceId),
    EventLoop,
}

/// The sleeps of a role's threads at a place, of those that slept there for most of the time.
#[derive(Default)]
struct Sleeps {
    threads: u64,
    count: u64,
    ns: u64,
    /// Whether the first thread of a process is among them.
    of_main: bool,
}

/// The sentence that says it, and of which processes the threads are; none where no thread slept for so long, where the first thread waits for something else, or a part of the recording
/// is asked for.
pub fn where_threads_sleep(
    fold: &Fold<'_>,
    explanation: &mut Explanation<'_, '_>,
) -> Option<(Sentence, BTreeSet<ProcessId>)> {
    let trace = fold.trace;
    if !fold.query.explains_all() {
        return None;
    }
    let least_ns = MOSTLY * explanation.elapsed_ns as f64;
    let keeps_requests = wait_unexplained(fold, explanation);
    let (mut of_place, mut processes) = (BTreeMap::<(RoleId, SleepsIn), Sleeps>::new(), BTreeSet::new());
    for thread in 0..trace.threads.tid.len() {
        let waits = waits_of(fold, explanation, thread);
        let is_main = is_first_of_process(trace, thread);
        // Other processes may wait for what the first one does; where nothing else keeps the requests that wait, it may be these sleeps.
        let is_first = is_main && trace.threads.process[thread].get() == Some(0) && !keeps_requests;
        if is_first && !waits.only_sleeps_or_joins(least_ns) {
            return None;
        }
        for (place, (count, ns)) in waits.sleeps.into_iter().filter(|(_, (_, ns))| *ns as f64 >= least_ns) {
            let all = of_place.entry((explanation.names.role_of(thread), place)).or_default();
            all.threads += 1;
            all.count += count;
            all.ns = all.ns.saturating_add(ns);
            all.of_main |= is_main;
            processes.insert(trace.threads.process[thread]);
        }
    }
    let mut told: Vec<_> = of_place.into_iter().collect();
    told.sort_by_key(|(_, sleeps)| (!sleeps.of_main, Reverse(sleeps.ns)));
    let told: Vec<String> =
        told.iter().take(TOLD).map(|((role, place), sleeps)| text(fold, explanation, *role, *place, sleeps)).collect();
    (!told.is_empty()).then(|| (say!(MOSTLY_SLEPT, sleeps = told.join("; ")), processes))
}

fn text(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, role: RoleId, place: SleepsIn, sleeps: &Sleeps) -> String {
    let names = &explanation.names;
    let at = match place {
        SleepsIn::Place(place) => {
            names.place(place).map_or_else(|| "an unknown place".into(), |place| place.at.clone())
        }
        SleepsIn::EventLoop => match loop_code(fold, names, role, 0) {
            Some(code) => format!("its event loop, after it ran {code}"),
            None => "its event loop".to_owned(),
        },
    };
    let who = match sleeps.threads {
        1 => names.role(role).to_owned(),
        threads => format!("{} ({threads} threads)", names.role(role)),
    };
    match sleeps.count {
        // Of sampled goroutines many sleeps are one row.
        _ if fold.trace.fiber_threads > 0 => format!("{who} in {at}, for {}", duration(sleeps.ns)),
        1 => format!("{who} in {at}, once for {}", duration(sleeps.ns)),
        count => format!("{who} in {at}, {count} times for {} each", duration(sleeps.ns / count)),
    }
}

/// What a thread waited for.
#[derive(Default)]
struct ThreadWaits {
    /// How often and how long it slept, by place in the program, ns.
    sleeps: BTreeMap<SleepsIn, (u64, u64)>,
    /// How long for anything but sleeps and the end of others, ns.
    others_ns: u64,
}

impl ThreadWaits {
    /// Whether it did nothing else for much of the time.
    fn only_sleeps_or_joins(&self, least_ns: f64) -> bool {
        (self.others_ns as f64) < least_ns
    }
}

fn waits_of(fold: &Fold<'_>, explanation: &mut Explanation<'_, '_>, thread: usize) -> ThreadWaits {
    let (trace, events) = (fold.trace, fold.trace.events());
    let (mut waits, mut of_key, mut idle) = (ThreadWaits::default(), BTreeMap::new(), IdleWaits::default());
    events.off_cpu.for_each_wait(events.off_cpu.of(thread), |_, ns, key| {
        let (count, sum): &mut (u64, u64) = of_key.entry(key).or_default();
        (*count, *sum) = (*count + 1, sum.saturating_add(ns));
    });
    let is_launched = !trace.manifest.command.is_empty();
    let ended_by_time = |key: &EventKey| {
        Outcome::from_code(key.outcome()) == Outcome::TimedOut
            || WakerKind::from_code(key.waker_kind()) == WakerKind::Timer
    };
    for (key, (count, ns)) in of_key {
        let key = events.key(key);
        let kind = object_type(trace, key.object());
        let is_idle = idle.is_idle(&fold.sums.stacks, key.stack(), kind);
        let is_own = || is_from_program(trace, &fold.sums.stacks, key.stack());
        let mut add = |place: SleepsIn| {
            let (all, sum) = waits.sleeps.entry(place).or_default();
            (*all, *sum) = (*all + count, sum.saturating_add(ns));
        };
        match kind {
            // What a package sleeps for in the first thread is the program's pause, too.
            ObjectType::Sleep if !is_idle && (is_first_of_process(trace, thread) || is_own()) => {
                add(SleepsIn::Place(explanation.names.place_of(key.stack())));
            }
            // Who is attached to may be a server at rest.
            _ if is_launched && is_of_event_loop(key.syscall()) && ended_by_time(&key) => add(SleepsIn::EventLoop),
            ObjectType::ThreadJoin | ObjectType::ChildProcess | ObjectType::WaitGroup => {}
            _ => waits.others_ns = waits.others_ns.saturating_add(ns),
        }
    }
    waits
}
