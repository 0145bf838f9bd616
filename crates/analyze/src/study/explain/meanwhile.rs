//! What others did while a thread slept again and again, or waited for what nobody was seen to end: no wake-up tells for whom.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ObjectType, Outcome, StackId};
use dwell_query::stacks::go_runtime::is_of_go_runtime;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::lock_looks::is_look_for_lock;
use crate::study::explain::names::Names;
use crate::study::explain::places::is_from_program;
use crate::study::explain::terms::{
    Cause, CauseKind, PlaceId, RoleId, is_client_socket, is_of_event_loop, is_response, parks_threads,
};
use crate::study::explain::wait_ends::waited_for;
use crate::study::intervals::{Activity, for_each_interval, union_ns};
use crate::study::thread_index::{ThreadIndex, ThreadPiece};

/// Sleeps from which on they are a loop's …
const POLLS: usize = 10;
/// … and how long they are at most on average, ns: who looks once a second waits for nobody.
const POLL_NS: u64 = 100_000_000;
/// Sleeps of others must be so many times longer to be told.
const LONGER: u64 = 2;
/// Part of the recording that a sleep takes at most: who sleeps through all of it does nothing for anybody.
const WHOLE: f64 = 0.9;
/// Part of the waits' time that one thing must have taken to be told.
pub const SHARE: f64 = 0.5;
/// The same of a role that had something to do, in whatever functions.
const AT_WORK_SHARE: f64 = 0.8;
/// Rows from which on nobody waits for this answer.
pub const MOST_ROWS: usize = 1_000_000;

/// What others did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeanwhileKind {
    /// They ran.
    Ran,
    /// They ran or were ready to: of fibers that are looked at, most are found ready.
    AtWork,
    /// They slept.
    Slept,
    /// They waited for an answer from outside.
    Asked,
    /// They waited for one another, or for what nobody gave them: told of those who wait for the end of what they started.
    Waited,
    /// They slept again and again, so many times, until it ended: they looked whether they might go on.
    Polled(usize),
}

/// What others did for most of the time.
#[derive(Clone, Debug)]
pub struct Meanwhile {
    /// Who.
    pub role: RoleId,
    /// What.
    pub did: MeanwhileKind,
    /// `function (file:line)`.
    pub place: String,
    /// For how long anybody of them did, ns.
    pub ns: u64,
}

/// When each role did one thing at one place.
type Doings = BTreeMap<(RoleId, MeanwhileKind, PlaceId), Vec<(u64, u64)>>;

/// When each role's threads had something to do, in whatever function.
type AtWork = BTreeMap<RoleId, Vec<(u64, u64)>>;

/// The waits of a thread at one place, in order.
struct Waits {
    thread: usize,
    spans: Vec<(u64, u64)>,
    /// Its other waits that somebody ended: by these it is given what it then sleeps for.
    given: usize,
}

impl Waits {
    fn length_ns(&self) -> u64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }

    fn mean_ns(&self) -> u64 {
        self.length_ns() / self.spans.len().max(1) as u64
    }

    /// Whether they are sleeps of a loop.
    fn are_polls(&self) -> bool {
        self.spans.len() >= POLLS && self.mean_ns() <= POLL_NS && 2 * self.given < self.spans.len()
    }
}

/// What the other threads of the program did while one slept in a loop at the cause's place, or waited for what nobody was seen to
/// end; none where it did not.
pub fn meanwhile(trace: &Trace, names: &mut Names<'_, '_>, cause: &Cause) -> Option<Meanwhile> {
    let sleeps = cause.kind == CauseKind::Slept;
    let awaits_end = awaits_fibers(names, cause);
    let is_open = sleeps || awaits_end || matches!(cause.kind, CauseKind::Unknown | CauseKind::Network);
    if !is_open || trace.events().off_cpu.end() > MOST_ROWS {
        return None;
    }
    let waits = longest_waits(trace, names, cause).filter(|waits| !sleeps || waits.are_polls())?;
    // Others that sleep for as short a time wait for something themselves.
    let least_ns = if sleeps { LONGER * waits.mean_ns() } else { 0 };
    let label = names.label(cause.label);
    let waits_for_answer = sleeps || is_response(label) || is_client_socket(label);
    let mut doings = Doings::new();
    let mut at_work = AtWork::new();
    let mut readers = FiberReaders::default();
    let index = ThreadIndex::new(trace);
    for_each_interval(trace, |interval| {
        let span = (interval.from, interval.to);
        let thread = interval.thread;
        let is_other = thread != waits.thread && !is_of_go_runtime(trace, thread);
        if !is_other || within(&waits.spans, span).next().is_none() {
            return;
        }
        let role = names.role_of(thread);
        let is_fiber = thread < trace.fiber_threads;
        let works = if is_fiber && !sleeps { MeanwhileKind::AtWork } else { MeanwhileKind::Ran };
        if sleeps && !is_fiber && interval.activity != Activity::Waiting {
            at_work.entry(role).or_default().extend(within(&waits.spans, span));
        }
        let mut add = |did: MeanwhileKind, place: PlaceId, span: (u64, u64)| {
            doings.entry((role, did, place)).or_default().extend(within(&waits.spans, span));
            if did == MeanwhileKind::AtWork {
                at_work.entry(role).or_default().extend(within(&waits.spans, span));
            }
        };
        match (interval.activity, interval.row) {
            (Activity::Runnable, Some(row)) if works == MeanwhileKind::AtWork => {
                add(works, names.place_of(trace.events().off_cpu_key(row).stack()), span);
            }
            (Activity::Running, _) => {
                let (from, to) = span;
                let run = ThreadPiece::running(from, to);
                index.split_running(thread, run, &mut |piece| {
                    // A goroutine that stays in a call without a sample runs nothing.
                    if piece.stack.is_some() {
                        add(works, names.run_place_of(piece.stack).0, (piece.from, piece.to));
                    }
                });
            }
            (Activity::Waiting, Some(row)) => {
                let key = trace.events().off_cpu_key(row);
                let place = names.place_of(key.stack());
                let is_short = span.1 - span.0 < least_ns;
                let is_same_place = (names.role_of(thread), place) == (cause.role, cause.place);
                // Of sampled fibers many sleeps are one row.
                let is_whole = !is_fiber && (span.1 - span.0) as f64 >= WHOLE * trace.elapsed_ns() as f64;
                let did = did_in_wait(trace, &key).filter(|_| !is_fiber || readers.asks(trace, names, &key));
                let did = did.or((awaits_end && readers.is_own(trace, names, &key)).then_some(MeanwhileKind::Waited));
                // Whoever was let in may ask others in the function in which the rest wait to be.
                let waits_too = is_same_place && (waits_for_answer || did != Some(MeanwhileKind::Asked));
                if let Some(did) = did.filter(|_| !waits_too && !is_short && !is_whole) {
                    add(did, place, span);
                }
            }
            _ => {}
        }
    });
    told(names, (waits.length_ns(), cause.kind == CauseKind::Unfinished), doings, at_work)
}

/// What of that is told beside waits of so many ns: a function with most of the time, or many of one role, or threads that had no CPU; of
/// goroutines, whatever they ran by turns.
fn told(
    names: &Names<'_, '_>,
    (waits_ns, is_stuck): (u64, bool),
    doings: Doings,
    mut at_work: AtWork,
) -> Option<Meanwhile> {
    let is_much = |ns: u64, share: f64| ns as f64 >= share * waits_ns as f64;
    let found = longest(names, doings, (waits_ns, is_stuck))?;
    if is_much(found.ns, SHARE) {
        return Some(found);
    }
    let (works, all_ns) = match found.did {
        MeanwhileKind::Ran => (true, 0),
        MeanwhileKind::AtWork => (true, union_ns(at_work.values().flatten().copied().collect())),
        _ => (false, 0),
    };
    let role_ns = at_work.remove(&found.role).map_or(0, union_ns);
    let is_told = works && is_much(role_ns.max(all_ns), AT_WORK_SHARE);
    is_told.then_some(Meanwhile { did: MeanwhileKind::AtWork, ns: role_ns, ..found })
}

/// What somebody who waits does that others may wait for.
fn did_in_wait(trace: &Trace, key: &EventKey) -> Option<MeanwhileKind> {
    match object_type(trace, key.object()) {
        // Whoever looks for a lock keeps nobody waiting: it waits itself.
        ObjectType::Sleep if is_look_for_lock(trace, key.stack()) => None,
        ObjectType::Sleep => Some(MeanwhileKind::Slept),
        _ if is_answer(trace, key) => Some(MeanwhileKind::Asked),
        _ => None,
    }
}

/// Goroutines that read from connections: one of a client library does so for whoever asked.
#[derive(Default)]
struct FiberReaders {
    /// Whether functions of the program led to a stack.
    own: HashMap<StackId, bool>,
}

impl FiberReaders {
    /// Whether it asked itself what it waits for, if it waits for a connection.
    fn asks(&mut self, trace: &Trace, names: &Names<'_, '_>, key: &EventKey) -> bool {
        !is_client_socket(waited_for(trace, key)) || self.is_own(trace, names, key)
    }

    fn is_own(&mut self, trace: &Trace, names: &Names<'_, '_>, key: &EventKey) -> bool {
        let stacks = names.stacks();
        let own = || is_from_program(trace, stacks, key.stack());
        *self.own.entry(key.stack()).or_insert_with(own)
    }
}

/// Whether a goroutine waits for the end of others, and nobody was seen to end that.
fn awaits_fibers(names: &Names<'_, '_>, cause: &Cause) -> bool {
    let is_unseen = matches!(cause.kind, CauseKind::Unknown | CauseKind::Unfinished);
    is_unseen && names.is_fiber(cause.role) && names.object_type_of(cause.label) == Some(ObjectType::WaitGroup)
}

/// Whether somebody outside owes an answer to whoever waits.
fn is_answer(trace: &Trace, key: &EventKey) -> bool {
    let name = waited_for(trace, key);
    is_response(name) || (is_client_socket(name) && !is_of_event_loop(key.syscall()))
}

/// The waits of the thread that waited most at the cause's place.
fn longest_waits(trace: &Trace, names: &mut Names<'_, '_>, cause: &Cause) -> Option<Waits> {
    let mut of_thread: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    let mut given: BTreeMap<usize, usize> = BTreeMap::new();
    let events = trace.events();
    let threads: Vec<usize> = names.members_of(cause.role).collect();
    for thread in threads {
        for row in events.off_cpu.of(thread) {
            let key = events.off_cpu_key(row);
            let sleeps = object_type(trace, key.object()) == ObjectType::Sleep;
            // The answer to a question of its own gives it no work.
            let parks = parks_threads(object_type(trace, key.object()));
            let is_given = Outcome::from_code(key.outcome()) == Outcome::Woken && key.waker().is_some() && parks;
            *given.entry(thread).or_default() += usize::from(is_given && events.off_cpu.wait_ns(row) > 0);
            if sleeps == (cause.kind == CauseKind::Slept) && names.place_of(key.stack()) == cause.place {
                let (from, to) = (events.off_cpu.start_ns(row), events.off_cpu.woken_ns(row));
                of_thread.entry(thread).or_default().extend((from < to).then_some((from, to)));
            }
        }
    }
    let waits = of_thread.into_iter().map(|(thread, spans)| {
        let given = given.get(&thread).copied().unwrap_or(0);
        Waits { thread, spans, given }
    });
    waits.filter(|waits| !waits.spans.is_empty()).max_by_key(Waits::length_ns)
}

/// What a role did in one function.
struct InFunction {
    spans: Vec<(u64, u64)>,
    /// Its place with the most time, and that time, ns.
    place: PlaceId,
    most_ns: u64,
}

/// What a role did in one function for longest, beside waits of so many ns.
fn longest(names: &Names<'_, '_>, doings: Doings, (waits_ns, is_stuck): (u64, bool)) -> Option<Meanwhile> {
    let mut of_function: BTreeMap<(RoleId, MeanwhileKind, &str), InFunction> = BTreeMap::new();
    for ((role, did, place), spans) in doings {
        let path = &names.place_or_unknown(place).path;
        let function = path.last().map_or("", |(function, _)| function.as_str());
        let new = || InFunction { spans: Vec::new(), place, most_ns: 0 };
        let all = of_function.entry((role, did, function)).or_insert_with(new);
        let ns = spans.iter().map(|(from, to)| to - from).sum();
        if ns > all.most_ns {
            (all.most_ns, all.place) = (ns, place);
        }
        all.spans.extend(spans);
    }
    let lengths = of_function.into_iter().map(|((role, did, _), all)| (union_ns(all.spans), role, did, all.place));
    // What they did comes before what they waited for; beside a wait that does not end, whoever sleeps goes on, as a ticker does.
    let least_ns = (SHARE * waits_ns as f64) as u64;
    let told_last = if is_stuck { MeanwhileKind::Slept } else { MeanwhileKind::Waited };
    // A ticker sleeps all the time, whoever works.
    let works = |did: MeanwhileKind| matches!(did, MeanwhileKind::Ran | MeanwhileKind::AtWork);
    let order = |ns: u64, did: MeanwhileKind| (did != told_last && ns >= least_ns, works(did) && ns >= least_ns, ns);
    let (ns, role, did, place) = lengths.max_by_key(|(ns, _, did, _)| order(*ns, *did))?;
    Some(Meanwhile { role, did, place: names.place_or_unknown(place).at.clone(), ns })
}

/// The parts of a span that are within others, which come in order and do not overlap.
pub fn within(others: &[(u64, u64)], (from, to): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    let first = others.partition_point(|other| other.1 <= from);
    let parts = others[first..].iter().take_while(move |other| other.0 < to);
    parts.map(move |other| (other.0.max(from), other.1.min(to)))
}
