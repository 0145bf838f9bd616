//! Which causes of waits are told: those that delayed anybody, or the program's end, for long, without pauses of a schedule and waits that another
//! cause explains.

use dwell_model::{ObjectId, ObjectType};
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::idle::IdleWaits;

use crate::study::explain::{
    CauseKind, Contention, Explanation, Link, RoleId, RootCause, keeps_schedule, library_wait, processes_of,
};

/// A sleep or a device that only the program's end waited for is told from this part of its time on.
const END_SHARE: f64 = 0.1;
/// So many times longer than what others waited for is what a thread ran that always ran, if it is told beside that.
const MUCH_LONGER: u64 = 2;
/// Part of the time for which others must have been at work, for that to be what a wait may be for.
const AT_WORK: f64 = 0.5;
/// Part of the waits that are for one thing.
const NEARLY_ALL: f64 = 0.9;
/// Stays in run queues, and threads that wait for one another for a moment, as a loop and its workers do, must have delayed somebody for so
/// many times longer than other causes.
const COMMON_FACTOR: u64 = 5;

/// The causes of waits that are told: by which anybody was delayed for `least` ns or more, or the program's end, or somebody outside.
pub fn told_causes<'e>(fold: &Fold<'_>, explanation: &'e Explanation<'_, '_>, least: u64) -> Vec<&'e RootCause> {
    let is_told = |root: &&RootCause| {
        let is_common = matches!(root.cause.kind, CauseKind::RunQueue | CauseKind::Circle);
        let least = if is_common { COMMON_FACTOR * least } else { least };
        // A report of all causes leaves none out.
        let is_left_out = || least > 0 && (ends_elsewhere(explanation, root) || is_on_time(fold, explanation, root));
        let delays = delay_ns(root) >= least.max(1) || is_of_end(fold, explanation, root, least);
        let of_outside_ns = root.for_outside_ns();
        let is_for_outside = of_outside_ns as f64 >= END_SHARE * explanation.elapsed_ns as f64;
        (delays && !is_left_out()) || (is_for_outside && of_outside_ns >= least.max(1))
    };
    let mut roots: Vec<&RootCause> = explanation.causes.iter().filter(is_told).collect();
    let delaying: Vec<&RootCause> = roots.iter().copied().filter(|root| !root.is_of_the_end()).collect();
    roots.retain(|root| !root.is_of_the_end() || !delaying.iter().any(|other| is_same_to_reader(root, other)));
    // That a thread ran all the time is told where all that others waited for is little beside it, or for its acceptance only. What it asks
    // again and again in the same place says more.
    let tells_more = |root: &&&RootCause| !explanation.runs_always(root) && root.cause.kind != CauseKind::AcceptQueue;
    let more: Vec<(u64, &str)> =
        roots.iter().filter(tells_more).map(|root| (delay_ns(root), root.at.as_str())).collect();
    roots.retain(|root| {
        let is_much = more.iter().all(|(ns, at)| root.for_outside_ns() >= MUCH_LONGER * ns && *at != root.at);
        !explanation.runs_always(root) || is_much
    });
    roots
}

/// Whether the program's end waited for it, for long.
fn is_of_end(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause, least: u64) -> bool {
    let path_ns = on_path_alone(root);
    let is_of_runtime = !root.is_awaited && is_runtime_timer(fold, explanation, root);
    path_ns as f64 >= END_SHARE * explanation.path_ns as f64 && path_ns >= least.max(1) && !is_of_runtime
}

/// Whether a wait that goes on where the recording ended, or whose chain leads back to it, says nothing: it usually ends, or it is a part of a
/// deadlock that is told.
fn ends_elsewhere(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let is_usual = matches!(root.cause.kind, CauseKind::Unfinished | CauseKind::Circle)
        && explanation.ends_elsewhere(root)
        && explanation.deadlock(root).is_none()
        && !explanation.stands_still(root);
    is_usual || explanation.leads_to_deadlock(root)
}

/// Whether the recording ended before the wait did, while other threads of its process were at work: they may be what it waits for.
pub fn is_cut_off(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let names = &explanation.names;
    let is_open = root.cause.kind == CauseKind::Unfinished
        && fold.trace.manifest.exit_status.is_none()
        && !explanation.stands_still(root)
        && explanation.deadlock(root).is_none()
        && names.contention(root.cause.label, root.cause.place) != Contention::Lock;
    // Whoever waits for goroutines that it started has nothing else to do, and these may start programs.
    let joins = names.object_type_of(root.cause.label) == Some(ObjectType::WaitGroup);
    let all_the_time = !joins && root.wall_ns as f64 >= NEARLY_ALL * explanation.elapsed_ns as f64;
    if !is_open || all_the_time || fold.query.is_filtered() {
        return false;
    }
    let processes = processes_of(fold.trace, names, root.cause.role);
    let is_beside = |role: RoleId| {
        role != root.cause.role && (joins || !processes_of(fold.trace, names, role).is_disjoint(&processes))
    };
    let beside = explanation.accounts.iter().filter(|(role, _)| is_beside(**role));
    let at_work_ns: u64 = beside.map(|(_, account)| account.running_ns.saturating_add(account.run_queue_ns)).sum();
    at_work_ns as f64 >= AT_WORK * explanation.elapsed_ns as f64
}

/// Whether it is the pause of a schedule, for which nobody waits but the program's end, or workers at a barrier: these have no work until the
/// next turn.
fn is_on_time(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    // A limit of the rate keeps one, too, and so may who tries again.
    (root.is_of_the_end() || waits_at_barriers(explanation, root))
        && library_wait(&fold.sums.stacks, root).is_none()
        && keeps_schedule(fold.trace, &explanation.names, root)
}

/// Whether nearly all who waited for a sleep did so at barriers.
fn waits_at_barriers(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let is_at_barrier = |(chain, _): &&(Vec<Link>, u64)| {
        let last = chain.last();
        last.is_some_and(|link| explanation.names.contention(link.label, link.place) == Contention::Barrier)
    };
    let all_ns: u64 = root.chains.iter().map(|(_, ns)| ns).sum();
    let at_barriers_ns: u64 = root.chains.iter().filter(is_at_barrier).map(|(_, ns)| ns).sum();
    all_ns > 0 && at_barriers_ns as f64 >= NEARLY_ALL * all_ns as f64
}

/// Whether two causes are one for a reader, though threads without work waited because of the one only.
fn is_same_to_reader(root: &RootCause, other: &RootCause) -> bool {
    (root.cause.kind, root.cause.role, &root.at) == (other.cause.kind, other.cause.role, &other.at)
}

/// Time in which anybody was delayed by it, ns: nobody is by threads without work.
pub fn delay_ns(root: &RootCause) -> u64 {
    if root.cause.no_work { 0 } else { root.wall_ns }
}

/// Whether it is the time-out of a runtime's thread without work: by then others had something to do.
fn is_runtime_timer(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let object = explanation.names.object(root.cause.label).unwrap_or(ObjectId::NONE);
    let kind = fold.object_type(object);
    matches!(root.cause.kind, CauseKind::TimedOut | CauseKind::Slept)
        && (kind == ObjectType::GoRuntime || IdleWaits::default().is_idle(&fold.sums.stacks, root.stack, kind))
}

/// What nobody who is recorded waited for, ns: the program's end did, or somebody outside.
pub fn unseen_ns(root: &RootCause) -> u64 {
    on_path_alone(root).max(root.for_outside_ns())
}

/// Its part of the program's time, where it is what a program would not do if it had anything to do: a sleep, a time-out, a device,
/// or a wait for an answer; where a collector had it; or where it ran for most of it. The program's end waited for it, whoever was without work meanwhile.
pub fn on_path_alone(root: &RootCause) -> u64 {
    let is_of_end = root.cause.kind.is_pause() || root.is_awaited || root.ran_mostly;
    if is_of_end || root.cause.kind == CauseKind::Collected { root.path_ns } else { 0 }
}
