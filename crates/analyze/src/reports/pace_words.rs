//! What to do about sleeps and timers that nobody but the program's end waits for: they may be the pace at which it is meant to go.

use dwell_model::ObjectType;
use dwell_query::engine::fold::Fold;
use dwell_view::Sentence;

use crate::sentences::say;
use crate::study::explain::{
    Explanation, Link, MeanwhileKind, Names, RootCause, asked_answers, in_turn, runs_programs, waits_at,
};

/// Part of the way to the program's end from which on they may be.
const PACE: f64 = 0.2;
/// Part of its life that a thread sleeps from which on it does mostly that.
const MOSTLY: f64 = 0.5;

/// How long a wait of an event loop for its own timer is, ns, and which part of all of these, from which on it may be the time-out of something
/// that did not come.
const TIME_OUT_NS: u64 = 1_000_000_000;
const MOST: f64 = 0.5;

/// The program by which scripts pause (coreutils).
const SLEEP_PROGRAM: &str = "sleep";

/// What to do about sleeps of a thread for which others wait: a condition variable does not say whether these asked for something, or take what a
/// sensor or a ticker hands over at its pace; nor does a wait group, whether it waits for work or for the program's end. Over a socket or in a loop
/// they asked.
pub fn slept_between(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let names = &explanation.names;
    if is_sleep_program(names, root) {
        return say!(ADVICE_SLEPT_BETWEEN);
    }
    // Who waits for a futex or a pipe but once may do so to the end, for threads that it joins (`std::thread::scope`).
    let waits_once = |link: &Link| {
        let all = names
            .place(link.place)
            .map(|place| waits_at((fold.trace, names), link.role, &place.at, |key| names.has_label(key, link.label)));
        let is_of_any = names.object_type_of(link.label).is_some_and(|kind| OF_ANY_USE.contains(&kind))
            && !names.is_of_event_loop(link.label);
        is_of_any && all.is_some_and(|(count, ns)| count == 1 && ns as f64 >= MOSTLY * explanation.elapsed_ns as f64)
    };
    let takes = |link: &Link| {
        let kind = names.object_type_of(link.label);
        kind.is_some_and(|kind| HANDED_OVER.contains(&kind))
            || names.label(link.label).contains(CHANGES)
            || waits_once(link)
    };
    let is_handed = !root.chains.is_empty() && root.chains.iter().all(|(chain, _)| chain.first().is_some_and(takes));
    let is_joined = || root.chains.iter().all(|(chain, _)| chain.first().is_some_and(waits_once));
    let mostly_sleeps = explanation.accounts.get(&root.cause.role).is_some_and(|account| {
        let one = account.threads == 1 && root.wait_ns as f64 >= MOSTLY * account.life_ns as f64;
        let all = account.own_ns as f64 >= MOSTLY * account.life_ns as f64;
        one || ((all || root.wait_ns as f64 >= MOSTLY * explanation.elapsed_ns as f64) && is_joined())
    });
    if is_handed && mostly_sleeps { say!(ADVICE_SLEPT_BETWEEN) } else { say!(ADVICE_SLEPT_MEANWHILE) }
}

/// Whether it is the program by which scripts pause; processes that differ in their arguments have these in their names.
fn is_sleep_program(names: &Names<'_, '_>, root: &RootCause) -> bool {
    names.role(root.cause.role).split(' ').next() == Some(SLEEP_PROGRAM)
}

/// Types of objects of which the type does not say what a wait for them is for.
const OF_ANY_USE: &[ObjectType] = &[ObjectType::Futex, ObjectType::Event, ObjectType::Stream];

/// Types of objects by which threads take what others hand over.
const HANDED_OVER: &[ObjectType] =
    &[ObjectType::ConditionVariable, ObjectType::WaitGroup, ObjectType::Channel, ObjectType::Stream];

/// How sets are called by which threads hear of changes of files.
const CHANGES: &str = "{inotify}";

/// Whether a wait is for changes of files, which nobody owes.
pub fn awaits_changes(names: &Names<'_, '_>, root: &RootCause) -> bool {
    names.label(root.cause.label).contains(CHANGES)
}

/// Whether the program does that for much of its time, and nobody waits for it.
fn is_pace(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    root.is_of_the_end() && root.path_ns as f64 >= PACE * explanation.path_ns as f64
}

/// What to do about a sleep until whose end others look again and again whether they may go on, or keep a pace of their own.
pub fn polled(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_POLLED_PACED) } else { say!(ADVICE_POLLED_BY_OTHERS) }
}

/// What to do about sleeps while others do something: it may look whether they are ready, or each has a pace of its own.
pub fn polls(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_POLLS_OR_PACED) } else { say!(ADVICE_POLLED) }
}

/// What to do about a wait that nobody was seen to end, while others did something.
pub fn meanwhile(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    match root.meanwhile.as_ref().map(|others| others.did) {
        Some(MeanwhileKind::Slept) if is_pace(explanation, root) => say!(ADVICE_MEANWHILE_PACED),
        Some(MeanwhileKind::Waited) => say!(ADVICE_MEANWHILE_WAITED),
        _ => say!(ADVICE_MEANWHILE),
    }
}

/// What to do about a time-out that only the program's end waited for.
pub fn timed_out(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_pace(explanation, root) { say!(ADVICE_PACED) } else { say!(ADVICE_END_TIMED_OUT) }
}

/// What to do about a sleep that nobody else waits for.
pub fn slept(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if is_sleep_program(&explanation.names, root) {
        return say!(ADVICE_PACED);
    }
    if root.is_of_the_end() && in_turn(fold.trace, &explanation.names, root.cause.role).is_some() {
        return say!(ADVICE_IN_TURN);
    }
    if is_pace(explanation, root) { say!(ADVICE_PACED) } else { say!(ADVICE_SLEPT) }
}

/// What to do about sleeps of processes that such a program starts one after the other, itself or through a shell each.
pub fn slept_in_turn(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let (names, threads) = (&explanation.names, &fold.trace.threads);
    let creator = |thread: &usize| threads.parent[*thread].get().filter(|parent| parent < thread);
    let above = |thread: usize| std::iter::successors(Some(thread), creator).skip(1).take(2);
    let is_runner = |thread: usize| runs_programs(names.role(names.role_of(thread)));
    let are_of_runner = names.members_of(root.cause.role).next().is_some_and(|thread| above(thread).any(is_runner));
    let in_turn = || in_turn(fold.trace, names, root.cause.role);
    (are_of_runner && in_turn().is_some()).then(|| say!(ADVICE_IN_TURN))
}

/// What to do about the time-out of an event loop, whose threads may be what the main thread waits for to the program's end.
pub fn loop_timer(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let waits = |counts: &dyn Fn(u64) -> bool| {
        let waited_for = (root.cause.role, root.cause.label);
        asked_answers((fold.trace, &explanation.names), waited_for, &root.at, counts).wait_ns
    };
    let all_ns = waits(&|_| true);
    // What comes again and again is a pace.
    if waits(&|ns| ns >= TIME_OUT_NS && ns as f64 > MOST * all_ns as f64) > 0 {
        return say!(ADVICE_LOOP_TIMED_OUT);
    }
    say!(ADVICE_LOOP_PACED)
}
