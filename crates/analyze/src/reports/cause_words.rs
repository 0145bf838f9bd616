//! Root causes in words: what the cause is, its chains, all of it as a paragraph.

use dwell_model::ObjectType;
use dwell_query::engine::fold::Fold;
use dwell_store::EventKey;
use dwell_view::{Prose, Sentence, Word, duration};

use crate::reports::{accept_words, request_words, vain_words};
use crate::sentences::say;
use crate::study::explain::{
    Cause, CauseKind, Contention, Explanation, InTurn, Link, Meanwhile, MeanwhileKind, NOTHING, Names, RootCause,
    are_asked_within, in_turn, is_response, loop_places, mostly_asked, processes_of, sleep_within, takes_requests,
    wait_place, waits_at,
};

/// Sleeps at one place from which on it is told how many they were.
const AGAIN: u64 = 5;
/// Part of a cause's time from which one more place that calls is named.
const CALLER_SHARE: f64 = 0.1;
/// Samples of a loop in functions of the program from which on one of these is told.
const LOOP_SAMPLES: u64 = 3;
/// How many of these are told at most, each with at least so much of the time, and from which part of it on one alone is.
const LOOP_PLACES: usize = 3;
const LOOP_PART: f64 = 0.1;
const MOSTLY_RAN: f64 = 0.8;
/// Functions in a row that call a wait, at most.
const CALLERS: usize = 3;
/// Chains of a cause that its paragraph tells.
const TOLD_CHAINS: usize = 2;
/// Circles of a deadlock that are told.
const CIRCLES: usize = 3;
/// Links of a chain in a line.
const LINKS: usize = 4;

/// A wait of a chain.
pub fn link_text(explanation: &Explanation<'_, '_>, link: &Link) -> String {
    let names = &explanation.names;
    let place = names.place(link.place).map_or("an unknown place", |place| place.at.as_str());
    format!("{} waited for {} at {place}", names.role(link.role), names.label(link.label))
}

/// A chain in a line, its first waits.
pub fn chain_text(explanation: &Explanation<'_, '_>, chain: &[Link]) -> String {
    let links: Vec<String> = chain.iter().take(LINKS).map(|link| link_text(explanation, link)).collect();
    let more = if chain.len() > LINKS { " <- …" } else { "" };
    format!("{}{more}", links.join(" <- "))
}

/// A circle in a line, which ends as it begins.
fn circle_text(explanation: &Explanation<'_, '_>, circle: &[Link]) -> String {
    let first = circle.first().map_or("", |link| explanation.names.role(link.role));
    format!("{} <- {first}", chain_text(explanation, circle))
}

/// What the cause is, with its numbers.
pub fn cause(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Prose {
    if let Some(queue) = explanation.accept_queue(&root.cause) {
        return accept_words::cause(explanation, root, queue).into();
    }
    if root.is_of_the_end() {
        return cause_of_the_end(fold, explanation, root);
    }
    let (names, Cause { kind, role, label, behind, .. }) = (&explanation.names, root.cause);
    let (who, label) = (names.role(role), names.label(label));
    let place = root.place();
    let (wait, wall) = (Word::Ns(root.wait_ns), Word::beside(root.wait_ns, root.wall_ns));
    let ended_by = ended_by(kind);
    if explanation.deadlock(root).is_some() {
        let circles: Vec<String> =
            explanation.deadlocks.iter().take(CIRCLES).map(|circle| circle_text(explanation, circle)).collect();
        let threads: usize = explanation.deadlocks.iter().map(Vec::len).sum();
        return say!(CAUSE_DEADLOCK, threads = threads as u64, circles = circles.join("; "), wait = wait, wall = wall)
            .into();
    }
    let sentence = match kind {
        CauseKind::Slept => say!(CAUSE_SLEPT, who = who, place = place, wait = wait, wall = wall),
        CauseKind::Ran => say!(CAUSE_RAN, who = who, place = place, wait = wait, wall = wall),
        CauseKind::Collected => say!(CAUSE_COLLECTED, who = who, wait = wait, wall = wall),
        CauseKind::RunQueue if behind == NOTHING => say!(CAUSE_QUEUED, who = who, wait = wait, wall = wall),
        CauseKind::RunQueue => {
            say!(CAUSE_QUEUED_BEHIND, who = who, behind = names.role(behind), wait = wait, wall = wall)
        }
        CauseKind::TimedOut if names.waits_for_own_timers(root.cause.label) && !is_for_lock(names, root) => {
            say!(CAUSE_LOOP_TIMER, who = who, place = place, wait = wait, wall = wall)
        }
        CauseKind::TimedOut => {
            say!(CAUSE_TIMED_OUT, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::Unfinished => {
            say!(CAUSE_UNFINISHED, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::IoQuota => {
            say!(CAUSE_IO_QUOTA, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::MemoryLimit => {
            say!(CAUSE_MEMORY_LIMIT, who = who, label = label, place = place, wait = wait, wall = wall)
        }
        CauseKind::OpenRequests => request_words::cause(explanation, root),
        CauseKind::Unborn => say!(CAUSE_UNBORN, who = who, wait = wait, wall = wall),
        CauseKind::Ended => say!(CAUSE_ENDED, who = who, wait = wait, wall = wall),
        CauseKind::Stopped => say!(CAUSE_STOPPED, who = who, label = label, wait = wait, wall = wall),
        CauseKind::Circle => say!(CAUSE_CIRCLE, who = who, wait = wait, wall = wall),
        CauseKind::Outside
        | CauseKind::AcceptQueue
        | CauseKind::Kernel
        | CauseKind::Network
        | CauseKind::Timer
        | CauseKind::Device
        | CauseKind::Interrupt
        | CauseKind::Unknown => {
            say!(CAUSE_ENDED_BY, who = who, label = label, place = place, by = ended_by, wait = wait, wall = wall)
        }
    };
    with_more(fold, explanation, root, Prose::from(sentence).and(request_words::extent(fold, root)))
}

/// A cause with what else there is to say of it: who calls it, where most of it was, how often, and what others did meanwhile.
fn with_more(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause, cause: Prose) -> Prose {
    let repeated = repeated(fold, explanation, root);
    let tried = vain_words::cause(fold, explanation, root, repeated.is_none());
    cause
        .and(called_by(fold, root))
        .and(asked_address(fold, explanation, root))
        .and(ran_between(fold, explanation, root))
        .and(pieces(root))
        .and(inside(root))
        .and(in_kernel(root))
        .and(repeated)
        .and(one_after_another(fold, explanation, root))
        .and(slept_within(fold, explanation, root))
        .and(tried)
        .and(root.meanwhile.as_ref().map(|others| others_meanwhile(explanation, others)))
}

/// Who ended the waits of a cause of the kind.
fn ended_by(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Outside => "a program that is not recorded",
        CauseKind::Kernel => "a thread of the kernel",
        CauseKind::Network => "the network",
        CauseKind::Timer => "a timer of the kernel",
        CauseKind::Device => "the device",
        CauseKind::Interrupt => "an interrupt",
        _ => "nobody who was seen",
    }
}

/// Whether the cause is a wait for a lock, by whatever call.
fn is_for_lock(names: &Names<'_, '_>, root: &RootCause) -> bool {
    names.contention(root.cause.label, root.cause.place) == Contention::Lock
}

/// What the program's end or somebody outside waited for, and nobody else did.
fn cause_of_the_end(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Prose {
    let (who, place) = (explanation.names.role(root.cause.role), root.place());
    let label = explanation.names.label(root.cause.label);
    let (part, elapsed) = (Word::Ns(root.path_ns), Word::Ns(explanation.path_ns));
    let asker = root.chains.first().and_then(|(chain, _)| chain.first()).filter(|_| root.is_for_outside());
    let serves = || {
        let takes = || takes_requests(fold.trace, &explanation.names, root.cause.role);
        explanation.serves_outside(root.cause.role) || explanation.names.answers_request(root.stack) || takes()
    };
    let asker = match asker {
        Some(link) => Some((explanation.names.role(link.role), explanation.serves_outside(link.role))),
        // A forked copy has its parent's role.
        None => (root.is_for_outside() && !serves()).then_some((who, false)),
    };
    let served = Word::Ns(root.served_ns);
    if explanation.runs_always(root) {
        let elapsed = Word::Ns(explanation.elapsed_ns);
        let sentence = say!(CAUSE_RAN_ALWAYS, who = who, place = place, served = served, elapsed = elapsed);
        return with_more(fold, explanation, root, Prose::from(sentence));
    }
    let is_worker = explanation.is_of_busy_worker(root) && !serves();
    let sentence = match (root.cause.kind, asker) {
        (CauseKind::Slept, Some((asker, false))) if is_worker && asker == who => {
            say!(CAUSE_SLEPT_IN_WORKER, who = who, place = place, served = served)
        }
        (CauseKind::Slept, Some((asker, true))) => {
            say!(CAUSE_SLEPT_FOR_ASKED, who = who, place = place, served = served, asker = asker)
        }
        (CauseKind::Slept, Some((asker, false))) => {
            say!(CAUSE_SLEPT_FOR_PARENT, who = who, place = place, served = served, asker = asker)
        }
        (CauseKind::Ran, Some((asker, true))) => {
            say!(CAUSE_RAN_FOR_ASKED, who = who, place = place, served = served, asker = asker)
        }
        (CauseKind::Ran, Some((asker, false))) => {
            say!(CAUSE_RAN_FOR_PARENT, who = who, place = place, served = served, asker = asker)
        }
        (CauseKind::Slept | CauseKind::Ran, None) if root.is_for_outside() => for_clients(fold, explanation, root),
        (CauseKind::TimedOut, _) if root.is_for_outside() => {
            say!(CAUSE_TIMED_OUT_FOR_OUTSIDE, who = who, label = label, place = place, served = served)
        }
        (CauseKind::Ran, _) => say!(END_RAN, who = who, place = place, part = part, elapsed = elapsed),
        (CauseKind::Collected, _) => say!(END_COLLECTED, who = who, part = part, elapsed = elapsed),
        (CauseKind::Slept, _) => say!(END_SLEPT, who = who, place = place, part = part, elapsed = elapsed),
        (CauseKind::TimedOut, _) if root.is_awaited && !explanation.names.asks_by_datagrams(root.cause.label) => {
            say!(END_LOOP_TIMER, who = who, place = place, part = part, elapsed = elapsed)
        }
        (CauseKind::TimedOut, _) => {
            say!(END_TIMED_OUT, who = who, label = label, place = place, part = part, elapsed = elapsed)
        }
        (CauseKind::IoQuota, _) => {
            say!(END_IO_QUOTA, who = who, label = label, place = place, part = part, elapsed = elapsed)
        }
        (CauseKind::MemoryLimit, _) => {
            say!(END_MEMORY_LIMIT, who = who, label = label, place = place, part = part, elapsed = elapsed)
        }
        (kind, _) if root.is_awaited => {
            let by = ended_by(kind);
            say!(END_AWAITED, who = who, label = label, place = place, by = by, part = part, elapsed = elapsed)
        }
        _ => say!(END_DEVICE, who = who, label = label, place = place, part = part, elapsed = elapsed),
    };
    with_more(fold, explanation, root, Prose::from(sentence))
}

/// What clients waited for that asked the threads: programs that are not recorded, or this one.
fn for_clients(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let (who, place, served) = (explanation.names.role(root.cause.role), root.place(), Word::Ns(root.served_ns));
    let are_within = are_asked_within(fold.trace, &processes_of(fold.trace, &explanation.names, root.cause.role));
    match (root.cause.kind, are_within) {
        (CauseKind::Slept, true) => say!(CAUSE_SLEPT_FOR_CLIENTS, who = who, place = place, served = served),
        (CauseKind::Slept, false) => say!(CAUSE_SLEPT_FOR_OUTSIDE, who = who, place = place, served = served),
        (_, true) => say!(CAUSE_RAN_FOR_CLIENTS, who = who, place = place, served = served),
        (_, false) => say!(CAUSE_RAN_FOR_OUTSIDE, who = who, place = place, served = served),
    }
}

/// What others did while it slept again and again.
fn others_meanwhile(explanation: &Explanation<'_, '_>, others: &Meanwhile) -> Sentence {
    let (who, place, time) = (explanation.names.role(others.role), others.place.as_str(), Word::Ns(others.ns));
    match others.did {
        MeanwhileKind::Slept => say!(MEANWHILE_SLEPT, who = who, place = place, time = time),
        MeanwhileKind::Asked => say!(MEANWHILE_ASKED, who = who, place = place, time = time),
        MeanwhileKind::Waited => say!(MEANWHILE_WAITED, who = who, place = place, time = time),
        MeanwhileKind::AtWork => say!(MEANWHILE_AT_WORK, who = who, place = place, time = time),
        MeanwhileKind::Ran => say!(MEANWHILE_RAN, who = who, place = place, time = time),
        MeanwhileKind::Polled(count) => {
            say!(MEANWHILE_POLLED, who = who, count = count as u64, place = place, time = time)
        }
    }
}

/// The functions that call the place, those with a part of it, with their lines where the cause was for longest; where a wait has only one,
/// those that called that, too: it may wait for many things.
fn called_by(fold: &Fold<'_>, root: &RootCause) -> Option<Sentence> {
    let whole_ns = root.wait_ns.max(root.path_ns).max(root.served_ns) as f64;
    let is_much = |(caller, ns): &&(String, u64)| *ns as f64 >= CALLER_SHARE * whole_ns && has_name(caller);
    let callers: Vec<&str> = root.callers.iter().filter(is_much).take(2).map(|(caller, _)| caller.as_str()).collect();
    let path = || wait_place(fold.trace, &fold.sums.stacks, root.stack).path;
    let callers = match callers.as_slice() {
        [caller] if root.cause.kind != CauseKind::Ran => callers_from(path(), caller).join(" <- "),
        [] => String::new(),
        callers => {
            let (path, known) = (path(), callers.iter().map(|caller| (*caller).to_owned()));
            let with_line = |caller: String| {
                path.iter().find(|(function, _)| *function == caller).map_or(caller, |(_, at)| at.clone())
            };
            known.map(with_line).collect::<Vec<_>>().join(", ")
        }
    };
    (!callers.is_empty()).then(|| say!(CAUSE_CALLED_BY, callers = callers))
}

/// Whom a goroutine asks that waits for an answer: its runtime does not tell.
fn asked_address(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let names = &explanation.names;
    let is_whole = fold.query.is_of_all();
    let waits = is_whole && is_response(names.label(root.cause.label));
    let endpoint = waits.then(|| mostly_asked(fold.trace, names, root.cause.role)).flatten()?;
    Some(say!(CAUSE_ASKED_ADDRESS, endpoint = endpoint))
}

/// What an event loop ran between its waits: a coroutine, a promise or a task of it waits.
fn ran_between(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let names = &explanation.names;
    if !names.is_of_event_loop(root.cause.label) || names.are_of_sampled_fibers() || !fold.query.is_of_all() {
        return None;
    }
    let mut ran = loop_places(fold, names, root.cause.role, LOOP_SAMPLES);
    ran.retain(|place| has_name(&place.at));
    let all_ns = ran.iter().map(|place| place.ns).sum::<u64>() as f64;
    ran.retain(|place| place.at != root.at && place.ns as f64 >= LOOP_PART * all_ns);
    ran.truncate(LOOP_PLACES);
    let most = ran.first()?;
    if most.ns as f64 >= MOSTLY_RAN * all_ns {
        return Some(say!(CAUSE_RAN_BETWEEN, place = most.at.as_str()));
    }
    let told = ran.iter().map(|place| format!("{} {}", place.at, duration(place.ns)));
    Some(say!(CAUSE_RAN_IN_TURN_BETWEEN, places = told.collect::<Vec<_>>().join(", ")))
}

/// The largest of the functions or lines that it ran in, where none stands out.
fn pieces(root: &RootCause) -> Option<Sentence> {
    let told = |(at, share): &(String, f64)| format!("{at} {}", duration((share * root.told_ns() as f64) as u64));
    let pieces: Vec<String> = root.pieces.iter().map(told).collect();
    (!pieces.is_empty()).then(|| say!(CAUSE_PIECES, pieces = pieces.join(", ")))
}

/// The system call in which much of what ran was.
fn in_kernel(root: &RootCause) -> Option<Sentence> {
    let (call, share) = root.in_kernel.as_ref()?;
    Some(say!(CAUSE_IN_KERNEL, share = Word::Share(*share), call = call.as_str()))
}

/// That several threads or processes did it in turn.
fn one_after_another(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    if fold.query.is_filtered() || fold.query.is_cut() {
        return None;
    }
    let InTurn { count, are_processes, each_ns } = in_turn(fold.trace, &explanation.names, root.cause.role)?;
    Some(match are_processes {
        true => say!(CAUSE_PROCESSES_IN_TURN, count = count, each = Word::Ns(each_ns)),
        false => say!(CAUSE_THREADS_IN_TURN, count = count, each = Word::Ns(each_ns)),
    })
}

/// How often it slept there, where that was again and again.
fn repeated(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    // Of sampled goroutines several sleeps are one row.
    let names = &explanation.names;
    let is_sampled = names.is_fiber(root.cause.role) && names.are_of_sampled_fibers();
    if root.cause.kind != CauseKind::Slept || !fold.query.is_of_all() || is_sampled {
        return None;
    }
    let sleeps = |key: &EventKey| fold.object_type(key.object()) == ObjectType::Sleep;
    let (count, ns) = waits_at((fold.trace, &explanation.names), root.cause.role, &root.at, sleeps);
    (count >= AGAIN).then(|| say!(CAUSE_REPEATED, count = count, each = Word::Ns(ns / count)))
}

/// The function of a package in which most of what ran was.
fn inside(root: &RootCause) -> Option<Sentence> {
    let (function, share) = root.inside.as_ref()?;
    has_name(function).then(|| say!(CAUSE_INSIDE, share = Word::Share(*share), function = function.as_str()))
}

/// Functions that are below all others.
const OUTERMOST: &[&str] = &["<module>", "_start"];

/// Whether a function has a name that tells something, unlike `[file]func@0x1230`.
fn has_name(function: &str) -> bool {
    !function.starts_with('[') && !OUTERMOST.contains(&function)
}

/// The functions of the program from `caller` outwards, each with its line, of the path to a place.
fn callers_from(path: Vec<(String, String)>, caller: &str) -> Vec<String> {
    let outwards = path.into_iter().rev().skip_while(|(function, _)| function != caller);
    let named = outwards.filter(|(function, _)| has_name(function)).map(|(_, at)| at);
    let mut callers: Vec<String> = named.take(CALLERS).collect();
    if callers.is_empty() {
        callers.push(caller.to_owned());
    }
    callers
}

/// All of it.
pub fn paragraph(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> Prose {
    let chain = |(chain, ns): &&(Vec<Link>, u64)| {
        say!(CAUSE_CHAIN, time = Word::Ns(*ns), chain = chain_text(explanation, root.askers(chain)))
    };
    cause(fold, explanation, root).and(chains.iter().take(TOLD_CHAINS).map(chain).collect::<Vec<_>>())
}

/// A cause in a few words.
pub fn brief(explanation: &Explanation<'_, '_>, root: &RootCause) -> String {
    let (names, Cause { kind, role, label, .. }) = (&explanation.names, root.cause);
    let who = names.role(role);
    let place = root.place().unwrap_or_else(|| "an unknown place".to_owned());
    match kind {
        CauseKind::AcceptQueue => format!("connections waited for {who} to accept them"),
        CauseKind::Slept => format!("{who} slept in {place}"),
        CauseKind::Ran => format!("{who} ran {place}"),
        CauseKind::Collected => format!("{who} collected garbage"),
        CauseKind::RunQueue => format!("{who} was in the run queue"),
        CauseKind::Unborn | CauseKind::Ended | CauseKind::Circle => {
            format!("{who} ({})", kind.id())
        }
        _ => format!("{who} waited for {} in {place}", names.label(label)),
    }
}

/// The function that its sleep is named after, where that is a library's between the program's place and the sleep itself.
fn slept_within(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let function = sleep_within(&fold.sums.stacks, &explanation.names, root)?;
    Some(say!(CAUSE_SLEPT_WITHIN, function = function))
}
