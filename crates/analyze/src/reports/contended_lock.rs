//! Which lock or barrier others waited for because of a cause, how they contend there, and what its holder is told.

use dwell_model::ObjectType;
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::frames::{frame_rows, module_path};
use dwell_query::stacks::own_code::is_of_openmp;
use dwell_view::Sentence;

use crate::sentences::say;
use crate::study::explain::{
    Account, CauseKind, Contention, Explanation, LabelId, Link, Names, RoleId, RootCause, runs_outside_critical_section,
};

/// Part of the waits from which on those tell the lock that are not for the end of a thread or child.
const TELLING_PART: f64 = 0.25;
/// Part of the waits at a barrier that are of threads with work to share.
const MATES_SHARE: f64 = 0.25;
/// Part of the work of those for whom they wait that such threads have.
const MATES_WORK: f64 = 0.1;

/// The lock that others waited for because of a cause, by name, and how they contend. Who waits at a barrier for others than its mates has no share in their
/// work.
pub fn contended_lock<'e>(
    explanation: &'e Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> (Option<&'e str>, Contention) {
    let names = &explanation.names;
    let lock = lock_of_most(names, root, chains);
    let kind = lock.map_or(Contention::None, |link| contention(names, root, link));
    let is_told = kind != Contention::None && (kind != Contention::Barrier || is_for_mates(explanation, root, chains));
    (lock.filter(|_| is_told).map(|link| names.label(link.label)), kind)
}

/// The lock that others waited for because of a cause, if the threads that ran did not hold it.
pub fn lock_not_held(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    chains: &[&(Vec<Link>, u64)],
) -> Option<LabelId> {
    let names = &explanation.names;
    let lock = lock_of_most(names, root, chains).filter(|_| root.cause.kind == CauseKind::Ran)?;
    let is_lock = names.contention(lock.label, lock.place) == Contention::Lock;
    (is_lock && runs_outside_critical_section((fold.trace, &fold.sums.stacks, names), root, lock.label))
        .then_some(lock.label)
}

/// What the chains end with, where that is a lock for most of their time: the one of the largest chain.
pub fn lock_of_most<'c>(names: &Names<'_, '_>, root: &RootCause, chains: &[&'c (Vec<Link>, u64)]) -> Option<&'c Link> {
    // Whoever waits for a child or thread under a lock has it as long as that one lives.
    let last = |chain: &'c [Link]| root.askers(chain).iter().rfind(|link| !names.is_join(link.label));
    let lock = |chain: &'c [Link]| last(chain).filter(|link| names.is_lock(link.label, link.place));
    // That main waits for all others tells nothing of why these wait.
    let telling: Vec<&(Vec<Link>, u64)> = chains.iter().copied().filter(|(chain, _)| last(chain).is_some()).collect();
    let sum = |chains: &[&(Vec<Link>, u64)]| chains.iter().map(|(_, ns)| *ns as f64).sum::<f64>();
    let is_enough = sum(&telling) >= TELLING_PART * sum(chains);
    found_in_most(if is_enough { &telling } else { chains }, lock)
}

/// The lock or pool for which threads of a role wait before they wait for others, in most of the chains' time: a client's pool of connections,
/// a lock around a call; and the wait of the one that has it.
pub fn lock_on_the_way<'c>(
    names: &Names<'_, '_>,
    root: &RootCause,
    chains: &[&'c (Vec<Link>, u64)],
) -> Option<(&'c Link, &'c Link)> {
    let way = |chain: &'c [Link]| {
        let mut pairs = root.askers(chain).windows(2);
        let lets_in = |pair: &&[Link]| pair[0].role == pair[1].role && names.is_lock(pair[0].label, pair[0].place);
        pairs.rfind(lets_in).map(|pair| (&pair[0], &pair[1]))
    };
    found_in_most(chains, way)
}

/// What is found in the largest chain that has it, where chains that have it are half of the time or more.
fn found_in_most<'c, T>(chains: &[&'c (Vec<Link>, u64)], find: impl Fn(&'c [Link]) -> Option<T>) -> Option<T> {
    let ns = |(chain, ns): &&'c (Vec<Link>, u64)| (*ns, find(chain).map_or(0, |_| *ns));
    let (all, with_it) = chains.iter().map(ns).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    chains.iter().find_map(|(chain, _)| find(chain)).filter(|_| 2 * with_it >= all)
}

/// How the threads of a chain's end contend with the cause. Who never waits there takes no turns; and a futex that only others wait for is where
/// workers are parked, for all that is known of it.
pub fn contention(names: &Names<'_, '_>, root: &RootCause, link: &Link) -> Contention {
    let is_bare_futex = || names.object_type_of(link.label) == Some(ObjectType::Futex);
    match names.contention(link.label, link.place) {
        Contention::Turns if link.role != root.cause.role => Contention::None,
        Contention::Lock if link.role != root.cause.role && is_bare_futex() => Contention::None,
        kind => kind,
    }
}

/// Whether a good part of the waits are of threads that work as well: of the same role, or that ran for a good part of what it ran.
fn is_for_mates(explanation: &Explanation<'_, '_>, root: &RootCause, chains: &[&(Vec<Link>, u64)]) -> bool {
    let ran_ns = |role| {
        let account: Option<&Account> = explanation.accounts.get(&role);
        account.map_or(0.0, |account| account.running_ns as f64 / account.threads.max(1) as f64)
    };
    let least_ns = MATES_WORK * ran_ns(root.cause.role);
    let is_mate = |role: RoleId| role == root.cause.role || ran_ns(role) >= least_ns;
    let of_mate = |(chain, _): &&&(Vec<Link>, u64)| chain.last().is_some_and(|link| is_mate(link.role));
    let mates_ns: u64 = chains.iter().filter(of_mate).map(|(_, ns)| ns).sum();
    mates_ns as f64 >= MATES_SHARE * chains.iter().map(|(_, ns)| ns).sum::<u64>() as f64
}

/// Whether what OpenMP's threads wait for is done outside its parallel regions: they are parked until the next one begins.
pub fn is_between_regions(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let (trace, names) = (fold.trace, &explanation.names);
    let is_openmp = |(chain, _): &(Vec<Link>, u64)| {
        let label = chain.first().map(|link| link.label);
        label.and_then(|label| names.object_type_of(label)) == Some(ObjectType::OpenMpBarrier)
    };
    let in_region = frame_rows(trace, root.stack)
        .any(|frame| is_of_openmp(module_path(trace, frame), &trace.frames.function[frame]));
    root.chains.iter().all(is_openmp) && root.stack.is_some() && !in_region
}

/// What to do about what a thread does while others need what it has.
pub fn to_holder(cause: CauseKind, kind: Contention, label: &str) -> Sentence {
    match (kind, cause) {
        (Contention::Barrier, _) => say!(ADVICE_BEFORE_BARRIER, label = label),
        (Contention::Gil, _) => say!(ADVICE_GIL),
        (Contention::AddressSpace, _) => say!(ADVICE_ADDRESS_SPACE),
        (Contention::Once, _) => say!(ADVICE_ONCE, label = label),
        (Contention::Connections, _) => say!(ADVICE_CONNECTIONS, label = label),
        (Contention::Turns, _) => say!(ADVICE_TURNS, label = label),
        (_, CauseKind::Slept) => say!(ADVICE_SLEPT_UNDER_LOCK, label = label),
        _ => say!(ADVICE_RAN_UNDER_LOCK, label = label),
    }
}
