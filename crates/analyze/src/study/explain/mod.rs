//! Where the time went, and because of what: by construction, not by patterns.
//!
//! Every wait is explained by what the thread that ended it, or held what was waited for, did meanwhile, down to root causes
//! ([`walk`]). Who asked whom tells which waits hold somebody up, and which are of threads without work ([`classes`],
//! [`dialogues`]). It takes a fold; it gives causes with the chains of waits that lead to them, and the account of each role of
//! threads. It makes no sentences.

mod account;
mod always_running;
mod answers;
mod asked_answers;
mod asked_collections;
mod asked_endpoints;
mod asked_from_outside;
mod asked_spans;
mod askers;
mod asking_fibers;
mod awaited_ends;
mod bare_stacks;
mod blocked_loops;
mod bound_threads;
mod broadcasts;
mod brokers;
mod busy_servers;
mod busy_workers;
mod call_paths;
mod cause_meanwhile;
mod cause_pieces;
mod chains;
mod children;
mod circles;
mod classes;
mod closures;
mod collections;
mod connection_threads;
mod cpu_runs;
mod critical_sections;
mod deadlocks;
mod dialogues;
mod estimates;
mod found;
mod gil_turns;
mod go_requests;
mod hops;
mod idle_mates;
mod in_turn;
mod interval_polls;
mod key_facts;
mod known_classes;
mod library_waits;
mod lock_looks;
mod loop_code;
mod machine_use;
mod many_files;
mod masters;
mod meanwhile;
mod mostly_ran;
mod names;
mod object_titles;
mod one_wait;
mod open_requests;
mod outside;
mod paced_waits;
mod permits;
mod places;
mod pollers;
mod process_ends;
mod program_path;
mod programs;
mod recent_rows;
mod requests;
mod roles;
mod roots;
mod run_queue;
mod saturated_pools;
mod saturated_threads;
mod schedules;
mod scripts;
mod sends;
mod sent_before;
mod sleeps;
mod standstill;
mod terms;
#[cfg(test)]
mod tests;
mod turns;
mod vain_sleeps;
mod wait_ends;
mod wait_parts;
mod wait_sums;
mod waiters;
mod waiting_calls;
mod waiting_connections;
mod wake_ups;
mod walk;
mod walked_parts;
mod workloads;

use std::collections::{BTreeMap, HashMap, HashSet};

use dwell_model::ObjectId;
use dwell_store::Trace;

pub use self::account::Account;
pub use self::asked_answers::{AskedAnswers, asked_answers, waits_at};
pub use self::asked_collections::asked_collections;
pub use self::asked_endpoints::{
    AlwaysAsked, always_asked, answers_over_one, are_asked_within, asked_at_once, is_answered_within, mostly_asked,
    sends_unasked,
};
use self::asked_spans::asked_spans;
pub use self::bound_threads::{STRAY_SHARE, are_bound};
use self::busy_workers::prefer_seen_waits;
pub use self::call_paths::UNKNOWN_FUNCTION;
use self::cause_meanwhile::set_meanwhile;
pub use self::cause_pieces::{CausePiece, LinkedWait};
use self::chains::{Chains, NodeId, SERVED, WAITS};
use self::classes::Classes;
pub use self::classes::DELAYED_ACK_NS;
use self::cpu_runs::CpuRuns;
pub use self::cpu_runs::NO_CPU;
pub use self::critical_sections::runs_outside_critical_section;
use self::deadlocks::deadlocks;
pub use self::estimates::estimate;
use self::found::FoundCauses;
pub use self::in_turn::{InTurn, in_turn};
use self::key_facts::KnownKeys;
pub use self::library_waits::{LibraryWait, library_wait};
pub use self::loop_code::{loop_code, loop_places};
pub use self::machine_use::machine_use;
use self::many_files::many_files_as_one;
pub use self::many_files::{called_file, is_of_many_files};
use self::masters::{Master, masters};
pub use self::meanwhile::{Meanwhile, MeanwhileKind};
pub use self::mostly_ran::mostly_ran;
pub use self::names::{Contention, Names};
pub use self::one_wait::{ExplainedWait, explain_wait};
pub use self::open_requests::{
    AskedEndpoint, FewerAsked, LoopRequests, fewer_asked, processes_of, takes_requests, waiting_requests,
};
pub use self::places::{function_at, function_key, is_from_program, wait_place};
use self::program_path::program_path;
pub use self::roles::is_first_of_process;
pub use self::roots::RootCause;
use self::roots::{in_order, root_causes, set_ran_mostly};
pub use self::run_queue::RunQueue;
pub use self::saturated_threads::kept_at;
use self::saturated_threads::saturated_threads;
pub use self::schedules::keeps_schedule;
pub use self::scripts::{runs_programs, runs_scripts};
pub use self::sleeps::{sleep_within, sleeps_for_lock};
use self::standstill::StandingProgram;
pub use self::terms::{
    Cause, CauseKind, LabelId, Link, NOTHING, PlaceId, RoleId, WaitClass, accepts, asks, is_client_socket,
    is_connection_pool, is_new_connection, is_of_event_loop, is_response, is_safepoint, is_within_machine, may_ask,
    parks_threads,
};
pub use self::vain_sleeps::{VainSleeps, vain_sleeps};
use self::wait_parts::Wait;
use self::waiters::Waiters;
use self::waiting_connections::add_waiting_connections;
pub use self::waiting_connections::{AcceptorState, Acceptors, WaitingConnections};
use dwell_query::engine::fold::Fold;
use dwell_query::question::windows::Windows;
use dwell_query::stacks::idle::IdleWaits;
use dwell_query::stacks::object::object_type;

use self::walk::KnownFacts;
use self::walked_parts::{WalkedParts, usual_parts, walk_parts};

/// Part of the elapsed time for which threads work for others from which on it is known what these wait for.
const SERVED_SHARE: f64 = 0.3;

/// Where the time went.
pub struct Explanation<'f, 't> {
    /// Names of what it speaks of.
    pub names: Names<'f, 't>,
    /// The root causes of waits, the largest first.
    pub causes: Vec<RootCause>,
    /// What each role did.
    pub accounts: BTreeMap<RoleId, Account>,
    /// The process of a role that looks after the others.
    masters: HashMap<RoleId, Master>,
    /// Waits on others: thread-nanoseconds. The causes' sum to it.
    pub demand_ns: u64,
    /// Whether [`crate::Query::waiters`] names no role, thread or object.
    pub no_waiter_matches: bool,
    /// Time looked at, ns.
    pub elapsed_ns: u64,
    /// Part of it that was walked, by which all times are estimated: 1 where they are exact.
    pub share: f64,
    /// Length of the path, ns; 0 where none was asked for.
    pub path_ns: u64,
    /// Who had the CPUs meanwhile.
    pub run_queue: RunQueue,
    /// The waits of each deadlock, each for a lock that the next one's thread has.
    pub deadlocks: Vec<Vec<Link>>,
    /// That the program stood still at the end of the recording, without a deadlock.
    pub standstill: Option<StandingProgram>,
    /// Which part of the waits on each object is of threads that had something to do.
    pub busy_shares: HashMap<ObjectId, f64>,
    /// Steps of the walk: its work, and whether it was left since that is more than was allowed.
    steps: u64,
    is_cut: bool,
    /// Roles that are asked from outside the recording, or work for these.
    serving: HashSet<RoleId>,
    /// Roles with a thread that ran all the time, where nobody is known to have waited for that.
    always_running: HashSet<RoleId>,
    /// Roles of workers that hardly ever are without work.
    busy_workers: HashSet<RoleId>,
    /// What keeps the loops of a role that requests wait for.
    open_requests: HashMap<RoleId, LoopRequests>,
    /// Connections that waited to be accepted, by their cause.
    accept_queues: HashMap<Cause, WaitingConnections>,
    /// Who usually ends waits of a role for what has a label.
    expected: HashMap<(RoleId, u32), RoleId>,
}

/// Explains the waits of a fold: those that its filters let through, by all that is recorded.
pub fn explain<'f, 't>(fold: &'f Fold<'t>) -> Explanation<'f, 't> {
    explain_within(fold, &fold.sums.windows)
}

fn explain_within<'f, 't>(fold: &'f Fold<'t>, windows: &Windows) -> Explanation<'f, 't> {
    explain_in_parts(fold, windows, (usual_parts(fold.trace), u64::MAX))
}

/// The same by a walk that is cut into so many parts of the time, and takes so many steps at most.
fn explain_in_parts<'f, 't>(
    fold: &'f Fold<'t>,
    windows: &Windows,
    (parts, most_steps): (usize, u64),
) -> Explanation<'f, 't> {
    let trace = fold.trace;
    let mut names = Names::new(trace, &fold.sums.stacks);
    let roles: Vec<RoleId> = (0..trace.threads.tid.len()).map(|thread| names.role_of(thread)).collect();
    let role_of = |thread: usize| roles.get(thread).copied().unwrap_or(NOTHING);
    let mut idle = IdleWaits::default();
    let is_idle =
        |key: &dwell_store::EventKey| idle.is_idle(&fold.sums.stacks, key.stack(), object_type(trace, key.object()));
    let classes = Classes::new(trace, &role_of, &mut names, is_idle);
    let cpus = CpuRuns::new(trace, windows);
    let mut accounts = lives(trace, windows, &role_of);
    let run_queue = RunQueue::new((fold, windows), &cpus, &mut accounts, &role_of);
    let (selected, saturated) = (selected(fold), saturated(fold, &classes, &names));
    let keys = KnownKeys::new(trace, &mut names, &classes);
    let waiters = fold.query.waiters.as_deref().map(|name| Waiters::new(trace, &names, name));
    let root_of = |wait: &Wait| {
        let is_theirs = |waiters: &Waiters| waiters.has(wait.thread, &trace.events().key(wait.key));
        let is_selected = selected.as_ref().is_none_or(|selected| selected[wait.row]);
        let is_for_outside =
            || waiters.is_none() && !saturated.contains(&wait.thread) && classes.keeps_outside(wait.thread, wait.key);
        root_of(wait.class, || waiters.as_ref().is_none_or(is_theirs), is_for_outside).filter(|_| is_selected)
    };
    let (asked, always_running) = asked_spans(fold, &classes, (&saturated, program_path(fold)), &role_of);
    let known = KnownFacts::new(trace, &names, &keys, &classes, &cpus);
    let WalkedParts { chains, mut found, sums, mut demand_ns, path_ns, steps, is_cut } =
        walk_parts(&known, (windows, parts, most_steps), &asked, &root_of);
    sums.of_thread.iter().enumerate().for_each(|(thread, of)| accounts.entry(role_of(thread)).or_default().add(of));
    let life_ns = |thread: usize| windows.overlap_ns(trace.threads.start_ns[thread], trace.threads.end_ns[thread]);
    let masters = masters(trace, &role_of, &sums.of_thread, &life_ns);
    for (first, ns) in found.remove_idle_waits(&chains) {
        demand_ns = demand_ns.saturating_sub(ns);
        accounts.entry(first.role).or_default().move_demand_to_idle(ns);
    }
    accounts.values_mut().for_each(Account::set_running);
    let (expected, deadlocks) = (expected(&names, &classes, &found), deadlocks(trace, &mut names));
    let mut causes = causes(fold, path_ns, &mut names, (&chains, found));
    let busy_workers = (0..roles.len()).filter(|thread| classes.is_busy_worker(*thread)).map(role_of).collect();
    prefer_seen_waits(&mut causes, &busy_workers);
    let busy_shares = sums.busy_shares(trace, &on_path(&names, &causes));
    Explanation {
        busy_shares,
        accept_queues: add_waiting_connections(fold, windows, &mut names, &mut causes),
        causes,
        standstill: standing_program(fold, &classes, &mut names).filter(|_| deadlocks.is_empty()),
        deadlocks,
        names,
        accounts,
        masters,
        demand_ns,
        no_waiter_matches: waiters.is_some_and(|waiters| waiters.is_empty()),
        elapsed_ns: windows.length_ns(),
        share: 1.0,
        path_ns,
        run_queue,
        steps,
        is_cut,
        serving: (0..roles.len()).filter(|thread| classes.serves_outside(*thread)).map(role_of).collect(),
        open_requests: open_requests(&classes, &role_of, roles.len()),
        always_running,
        busy_workers,
        expected,
    }
}

/// What is told where the program stands still; of a part of what was recorded it is not.
fn standing_program(fold: &Fold<'_>, classes: &Classes<'_, '_>, names: &mut Names<'_, '_>) -> Option<StandingProgram> {
    let still = classes.standstill().filter(|_| fold.query.explains_all())?;
    Some(still.standing_program(fold.trace, names))
}

/// The objects that the program's end waited for, each with its time on that path, ns.
fn on_path(names: &Names<'_, '_>, causes: &[RootCause]) -> Vec<(ObjectId, u64)> {
    causes.iter().filter_map(|root| Some((names.object(root.cause.label)?, root.path_ns))).collect()
}

/// What keeps loops that requests wait for: of each role the one with the most.
fn open_requests(
    classes: &Classes<'_, '_>,
    role_of: &dyn Fn(usize) -> RoleId,
    threads: usize,
) -> HashMap<RoleId, LoopRequests> {
    let mut of_role: HashMap<RoleId, LoopRequests> = HashMap::new();
    for thread in 0..threads {
        let Some(requests) = classes.kept_loops().of_thread(thread) else { continue };
        let known = of_role.entry(role_of(thread)).or_insert_with(|| requests.clone());
        if requests.asked > known.asked {
            known.clone_from(requests);
        }
    }
    of_role
}

/// Threads of which all that they do is told, since somebody outside always waits for it; in any part of the time.
fn saturated(fold: &Fold<'_>, classes: &Classes<'_, '_>, names: &Names<'_, '_>) -> Vec<usize> {
    if fold.query.is_filtered() || fold.query.waiters.is_some() {
        return Vec::new();
    }
    saturated_threads(fold.trace, classes.dialogues().workloads(), names)
}

/// Where the chains of a wait begin.
fn root_of(
    class: WaitClass,
    is_of_waiters: impl FnOnce() -> bool,
    is_for_outside: impl FnOnce() -> bool,
) -> Option<NodeId> {
    match class {
        WaitClass::Demand | WaitClass::GivenUp => is_of_waiters().then_some(WAITS),
        WaitClass::Own | WaitClass::Structure => is_for_outside().then_some(SERVED),
        WaitClass::Idle => None,
    }
}

/// The root causes, the largest first, with what there is to say of them besides.
fn causes<'t>(
    fold: &Fold<'t>,
    path_ns: u64,
    names: &mut Names<'_, 't>,
    (chains, found): (&Chains, FoundCauses),
) -> Vec<RootCause> {
    let roots = root_causes(names, chains, found);
    let mut causes = in_order(many_files_as_one(names, roots));
    set_ran_mostly(path_ns, &mut causes);
    set_meanwhile(fold, path_ns, names, &mut causes);
    causes
}

/// Who usually ends the waits of each cause that is a time-out.
fn expected(names: &Names<'_, '_>, classes: &Classes<'_, '_>, found: &FoundCauses) -> HashMap<(RoleId, u32), RoleId> {
    let timed_out = found.causes.iter().filter(|cause| cause.kind == CauseKind::TimedOut);
    let by = |cause: &Cause| {
        let (dialogues, object) = (classes.dialogues(), names.object(cause.label)?);
        let enders = dialogues.enders(cause.role, object)?;
        let (role, answers) = enders.iter().max_by_key(|(role, waits)| (**waits, std::cmp::Reverse(**role)))?;
        // Who answers one of ten does not usually answer.
        (*answers >= dialogues.time_outs(cause.role, object)).then_some(((cause.role, cause.label), *role))
    };
    timed_out.filter_map(by).collect()
}

/// The lives of each role's threads within the windows.
fn lives(trace: &Trace, windows: &Windows, role_of: &dyn Fn(usize) -> RoleId) -> BTreeMap<RoleId, Account> {
    let mut accounts: BTreeMap<RoleId, Account> = BTreeMap::new();
    let threads = &trace.threads;
    for thread in 0..threads.tid.len() {
        let life_ns = windows.overlap_ns(threads.start_ns[thread], threads.end_ns[thread]);
        let account = accounts.entry(role_of(thread)).or_default();
        account.threads += u64::from(life_ns > 0);
        account.life_ns = account.life_ns.saturating_add(life_ns);
    }
    accounts
}

/// Off-CPU rows that the filters let through; none where all do.
fn selected(fold: &Fold<'_>) -> Option<Vec<bool>> {
    if !fold.query.is_filtered() {
        return None;
    }
    let mut selected = vec![false; fold.trace.events().off_cpu.end()];
    fold.for_each_counted(|row, _| selected[row] = true);
    Some(selected)
}

impl Explanation<'_, '_> {
    /// The account of a role's workers: without the process that only looks after them.
    pub fn workers(&self, role: RoleId) -> Option<Account> {
        let (account, master) = (self.accounts.get(&role)?, self.masters.get(&role));
        Some(master.map_or(*account, |master| master.taken_from(account)))
    }

    /// The deadlock that a cause is, if it is one.
    pub fn deadlock(&self, root: &RootCause) -> Option<&[Link]> {
        self.deadlocks.first().filter(|_| root.cause.kind == CauseKind::Circle).map(Vec::as_slice)
    }

    /// Whether a cause is another wait of a thread that is in a deadlock, at the same place: the JVM looks again from time to time.
    pub fn leads_to_deadlock(&self, root: &RootCause) -> bool {
        let Cause { kind, role, place, .. } = root.cause;
        let is_wait = |link: &Link| (link.role, link.place) == (role, place);
        matches!(kind, CauseKind::TimedOut | CauseKind::Unfinished) && self.deadlocks.iter().flatten().any(is_wait)
    }

    /// Whether a cause is a wait in which the program stands still.
    pub fn stands_still(&self, root: &RootCause) -> bool {
        let Cause { kind, role, label, place, .. } = root.cause;
        let link = Link { role, label, place };
        kind == CauseKind::Unfinished && self.standstill.as_ref().is_some_and(|still| still.waits.contains(&link))
    }

    /// Who usually ends waits like those of the cause.
    pub fn expected(&self, cause: &Cause) -> Option<RoleId> {
        self.expected.get(&(cause.role, cause.label)).copied()
    }

    /// What keeps the loops of a role that requests wait for.
    pub fn open_requests(&self, role: RoleId) -> Option<&LoopRequests> {
        self.open_requests.get(&role)
    }

    /// The connections that waited to be accepted, where that is a cause.
    pub fn accept_queue(&self, cause: &Cause) -> Option<&WaitingConnections> {
        self.accept_queues.get(cause)
    }

    /// Whether it is known what requests of others wait for: any loop, or what its threads did for them for much of the time.
    pub fn keeps_requests(&self) -> bool {
        let served = self.causes.iter().fold(0u64, |sum, root| sum.saturating_add(root.served_ns));
        !self.open_requests.is_empty() || served as f64 >= SERVED_SHARE * self.elapsed_ns as f64
    }

    /// Whether the role is asked from outside the recording, or works for one that is.
    pub fn serves_outside(&self, role: RoleId) -> bool {
        self.serving.contains(&role)
    }

    /// Whether the cause is a sleep in the work of a role that hardly ever is without.
    pub fn is_of_busy_worker(&self, root: &RootCause) -> bool {
        root.cause.kind == CauseKind::Slept && self.busy_workers.contains(&root.cause.role)
    }

    /// Whether waits of the same role for the same thing have another cause, which explains more of them: those that go on where the
    /// recording ends would have ended as well.
    pub fn ends_elsewhere(&self, root: &RootCause) -> bool {
        let Some(first) = root.chains.first().and_then(|(chain, _)| chain.first()) else { return false };
        let larger = self.causes.iter().filter(|other| other.wait_ns > root.wait_ns);
        let mut ended = larger.filter(|other| !matches!(other.cause.kind, CauseKind::Unfinished | CauseKind::Circle));
        ended.any(|other| other.chains.iter().any(|(chain, _)| chain.contains(first)))
    }

    /// Whether the cause is that a thread ran all the time, and nobody is known to have waited for that.
    pub fn runs_always(&self, root: &RootCause) -> bool {
        root.cause.kind == CauseKind::Ran && root.is_for_outside() && self.always_running.contains(&root.cause.role)
    }

    /// Multiplies all times: of slices they stand for the whole. Sums are those of their parts.
    fn scale(&mut self, factor: f64) {
        let scaled = |ns: u64| (ns as f64 * factor).round() as u64;
        for root in &mut self.causes {
            let times = [&mut root.wait_ns, &mut root.wall_ns, &mut root.path_ns, &mut root.served_ns].into_iter();
            let of_chains = root.chains.iter_mut().map(|(_, ns)| ns);
            let of_callers = root.callers.iter_mut().map(|(_, ns)| ns);
            times.chain(of_chains).chain(of_callers).for_each(|ns| *ns = scaled(*ns));
        }
        self.accounts.values_mut().for_each(|account| account.scale(&scaled));
        self.masters.values_mut().for_each(|master| {
            (master.life_ns, master.idle_ns) = (scaled(master.life_ns), scaled(master.idle_ns));
        });
        self.run_queue.scale(&scaled);
        self.demand_ns = self.causes.iter().map(|root| root.wait_ns).fold(0, u64::saturating_add);
        self.path_ns = self.causes.iter().map(|root| root.path_ns).fold(0, u64::saturating_add);
        self.elapsed_ns = scaled(self.elapsed_ns);
    }

    /// The role whose threads were in run queues for longest.
    pub fn busiest_queue(&self) -> &str {
        let most = self.accounts.iter().max_by_key(|(_, account)| account.run_queue_ns);
        self.names.role(most.map_or(NOTHING, |(role, _)| *role))
    }

    /// The sum of all accounts.
    pub fn whole(&self) -> Account {
        let mut whole = Account::default();
        self.accounts.values().for_each(|account| whole.add(account));
        whole
    }
}
