//! Who gives work and answers to whom: what tells waiting for an answer from waiting for whatever comes.
//!
//! It takes the ends of waits; it gives, for each thread and each role, when the thread first gave that role something to do
//! (woke one of its threads, or made it) and when it first got something from it. Who spoke first is the client.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dwell_model::{ObjectId, ObjectType, Outcome, StackId};
use dwell_query::stacks::channels::takes_message;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace, WordMap};

use crate::study::explain::bare_stacks::{is_bare, is_of_nameless_pool};
use crate::study::explain::circles::{WakeUps, have_circle};
use crate::study::explain::names::Names;
use crate::study::explain::permits::by_permits;
use crate::study::explain::programs::{ProgramId, Programs};
use crate::study::explain::terms::{PlaceId, RoleId, hands_over, parks_threads};
use crate::study::explain::turns::by_turns;
use crate::study::explain::workloads::Workloads;

/// Time-outs for each wait on an object that others end, up to which these may be what it waits for.
const TIME_OUTS_PER_ANSWER: u64 = 4;
/// Runs of threads after a wait that are kept for each role, object and place, at most.
const RUNS: usize = 512;
/// Runs of each kind that are needed to compare them.
const ENOUGH: usize = 5;
/// Part of the usual run after a wake-up that a thread must run after a time-out to have found work.
const WORKED: f64 = 0.6;
/// Part of the longer half's middle that the shorter half's of time-outs must be, if they are all the same; and what a timer may be late by, ns.
const ALIKE: f64 = 0.95;
const TIMER_SLACK_NS: f64 = 100_000.0;
/// Threads that must end one another's waits for an object to work like a lock: two may be a client and its server.
const PEERS: usize = 3;
/// Waits of others that each of them must end on average: workers that shut down wake one another once.
const TURNS: u64 = 3;

/// Lengths of runs after waits, ns, and of the waits that timed out.
#[derive(Clone, Default)]
struct Runs {
    woken: Vec<u64>,
    timed_out: Vec<u64>,
    time_outs: Vec<u64>,
}

/// What is known of waits that timed out at one place.
struct TimeOuts {
    /// Whether they had found work.
    found_work: bool,
    /// Whether they are of the same length.
    are_alike: bool,
}

/// Those who wait for one thing.
#[derive(Default)]
struct Peers {
    objects: BTreeSet<ObjectId>,
    /// How many waits each waker ended of each of those who waited.
    wake_ups: WakeUps,
}

impl Peers {
    fn add(&mut self, key: &EventKey, waits: u64) {
        self.objects.insert(key.object());
        *self.wake_ups.entry((key.waker().raw(), key.thread().raw())).or_default() += waits;
    }

    fn end_one_anothers_waits(&self) -> bool {
        let waiting: HashSet<u32> = self.wake_ups.keys().map(|(_, waiting)| *waiting).collect();
        let mut waking: HashMap<u32, u64> = HashMap::new();
        self.wake_ups.iter().for_each(|((waker, _), waits)| *waking.entry(*waker).or_default() += waits);
        let both = waking.iter().filter(|(thread, _)| waiting.contains(thread));
        let (count, by_them) = both.fold((0, 0), |(count, sum), (_, waits)| (count + 1, sum + waits));
        let by_turns = by_them >= TURNS * count as u64;
        let are_most = 2 * count >= waiting.len() && 2 * by_them >= waking.values().sum::<u64>();
        count >= PEERS && by_turns && are_most && have_circle(&self.wake_ups)
    }
}

/// Who ended waits on an object, by role of the waiter.
type Enders = HashMap<(RoleId, ObjectId), BTreeMap<RoleId, u64>>;

/// Waits of a role on an object, at one place.
type WaitAt = (RoleId, ObjectId, StackId);

/// The dialogues of a trace.
pub struct Dialogues<'n> {
    role_of: &'n (dyn Fn(usize) -> RoleId + Sync),
    /// When each thread began.
    born: Vec<u64>,
    asked: HashMap<(usize, RoleId), u64>,
    answered: HashMap<(usize, RoleId), u64>,
    /// The same of roles: a server that is always busy is woken by the first question only.
    roles_asked: HashMap<(RoleId, RoleId), u64>,
    roles_answered: HashMap<(RoleId, RoleId), u64>,
    /// The same of programs: a client connects, though some servers greet it before it asks.
    programs_asked: HashMap<(ProgramId, ProgramId), u64>,
    /// A program and one that it started, which may be its client or its server.
    started: HashSet<(ProgramId, ProgramId)>,
    /// The program of each thread, and of each role.
    programs: Programs,
    program_of_role: HashMap<RoleId, ProgramId>,
    enders: Enders,
    time_outs: HashMap<(RoleId, ObjectId), u64>,
    peers: BTreeSet<ObjectId>,
    /// What works so in one stack, and may be waited on for something else in others.
    shared_at: HashSet<(ObjectId, StackId)>,
    /// Those of them that one thread has and hands on to the next.
    handed_on: BTreeSet<ObjectId>,
    time_outs_at: HashMap<WaitAt, TimeOuts>,
    workloads: Workloads,
}

fn earlier<K: std::hash::Hash + Eq>(times: &mut HashMap<K, u64>, key: K, time: u64) {
    let known = times.entry(key).or_insert(u64::MAX);
    *known = time.min(*known);
}

impl<'n> Dialogues<'n> {
    /// Those of `trace`: one pass over its rows.
    pub fn new(trace: &Trace, role_of: &'n (dyn Fn(usize) -> RoleId + Sync), names: &mut Names<'_, '_>) -> Self {
        let mut dialogues = Self {
            role_of,
            born: trace.threads.start_ns.clone(),
            asked: HashMap::new(),
            answered: HashMap::new(),
            roles_asked: HashMap::new(),
            roles_answered: HashMap::new(),
            programs_asked: HashMap::new(),
            started: HashSet::new(),
            programs: Programs::new(trace),
            program_of_role: HashMap::new(),
            enders: Enders::new(),
            time_outs: HashMap::new(),
            peers: BTreeSet::new(),
            shared_at: HashSet::new(),
            handed_on: BTreeSet::new(),
            time_outs_at: HashMap::new(),
            workloads: Workloads::new(trace, role_of),
        };
        for thread in 0..trace.threads.tid.len() {
            if let Some(program) = dialogues.programs.of(thread) {
                dialogues.program_of_role.entry(role_of(thread)).or_insert(program);
            }
        }
        dialogues.creations(trace);
        dialogues.wake_ups(trace);
        let place_of = &mut |key: &EventKey| names.place_of(key.stack());
        dialogues.find_peers(trace, place_of);
        dialogues.handed_on = by_turns(trace, place_of);
        dialogues.peers.extend(&dialogues.handed_on);
        let by_permits = by_permits(trace, role_of, names);
        dialogues.peers.extend(by_permits.objects);
        dialogues.shared_at = by_permits.at_stacks;
        dialogues.find_work(trace);
        dialogues
    }

    /// Making a thread is the first word to it, and starting a program is one to all that this one starts.
    fn creations(&mut self, trace: &Trace) {
        let threads = &trace.threads;
        for thread in 0..threads.tid.len() {
            let programs = |creator: usize| self.programs.of(creator).zip(self.programs.of(thread));
            self.started.extend(self.programs.creator(thread).and_then(programs));
            for creator in self.programs.creators(thread) {
                let (role, of_creator) = ((self.role_of)(thread), (self.role_of)(creator));
                let start_ns = threads.start_ns[thread];
                earlier(&mut self.asked, (creator, role), start_ns);
                earlier(&mut self.answered, (thread, of_creator), start_ns);
                earlier(&mut self.roles_asked, (of_creator, role), start_ns);
                earlier(&mut self.roles_answered, (role, of_creator), start_ns);
            }
        }
    }

    fn wake_ups(&mut self, trace: &Trace) {
        for (key, waits) in trace.events().keys_with_waits() {
            let outcome = Outcome::from_code(key.outcome());
            let woken = outcome == Outcome::Woken;
            let (thread, waker) = (key.thread().get(), key.waker().get());
            if let Some(thread) = thread.filter(|_| outcome == Outcome::TimedOut) {
                *self.time_outs.entry(((self.role_of)(thread), key.object())).or_default() += waits.count;
            }
            let Some((thread, waker)) = thread.zip(waker).filter(|(thread, waker)| thread != waker && woken) else {
                continue;
            };
            if !hands_over(object_type(trace, key.object())) {
                continue;
            }
            let (role, of_waker) = ((self.role_of)(thread), (self.role_of)(waker));
            earlier(&mut self.answered, (thread, of_waker), waits.first_end_ns);
            earlier(&mut self.asked, (waker, role), waits.first_end_ns);
            earlier(&mut self.roles_answered, (role, of_waker), waits.first_end_ns);
            earlier(&mut self.roles_asked, (of_waker, role), waits.first_end_ns);
            if let Some((program, asker)) = self.programs.of(thread).zip(self.programs.of(waker)) {
                earlier(&mut self.programs_asked, (asker, program), waits.first_end_ns);
            }
            *self.enders.entry((role, key.object())).or_default().entry(of_waker).or_default() += waits.count;
        }
    }

    /// Objects that work like a lock, whatever they are: those who wait for them are those who end the others' waits. Where each
    /// thread of a role waits on an object of its own, the objects of one place are one.
    fn find_peers(&mut self, trace: &Trace, place_of: &mut dyn FnMut(&EventKey) -> PlaceId) {
        let mut of_object: HashMap<ObjectId, Peers> = HashMap::new();
        let mut of_place: HashMap<(RoleId, PlaceId), Peers> = HashMap::new();
        for (key, waits) in trace.events().keys_with_waits() {
            let woken = Outcome::from_code(key.outcome()) == Outcome::Woken;
            let Some(thread) = key.thread().get().filter(|_| woken && key.waker().is_some() && key.object().is_some())
            else {
                continue;
            };
            if is_of_nameless_pool(trace, key) {
                continue;
            }
            if !is_connection(trace, key.object()) {
                of_object.entry(key.object()).or_default().add(key, waits.count);
            }
            let may_be_lock = !takes_message(trace, key.stack()) && !is_bare(trace, key.stack());
            if parks_threads(object_type(trace, key.object())) && may_be_lock {
                of_place.entry(((self.role_of)(thread), place_of(key))).or_default().add(key, waits.count);
            }
        }
        let of_place = of_place.into_values().filter(|peers| peers.objects.len() >= PEERS);
        let like_locks = of_object.into_values().chain(of_place).filter(Peers::end_one_anothers_waits);
        self.peers = like_locks.flat_map(|peers| peers.objects).collect();
    }

    /// Compares what threads do after a time-out with what they do after a wake-up.
    fn find_work(&mut self, trace: &Trace) {
        let events = trace.events();
        let mut runs: HashMap<WaitAt, Runs> = HashMap::new();
        let mut of_key: WordMap<u32, (WaitAt, bool)> = WordMap::default();
        let of = |key: &EventKey| Some(((self.role_of)(key.thread().get()?), key.object(), key.stack()));
        for key in events.keys.iter().filter(|key| Outcome::from_code(key.outcome()) == Outcome::TimedOut) {
            if let Some(of) = of(key).filter(|_| key.object().is_some()) {
                runs.insert(of, Runs::default());
            }
        }
        for (number, key) in events.keys.iter().enumerate() {
            let woken = match Outcome::from_code(key.outcome()) {
                Outcome::Woken => true,
                Outcome::TimedOut => false,
                _ => continue,
            };
            if let Some(of) = of(key).filter(|of| runs.contains_key(of)) {
                of_key.insert(number as u32, (of, woken));
            }
        }
        if of_key.is_empty() {
            return;
        }
        for thread in 0..trace.threads.tid.len() {
            let mut before: Option<(u32, u64, u64)> = None;
            events.off_cpu.for_each(events.off_cpu.of(thread), |_, key, times| {
                if let Some((key, ran, waited)) = before.take()
                    && let Some((of, woken)) = of_key.get(&key)
                    && let Some(runs) = runs.get_mut(of)
                {
                    let kept = if *woken { &mut runs.woken } else { &mut runs.timed_out };
                    if kept.len() < RUNS {
                        kept.push(times.start_ns.saturating_sub(ran));
                        runs.time_outs.extend((!woken).then_some(waited));
                    }
                }
                let ran = times.start_ns.saturating_add(times.wait_ns).saturating_add(times.runnable_ns);
                before = (times.wait_ns > 0).then_some((key, ran, times.wait_ns));
            });
        }
        self.time_outs_at = runs.into_iter().map(|(of, runs)| (of, TimeOuts::of(runs))).collect();
    }

    /// Whether the thread asked the role before that one gave it anything: else it is served, or serves. Of a thread that
    /// never woke anybody there, others of its role tell, and so they do of one that came when they had begun: a new worker
    /// takes what lies there, and its answer is its first word. In a pool everybody wakes everybody: within a role nobody is
    /// a client. `in_loop`: the thread waits in an event loop.
    pub fn is_client(&self, thread: usize, role: RoleId, in_loop: bool) -> bool {
        let own = (self.role_of)(thread);
        if role == own {
            return false;
        }
        let before = |asked: Option<&u64>, answered: Option<&u64>| {
            asked.is_some_and(|asked| answered.is_none_or(|answered| asked < answered))
        };
        let of_roles = (self.roles_asked.get(&(own, role)), self.roles_answered.get(&(own, role)));
        let begun = [of_roles.0, of_roles.1].into_iter().flatten().min();
        let came_late = begun.is_some_and(|begun| self.born.get(thread).is_some_and(|born| born > begun));
        let spoke_first = match self.asked.get(&(thread, role)).filter(|_| !came_late) {
            Some(asked) => before(Some(asked), self.answered.get(&(thread, role))),
            None => before(of_roles.0, of_roles.1),
        };
        // Of those who were there before nobody heard the first word. Who never gives the other anything only takes from it, as from a
        // producer or a ticker, if it does not look after all of the program's threads in one loop.
        let gives = in_loop || self.roles_asked.contains_key(&(own, role));
        let asks = || self.workloads.asks(thread, own, role).filter(|asks| !asks || gives);
        // Of a helper and its server nobody saw which one started the other.
        if self.workloads.has_helpers(role) || self.workloads.has_helpers(own) {
            return asks().unwrap_or(spoke_first);
        }
        self.connected_first(thread, role).or_else(asks).unwrap_or(spoke_first)
    }

    /// Whether the thread's program spoke first to the role's, by connecting to it; none where both are one program, one started
    /// the other, or neither spoke.
    fn connected_first(&self, thread: usize, role: RoleId) -> Option<bool> {
        let (own, other) = (self.programs.of(thread)?, *self.program_of_role.get(&role)?);
        let asked = |by, whom| self.programs_asked.get(&(by, whom)).copied().unwrap_or(u64::MAX);
        let (first, answer) = (asked(own, other), asked(other, own));
        let is_family = own == other || [(own, other), (other, own)].iter().any(|both| self.started.contains(both));
        (!is_family && first != answer).then_some(first < answer)
    }

    /// The roles that end waits of `role` on `object`, each with how many.
    pub fn enders(&self, role: RoleId, object: ObjectId) -> Option<&BTreeMap<RoleId, u64>> {
        self.enders.get(&(role, object))
    }

    /// How many waits of `role` on `object` ended by their time-out.
    pub fn time_outs(&self, role: RoleId, object: ObjectId) -> u64 {
        self.time_outs.get(&(role, object)).copied().unwrap_or(0)
    }

    /// Whether others end so many of `role`'s waits on `object` that those which time out may be for them, too. With fewer it keeps a pace, and is
    /// told to end.
    pub fn are_answered(&self, role: RoleId, object: ObjectId) -> bool {
        let by_others = self.enders(role, object).into_iter().flatten().filter(|(ender, _)| **ender != role);
        let answers: u64 = by_others.map(|(_, waits)| *waits).sum();
        answers > 0 && answers * TIME_OUTS_PER_ANSWER >= self.time_outs(role, object)
    }

    /// Which threads are of one program.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// How much work each role had.
    pub fn workloads(&self) -> &Workloads {
        &self.workloads
    }

    /// Whether the object works like a lock.
    pub fn is_lock(&self, object: ObjectId) -> bool {
        self.peers.contains(&object)
    }

    /// Whether it does where a thread waits in such a stack.
    pub fn is_lock_in(&self, object: ObjectId, stack: StackId) -> bool {
        self.is_lock(object) || self.shared_at.contains(&(object, stack))
    }

    /// Whether one thread has it and hands it on to the next one that waits: a lock with an object for each waiter.
    pub fn is_handed_on(&self, object: ObjectId) -> bool {
        self.handed_on.contains(&object)
    }

    /// Whether threads do after a time-out what they do after a wake-up there: what they waited for was there.
    pub fn found_work(&self, role: RoleId, object: ObjectId, stack: StackId) -> bool {
        self.time_outs_at.get(&(role, object, stack)).is_some_and(|time_outs| time_outs.found_work)
    }

    /// Whether those who wait there until a time-out wait for as long each time, as far as is known: whoever has timers of his own waits until
    /// the next of them.
    pub fn are_alike(&self, role: RoleId, object: ObjectId, stack: StackId) -> bool {
        self.time_outs_at.get(&(role, object, stack)).is_none_or(|time_outs| time_outs.are_alike)
    }
}

/// Families of sockets that connect two ends, as sets of descriptors name them.
const CONNECTIONS: &[&str] = &["TCP ", "UDP ", "Unix /", "Unix @", "Unix pair", "connections"];

/// Whether both ends of connections wait on it: who asks and who answers have one name there, and are no peers.
fn is_connection(trace: &Trace, object: ObjectId) -> bool {
    let name = object.get().and_then(|row| trace.objects.name.get(row)).map_or("", String::as_str);
    match object_type(trace, object) {
        ObjectType::Socket => true,
        ObjectType::Event => CONNECTIONS.iter().any(|family| name.contains(family)),
        _ => false,
    }
}

impl TimeOuts {
    fn of(mut runs: Runs) -> Self {
        let at = |lengths: &mut Vec<u64>, part: f64| {
            let number = ((lengths.len() - 1) as f64 * part) as usize;
            *lengths.select_nth_unstable(number).1 as f64
        };
        let are_several = runs.timed_out.len() >= ENOUGH;
        let are_alike =
            !are_several || at(&mut runs.time_outs, 0.25) + TIMER_SLACK_NS > ALIKE * at(&mut runs.time_outs, 0.75);
        let found_work = runs.woken.len() >= ENOUGH
            && are_several
            && runs.woken.len() >= runs.timed_out.len()
            && at(&mut runs.timed_out, 0.5) > WORKED * at(&mut runs.woken, 0.5);
        Self { found_work: found_work && are_alike, are_alike }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_an_answer_are_of_one_length_and_those_until_the_next_timer_are_not() {
        let of = |time_outs: &[u64]| {
            let runs = |count: usize| vec![1_000_000; count];
            let time_outs: Vec<u64> = time_outs.iter().map(|ms| ms * 1_000_000).collect();
            let found = TimeOuts::of(Runs { woken: runs(9), timed_out: runs(time_outs.len()), time_outs });
            (found.found_work, found.are_alike)
        };
        assert_eq!(of(&[100, 100, 100, 101, 100, 30]), (true, true));
        assert_eq!(of(&[16, 14, 12, 16, 13, 16]), (false, false));
        assert_eq!(of(&[16, 3]), (false, true), "two tell nothing");
    }
}
