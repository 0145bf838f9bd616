//! What to do about a root cause: one sentence that fits its kind, and how those who waited contend.

use std::iter;

use dwell_model::{MMAP_LOCK, ObjectType};
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::collectors::{ANY_SETTINGS, GO_SETTINGS, heap_settings};
use dwell_query::stacks::frames::frame_rows;
use dwell_view::{Prose, Sentence, Word};

use crate::reports::contended_lock::{
    contended_lock, contention, is_between_regions, lock_not_held, lock_of_most, lock_on_the_way, to_holder,
};
use crate::reports::pool_words::{ALWAYS_BUSY, SOMETIMES_IDLE, busy_workers, pool, pool_advice, stay};
use crate::reports::queue_causes::are_too_many;
use crate::reports::ran_words::RUBY;
use crate::reports::told_causes::is_cut_off;
use crate::reports::{accept_words, lock_words, outside_words, pace_words, ran_words, request_words, vain_words};
use crate::sentences::say;
use crate::study::explain::{
    Account, CauseKind, Contention, Explanation, LabelId, LibraryWait, Link, MeanwhileKind, NOTHING, Names, RootCause,
    asked_collections, called_file, is_connection_pool, is_new_connection, is_of_many_files, is_response,
    is_within_machine, kept_at, library_wait, sleeps_for_lock, takes_requests, waits_at,
};

/// Part of their lives from which on threads are kept at one place all the time.
const ALWAYS_KEPT: f64 = 0.8;
/// The same where they are never without work.
const MOSTLY_KEPT: f64 = 0.5;

/// How the JVM's functions begin in which it sleeps until all threads have stopped (safepoint.cpp).
const SAFEPOINT_BEGIN: &str = "SafepointSynchronize::";

/// Part of the time that a wait which goes on at its end must have lasted, for it to be one that may never end.
const BEGAN_LATE: f64 = 0.1;

/// Threads at work on average, from which on and below which they are few at a time.
const HARDLY_ONE: f64 = 0.8;
const FEW: f64 = 2.4;
/// Part of the time from which a limit on them is told.
const MOST_OF_THE_TIME: f64 = 0.3;

/// Part of the time in which a pool's threads wait from which on they all do.
const ALL_AT_ONCE: f64 = 0.9;

/// What to do about a cause.
pub fn advice(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> Prose {
    let names = &explanation.names;
    // Whoever waited on the way to the program's end had nothing to do meanwhile.
    let chains = if root.is_of_the_end() { &[] } else { chains };
    if explanation.deadlock(root).is_some() {
        return say!(ADVICE_DEADLOCK).into();
    }
    let (lock, kind) = contended_lock(explanation, root, chains);
    if let Some(lock) = lock_not_held(fold, explanation, root, chains) {
        return say!(ADVICE_LOCK_NOT_HELD, label = names.label(lock)).into();
    }
    if let Some(advice) = by_names(fold, explanation, root, lock) {
        return advice.into();
    }
    let sentence = match (root.cause.kind, lock) {
        (CauseKind::RunQueue, Some(_)) if kind == Contention::AddressSpace => say!(ADVICE_ADDRESS_SPACE),
        (CauseKind::Ran, Some(label)) if kind == Contention::Barrier => before_barrier(fold, explanation, root, label),
        (CauseKind::Slept | CauseKind::Ran, Some(label)) => to_holder_of(fold, root, kind, label),
        (CauseKind::Slept, None) if let Some(others) = &root.meanwhile => match others.did {
            MeanwhileKind::Polled(_) => pace_words::polled(explanation, root),
            _ => pace_words::polls(explanation, root),
        },
        (CauseKind::Slept, None) if sleeps_for_lock(&fold.sums.stacks, names, root) => say!(ADVICE_POLLED_LOCK),
        (CauseKind::Slept, None) => of_others_work(explanation, root, chains)
            .or_else(|| busy_workers(explanation, root))
            .unwrap_or_else(|| slept(fold, explanation, root)),
        (CauseKind::Ran, None) => of_others_work(explanation, root, chains)
            .or_else(|| busy_for_outside(explanation, root))
            .unwrap_or_else(|| ran_words::advice(fold, explanation, root)),
        (CauseKind::Collected, _) => collected(fold, explanation, root),
        (CauseKind::Stopped, _) => say!(ADVICE_STOPPED),
        (CauseKind::RunQueue, _) => queued(fold, explanation, root, lock.filter(|_| kind == Contention::Lock)),
        (CauseKind::TimedOut, _) if names.contention(root.cause.label, root.cause.place) == Contention::Lock => {
            say!(ADVICE_LOCK_TIMED_OUT, label = names.label(root.cause.label))
        }
        (CauseKind::Unknown, _) if names.is_full_pipe(root.cause.label) => {
            say!(ADVICE_FULL, label = names.label(root.cause.label))
        }
        (CauseKind::Outside | CauseKind::Network | CauseKind::Device, _) if is_looked_for(root) => {
            say!(ADVICE_LOCK_LOOKED_FOR)
        }
        (CauseKind::Unknown, _) if root.meanwhile.is_some() => pace_words::meanwhile(explanation, root),
        (CauseKind::TimedOut, _) if names.asks_by_datagrams(root.cause.label) => say!(ADVICE_NO_DATAGRAM),
        (CauseKind::TimedOut, _) if kind != Contention::Lock && names.waits_for_own_timers(root.cause.label) => {
            of_others_work(explanation, root, chains).unwrap_or_else(|| pace_words::loop_timer(fold, explanation, root))
        }
        (CauseKind::TimedOut | CauseKind::Network | CauseKind::Outside, Some(label)) if kind == Contention::Lock => {
            say!(ADVICE_WAITED_UNDER_LOCK, label = label)
        }
        (CauseKind::Network | CauseKind::Outside, Some(label)) if kind == Contention::Connections => {
            say!(ADVICE_CONNECTIONS, label = label)
        }
        (CauseKind::Network | CauseKind::Outside, _) if others_ran(root) => say!(ADVICE_MEANWHILE_RAN),
        (CauseKind::Network | CauseKind::Outside, _)
            if let Some(advice) = few_for_outside(fold, explanation, root, chains)
                .or_else(|| outside_words::few_at_a_time(fold, explanation, root)) =>
        {
            advice
        }
        (CauseKind::TimedOut | CauseKind::Unfinished, _)
            if let Some(threads) = waits_for_itself(fold, explanation, root) =>
        {
            say!(ADVICE_POOL_WAITS_FOR_ITSELF, threads = threads, who = names.role(root.cause.role))
        }
        (CauseKind::Unfinished, _) if is_cut_off(fold, explanation, root) => say!(ADVICE_CUT_OFF),
        (CauseKind::TimedOut, _) => timed_out(explanation, root),
        _ => by_kind(explanation, root),
    };
    sentence.into()
}

/// What to do about what the holder of a lock does; of an interpreter's the language tells.
fn to_holder_of(fold: &Fold<'_>, root: &RootCause, kind: Contention, label: &str) -> Sentence {
    if kind == Contention::Gil && ran_words::language(fold, root) == Some(RUBY) {
        return say!(ADVICE_GVL);
    }
    to_holder(root.cause.kind, kind, label)
}

/// What to do about garbage that is collected: with the settings of whose collector it is.
fn collected(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if let Some(place) = asked_collections(fold, root) {
        return say!(ADVICE_COLLECTION_ASKED, place = place);
    }
    let stacks = iter::once(root.stack).chain(root.stacks.iter().map(|(stack, _)| *stack));
    let mut settings = stacks.filter_map(|stack| heap_settings(fold.sums.stacks.whole_names(stack)));
    let of_fiber = || explanation.names.is_fiber(root.cause.role).then_some(GO_SETTINGS);
    say!(ADVICE_COLLECTED, settings = settings.next().or_else(of_fiber).unwrap_or(ANY_SETTINGS))
}

/// What to do about what a thread runs while others wait for it at a barrier. Who had no CPU comes late, whatever his share of the work.
fn before_barrier(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause, label: &str) -> Sentence {
    if is_between_regions(fold, explanation, root) {
        say!(ADVICE_BETWEEN_REGIONS)
    } else if explanation.run_queue.others_ns >= root.wait_ns {
        say!(ADVICE_LATE_FOR_BARRIER, label = label)
    } else {
        to_holder(root.cause.kind, Contention::Barrier, label)
    }
}

/// What to do about a wait that nobody ended before its time-out.
fn timed_out(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let expected = explanation.expected(&root.cause);
    match expected.filter(|_| !pace_words::awaits_changes(&explanation.names, root)) {
        Some(role) => say!(ADVICE_TIMED_OUT_EXPECTED, expected = explanation.names.role(role)),
        None if root.is_for_outside() => say!(ADVICE_TIMED_OUT_FOR_OUTSIDE),
        None if root.is_of_the_end() => pace_words::timed_out(explanation, root),
        None => say!(ADVICE_TIMED_OUT),
    }
}

/// Whether others look for a lock meanwhile that whoever waits has.
fn is_looked_for(root: &RootCause) -> bool {
    root.meanwhile.as_ref().is_some_and(|others| matches!(others.did, MeanwhileKind::Polled(_)))
}

/// Whether others of the program had work for as long as somebody waited for an answer over a connection that nobody was seen to give.
fn others_ran(root: &RootCause) -> bool {
    let works = |did: MeanwhileKind| matches!(did, MeanwhileKind::Ran | MeanwhileKind::AtWork);
    root.meanwhile.as_ref().is_some_and(|others| works(others.did))
}

/// Whether others waited themselves for as long as somebody waited for their end.
fn others_waited(root: &RootCause) -> bool {
    root.meanwhile.as_ref().is_some_and(|others| others.did == MeanwhileKind::Waited)
}

/// Whether nobody who is known ended the wait: a sleep, a timer.
fn is_pause(kind: CauseKind) -> bool {
    matches!(kind, CauseKind::Slept | CauseKind::TimedOut | CauseKind::Unknown | CauseKind::Unfinished)
}

/// What to do where names tell what a wait is for, or what was tried before it: a library's lock, a connection, a loop of events below it, a library's pause.
fn by_names(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    lock: Option<&str>,
) -> Option<Sentence> {
    let is_unseen = root.cause.kind == CauseKind::Unknown && explanation.names.is_fiber(root.cause.role);
    let is_in_vain = is_unseen || matches!(root.cause.kind, CauseKind::TimedOut | CauseKind::Unfinished);
    if is_in_vain && is_connection_pool(explanation.names.label(root.cause.label)) {
        return Some(say!(ADVICE_POOL_USED_UP));
    }
    if is_in_vain && is_new_connection(explanation.names.label(root.cause.label)) {
        return Some(say!(ADVICE_NEW_CONNECTION));
    }
    let advice = vain_words::advice(fold, explanation, root)
        .or_else(|| lock.and_then(|label| lock_words::library_lock(root.cause.kind, label)));
    let advice = advice.or_else(|| outside_words::held_back(fold, explanation, root));
    let advice = advice.or_else(|| outside_words::backlog_is_full(fold, explanation, root));
    if advice.is_some() || lock.is_some() {
        return advice;
    }
    if is_of_libuv_pool(fold, root) && !ran_words::all_cpus_are_busy(fold) {
        return Some(say!(ADVICE_LIBUV_POOL));
    }
    let on_purpose =
        || library_wait(&fold.sums.stacks, root).filter(|_| is_pause(root.cause.kind)).map(on_purpose_advice);
    outside_words::blocks_loop(fold, explanation, root).or_else(on_purpose)
}

/// Whether a thread of libuv's pool does it, which has few for all file systems, names and compression (src/threadpool.c).
fn is_of_libuv_pool(fold: &Fold<'_>, root: &RootCause) -> bool {
    let frames = &fold.trace.frames;
    let is_worker = |frame: usize| frames.function[frame] == "worker" && frames.file[frame].ends_with("/threadpool.c");
    frame_rows(fold.trace, root.stack).any(is_worker)
}

/// What to do about a wait that a library makes on purpose.
fn on_purpose_advice(wait: LibraryWait) -> Sentence {
    match wait {
        LibraryWait::Retry => say!(ADVICE_RETRY),
        LibraryWait::Rate => say!(ADVICE_RATE),
    }
}

/// What to do about what the kind of a cause tells alone.
fn by_kind(explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    let names = &explanation.names;
    let is_lock = names.contention(root.cause.label, root.cause.place) == Contention::Lock;
    match root.cause.kind {
        CauseKind::Device if is_read(names, root.cause.label) => say!(ADVICE_DEVICE),
        CauseKind::Device => say!(ADVICE_DEVICE_WRITE),
        CauseKind::OpenRequests => request_words::advice(explanation, root),
        CauseKind::AcceptQueue => accept_words::advice(explanation, root),
        CauseKind::IoQuota => say!(ADVICE_IO_QUOTA),
        CauseKind::MemoryLimit => say!(ADVICE_MEMORY_LIMIT),
        CauseKind::Network if may_be_held_back(names, root) => say!(ADVICE_HELD_BACK),
        CauseKind::Network => say!(ADVICE_NETWORK),
        CauseKind::Outside | CauseKind::Kernel if is_held_by_tools(names, root.cause.label) => say!(ADVICE_TOOLS),
        CauseKind::Outside if reads_file(names, root.cause.label) || is_of_many_files(names, root.cause.label) => {
            say!(ADVICE_FILE_SERVER)
        }
        CauseKind::Outside => say!(ADVICE_OUTSIDE),
        CauseKind::Kernel => say!(ADVICE_KERNEL),
        CauseKind::Interrupt => say!(ADVICE_INTERRUPT),
        CauseKind::Circle => say!(ADVICE_CIRCLE),
        CauseKind::Unfinished if others_waited(root) => say!(ADVICE_MEANWHILE_WAITED),
        CauseKind::Unfinished if reads_file(names, root.cause.label) => say!(ADVICE_DEVICE),
        CauseKind::Unfinished if explanation.stands_still(root) && is_lock => {
            say!(ADVICE_LOCK_STANDS_STILL, label = names.label(root.cause.label))
        }
        CauseKind::Unfinished if explanation.stands_still(root) => say!(ADVICE_STANDS_STILL),
        CauseKind::Unfinished if explanation.ends_elsewhere(root) => say!(ADVICE_UNFINISHED_USUAL),
        CauseKind::Unfinished if (root.wall_ns as f64) < BEGAN_LATE * explanation.elapsed_ns as f64 => {
            say!(ADVICE_UNFINISHED_SHORT)
        }
        // One that was always found waiting may have been woken in between.
        CauseKind::Unfinished if is_response(names.label(root.cause.label)) => say!(ADVICE_OUTSIDE),
        CauseKind::Unfinished if names.are_of_sampled_fibers() => say!(ADVICE_UNFINISHED_FIBER),
        CauseKind::Unfinished if is_lock && names.object_type_of(root.cause.label) == Some(ObjectType::RwLock) => {
            say!(ADVICE_RWLOCK_UNFINISHED, label = names.label(root.cause.label))
        }
        CauseKind::Unfinished if is_lock => {
            say!(ADVICE_LOCK_UNFINISHED, label = names.label(root.cause.label))
        }
        CauseKind::Unfinished => say!(ADVICE_UNFINISHED),
        CauseKind::Ended => say!(ADVICE_ENDED),
        _ if names.are_of_sampled_fibers() => match names.object_type_of(root.cause.label) {
            Some(ObjectType::WaitGroup) => say!(ADVICE_WAIT_GROUP_OF_FIBERS),
            _ => say!(ADVICE_UNSEEN_OF_FIBERS),
        },
        _ => say!(ADVICE_UNSEEN),
    }
}

/// Whether it is a lock of the kernel that tools take to look at a program: that of its address space, or of a file's probes (`uprobe_mmap`,
/// kernel/events/uprobes.c).
fn is_held_by_tools(names: &Names<'_, '_>, label: LabelId) -> bool {
    let is_theirs = |name: &str| name.ends_with(MMAP_LOCK) || name.ends_with("uprobe_mmap");
    names.object_type_of(label) == Some(ObjectType::KernelLock) && is_theirs(names.label(label))
}

/// The threads of a pool that wait at one place all at once: what they wait for is perhaps to be done by one of them.
fn waits_for_itself(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<u64> {
    let account: &Account = explanation.accounts.get(&root.cause.role)?;
    let threads = account.threads;
    let names = &explanation.names;
    let is_pool = threads >= 2 && names.are_workers_at(root.stack) && !names.takes_from_queue(root.stack);
    let waits_ns = if is_pool { waits_at((fold.trace, names), root.cause.role, &root.at, |_| true).1 } else { 0 };
    let at_once = waits_ns as f64 >= ALL_AT_ONCE * threads as f64 * root.wall_ns.max(root.path_ns) as f64;
    (is_pool && at_once).then_some(threads)
}

/// Whether a wait is for room in a pipe, connection or queue: its reader does not keep up.
fn is_full(names: &Names<'_, '_>, link: &Link) -> bool {
    let writes = names.call(link.label).is_some_and(|call| call.contains("write") || call.contains("send"));
    // Whoever waits for an answer has sent its question.
    let puts = names.puts_into_queue(link.label, link.place) && !is_response(names.label(link.label));
    let passes_bytes = matches!(names.object_type_of(link.label), Some(ObjectType::Stream | ObjectType::Socket));
    (writes && passes_bytes) || puts
}

/// What calls are called that change what is on a device.
const CHANGES_FILES: &[&str] =
    &["write", "sync", "send", "unlink", "rename", "mkdir", "rmdir", "symlink", "truncate", "fallocate"];

/// Whether what waits for a device reads: a page or a file. Page faults are in no call, or in any.
fn is_read(names: &Names<'_, '_>, label: LabelId) -> bool {
    let writes = |call: String| CHANGES_FILES.iter().any(|word| call.contains(word));
    !names.call(label).is_some_and(writes)
}

/// Whether it is a call that reads a file, which a device or the kernel answers: `read(/srv/data)`, but not a terminal.
fn reads_file(names: &Names<'_, '_>, label: LabelId) -> bool {
    called_file(names, label).is_some_and(|path| !path.starts_with("/dev/"))
}

/// Whether TCP may have held back what the cause waited for: data, between two ends of this machine.
fn may_be_held_back(names: &Names<'_, '_>, root: &RootCause) -> bool {
    let receives = |call: String| ["read", "recv", "poll", "select"].iter().any(|word| call.contains(word));
    let is_seen = !names.is_fiber(root.cause.role);
    is_seen && names.call(root.cause.label).is_some_and(receives) && is_within_machine(names.label(root.cause.label))
}

/// What to do about threads that have no CPU, and hold nothing.
fn queued(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause, lock: Option<&str>) -> Sentence {
    let (queue, names) = (&explanation.run_queue, &explanation.names);
    if names.is_fiber(root.cause.role) && queue.others_ns <= queue.own_ns {
        return say!(ADVICE_QUEUED_FIBERS);
    }
    if let Some(lock) = lock {
        return say!(ADVICE_QUEUED_HOLDER, label = lock);
    }
    match root.cause.behind {
        NOTHING if queue.quota_ns > 0 => say!(ADVICE_QUEUED_QUOTA),
        NOTHING if queue.waking_ns > queue.others_ns => say!(ADVICE_QUEUED_WAKING),
        NOTHING => say!(ADVICE_QUEUED_OTHERS),
        // The one that is seen there had no other CPU either.
        _ if queue.others_ns > queue.own_ns => say!(ADVICE_QUEUED_BESIDE),
        _ if are_too_many(fold) => say!(ADVICE_QUEUED),
        _ => say!(ADVICE_QUEUED_OWN),
    }
}

/// What to do about a sleep: the program's own, or one for which others wait.
fn slept(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Sentence {
    if fold.sums.stacks.whole_names(root.stack).any(|function| function.starts_with(SAFEPOINT_BEGIN)) {
        return say!(ADVICE_SAFEPOINT_LATE);
    }
    if let Some(advice) = pace_words::slept_in_turn(fold, explanation, root) {
        return advice;
    }
    let asker = root.chains.first().and_then(|(chain, _)| chain.first()).filter(|_| root.is_for_outside());
    let is_scripts = asker.is_some_and(|link| !explanation.serves_outside(link.role));
    if (root.is_of_the_end() && !root.is_for_outside()) || is_scripts {
        return pace_words::slept(fold, explanation, root);
    }
    let is_free = |account: &Account| account.threads > 1 && account.idle_share() >= SOMETIMES_IDLE;
    let are_free = explanation.accounts.get(&root.cause.role).is_some_and(is_free);
    if root.is_for_outside() && are_free {
        return say!(ADVICE_SLEPT_FOR_OUTSIDE, who = explanation.names.role(root.cause.role));
    }
    busy_for_outside(explanation, root).unwrap_or_else(|| pace_words::slept_between(fold, explanation, root))
}

/// What to do where threads that others ask from outside were never without work.
fn busy_for_outside(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let asked = root.chains.first().and_then(|(chain, _)| root.askers(chain).first());
    let place =
        asked.map_or_else(|| root.place(), |link| explanation.names.place(link.place).map(|place| place.at.clone()));
    let role = asked.map_or(root.cause.role, |link| link.role);
    if asked.is_some() && !explanation.serves_outside(role) {
        return None; // a script waits for its children
    }
    if explanation.runs_always(root) {
        return None; // nobody is known to ask it
    }
    if explanation.names.has_one_per_connection(role) {
        return None; // there are as many as those who ask have opened connections
    }
    let account = &explanation.workers(role).filter(|_| root.is_for_outside())?;
    let idle = account.idle_share();
    (idle < ALWAYS_BUSY && stay(explanation, account)).then(|| match account.threads {
        1 => {
            let busy = Word::Share(1.0 - idle);
            say!(ADVICE_POOL_OF_ONE, who = explanation.names.role(role), busy = busy, place = place)
        }
        threads => pool_advice(explanation, role, threads, (idle, place)),
    })
}

/// What to do where those are few who wait for somebody outside: others wait for them, in the program or before it.
fn few_for_outside(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> Option<Sentence> {
    let (names, role) = (&explanation.names, root.cause.role);
    let fewer = outside_words::fewer_are_asked(fold, explanation, root);
    if let Some(advice) = fewer.or_else(|| of_others_work(explanation, root, chains)) {
        return Some(advice);
    }
    let serves = explanation.serves_outside(role)
        || names.answers_request(root.stack)
        || takes_requests(fold.trace, names, role);
    if !serves || names.has_one_per_connection(role) {
        return None;
    }
    if names.is_of_event_loop(root.cause.label) {
        return Some(say!(ADVICE_LOOP_ANSWERS));
    }
    let (threads, share) = kept_at(fold.trace, names, (role, root.cause.label), &root.at)?;
    let sentence = say!(ADVICE_POOL_OUTSIDE, threads = threads, who = names.role(role), share = Word::Share(share));
    let account = explanation.accounts.get(&role);
    let never_idle = account.is_some_and(|it| (it.idle_ns as f64) < ALWAYS_BUSY * it.life_ns as f64);
    (share >= ALWAYS_KEPT || (never_idle && share >= MOSTLY_KEPT)).then_some(sentence)
}

/// What to do about the work of a thread that others gave it to do: as the reader of what they write, or as their worker.
fn of_others_work(
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> Option<Sentence> {
    let (names, (largest, _)) = (&explanation.names, chains.first()?);
    if let Some(link) = root.askers(largest).last().filter(|link| is_full(names, link)) {
        return Some(say!(ADVICE_FULL, label = names.label(link.label)));
    }
    let lock = lock_on_the_way(names, root, chains);
    // Who has a permit waits for the cause himself.
    let contention = |link: &Link| match names.contention(link.label, link.place) {
        Contention::Turns => Contention::Turns,
        _ => contention(names, root, link),
    };
    let lock = lock.map(|(link, within)| (names.label(link.label), contention(link), within));
    match lock.filter(|(_, kind, _)| *kind != Contention::None) {
        Some((label, Contention::Lock, _)) => Some(say!(ADVICE_WAITED_UNDER_LOCK, label = label)),
        Some((label, Contention::Connections, _)) => Some(say!(ADVICE_CONNECTIONS, label = label)),
        Some((label, Contention::Turns, within)) => {
            let place = names.place(within.place).map_or("", |place| place.at.as_str());
            Some(say!(ADVICE_PERMITS, label = label, place = place))
        }
        None if lock_of_most(names, root, chains).is_none() => {
            pool(explanation, root, chains).or_else(|| few_at_a_time(explanation, root))
        }
        _ => pool(explanation, root, chains),
    }
}

/// What to do where more wait than work: a limit elsewhere lets so few in at a time, such as a proxy's connections to its backend.
fn few_at_a_time(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let account: &Account = explanation.accounts.get(&root.cause.role)?;
    let wall_ns = root.wall_ns.max(1) as f64;
    let busy_ns = account.life_ns.saturating_sub(account.idle_ns) as f64;
    let (at_work, waiters) = (busy_ns / wall_ns, root.wait_ns as f64 / wall_ns);
    // Who did other things as well, or hardly anything, tells no limit.
    let is_few = (HARDLY_ONE..FEW).contains(&at_work) && waiters >= at_work + 1.0;
    let is_most = wall_ns >= MOST_OF_THE_TIME * explanation.elapsed_ns as f64;
    (is_few && is_most).then(|| {
        say!(
            ADVICE_FEW_AT_A_TIME,
            count = at_work.round() as u64,
            who = explanation.names.role(root.cause.role),
            waiters = waiters.round() as u64,
            place = root.place(),
        )
    })
}
