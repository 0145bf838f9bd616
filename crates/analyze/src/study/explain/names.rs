//! What threads, objects and places are called in explanations: so that what is one thing for a reader has one name.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use dwell_model::{MMAP_LOCK, ObjectId, ObjectType, StackId, Syscall};
use dwell_query::engine::alike_objects::without_count;
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::channels::receives_from_queue;
use dwell_query::stacks::collectors::CollectorFunctions;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace, WordMap, WordSet};

use crate::study::explain::connection_threads::are_made_for_connections;
use crate::study::explain::object_titles::{
    array_of, arrays, article, is_called_lock, is_in_memory, is_of_class, is_select, is_set, starts_alike, title,
};
use crate::study::explain::places::{CodePlace, function_at, run_place, wait_place};
use crate::study::explain::requests::answers_request;
use crate::study::explain::roles::{DELAY_SCHEDULER, FORKED, filters, roles};
use crate::study::explain::terms::{
    LabelId, NOTHING, PlaceId, RoleId, accepts, asks_by_datagrams, is_connection_pool, is_full_pipe, is_needed,
    is_of_event_loop,
};

/// Texts by number, each once.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Texts {
    fn number(&mut self, text: String) -> u32 {
        match self.numbers.entry(text) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let number = self.texts.len() as u32;
                self.texts.push(new.key().clone());
                *new.insert(number)
            }
        }
    }

    fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }
}

/// Labels, each with a place at which threads wait for what has it.
type LabelsAtPlaces = WordSet<(LabelId, PlaceId)>;

/// How threads contend for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contention {
    /// They do not.
    None,
    /// One holds it.
    Lock,
    /// Python's interpreter has one, whatever it runs.
    Gil,
    /// They meet there.
    Barrier,
    /// The first of them makes it, and the others wait for that.
    Once,
    /// It gives out what a few at a time can have, and is used up.
    Connections,
    /// They take turns, by an object that is no lock.
    Turns,
    /// The kernel's lock of the program's address space.
    AddressSpace,
}

/// The names.
pub struct Names<'f, 't> {
    trace: &'t Trace,
    stacks: &'f CallStacks<'t>,
    roles: Texts,
    role_of: Vec<RoleId>,
    labels: Texts,
    /// Variables that have several objects of one type, on each of which threads park.
    arrays: HashSet<(ObjectType, &'t str)>,
    label_of: WordMap<(ObjectId, i16), LabelId>,
    /// The system call of each label's waits; -1 where they are in none.
    calls: Vec<i16>,
    /// Objects of each label, up to two.
    objects_of: Vec<Vec<ObjectId>>,
    /// Labels that are locks, each with a place at which threads wait for it: what has no name shares its label.
    locks: LabelsAtPlaces,
    /// Those of them that have a holder, which no object tells.
    handed_on: LabelsAtPlaces,
    /// The same of calls that wait for the answer to their question.
    questions: LabelsAtPlaces,
    /// The same of waits by which something is handed over to a queue.
    queue_puts: LabelsAtPlaces,
    places: Vec<CodePlace>,
    place_numbers: HashMap<CodePlace, PlaceId>,
    place_of: WordMap<StackId, PlaceId>,
    /// Of each stack, with whether garbage is collected there, the last one of no stack; none where it was not met.
    run_place_of: Vec<Option<(PlaceId, bool)>>,
    collectors: CollectorFunctions,
    /// Functions that sleeps are named after, once they are asked for.
    sleep_functions: OnceLock<HashSet<&'t str>>,
    unknown: CodePlace,
}

impl<'f, 't> Names<'f, 't> {
    /// Those of a trace.
    pub fn new(trace: &'t Trace, stacks: &'f CallStacks<'t>) -> Self {
        let mut texts = Texts::default();
        let role_of = roles(trace, stacks).into_iter().map(|role| texts.number(role)).collect();
        Self {
            trace,
            stacks,
            roles: texts,
            role_of,
            labels: Texts::default(),
            arrays: arrays(trace),
            label_of: WordMap::default(),
            calls: Vec::new(),
            objects_of: Vec::new(),
            locks: LabelsAtPlaces::default(),
            handed_on: LabelsAtPlaces::default(),
            questions: LabelsAtPlaces::default(),
            queue_puts: LabelsAtPlaces::default(),
            places: Vec::new(),
            place_numbers: HashMap::new(),
            place_of: WordMap::default(),
            run_place_of: vec![None; trace.stacks.parent.len() + 1],
            collectors: CollectorFunctions::default(),
            sleep_functions: OnceLock::new(),
            unknown: CodePlace::default(),
        }
    }

    /// The stacks that it names.
    pub fn stacks(&self) -> &'f CallStacks<'t> {
        self.stacks
    }

    /// The role of a thread.
    pub fn role_of(&self, thread: usize) -> RoleId {
        self.role_of.get(thread).copied().unwrap_or(NOTHING)
    }

    /// The role, or of a process that is its parent's copy the parent's.
    pub fn original_role(&self, role: RoleId) -> RoleId {
        let of_parent = self.role(role).strip_suffix(FORKED).and_then(|parent| self.roles.numbers.get(parent));
        of_parent.copied().unwrap_or(role)
    }

    /// The names of a role's threads as a filter takes them, and the name of their process.
    pub fn threads_of(&self, role: RoleId) -> (String, &str) {
        let thread = self.role_of.iter().position(|of| *of == role);
        thread.map_or((String::new(), ""), |thread| filters(self.trace, thread))
    }

    /// Whether a server makes a thread of the role for each connection that it accepts.
    pub fn are_made_for_connections(&self, role: RoleId) -> bool {
        are_made_for_connections(self.trace, self.members_of(role))
    }

    /// Whether each connection has a thread or goroutine of the role: there are as many as those who ask have opened.
    pub fn has_one_per_connection(&self, role: RoleId) -> bool {
        self.is_fiber(role) || self.are_made_for_connections(role)
    }

    /// The threads of a role, by number.
    pub fn members_of(&self, role: RoleId) -> impl Iterator<Item = usize> {
        (0..self.role_of.len()).filter(move |thread| self.role_of[*thread] == role)
    }

    /// Whether a role is of fibers.
    pub fn is_fiber(&self, role: RoleId) -> bool {
        self.role_of[..self.trace.fiber_threads.min(self.role_of.len())].contains(&role)
    }

    /// What the roles are called.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.texts.iter().map(String::as_str)
    }

    /// What a role is called.
    pub fn role(&self, role: RoleId) -> &str {
        match role {
            NOTHING => "[no thread]",
            role => self.roles.text(role),
        }
    }

    /// The label of an object in a system call. Objects in memory that have no name share their type's.
    pub fn label_of(&mut self, object: ObjectId, call: i16) -> LabelId {
        if let Some(label) = self.label_of.get(&(object, call)) {
            return *label;
        }
        let label = self.labels.number(self.called(object, call));
        self.calls.resize(self.labels.texts.len(), call);
        self.objects_of.resize(self.labels.texts.len(), Vec::new());
        let objects = &mut self.objects_of[label as usize];
        if objects.len() < 2 && !objects.contains(&object) {
            objects.push(object);
        }
        self.label_of.insert((object, call), label);
        label
    }

    /// A label of its own for what others have together, of the same call as the first one's.
    pub fn label_like(&mut self, first: LabelId, text: String) -> LabelId {
        let call = self.calls.get(first as usize).copied().unwrap_or(-1);
        let label = self.labels.number(text);
        self.calls.resize(self.labels.texts.len(), call);
        self.objects_of.resize(self.labels.texts.len(), Vec::new());
        label
    }

    /// What a label says: `mutex queue_lock`, `read(remote.conf)`, `a mutex`.
    pub fn label(&self, label: LabelId) -> &str {
        self.labels.text(label)
    }

    /// The system call in which threads wait for what has the label.
    pub fn call(&self, label: LabelId) -> Option<String> {
        let call = self.calls.get(label as usize).copied().filter(|call| *call >= 0)?;
        Some(Syscall::name_of(call))
    }

    /// Whether event loops wait for what has the label.
    pub fn is_of_event_loop(&self, label: LabelId) -> bool {
        self.calls.get(label as usize).is_some_and(|call| is_of_event_loop(*call))
    }

    /// Whether threads wait there until the next of the program's own timers: an event loop, or the thread by which a runtime has them.
    pub fn waits_for_own_timers(&self, label: LabelId) -> bool {
        let is_loop = self.is_of_event_loop(label) && !self.asks_by_datagrams(label);
        let within = |function: &&str| self.label(label).strip_suffix(*function).is_some_and(|it| it.ends_with(' '));
        is_loop || TIMER_THREADS.iter().any(within)
    }

    /// Whether threads wait there for an answer to a datagram.
    pub fn asks_by_datagrams(&self, label: LabelId) -> bool {
        asks_by_datagrams(self.label(label).trim_end_matches(')'))
    }

    /// The type of what has the label.
    pub fn object_type_of(&self, label: LabelId) -> Option<ObjectType> {
        let first = self.objects_of.get(label as usize)?.first()?;
        Some(object_type(self.trace, *first))
    }

    /// Whether what has the label is a lock where threads wait for it: they get nothing for it.
    pub fn is_lock(&self, label: LabelId, place: PlaceId) -> bool {
        self.locks.contains(&(label, place))
    }

    /// Notes that what has the label works like a lock at the place.
    pub fn note_lock(&mut self, label: LabelId, place: PlaceId) {
        self.locks.insert((label, place));
    }

    /// Notes that whoever has what has the label hands it on to one that waits at the place.
    pub fn note_handed_on(&mut self, label: LabelId, place: PlaceId) {
        self.handed_on.insert((label, place));
    }

    /// Notes that threads which wait at the place for what has the label asked for something.
    pub fn note_question(&mut self, label: LabelId, place: PlaceId) {
        self.questions.insert((label, place));
    }

    /// Notes that threads which wait at the place for what has the label hand something over to a queue.
    pub fn note_queue_put(&mut self, label: LabelId, place: PlaceId) {
        self.queue_puts.insert((label, place));
    }

    /// Whether threads that wait at the place hand what has the label over to a queue: whoever takes it does not keep up.
    pub fn puts_into_queue(&self, label: LabelId, place: PlaceId) -> bool {
        self.queue_puts.contains(&(label, place))
    }

    /// How threads that wait at the place contend for what has the label.
    pub fn contention(&self, label: LabelId, place: PlaceId) -> Contention {
        let kind = |object: &ObjectId| object_type(self.trace, *object);
        let mut kinds = self.objects_of.get(label as usize).into_iter().flatten().map(kind);
        match kinds.next() {
            _ if !self.is_lock(label, place) => Contention::None,
            Some(ObjectType::WaitGroup) => Contention::None,
            Some(ObjectType::Semaphore) if is_connection_pool(self.label(label)) => Contention::Connections,
            Some(ObjectType::Gil) => Contention::Gil,
            Some(ObjectType::KernelLock) if self.label(label).ends_with(MMAP_LOCK) => Contention::AddressSpace,
            Some(ObjectType::Barrier | ObjectType::OpenMpBarrier) => Contention::Barrier,
            Some(ObjectType::Once) => Contention::Once,
            Some(kind) if is_needed(kind) || kind == ObjectType::Futex || kind == ObjectType::JvmMonitor => {
                Contention::Lock
            }
            None | Some(ObjectType::Unknown) => Contention::Lock,
            Some(_) => Contention::Turns,
        }
    }

    /// Whether sleeps are named after the function.
    pub fn is_sleep_function(&self, function: &str) -> bool {
        let objects = &self.trace.objects;
        let named_after = |(name, kind): (&'t String, &u8)| {
            let is_sleep = ObjectType::from_code(*kind) == ObjectType::Sleep;
            name.strip_prefix("Sleep in ").filter(|_| is_sleep)
        };
        let found = || objects.name.iter().zip(&objects.kind).filter_map(named_after).collect();
        self.sleep_functions.get_or_init(found).contains(function)
    }

    /// Whether somebody holds what has the label while others wait for it at the place.
    pub fn is_held(&self, label: LabelId, place: PlaceId) -> bool {
        use ObjectType::{FileLock, Mutex, RwLock, SpinLock};
        let kind = self.objects(label).first().map(|object| object_type(self.trace, *object));
        matches!(kind, Some(Mutex | RwLock | FileLock | SpinLock)) || self.handed_on.contains(&(label, place))
    }

    /// Whether threads wait at the place for the answer to a question: whoever is behind it works for them, whatever he waits for.
    pub fn is_question(&self, label: LabelId, place: PlaceId) -> bool {
        self.questions.contains(&(label, place))
    }

    /// Whether threads wait there for new connections.
    pub fn accepts(&self, label: LabelId) -> bool {
        accepts(self.label(label))
    }

    /// Whether threads wait for the end of a child or thread.
    pub fn is_join(&self, label: LabelId) -> bool {
        let kind = self.objects(label).first().map(|object| object_type(self.trace, *object));
        matches!(kind, Some(ObjectType::ThreadJoin | ObjectType::ChildProcess))
    }

    /// Whether threads wait for one pipe, by a set: for what a child writes, say.
    pub fn is_for_one_pipe(&self, label: LabelId) -> bool {
        let name = |object: &ObjectId| self.trace.objects.name.get(object.get()?);
        let is_of_pipe = |object: &ObjectId| name(object).is_some_and(|name| without_count(name).ends_with(" {pipe}"));
        !self.objects(label).is_empty() && self.objects(label).iter().all(is_of_pipe)
    }

    /// Whether what has the label is a pipe that has no room.
    pub fn is_full_pipe(&self, label: LabelId) -> bool {
        let mut names = self.objects(label).iter().filter_map(|object| self.trace.objects.name.get(object.get()?));
        names.any(|name| is_full_pipe(name))
    }

    /// Objects of a label, up to two.
    pub fn objects(&self, label: LabelId) -> &[ObjectId] {
        self.objects_of.get(label as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether waits of a key are for what has the label.
    pub fn has_label(&self, key: &EventKey, label: LabelId) -> bool {
        self.label_of.get(&(key.object(), key.syscall())) == Some(&label)
    }

    /// The one object of a label; none where several have it.
    pub fn object(&self, label: LabelId) -> Option<ObjectId> {
        match self.objects(label) {
            [object] => Some(*object).filter(|object| object.is_some()),
            _ => None,
        }
    }

    fn called(&self, object: ObjectId, call: i16) -> String {
        let name = object.get().and_then(|row| self.trace.objects.name.get(row)).map_or("", String::as_str);
        let name = without_count(name);
        let kind = object_type(self.trace, object);
        let title = title(kind);
        let array = array_of(name);
        if self.arrays.contains(&(kind, array)) {
            return format!("{title}s in {array}");
        }
        // An address in it; an offset follows a name.
        let numbered = name.contains("0x") && !name.contains(" + 0x");
        let nameless = name.is_empty() || (numbered && is_in_memory(kind));
        let by_call = matches!(
            kind,
            ObjectType::Stream | ObjectType::Socket | ObjectType::Event | ObjectType::Unknown | ObjectType::BlockIo
        );
        match ((call >= 0).then(|| Syscall::name_of(call)), nameless) {
            (Some(call), true) if by_call => call,
            (Some(call), false) if by_call && call != name && !is_set(name) => format!("{call}({name})"),
            (_, true) if title.is_empty() => "something unknown".to_owned(),
            (_, true) => format!("{} {title}", article(title)),
            (_, false) if title.is_empty() || is_called_lock(name) || is_connection_pool(name) => name.to_owned(),
            (_, false) if is_select(name) || is_set(name) => name.to_owned(),
            (_, false) if kind == ObjectType::PageFault && !starts_alike(name, title) => format!("a page of {name}"),
            (_, false) if starts_alike(name, title) || is_of_class(name, kind) => name.to_owned(),
            (_, false) => format!("{title} {name}"),
        }
    }

    /// Whether threads are fibers that were looked at now and then.
    pub fn are_of_sampled_fibers(&self) -> bool {
        self.trace.has_sampled_fibers()
    }

    /// The place of a stack at which a thread waits: the function, and which one called it.
    pub fn place_of(&mut self, stack: StackId) -> PlaceId {
        if let Some(place) = self.place_of.get(&stack) {
            return *place;
        }
        let mut found = wait_place(self.trace, self.stacks, stack);
        found.path.drain(..found.path.len().saturating_sub(2));
        if let [(_, line), _] = found.path.as_mut_slice() {
            line.clear();
        }
        let number = self.number_of(found);
        self.place_of.insert(stack, number);
        number
    }

    /// Whether what a thread with the stack does is for a request that a library took.
    pub fn answers_request(&self, stack: StackId) -> bool {
        answers_request(self.trace, self.stacks, stack)
    }

    /// Whether a thread with the stack is a worker of a pool, by the functions that lead to what it does.
    pub fn are_workers_at(&self, stack: StackId) -> bool {
        self.stacks.whole_names(stack).any(|function| function.to_lowercase().contains("worker"))
    }

    /// Whether threads with the stack take what others hand to a queue.
    pub fn takes_from_queue(&self, stack: StackId) -> bool {
        receives_from_queue(self.trace, stack)
    }

    /// Whether the place of a stack that was looked up is the one.
    pub fn is_at(&self, stack: StackId, at: &str) -> bool {
        self.place_of.get(&stack).and_then(|place| self.place(*place)).is_some_and(|place| place.at == at)
    }

    /// Whether one function of the program calls what the two stacks are of: what waits, say, and what ends the wait.
    pub fn are_of_one_activity(&mut self, one: StackId, other: StackId) -> bool {
        let [one, other] = [one, other].map(|stack| self.place_of(stack));
        let (Some(one), Some(other)) = (self.place(one), self.place(other)) else { return false };
        let is_same = |one: &str, other: &str| !one.is_empty() && one == other;
        is_same(one.caller(), other.caller()) || is_same(function_at(&one.at), function_at(&other.at))
    }

    /// The place of a stack at which a thread runs: all functions that lead to it; and whether it collects garbage there.
    pub fn run_place_of(&mut self, stack: StackId) -> (PlaceId, bool) {
        let row = self.row_of(stack);
        if let Some(known) = self.run_place_of[row] {
            return known;
        }
        let number = self.number_of(run_place(self.trace, self.stacks, stack));
        let found = (number, self.collectors.are_at(self.stacks, stack));
        self.run_place_of[row] = Some(found);
        found
    }

    /// The same of a stack that was looked up.
    pub fn known_run_place(&self, stack: StackId) -> (PlaceId, bool) {
        self.run_place_of[self.row_of(stack)].unwrap_or((NOTHING, false))
    }

    /// Where in [`Self::run_place_of`] a stack is.
    fn row_of(&self, stack: StackId) -> usize {
        let last = self.run_place_of.len() - 1;
        stack.get().map_or(last, |row| row.min(last))
    }

    fn number_of(&mut self, place: CodePlace) -> PlaceId {
        let next = self.places.len() as PlaceId;
        let number = *self.place_numbers.entry(place.clone()).or_insert(next);
        if number == next {
            self.places.push(place);
        }
        number
    }

    /// A place.
    pub fn place(&self, place: PlaceId) -> Option<&CodePlace> {
        self.places.get(place as usize)
    }

    /// A place, or one that nothing is known of.
    pub fn place_or_unknown(&self, place: PlaceId) -> &CodePlace {
        self.place(place).unwrap_or(&self.unknown)
    }
}

/// In which functions runtimes wait for the time of the next of their timers: Java's virtual threads and pools sleep by these.
const TIMER_THREADS: &[&str] = &[
    DELAY_SCHEDULER,
    "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
    "java.util.TimerThread.mainLoop",
];
