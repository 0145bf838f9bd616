//! Which waits hold somebody up: those for a thing that was asked for. One rule after the other, the surest first.

mod by_type;
mod for_outside;
mod request_waits;
mod telling_keys;
mod watchers;

use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use dwell_model::{BETWEEN_SAMPLES, ObjectType, Outcome, Reason, UNSEEN, WakerKind};
use dwell_query::stacks::channels::{awaits_result, calls_synchronously, hands_to_queue, receives_from_queue};
use dwell_query::stacks::java_locks::takes_java_lock;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use self::telling_keys::{consumes, is_answer_of_unix, is_owed, waits_as_worker};
use crate::study::explain::answers::Answers;
use crate::study::explain::asked_endpoints::rows_of_asking_loops;
use crate::study::explain::asked_from_outside::{AskedFromOutside, listening_loops};
use crate::study::explain::asking_fibers::answers_to_fibers;
use crate::study::explain::bare_stacks::is_of_kernel;
use crate::study::explain::broadcasts::broadcasters;
use crate::study::explain::brokers::Brokers;
use crate::study::explain::busy_workers::busy_workers;
use crate::study::explain::chains::Idleness;
use crate::study::explain::children::{is_by_own_child, is_upstream};
use crate::study::explain::dialogues::Dialogues;
use crate::study::explain::go_requests::request_goroutines;
use crate::study::explain::idle_mates::IdleMates;
use crate::study::explain::known_classes::KnownClasses;
use crate::study::explain::lock_looks::waits_for_lock;
use crate::study::explain::names::Names;
use crate::study::explain::open_requests::KeptLoops;
use crate::study::explain::paced_waits::paced_keys;
use crate::study::explain::saturated_pools::pool_answers;
use crate::study::explain::saturated_threads::waiting_parents;
use crate::study::explain::sent_before::asked;
use crate::study::explain::sleeps::ruby_sleeps;
use crate::study::explain::standstill::Standstill;
use crate::study::explain::terms::{
    PlaceId, RoleId, WaitClass, asks, asks_alone, is_client_socket, is_connection_pool, is_internal, is_needed,
    is_of_event_loop, is_response, is_safepoint, is_within_machine, listens, parks_threads, serves,
};
use crate::study::explain::vain_sleeps::keys_of_lock_polls;
use crate::study::explain::wait_ends::{WaitEnds, waited_for, waker_of};
use crate::study::explain::waiting_calls::{LISTENS, READS, calls_one_of};

/// How long an acknowledgement is delayed, ns: 40 ms to 200 ms (TCP_DELACK_MIN, TCP_DELACK_MAX in include/net/tcp.h), and what a timer
/// and a switch take.
pub const DELAYED_ACK_NS: Range<u64> = 35_000_000..250_000_000;
/// Answered waits on an object that make an unfinished one a wait for an answer, too.
const USUAL: u64 = 5;
/// Answered waits on an object for each that times out, from which on that one was for an answer, too.
const ANSWERS_PER_TIME_OUT: u64 = 2;
/// Rows before a wait in which the one that gave work is looked for.
const LOOKED_AT: usize = 64;

/// A key's class as far as the key tells.
#[derive(Clone, Copy)]
enum OfKey {
    Known(WaitClass),
    /// The row tells: whether it asked on a socket, or how the wait went on.
    ByRow,
}

/// The classes of waits.
pub struct Classes<'n, 't> {
    trace: &'t Trace,
    role_of: &'n (dyn Fn(usize) -> RoleId + Sync),
    dialogues: Dialogues<'n>,
    brokers: Brokers,
    of_key: Vec<OfKey>,
    /// Classes of rows, as far as they were asked for.
    of_rows: KnownClasses,
    /// What waits of a key tell of the thread where they are its own, and where they are idle.
    idleness: Vec<[Idleness; 2]>,
    /// Of each key: whether its waits are for another thread of the role, at a place where no runtime's workers wait for work.
    for_role_mate: Vec<bool>,
    idle_mates: IdleMates<'t>,
    /// Threads that another role gives work through a descriptor.
    request_readers: HashSet<usize>,
    /// Threads and the places of their event loops.
    loops: HashSet<(usize, PlaceId)>,
    /// Rows that wait on a socket on which something was sent before.
    asked: HashSet<usize>,
    /// Of each key: whether its waits are sleeps by means of a timed wait.
    paced: Vec<bool>,
    /// Of each key: whether its waits are Ruby's sleeps.
    ruby_sleeps: Vec<bool>,
    wait_ends: WaitEnds<'t>,
    asked_from_outside: AskedFromOutside,
    answers: Answers,
    /// Loops that requests wait for.
    kept_loops: KeptLoops,
    /// Rows of loops that wait for the answers that their program always waits for.
    asking_loops: HashSet<usize>,
    /// Threads that were never without work and wake several others at once.
    broadcasters: HashSet<usize>,
    /// Threads that mostly wait for children that end.
    waiting_parents: HashSet<usize>,
    /// Goroutines that answer requests one after the other.
    request_goroutines: HashSet<usize>,
    standstill: Option<Standstill>,
    /// Threads that wait for new connections in a loop of events.
    listening_loops: HashSet<usize>,
    /// Workers for which nobody is seen to wait, and that hardly ever are without work.
    busy_workers: HashSet<usize>,
}

impl<'n, 't> Classes<'n, 't> {
    /// Those of a trace. `is_idle` tells the waits of workers of known runtimes without work.
    pub fn new(
        trace: &'t Trace,
        role_of: &'n (dyn Fn(usize) -> RoleId + Sync),
        names: &mut Names<'_, '_>,
        mut is_idle: impl FnMut(&EventKey) -> bool,
    ) -> Self {
        // A call that waits for its answer may do so in a loop of its own.
        let mut is_idle = |key: &EventKey| is_idle(key) && !awaits_result(trace, key.stack());
        let dialogues = Dialogues::new(trace, role_of, names);
        let brokers = Brokers::new(trace, dialogues.programs(), role_of);
        let answers = Answers::new(trace);
        let broadcasters = broadcasters(trace, &dialogues.workloads().never_without_work().collect());
        let waiting_parents = waiting_parents(trace, dialogues.workloads());
        let keys = &trace.events().keys;
        let consumers: Vec<bool> = keys.iter().map(|key| consumes(names, trace, key)).collect();
        let workers: Vec<bool> = keys.iter().map(|key| waits_as_worker(names, (trace, &dialogues), key)).collect();
        let standstill = Standstill::new(trace, names.stacks(), &mut is_idle);
        let to_fibers = answers_to_fibers(trace, names.stacks());
        let mut place_of = |key: &EventKey| names.place_of(key.stack());
        let in_loop = keys.iter().filter(|key| is_of_event_loop(key.syscall()));
        let loops = in_loop.filter_map(|key| Some((key.thread().get()?, place_of(key)))).collect();
        let mut classes = Self {
            trace,
            role_of,
            dialogues,
            brokers,
            of_key: Vec::new(),
            of_rows: KnownClasses::new(trace.events().off_cpu.end()),
            idleness: Vec::new(),
            for_role_mate: Vec::new(),
            idle_mates: IdleMates::new(trace, role_of),
            request_readers: HashSet::new(),
            loops,
            asked: asked(trace),
            paced: paced_keys(trace),
            ruby_sleeps: ruby_sleeps(trace),
            wait_ends: WaitEnds::new(trace, &mut place_of),
            asked_from_outside: AskedFromOutside::default(),
            answers,
            kept_loops: KeptLoops::new(trace),
            asking_loops: rows_of_asking_loops(trace),
            broadcasters,
            waiting_parents,
            request_goroutines: request_goroutines(trace),
            standstill,
            listening_loops: listening_loops(trace),
            busy_workers: HashSet::new(),
        };
        classes.idleness = keys.iter().map(|key| classes.idleness_by_key(key, &mut place_of)).collect();
        classes.for_role_mate = keys.iter().map(|key| classes.is_for_role_mate(key) && !is_idle(key)).collect();
        let (pool_answers, lock_polls) = (pool_answers(trace, role_of), keys_of_lock_polls(trace));
        let of_key = |(number, key): (usize, &EventKey)| match (consumers[number], is_idle(key)) {
            (true, _) => OfKey::Known(WaitClass::Idle),
            (false, _) if lock_polls[number] => OfKey::Known(WaitClass::Demand),
            (false, false) if pool_answers[number] || to_fibers[number] || classes.stands_still(number) => {
                OfKey::Known(WaitClass::Demand)
            }
            (false, is_idle) => classes.by_key(key, (is_idle, workers[number]), &mut place_of),
        };
        classes.of_key = keys.iter().enumerate().map(of_key).collect();
        let known = keys.iter().zip(&classes.of_key);
        let given = known.filter(|(key, of)| matches!(of, OfKey::Known(WaitClass::Idle)) && classes.reads_request(key));
        classes.request_readers = given.filter_map(|(key, _)| key.thread().get()).collect();
        let is_idle = |number: usize| matches!(classes.of_key[number], OfKey::Known(WaitClass::Idle));
        let has_one_per_connection = |role: RoleId| names.has_one_per_connection(role);
        classes.asked_from_outside = AskedFromOutside::new(trace, role_of, &is_idle, &has_one_per_connection);
        classes.busy_workers = busy_workers(trace, &|thread, row, key| classes.of(thread, row, key), role_of);
        classes
    }

    /// Which row ends a wait.
    pub fn wait_ends(&self) -> &WaitEnds<'t> {
        &self.wait_ends
    }

    /// Who gives work to whom.
    pub fn dialogues(&self) -> &Dialogues<'n> {
        &self.dialogues
    }

    /// Whether what is waited for is a lock, or works like one: an object whose waiters end one another's waits.
    pub fn is_lock(&self, key: &EventKey) -> bool {
        let kind = object_type(self.trace, key.object());
        let is_lock = is_needed(kind) && !matches!(kind, ObjectType::PageFault | ObjectType::BlockIo);
        let is_javas = kind == ObjectType::JvmMonitor && takes_java_lock(self.trace, key.stack());
        let is_pool = is_connection_pool(waited_for(self.trace, key));
        is_lock || is_javas || is_pool || self.dialogues.is_lock(key.object())
    }

    /// Loops that requests wait for.
    pub fn kept_loops(&self) -> &KeptLoops {
        &self.kept_loops
    }

    /// How the program stands still, if it does.
    pub fn standstill(&self) -> Option<&Standstill> {
        self.standstill.as_ref()
    }

    fn stands_still(&self, key: usize) -> bool {
        self.standstill.as_ref().is_some_and(|still| still.has_key(key))
    }

    /// The class of an off-CPU row that waited.
    pub fn of(&self, thread: usize, row: usize, key: u32) -> WaitClass {
        if self.kept_loops.has_row(row) || self.asking_loops.contains(&row) {
            return WaitClass::Demand;
        }
        match self.of_key.get(key as usize) {
            Some(OfKey::Known(class)) => *class,
            Some(OfKey::ByRow) => self.of_row(thread, row),
            None => WaitClass::Idle,
        }
    }

    /// What an off-CPU row that waited tells of the thread: whether it had work.
    pub fn idleness(&self, thread: usize, row: usize, key: u32) -> Idleness {
        let [own, idle] = self.idleness.get(key as usize).copied().unwrap_or_default();
        match self.of(thread, row, key) {
            WaitClass::Own if self.sleeps_by_other_means(thread, row, key) => Idleness::Busy,
            WaitClass::Own => own,
            WaitClass::Idle if self.is_within_request(thread, row, key) => Idleness::Busy,
            WaitClass::Idle => idle,
            _ => Idleness::Busy,
        }
    }

    /// What a wait of a loop tells of the thread where a wait of `asker` led to it. A loop that did nothing for somebody who asks it
    /// waits itself, until another one whom that one asks by it has told it the answer.
    pub fn idleness_for(&self, asker: RoleId, (key, ns): (u32, u64), idle: Idleness) -> Idleness {
        if idle != Idleness::Serves {
            return idle;
        }
        let key = self.trace.events().key(key);
        // What a server started for the one that asks answers, too.
        let mut answers =
            waker_of(&key).into_iter().flat_map(|it| iter::once(it).chain(self.dialogues.programs().creators(it)));
        let answers = answers.any(|other| self.brokers.is_client(asker, (self.role_of)(other)));
        if answers || self.is_held_back(&key, ns) { Idleness::Busy } else { idle }
    }

    /// Whether what a wait of so many ns is for was sent, and TCP held it back: within a machine whoever sends ends the wait, and what
    /// takes so long is a delayed ACK.
    fn is_held_back(&self, key: &EventKey, ns: u64) -> bool {
        let by_network = WakerKind::from_code(key.waker_kind()) == WakerKind::Network;
        by_network && is_within_machine(waited_for(self.trace, key)) && DELAYED_ACK_NS.contains(&ns)
    }

    /// Whether a thread that waited until a time of its own had work: it was given some by another role, and has not gone for more
    /// since, or it serves others whenever the time has come. That is a sleep by other means, as those of MariaDB and Ruby are.
    pub fn sleeps_by_other_means(&self, thread: usize, row: usize, key: u32) -> bool {
        // What the key alone tells to be its own is an event loop's or a runtime's timer.
        let may_be = matches!(self.of_key.get(key as usize), Some(OfKey::ByRow));
        if !may_be || self.of(thread, row, key) != WaitClass::Own {
            return false;
        }
        if self.ruby_sleeps.get(key as usize) == Some(&true) {
            return self.is_ruby_sleep(thread, row);
        }
        // Into a descriptor others may have written: that is a wait for them.
        let parks = parks_threads(object_type(self.trace, self.trace.events().key(key).object()));
        parks && (self.paced.get(key as usize) == Some(&true) || self.request_before(thread, row).is_some())
    }

    fn is_ruby_sleep(&self, thread: usize, row: usize) -> bool {
        let key = self.trace.events().off_cpu.key(row);
        self.ruby_sleeps.get(key as usize) == Some(&true) && !self.wait_ends.is_ruby_slice(thread, row)
    }

    fn was_there(&self, key: &EventKey) -> bool {
        key.thread().get().is_some_and(|thread| self.dialogues.workloads().was_there(thread))
    }

    fn answers_requests(&self, key: &EventKey) -> bool {
        key.thread().get().is_some_and(|thread| self.request_goroutines.contains(&thread))
    }

    /// Whether functions of a stack say that the thread waits to hand something over, or for a lock.
    fn is_held_up_by_name(&self, key: &EventKey) -> bool {
        hands_to_queue(self.trace, key.stack()) || waits_for_lock(self.trace, key.stack())
    }

    fn are_of_one_process(&self, one: usize, other: usize) -> bool {
        let processes = &self.trace.threads.process;
        processes.get(one) == processes.get(other)
    }

    fn idleness_by_key(&self, key: &EventKey, place_of: &mut impl FnMut(&EventKey) -> PlaceId) -> [Idleness; 2] {
        let (name, in_loop) = (waited_for(self.trace, key), is_of_event_loop(key.syscall()));
        let listens = listens(name) || in_loop;
        let idle = match key.thread().get().zip(waker_of(key)) {
            // A server's loop that got an answer for a client's question.
            Some((thread, waker)) if in_loop && self.was_asked(thread, waker, key, place_of) => Idleness::Busy,
            _ if serves(name) || (listens && !asks(name)) => Idleness::Serves,
            _ => Idleness::Idle,
        };
        // Own: a timer's thread; what a loop's own time-out is for may be an answer.
        [if in_loop { Idleness::Busy } else { Idleness::Idle }, idle]
    }

    fn by_key(
        &self,
        key: &EventKey,
        (is_idle, is_worker): (bool, bool),
        place_of: &mut impl FnMut(&EventKey) -> PlaceId,
    ) -> OfKey {
        use OfKey::{ByRow, Known};
        use WaitClass::{Demand, Idle, Own, Structure};
        if let Some(class) = self.by_type(key, is_idle) {
            return Known(class);
        }
        let (kind, outcome) = (object_type(self.trace, key.object()), Outcome::from_code(key.outcome()));
        let in_call = key.syscall() >= 0;
        let calls = |names: &[&str]| calls_one_of(key, names);
        let in_loop = is_of_event_loop(key.syscall());
        let name = waited_for(self.trace, key);
        let thread = key.thread().get().unwrap_or(usize::MAX);
        let is_file = kind == ObjectType::Stream && name.starts_with('/') && !name.starts_with("/dev/");
        if key.syscall() == BETWEEN_SAMPLES {
            return Known(Idle); // nothing is known of it
        }
        if calls(&["restart_syscall"]) && waker_of(key).is_none() {
            return Known(Own); // what a signal breaks off and goes on so is a poll or a sleep until a time
        }
        if is_safepoint(name) || (in_call && !calls(LISTENS)) || (is_file && calls(READS)) {
            return Known(Demand);
        }
        if kind == ObjectType::Unknown && !in_call && key.syscall() != UNSEEN {
            let faults = key.reason() == Some(Reason::Waiting) && !is_of_kernel(self.trace, key.stack());
            return Known(if faults { Demand } else { Idle });
        }
        if outcome == Outcome::Woken && !is_idle && self.dialogues.is_lock_in(key.object(), key.stack()) {
            return Known(Demand);
        }
        if self.answers.is_answer(self.trace, key) || (!in_loop && !is_idle && is_answer_of_unix(key, name)) {
            return Known(Demand);
        }
        if serves(name) || self.answers.is_published(key) || self.reads_for_others(key, name) {
            return Known(Idle);
        }
        // A response that nobody waits for on behalf of a request may be a watch's, which answers for as long as it lives.
        let is_awaited = is_response(name) && (outcome == Outcome::Woken || self.answers_requests(key));
        if is_awaited || asks_alone(name) && is_owed(name, outcome) && !in_loop {
            return Known(Demand);
        }
        if outcome == Outcome::Interrupted && !listens(name) && !asks(name) && is_by_own_child(self.trace, key) {
            return Known(Structure); // it waits for that child alone
        }
        // A descriptor of its own that told the time is the loop's time-out.
        let is_by_timer = in_loop && WakerKind::from_code(key.waker_kind()) == WakerKind::Timer;
        if outcome == Outcome::TimedOut || is_by_timer {
            // Nobody owes an answer to whoever listens.
            let is_own = in_loop || is_idle || listens(name) || self.supervises(key);
            return if is_own { Known(Own) } else { ByRow };
        }
        if self.supervises(key) {
            return Known(Idle);
        }
        if let Some(waker) = waker_of(key) {
            // Whoever takes may never have waited, and so was never given anything that anybody saw.
            let is_held_up = parks_threads(kind) && self.is_held_up_by_name(key);
            // What is published to all who wait is no result of theirs.
            let awaits = !in_loop
                && self.are_of_one_process(thread, waker)
                && !self.broadcasters.contains(&waker)
                && awaits_result(self.trace, key.stack());
            let asked = is_held_up
                || awaits
                || (!is_worker && self.was_asked(thread, waker, key, place_of))
                || self.is_for_busy_workers(thread, waker, key);
            let waits_for_any = is_idle && !asks(name);
            let is_childs = || !listens(name) && self.dialogues.programs().started(thread, waker);
            let is_loops = || in_loop && (is_internal(name) || is_upstream(self.trace, thread, waker) || is_childs());
            // A server's loop has nobody for what comes in, whoever asks it.
            let is_overloaded = || listens(name) && self.is_overloaded(thread, waker);
            let is_answer = !waits_for_any || is_loops() || is_overloaded();
            return Known(if asked && is_answer { Demand } else { Idle });
        }
        if outcome == Outcome::Unfinished && !is_worker && self.is_client_of_usual_ender(thread, key) {
            return Known(if is_idle { Idle } else { Demand });
        }
        if in_loop { Known(Idle) } else { ByRow }
    }

    /// Whether `thread` gave the one that woke it work before. Loops of one process at one place share its work.
    fn was_asked(
        &self,
        thread: usize,
        waker: usize,
        key: &EventKey,
        place_of: &mut impl FnMut(&EventKey) -> PlaceId,
    ) -> bool {
        let is_sibling = is_of_event_loop(key.syscall())
            && self.are_of_one_process(thread, waker)
            && self.loops.contains(&(waker, place_of(key)));
        // A shell that the thread started may have the role of one that started its program.
        let is_for_program = || self.dialogues.programs().started(thread, waker);
        // A loop by select or poll is known by what it listens to.
        let in_loop = is_of_event_loop(key.syscall()) || listens(waited_for(self.trace, key));
        let is_client = || self.dialogues.is_client(thread, (self.role_of)(waker), in_loop);
        !is_sibling && (is_for_program() || is_client())
    }

    /// Whether a thread that came later waits for one of another role that was there and never without work, and does not take from
    /// a queue: what it has handed over is in one that nobody waits at.
    fn is_for_busy_workers(&self, thread: usize, worker: usize, key: &EventKey) -> bool {
        parks_threads(object_type(self.trace, key.object()))
            && (self.role_of)(thread) != (self.role_of)(worker)
            && !self.dialogues.workloads().was_there(thread)
            && !self.broadcasters.contains(&worker)
            && self.is_overloaded(thread, worker)
            && !receives_from_queue(self.trace, key.stack())
    }

    /// Whether `worker` is one of the same process, or a helper in another one, whose role was never without work, in a recording of what
    /// ran before.
    fn is_overloaded(&self, thread: usize, worker: usize) -> bool {
        let workloads = self.dialogues.workloads();
        (self.are_of_one_process(thread, worker) || workloads.is_helper(worker))
            && workloads.is_overloaded((self.role_of)(worker))
    }

    fn is_client_of_usual_ender(&self, thread: usize, key: &EventKey) -> bool {
        let enders = self.dialogues.enders((self.role_of)(thread), key.object());
        let least = match Outcome::from_code(key.outcome()) {
            Outcome::TimedOut => ANSWERS_PER_TIME_OUT * self.dialogues.time_outs((self.role_of)(thread), key.object()),
            _ => USUAL,
        };
        let Some(enders) = enders.filter(|enders| enders.values().sum::<u64>() >= least) else { return false };
        let usual = enders.iter().max_by_key(|(role, waits)| (**waits, std::cmp::Reverse(**role)));
        usual.is_some_and(|(role, _)| self.dialogues.is_client(thread, *role, is_of_event_loop(key.syscall())))
    }

    /// The class of a row that its key alone does not tell. Rows behind it ask again and again.
    fn of_row(&self, thread: usize, row: usize) -> WaitClass {
        self.of_rows.of(row, || self.by_row(thread, row))
    }

    fn by_row(&self, thread: usize, row: usize) -> WaitClass {
        let key = self.trace.events().off_cpu_key(row);
        let role = (self.role_of)(thread);
        if Outcome::from_code(key.outcome()) != Outcome::TimedOut {
            return if self.asked.contains(&row) { WaitClass::Demand } else { WaitClass::Idle };
        }
        if self.wait_ends.is_interval_poll(&key) {
            return WaitClass::Demand;
        }
        if self.is_ruby_sleep(thread, row) || self.wait_ends.keeps_pace(&key) {
            return WaitClass::Own;
        }
        let ender = self.wait_ends.ended_by(thread, row);
        let ender_role = self.trace.events().off_cpu_key(ender).waker().get().map(self.role_of);
        let is_lock = self.dialogues.is_lock(key.object());
        let parks = parks_threads(object_type(self.trace, key.object()));
        // Else until the next of its own timers.
        let may_ask = !parks || self.dialogues.are_alike(role, key.object(), key.stack());
        let asks = |ender: RoleId| may_ask && self.dialogues.is_client(thread, ender, false);
        if ender != row && (is_lock || ender_role.is_some_and(asks)) {
            return WaitClass::Demand; // a look at the clock within one wait for an answer
        }
        if self.dialogues.are_answered(role, key.object()) && self.dialogues.found_work(role, key.object(), key.stack())
        {
            return WaitClass::GivenUp;
        }
        if ender != row {
            return WaitClass::Idle;
        }
        if is_client_socket(waited_for(self.trace, &key))
            || self.asked.contains(&row)
            || calls_synchronously(self.trace, key.stack())
            || (may_ask && self.is_client_of_usual_ender(thread, &key))
        {
            return WaitClass::GivenUp;
        }
        WaitClass::Own
    }
}
