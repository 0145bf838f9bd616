//! Which causes are told, and which comes first: why threads waited, and why they were ready and had no CPU.

use std::cmp::Reverse;
use std::collections::HashMap;

use dwell_query::engine::fold::Fold;
use dwell_query::stacks::connecting::is_connecting;

use crate::reports::contended_lock::{lock_not_held, lock_of_most};
use crate::reports::queue_causes::{OWN_QUEUE_SHARE, QueueCause, QueueReason, is_hardly_own, queue_causes};
use crate::reports::summary_order::CauseWeight;
use crate::reports::told_causes::{delay_ns, is_cut_off, on_path_alone, told_causes, unseen_ns};
use crate::study::explain::{
    AcceptorState, Account, CauseKind, Contention, Explanation, LabelId, Link, MeanwhileKind, NOTHING, RootCause,
    RunQueue, asked_answers, asks, function_key, wait_place,
};

/// What delays others for this part of a sleep that only the program's end waited for is told before that.
const DELAYS_MEANWHILE: f64 = 0.3;
/// The same part of a sleep that takes this part of the way to the end: that is how long the program was to run.
const WHOLE: f64 = 0.9;
const DELAYS_BESIDE_WHOLE: f64 = 0.05;
/// Other programs matter where any thread was ready for this part of the time: those that have little to do meet others now and then.
const QUEUED_SHARE: f64 = 0.05;
/// What the program does itself comes before who else had the CPUs, if it delays for this part of the time for which these do.
const BESIDE_OTHERS: f64 = 0.5;
/// So many times longer than the time in run queues are waits for a lock whose holders were there, if the lock is a cause of its own.
const LONGER_BY_LOCK: u64 = 2;
/// The same part of what runs are waits for the answers to so many questions that the same function asks.
const ASKS_BESIDE: f64 = 0.3;
const MANY_QUESTIONS: u64 = 100;
/// A smaller part is enough of very many: the CPU time by which each is asked is longer than the wait for its answer.
const ASKS_AT_ALL: f64 = 0.1;
const VERY_MANY_QUESTIONS: u64 = 1_000;
/// Part of the waits for a lock's holder without a CPU that those for its work must be, if that is told first.
const WORKS_BESIDE: f64 = 0.3;
/// Part of the time in run queues that is behind the program's own threads, from which on what is not known is, too.
const OWN_MOSTLY: f64 = 0.8;
/// From this part of the elapsed time on a lock's holder that a third thread keeps from its CPU is a cause of its own.
const INVERTED_SHARE: f64 = 0.1;
/// So many times longer than it runs is a thread in run queues that hardly ever has a CPU.
const STARVED: u64 = 10;

/// What a row tells.
pub enum CauseRow<'e> {
    /// Why threads waited.
    Wait(&'e RootCause),
    /// Why they were ready and had no CPU.
    Queue(QueueRow<'e>),
}

/// Why threads were ready and had no CPU.
pub struct QueueRow<'e> {
    /// Who had the CPUs instead.
    pub cause: QueueCause,
    /// Time in run queues, by their account, ns.
    pub ns: u64,
    /// Waits for those who were there, where they have no rows of their own.
    pub waits: Vec<&'e RootCause>,
}

/// The causes, the largest first: those by which anybody was delayed for `least` ns or more, or the program's end. Stays in
/// run queues delay everybody a little, on any machine, and so do the turns of a loop and its workers.
pub fn cause_rows<'e>(fold: &Fold<'_>, explanation: &'e Explanation<'_, '_>, least: u64) -> Vec<CauseRow<'e>> {
    let roots = told_causes(fold, explanation, least);
    let mut told: Vec<CauseRow<'e>> = roots.into_iter().map(CauseRow::Wait).collect();
    told.extend(queued(fold, explanation));
    sort(fold, explanation, &mut told);
    told
}

/// Of threads in the run queue behind others of the program: how much the work of these others explains, if that is much. The run queue
/// comes behind that work, unless a lock is held meanwhile.
fn behind_work(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<u64> {
    if lock_of(explanation, root).is_some() {
        return None;
    }
    let is_theirs = |other: &&RootCause| {
        other.cause.kind == CauseKind::Ran && other.cause.role == root.cause.behind && !other.cause.no_work
    };
    let ran_ns = explanation.causes.iter().filter(is_theirs).map(|other| other.wait_ns).max()?;
    (ran_ns as f64 >= WORKS_BESIDE * root.wait_ns as f64).then_some(ran_ns)
}

/// Of an event loop's own timers: how long the loop paused for something else, if that is much. The loop's timers come behind that.
fn behind_pauses(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<u64> {
    let names = &explanation.names;
    let is_timer = |root: &RootCause| {
        root.cause.kind == CauseKind::TimedOut && names.waits_for_own_timers(root.cause.label) && root.is_of_the_end()
    };
    let pauses =
        |other: &&RootCause| other.cause.role == root.cause.role && other.cause.kind.is_pause() && !is_timer(other);
    let longest_ns = explanation.causes.iter().filter(pauses).map(on_path_alone).max().filter(|_| is_timer(root))?;
    (longest_ns as f64 >= DELAYS_MEANWHILE * root.path_ns as f64).then_some(longest_ns)
}

/// Of what ran on the way to the program's end: how much waits explain for the many answers that the same function asks for one at a time, or
/// one that it calls, if that is much. Each question costs time on both sides: without it nothing of both would be.
fn behind_questions(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<u64> {
    // Of a program whose end was not seen, whatever its thread runs is asked for.
    let ran_ns = root.path_ns.max(root.served_ns);
    if root.cause.kind != CauseKind::Ran || !root.is_of_the_end() || ran_ns == 0 {
        return None;
    }
    let names = &explanation.names;
    let is_there = |other: &&RootCause| {
        let is_it = |at: &str| function_key(at) == function_key(&root.at);
        let from_there = || {
            let path = wait_place(fold.trace, &fold.sums.stacks, other.stack).path;
            other.callers.iter().any(|(caller, _)| is_it(caller)) || path.iter().any(|(_, line)| is_it(line))
        };
        other.cause.role == root.cause.role && (other.function() == root.function() || from_there())
    };
    let are_many = |other: &&RootCause| {
        let waited_for = (other.cause.role, other.cause.label);
        let is_answer =
            matches!(other.cause.kind, CauseKind::Outside | CauseKind::Network) && asks(names.label(waited_for.1));
        let count = || asked_answers((fold.trace, names), waited_for, &other.at, |_| true).count;
        let beside = other.wait_ns as f64 / ran_ns as f64;
        let least = if beside >= ASKS_BESIDE { MANY_QUESTIONS } else { VERY_MANY_QUESTIONS };
        is_answer && beside >= ASKS_AT_ALL && count() >= least
    };
    let others = explanation.causes.iter().filter(is_there).filter(are_many);
    others.map(|other| other.wait_ns).max()
}

/// The cause by which waits are known that is what others did during waits whose end nobody saw.
fn cause_meanwhile<'e>(explanation: &'e Explanation<'_, '_>, root: &RootCause) -> Option<&'e RootCause> {
    let unseen = matches!(root.cause.kind, CauseKind::Unknown | CauseKind::Network);
    let others = root.meanwhile.as_ref().filter(|_| unseen)?;
    let kind = match others.did {
        MeanwhileKind::Waited => return None,
        MeanwhileKind::Slept => CauseKind::Slept,
        MeanwhileKind::Asked => CauseKind::Network,
        MeanwhileKind::Ran | MeanwhileKind::AtWork | MeanwhileKind::Polled(_) => CauseKind::Ran,
    };
    explanation.causes.iter().find(|cause| {
        let is_it = (cause.cause.kind, cause.cause.role, &cause.at) == (kind, others.role, &others.place);
        is_it && delay_ns(cause) >= others.ns / 2
    })
}

/// Of connections that waited to be accepted since threads ran or waited for something: how much the largest other cause explains that is of
/// these threads and took half of the time, or more. It tells what keeps them.
fn kept_from_accepting(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<u64> {
    let queue = explanation.accept_queue(&root.cause)?;
    let are_kept = matches!(queue.acceptors.did, AcceptorState::Ran | AcceptorState::WaitedForOthers);
    let weight = |other: &RootCause| other.wait_ns.max(unseen_ns(other));
    let is_theirs = |other: &&RootCause| {
        let cause = &other.cause;
        cause.kind != CauseKind::AcceptQueue && cause.role == root.cause.role && 2 * weight(other) >= queue.wall_ns
    };
    let of_threads = || explanation.causes.iter().filter(is_theirs).map(weight).max();
    are_kept.then(of_threads)?
}

/// Who had the CPUs, where that is much: each with its part of the run queue's time.
fn queued<'e>(fold: &Fold<'_>, explanation: &'e Explanation<'_, '_>) -> Vec<CauseRow<'e>> {
    let (queue, running_ns) = (&explanation.run_queue, explanation.whole().running_ns);
    let least_ns = (OWN_QUEUE_SHARE * running_ns as f64) as u64;
    let part = |cause: QueueCause| {
        let ns = match cause.reason {
            QueueReason::Quota => queue.quota_ns,
            QueueReason::OtherPrograms | QueueReason::LowPriority(_)
                if (queue.wall_ns as f64) < QUEUED_SHARE * explanation.elapsed_ns as f64 =>
            {
                0
            }
            // If its own threads hardly had the CPUs, others had them also while nobody knows who did.
            QueueReason::OtherPrograms | QueueReason::LowPriority(_) if is_hardly_own(queue) => {
                queue.others_ns.saturating_add(queue.unknown_ns)
            }
            QueueReason::OtherPrograms | QueueReason::LowPriority(_) => queue.others_ns,
            _ if queue.own_ns < least_ns => 0,
            _ => queue.own_ns,
        };
        (ns > 0).then_some(CauseRow::Queue(QueueRow { cause, ns, waits: Vec::new() }))
    };
    let ready_ns = |account: &Account| account.running_ns.saturating_add(account.run_queue_ns);
    let largest_role_ns = explanation.accounts.values().map(ready_ns).max().unwrap_or(0);
    queue_causes(fold, &explanation.run_queue, largest_role_ns).into_iter().filter_map(part).collect()
}

impl QueueRow<'_> {
    /// Whether the program's own threads had the CPUs.
    fn is_own(&self) -> bool {
        self.cause.reason.is_of_program()
    }

    /// How much it counts among others: what may be harmless by the waits that are because of it.
    fn rank_ns(&self) -> u64 {
        if self.cause.may_be_harmless { self.waits.iter().map(|root| root.wait_ns).sum() } else { self.ns }
    }
}

impl CauseRow<'_> {
    /// The smaller, the earlier it is told, of a row that explains `ns`: first what the program never got out of.
    fn rank(
        &self,
        (fold, explanation): (&Fold<'_>, &Explanation<'_, '_>),
        ns: u64,
        delays: &[(u64, u64)],
    ) -> Reverse<(bool, u64)> {
        let is_deadlock = matches!(self, CauseRow::Wait(root) if explanation.deadlock(root).is_some());
        // What others did meanwhile comes first where it is a cause of its own.
        let behind = match self {
            CauseRow::Wait(root) if root.cause.kind == CauseKind::AcceptQueue => kept_from_accepting(explanation, root),
            CauseRow::Wait(root) if root.cause.kind == CauseKind::RunQueue => behind_work(explanation, root),
            CauseRow::Wait(root) if let Some(ns) = behind_pauses(explanation, root) => Some(ns),
            CauseRow::Wait(root) if is_cut_off(fold, explanation, root) => Some(0),
            CauseRow::Wait(root) if let Some(ns) = behind_questions(fold, explanation, root) => Some(ns),
            CauseRow::Wait(root) => cause_meanwhile(explanation, root)
                .map(|other| other.wait_ns)
                .or_else(|| beside_the_end(explanation, root, delays)),
            CauseRow::Queue(_) => None,
        };
        Reverse((is_deadlock, ns.min(behind.map_or(u64::MAX, |ns| ns.saturating_sub(1)))))
    }

    /// Waits that it explains, or time in run queues, ns.
    pub fn ns(&self) -> u64 {
        match self {
            CauseRow::Wait(root) if root.cause.no_work => unseen_ns(root),
            CauseRow::Wait(root) => root.wait_ns.max(unseen_ns(root)),
            CauseRow::Queue(queue) => queue.ns,
        }
    }

    /// What orders it among findings.
    pub fn weight(&self, fold: &Fold<'_>) -> CauseWeight {
        match self {
            CauseRow::Wait(root) => {
                let waits_ns = if root.is_of_the_end() { 0 } else { root.wait_ns };
                let ran = root.cause.kind == CauseKind::Ran;
                let ns = waits_ns.max(root.path_ns).max(root.served_ns);
                let connects = ran && is_connecting(&fold.sums.stacks, root.stack);
                CauseWeight { ns, ran_at: ran.then(|| root.at.clone()), connects, queued_behind: None }
            }
            CauseRow::Queue(queue) => {
                let connects = queue.is_own() && is_connecting(&fold.sums.stacks, queue.cause.stack);
                let at = queue.is_own().then(|| wait_place(fold.trace, &fold.sums.stacks, queue.cause.stack).at);
                let queued_behind = at.map(|at| (at, fold.shown().cpu_ns()));
                CauseWeight { ns: queue.rank_ns(), ran_at: None, connects, queued_behind }
            }
        }
    }

    /// The function that ran, where that is the cause, and in how much time it delayed anybody, ns.
    pub fn ran(&self) -> Option<(String, u64)> {
        match self {
            CauseRow::Wait(root) if root.cause.kind == CauseKind::Ran => {
                Some((root.function().to_owned(), delay_ns(root)))
            }
            _ => None,
        }
    }

    /// Whether the program did it, and not what else the machine ran.
    pub fn is_of_program(&self) -> bool {
        match self {
            CauseRow::Wait(root) => root.cause.kind != CauseKind::RunQueue || root.cause.behind != NOTHING,
            CauseRow::Queue(queue) => queue.is_own(),
        }
    }
}

/// Puts waits for threads in run queues to the reason why these were there: for a reader that is one cause. A lock that makes them
/// longer by far stays a cause of its own: who holds it and has no CPU keeps all others.
pub fn with_reasons<'e>(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    told: Vec<CauseRow<'e>>,
) -> Vec<CauseRow<'e>> {
    let (mut queues, mut rows, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for row in told {
        match row {
            CauseRow::Queue(queue) => queues.push(queue),
            CauseRow::Wait(root) => rows.push(root),
        }
    }
    let RunQueue { own_ns, all_ns, .. } = explanation.run_queue;
    let is_hardly_own = is_hardly_own(&explanation.run_queue);
    for root in rows {
        // Who had the CPU at a time may not be known of each, where nearly always it was one of the program's; and a thread of the program may be
        // there only since others had the other CPUs.
        let is_behind_own = root.cause.behind != NOTHING && !is_hardly_own;
        let is_own = is_behind_own || own_ns as f64 >= OWN_MOSTLY * all_ns as f64;
        let reason = queues.iter_mut().find(|queue| root.cause.kind == CauseKind::RunQueue && queue.is_own() == is_own);
        match reason {
            Some(queue) if !is_by_lock(explanation, root, queue.ns) => queue.waits.push(root),
            _ => rest.push(CauseRow::Wait(root)),
        }
    }
    rest.extend(queues.into_iter().map(CauseRow::Queue));
    sort(fold, explanation, &mut rest);
    rest
}

/// Leaves out what ran without the lock that others waited for: in a summary it would look like the lock's fault.
pub fn without_unlocked_work<'e>(
    fold: &Fold<'_>,
    explanation: &Explanation<'_, '_>,
    mut rows: Vec<CauseRow<'e>>,
) -> Vec<CauseRow<'e>> {
    rows.retain(|row| match row {
        CauseRow::Wait(root) if !root.is_of_the_end() => {
            lock_not_held(fold, explanation, root, &ordered(explanation, root)).is_none()
        }
        _ => true,
    });
    rows
}

/// The largest first; of threads in run queues those that hold a lock, without which nobody would have noticed.
fn sort(fold: &Fold<'_>, explanation: &Explanation<'_, '_>, rows: &mut [CauseRow<'_>]) {
    let is_holder = |row: &&CauseRow<'_>| match row {
        CauseRow::Wait(root) => {
            let is_holder = is_starved_holder(explanation, root) || is_inverted(explanation, root);
            root.cause.kind == CauseKind::RunQueue && is_holder
        }
        CauseRow::Queue(_) => false,
    };
    let of_holders = rows.iter().filter(is_holder).map(CauseRow::ns).max();
    let behind_holders = |queue_ns: u64| of_holders.map_or(queue_ns, |ns| queue_ns.min(ns.saturating_sub(1)));
    let of_locks = by_lock(explanation, rows);
    let delay = |row: &CauseRow<'_>| match row {
        CauseRow::Wait(root) => (!root.is_of_the_end()).then(|| (delay_ns(root), root.wait_ns)),
        CauseRow::Queue(queue) if !queue.is_own() => None,
        CauseRow::Queue(queue) => Some((explanation.run_queue.wall_ns, behind_holders(queue.ns))),
    };
    // What the program does itself is what its developer came for.
    let beside_others = |row: &CauseRow<'_>| match row {
        CauseRow::Wait(root) if root.cause.kind != CauseKind::RunQueue => {
            let delayed_ns = delay_ns(root).max(unseen_ns(root));
            (delayed_ns as f64 >= BESIDE_OTHERS * explanation.run_queue.wall_ns as f64).then(|| row.ns())
        }
        _ => None,
    };
    let of_program = rows.iter().filter_map(beside_others).max();
    let delays_by_lock = of_locks.values().map(|it| (it.delay_ns, it.work_ns)).filter(|(_, ns)| *ns > 0);
    let delays: Vec<(u64, u64)> = rows.iter().filter_map(delay).chain(delays_by_lock).collect();
    let is_unseen = |root: &RootCause| explanation.is_of_busy_worker(root) && root.is_for_outside();
    let works_unseen = rows.iter().any(|row| matches!(row, CauseRow::Wait(root) if is_unseen(root)));
    rows.sort_by_cached_key(|row| match row {
        CauseRow::Queue(queue) if queue.is_own() => Reverse((false, behind_holders(queue.rank_ns()))),
        CauseRow::Wait(root) if let Some(ns) = beside_its_work(explanation, root, &of_locks) => {
            Reverse((false, root.wait_ns.min(ns.saturating_sub(1))))
        }
        CauseRow::Wait(root) => {
            let keeps_alive = works_unseen && root.sleeps_through(explanation.path_ns);
            let own_ns = if keeps_alive { row.ns() / 2 } else { row.ns() };
            let ns = as_largest_of_lock(explanation, root, &of_locks).unwrap_or(own_ns);
            row.rank((fold, explanation), ns, &delays)
        }
        CauseRow::Queue(queue) => {
            let ns = of_program.map_or(queue.ns, |ns| queue.ns.min(ns.saturating_sub(1)));
            row.rank((fold, explanation), ns, &delays)
        }
    });
}

/// What waits for a lock are because of.
#[derive(Default)]
struct LockWaits {
    /// All of them, but for those because a holder waited for a CPU, ns, …
    work_ns: u64,
    /// … and those because of the largest part of that.
    most_ns: u64,
    /// The time in which any of them delayed anybody, as the sum over causes, ns.
    delay_ns: u64,
}

/// Of the cause that explains most waits for a lock: how much all causes of that lock explain, but for the run queue: without it nobody
/// would wait.
fn as_largest_of_lock(
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    of_locks: &HashMap<LabelId, LockWaits>,
) -> Option<u64> {
    if root.is_of_the_end() || root.cause.kind == CauseKind::RunQueue {
        return None;
    }
    let of_lock = of_locks.get(&lock_of(explanation, root)?)?;
    (root.wait_ns == of_lock.most_ns).then_some(of_lock.work_ns)
}

/// What holders of each lock did.
fn by_lock(explanation: &Explanation<'_, '_>, rows: &[CauseRow<'_>]) -> HashMap<LabelId, LockWaits> {
    let mut of_locks: HashMap<LabelId, LockWaits> = HashMap::new();
    for row in rows {
        let CauseRow::Wait(root) = row else { continue };
        if root.is_of_the_end() {
            continue;
        }
        let Some(lock) = lock_of(explanation, root) else { continue };
        let of = of_locks.entry(lock).or_default();
        of.delay_ns = of.delay_ns.saturating_add(delay_ns(root));
        if root.cause.kind != CauseKind::RunQueue {
            of.work_ns = of.work_ns.saturating_add(root.wait_ns);
            of.most_ns = of.most_ns.max(root.wait_ns);
        }
    }
    of_locks
}

/// Of a lock's holder that waits for a CPU on a busy machine, or for its like, and does a lot besides: how much waits because of the largest
/// part of that, ns. What it does tells more: without it nobody would wait.
fn beside_its_work(
    explanation: &Explanation<'_, '_>,
    root: &RootCause,
    of_locks: &HashMap<LabelId, LockWaits>,
) -> Option<u64> {
    let is_by_crowd = [NOTHING, root.cause.role].contains(&root.cause.behind);
    if root.cause.kind != CauseKind::RunQueue || !is_by_crowd || is_starved_holder(explanation, root) {
        return None;
    }
    let of_lock = of_locks.get(&lock_of(explanation, root)?)?;
    (of_lock.work_ns as f64 >= WORKS_BESIDE * root.wait_ns as f64).then_some(of_lock.most_ns)
}

/// The lock that most waits because of a cause are for.
pub fn lock_of(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<LabelId> {
    let lock = lock_of_most(&explanation.names, root, &ordered(explanation, root))?;
    (explanation.names.contention(lock.label, lock.place) == Contention::Lock).then_some(lock.label)
}

/// Of what delayed others for so much of the time that a program's end waited for a sleep, as `(delay, ns)`: how much explains most. That
/// sleep may be how long the program was to run.
fn beside_the_end(explanation: &Explanation<'_, '_>, root: &RootCause, delays: &[(u64, u64)]) -> Option<u64> {
    let is_sleep = matches!(root.cause.kind, CauseKind::Slept | CauseKind::TimedOut) && !root.is_awaited;
    let is_whole = root.path_ns as f64 >= WHOLE * explanation.path_ns as f64;
    let share = if is_whole { DELAYS_BESIDE_WHOLE } else { DELAYS_MEANWHILE };
    let is_much = |(delay, _): &&(u64, u64)| *delay as f64 >= share * root.path_ns as f64;
    let beside = || delays.iter().filter(is_much).map(|(_, ns)| *ns).max();
    (is_sleep && root.is_of_the_end() && !root.is_for_outside()).then(beside)?
}

/// Whether waits for threads in run queues, where all of these were for `queue_ns`, are because of a lock: it makes them longer by far,
/// or its holder hardly ever has a CPU.
fn is_by_lock(explanation: &Explanation<'_, '_>, root: &RootCause, queue_ns: u64) -> bool {
    let is_longer = root.wait_ns >= LONGER_BY_LOCK * queue_ns && is_under_lock(explanation, root);
    is_longer || is_starved_holder(explanation, root) || is_inverted(explanation, root)
}

/// Whether a lock's holder waits for a CPU that a thread has which is neither of the holder's role nor of those that wait for the lock: a
/// third one keeps them from it, which has a higher priority than the holder, or is bound to its CPU as well.
fn is_inverted(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let behind = root.cause.behind;
    let is_waiter = |role: u32| root.chains.iter().any(|(chain, _)| chain.iter().any(|link| link.role == role));
    let is_third = root.cause.kind == CauseKind::RunQueue && behind != NOTHING && behind != root.cause.role;
    is_third
        && !is_waiter(behind)
        && !is_waiter(root.cause.role)
        && root.wall_ns as f64 >= INVERTED_SHARE * explanation.elapsed_ns as f64
        && is_under_lock(explanation, root)
}

/// Whether a lock's holder hardly ever has a CPU, as one of low priority beside others that compute.
fn is_starved_holder(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    let starves = |account: &Account| account.run_queue_ns / STARVED > account.running_ns;
    root.wall_ns >= explanation.elapsed_ns / 2
        && explanation.accounts.get(&root.cause.role).is_some_and(starves)
        && is_under_lock(explanation, root)
}

/// Whether most of a cause's waits are for a lock.
fn is_under_lock(explanation: &Explanation<'_, '_>, root: &RootCause) -> bool {
    lock_of(explanation, root).is_some()
}

/// The chains, those that begin with a lock first: their waiters lose time, where who waits for an answer wanted the work.
pub fn ordered<'e>(explanation: &Explanation<'_, '_>, root: &'e RootCause) -> Vec<&'e (Vec<Link>, u64)> {
    let mut chains: Vec<&(Vec<Link>, u64)> = root.chains.iter().collect();
    if root.is_of_the_end() {
        return chains;
    }
    let largest_ns = chains.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    let is_contended = |(chain, ns): &(Vec<Link>, u64)| {
        chain.first().is_some_and(|link| explanation.names.is_lock(link.label, link.place)) && 2 * ns >= largest_ns
    };
    chains.sort_by_key(|chain| !is_contended(chain));
    chains
}
