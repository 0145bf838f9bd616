//! What to do where the workers are too few for those who wait for them.

use dwell_view::{Sentence, Word};

use crate::sentences::say;
use crate::study::explain::{Account, CauseKind, Explanation, Link, RoleId, RootCause};

/// Part of a role's life below which its threads are never without work.
pub const ALWAYS_BUSY: f64 = 0.1;
/// The same for threads that have more waiters than they are: before the first and after the last they have no work.
pub const SOMETIMES_IDLE: f64 = 0.5;

/// Threads of a pool for each one that would live for all of the time, at most: more are made for each piece of work.
const THREADS_PER_LIFE: f64 = 2.0;

/// The first workers along the largest chain that were never without work while others waited for them; of several that always
/// had work the last ones, for which those before them wait.
pub fn pool(explanation: &Explanation<'_, '_>, root: &RootCause, chains: &[&(Vec<Link>, u64)]) -> Option<Sentence> {
    let (names, (largest, ns)) = (&explanation.names, chains.first()?);
    let askers = root.askers(largest);
    let first = askers.first()?;
    let for_loop = names.is_of_event_loop(first.label);
    // A loop that waits for many answers at once has no lack of threads.
    let one_by_one = |link: &&Link| !names.is_of_event_loop(link.label) || names.is_for_one_pipe(link.label);
    // Whose end is waited for gets no more work.
    let asked = askers.iter().zip(askers.iter().skip(1)).filter(|(asker, _)| !names.is_join(asker.label));
    let on_the_way = asked.map(|(_, link)| link).filter(one_by_one).map(|link| {
        // Who waits for a pipe waits for a child, and that is what to make faster.
        let of_child = names.is_for_one_pipe(link.label).then(|| root.place()).flatten();
        let place = of_child.or_else(|| names.place(link.place).map(|place| place.at.clone()));
        Workers { role: link.role, waited_for_ns: *ns, place, sleep: false, for_loop }
    });
    let last = Workers {
        role: root.cause.role,
        waited_for_ns: root.wait_ns,
        place: root.place(),
        sleep: root.cause.kind == CauseKind::Slept,
        for_loop,
    };
    let may_be_few = |link: &&Link| !names.is_join(link.label) && !names.is_of_event_loop(root.cause.label);
    let last = askers.last().filter(may_be_few).map(|_| last);
    let workers = on_the_way.chain(last).filter(|workers| workers.role != first.role);
    let found: Vec<(f64, Sentence)> = workers.filter_map(|workers| too_few(explanation, root, workers)).collect();
    let busiest = found.iter().rposition(|(idle, _)| *idle < ALWAYS_BUSY).unwrap_or(0);
    found.into_iter().nth(busiest).map(|(_, advice)| advice)
}

/// Threads that work for others.
struct Workers {
    role: RoleId,
    /// Waits for them, thread-nanoseconds.
    waited_for_ns: u64,
    /// Where they spend the time of these waits.
    place: Option<String>,
    /// Whether they sleep there.
    sleep: bool,
    /// Whether a loop of events asks, for many at once.
    for_loop: bool,
}

/// What to do if the workers were never without work; and the part of their lives in which they were.
fn too_few(explanation: &Explanation<'_, '_>, root: &RootCause, workers: Workers) -> Option<(f64, Sentence)> {
    if explanation.names.are_made_for_connections(workers.role) {
        return None; // there are as many as those who ask have opened connections
    }
    let account = &explanation.workers(workers.role)?;
    let (threads, life_ns, idle) = (account.threads as f64, account.life_ns as f64, account.idle_share());
    let waiters = workers.waited_for_ns as f64 / root.wall_ns.max(1) as f64;
    // Of workers that sleep, the one who asks may be a loop that asks for many.
    let is_small = if waiters > threads { idle < SOMETIMES_IDLE } else { workers.sleep && idle < ALWAYS_BUSY };
    let is_their_work = (2.0 * root.wall_ns as f64) * threads >= life_ns;
    if account.idle_ns == 0 || !stay(explanation, account) || !is_small || !is_their_work {
        return None;
    }
    let (threads, who, share) = (account.threads, explanation.names.role(workers.role), Word::Share(idle));
    // Of one that sleeps while no more wait than it can serve, nothing tells whether these asked it.
    let may_be_pace = workers.sleep && !workers.for_loop && waiters <= threads as f64;
    let advice = if may_be_pace {
        say!(ADVICE_POOL_OR_PACE, threads = threads, who = who, idle = share, place = workers.place)
    } else {
        pool_advice(explanation, workers.role, threads, (idle, workers.place))
    };
    Some((idle, advice))
}

/// What to do where workers sleep that hardly ever are without work; none of other causes.
pub fn busy_workers(explanation: &Explanation<'_, '_>, root: &RootCause) -> Option<Sentence> {
    let role = root.cause.role;
    let account = explanation.workers(role).filter(|_| explanation.is_of_busy_worker(root))?;
    Some(pool_advice(explanation, role, account.threads, (account.idle_share(), root.place())))
}

/// Whether a role's threads stay. A program that runs once has no work to wait for, nor has a thread that is made for each piece of it.
pub fn stay(explanation: &Explanation<'_, '_>, account: &Account) -> bool {
    let lives = account.life_ns.max(1) as f64 / explanation.elapsed_ns.max(1) as f64;
    account.threads as f64 <= 1.0 + THREADS_PER_LIFE * lives
}

/// That the threads were without work for a part of their time only.
pub fn pool_advice(
    explanation: &Explanation<'_, '_>,
    role: RoleId,
    threads: u64,
    (idle, place): (f64, Option<String>),
) -> Sentence {
    say!(ADVICE_POOL, threads = threads, who = explanation.names.role(role), idle = Word::Share(idle), place = place)
}
