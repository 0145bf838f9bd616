//! Threads that look again and again whether they may go on, while another one sleeps, or waits for others, with what they need: nobody wakes whoever waits
//! for a lock file, or SQLite.

use std::collections::BTreeMap;

use dwell_model::{ObjectType, Outcome};
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::lock_looks::is_look_for_lock;
use crate::study::explain::meanwhile::{MOST_ROWS, Meanwhile, MeanwhileKind, SHARE, within};
use crate::study::explain::names::Names;
use crate::study::explain::places::function_at;
use crate::study::explain::terms::{Cause, CauseKind, PlaceId, RoleId};
use crate::study::intervals::{length_ns, union};

/// Sleeps from which on a thread polls whether it may go on, and how long they are at most on average, ns.
const POLLS: usize = 5;
const POLL_NS: u64 = 250_000_000;
/// A look takes little: of the time that a thread sleeps, it waits for other things for less than one part in so many.
const LOOK_PART: u64 = 5;

/// Sleeps of a thread at one place, in order.
#[derive(Default)]
struct Polls {
    spans: Vec<(u64, u64)>,
    /// Waits that another thread ended since the first of them, …
    given: usize,
    /// … and how long it waited for anything else, ns.
    waited_ns: u64,
    /// Whether they are looks for a lock by a thread that does the same as the one which sleeps: that has the lock, sooner or later.
    for_mates_lock: bool,
}

/// Whether others may look for a lock meanwhile that whoever waits has.
pub fn may_keep_a_lock(kind: CauseKind) -> bool {
    matches!(kind, CauseKind::Slept | CauseKind::Outside | CauseKind::Network | CauseKind::Device)
}

/// Whether anybody sleeps to look for a lock.
pub fn any_looks_for_lock(trace: &Trace) -> bool {
    let sleeps = |key: &&EventKey| object_type(trace, key.object()) == ObjectType::Sleep;
    trace.events().keys.iter().filter(sleeps).any(|key| is_look_for_lock(trace, key.stack()))
}

/// When the cause's waits were, and the sleeps of other threads.
type Sleeps = (Vec<(u64, u64)>, BTreeMap<(usize, PlaceId), Polls>);

/// Other threads that slept again and again while one waited for long at the cause's place, and went on when that ended. Of what is no sleep
/// only looks for a lock tell.
pub fn pollers(trace: &Trace, names: &mut Names<'_, '_>, cause: &Cause) -> Option<Meanwhile> {
    if !may_keep_a_lock(cause.kind) || trace.events().off_cpu.end() > MOST_ROWS {
        return None;
    }
    let (sleeps, polls) = sleeps(trace, names, cause);
    let is_sleep = cause.kind == CauseKind::Slept;
    let (ends, slept_ns) = (sleeps.iter().map(|(_, end)| *end).collect::<Vec<u64>>(), length_ns(&sleeps));
    let sleeps = union(sleeps);
    let mut of_place: BTreeMap<(RoleId, PlaceId), (usize, u64)> = BTreeMap::new();
    for ((thread, place), Polls { spans, given, waited_ns, for_mates_lock }) in polls {
        let (all_ns, last) = (length_ns(&spans), spans.last().map_or(0, |(_, to)| *to));
        let mean_ns = all_ns / spans.len() as u64;
        let meanwhile: Vec<(u64, u64)> = spans.iter().flat_map(|span| within(&sleeps, *span)).collect();
        // The end of the program ends all sleeps; a thread of one request ends by itself.
        let soon = |time: u64| time.saturating_add(2 * mean_ns);
        let goes_on = soon(last) < trace.elapsed_ns()
            && ends.iter().any(|end| (end.saturating_sub(mean_ns)..soon(*end)).contains(&last));
        let polls =
            spans.len() >= POLLS && mean_ns <= POLL_NS && 2 * given < spans.len() && waited_ns < all_ns / LOOK_PART;
        let is_during = length_ns(&meanwhile) as f64 >= SHARE * all_ns as f64;
        let is_because = is_sleep && goes_on && polls && is_during;
        // Who asks others need not have the lock then; who sleeps does nothing else.
        let is_for_lock = for_mates_lock && if is_sleep { !meanwhile.is_empty() } else { is_during };
        if is_because || is_for_lock {
            let of = of_place.entry((names.role_of(thread), place)).or_default();
            *of = (of.0 + spans.len(), of.1 + all_ns);
        }
    }
    let ((role, place), (count, ns)) = of_place.into_iter().max_by_key(|(_, (_, ns))| *ns)?;
    let place = names.place_or_unknown(place).at.clone();
    (ns as f64 >= SHARE * slept_ns as f64).then_some(Meanwhile { role, did: MeanwhileKind::Polled(count), place, ns })
}

/// The waits at the cause's place, and the sleeps of others at places of other functions: threads that do the same do not wait for it.
fn sleeps(trace: &Trace, names: &mut Names<'_, '_>, cause: &Cause) -> Sleeps {
    let (mut sleeps, mut polls) = Sleeps::default();
    let events = trace.events();
    let own = function_at(&names.place_or_unknown(cause.place).at).to_owned();
    for thread in 0..trace.threads.tid.len() {
        let (mut given, mut waited_ns) = (0, 0u64);
        let of_cause = names.role_of(thread) == cause.role;
        events.off_cpu.for_each(events.off_cpu.of(thread), |row, key, times| {
            let key = events.key(key);
            if times.wait_ns == 0 {
                return;
            }
            let is_sleep = object_type(trace, key.object()) == ObjectType::Sleep;
            let span = (events.off_cpu.start_ns(row), events.off_cpu.woken_ns(row));
            let is_at_place = of_cause && names.place_of(key.stack()) == cause.place;
            if is_at_place && is_sleep == (cause.kind == CauseKind::Slept) {
                sleeps.push(span);
                return;
            }
            if !is_sleep {
                given += usize::from(Outcome::from_code(key.outcome()) == Outcome::Woken && key.waker().is_some());
                waited_ns = waited_ns.saturating_add(times.wait_ns);
                return;
            }
            let place = names.place_of(key.stack());
            let for_lock = is_look_for_lock(trace, key.stack());
            if for_lock || function_at(&names.place_or_unknown(place).at) != own {
                let of = polls.entry((thread, place)).or_insert_with(|| Polls { given, waited_ns, ..Polls::default() });
                of.spans.push(span);
                of.for_mates_lock |= for_lock && of_cause;
            }
        });
        polls.range_mut((thread, 0)..=(thread, PlaceId::MAX)).for_each(|(_, of)| {
            of.given = given - of.given;
            of.waited_ns = waited_ns - of.waited_ns;
        });
    }
    (sleeps, polls)
}

#[cfg(test)]
mod tests {
    use dwell_query::engine::fold::Fold;
    use dwell_query::question::query::Query;
    use dwell_trace_dsl::trace;

    use super::*;
    use crate::study::explain::terms::NOTHING;

    /// How often another thread is told to have looked whether it may go on, while the first one that waits slept; `q` is a sleep, too, and `m` one of a function that takes a lock.
    fn looks(picture: &str) -> Option<usize> {
        let mut trace = trace(picture);
        let is_look = |row: &usize| matches!(trace.objects.name[*row].as_str(), "q" | "m");
        let looks: Vec<usize> = (0..trace.objects.name.len()).filter(is_look).collect();
        looks.into_iter().for_each(|row| trace.objects.kind[row] = ObjectType::Sleep.code());
        let query = Query::default();
        let fold = Fold::new(&trace, &query).unwrap();
        let mut names = Names::new(&trace, &fold.sums.stacks);
        let stack = trace.events().off_cpu_key(0).stack();
        let thread = trace.off_cpu.thread[0].get().unwrap();
        let cause = Cause {
            kind: CauseKind::Slept,
            role: names.role_of(thread),
            label: NOTHING,
            place: names.place_of(stack),
            behind: NOTHING,
            no_work: false,
        };
        match pollers(&trace, &mut names, &cause)?.did {
            MeanwhileKind::Polled(count) => Some(count),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_looks_again_and_again_waits_for_nothing_else() {
        assert_eq!(looks("a: #ssssssssssssssss#####\nb: #qq#qq#qq#qq#qq##############"), Some(5));
        let works = "a: #ssssssssssssssssssssssssssss#####\nb: #qqlll#qqlll#qqlll#qqlll#qq##############";
        assert_eq!(looks(works), None, "it waits for a lock in between: it sleeps between pieces of work");
        assert_eq!(looks("a: #ssssssssssssssss#\nb: #qq#qq#qq#qq#qq"), None, "the end of the program ends it");
    }
    #[test]
    fn a_mate_that_looks_for_a_lock_waits_for_who_sleeps_with_it() {
        let looks_twice = "#mmmmmmm#mmmmmm#ss######";
        assert_eq!(looks(&format!("main: #\na: #sss#sss#sss#########\na: {looks_twice}")), Some(2));
        assert_eq!(looks(&format!("main: #\na: #sss#sss#sss#########\nb: {looks_twice}")), None, "it does other work");
    }
}
