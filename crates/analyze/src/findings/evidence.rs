//! What the detectors look at, gathered once: the waits of each object, and where they are.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use dwell_model::{ObjectId, ObjectType, ProcessId, StackId, TaskTypeId, Topic};
use dwell_query::engine::fold::Fold;
use dwell_query::engine::hidden_threads::hidden;
use dwell_query::measure::site::Site;
use dwell_query::measure::weights::Weights;
use dwell_query::question::filter::FilterKey;
use dwell_query::stacks::tasks::name;
use dwell_view::{Sentence, Word};

use crate::findings::claim::{Claim, only};
use crate::findings::process_times::{ProcessTimes, process_times};
use crate::sentences::say;
use crate::study::latency::Latency;
use crate::study::socket_groups::{Group, groups};
use crate::study::sockets::SocketWaits;
use crate::study::thread_index::ThreadIndex;

/// The waits on one object that are not an idle worker's.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Sum over them.
    pub weights: Weights,
    /// Wait time by thread.
    pub by_thread: BTreeMap<usize, u64>,
    /// Wait time by stack.
    pub by_stack: BTreeMap<StackId, u64>,
    /// Wait time by innermost task.
    pub by_task: BTreeMap<TaskTypeId, u64>,
}

impl Waits {
    /// The stack with the most wait time.
    pub fn top_stack(&self) -> StackId {
        heaviest(&self.by_stack)
    }
}

/// The key with the most time.
pub fn heaviest(times: &BTreeMap<StackId, u64>) -> StackId {
    times.iter().max_by_key(|(_, ns)| **ns).map_or(StackId::NONE, |(stack, _)| *stack)
}

/// Where the program itself is with the most time of these stacks.
pub fn heaviest_own(fold: &Fold<'_>, times: impl Iterator<Item = (StackId, u64)>) -> StackId {
    let mut places: BTreeMap<StackId, u64> = BTreeMap::new();
    times.for_each(|(stack, ns)| *places.entry(fold.sums.stacks.own(stack)).or_default() += ns);
    heaviest(&places)
}

/// Everything that is known.
pub struct Evidence<'f, 't> {
    /// The fold.
    pub fold: &'f Fold<'t>,
    /// Time looked at.
    pub elapsed_ns: u64,
    /// Sum over what the filters let through.
    pub whole: Weights,
    objects: OnceLock<BTreeMap<ObjectId, Waits>>,
    index: OnceLock<ThreadIndex<'t>>,
    sockets: OnceLock<SocketWaits<'t>>,
    socket_groups: OnceLock<Vec<Group>>,
    latency: OnceLock<Option<Latency<'t>>>,
    process_times: OnceLock<BTreeMap<ProcessId, ProcessTimes<'t>>>,
}

/// Part of an object's wait time that must lie in one task for it to be told.
const WITHIN_SHARE: f64 = 0.5;

impl<'f, 't> Evidence<'f, 't> {
    /// Nothing is gathered before a detector asks for it.
    pub fn new(fold: &'f Fold<'t>) -> Self {
        Self {
            fold,
            elapsed_ns: fold.sums.windows.length_ns(),
            whole: fold.shown().clone(),
            objects: OnceLock::new(),
            index: OnceLock::new(),
            sockets: OnceLock::new(),
            socket_groups: OnceLock::new(),
            latency: OnceLock::new(),
            process_times: OnceLock::new(),
        }
    }

    /// How long each process ran, and in which system calls: one pass over sites.
    pub fn process_times(&self) -> &BTreeMap<ProcessId, ProcessTimes<'t>> {
        self.process_times.get_or_init(|| process_times(self.fold))
    }

    /// The objects that were waited on: one pass over sites and rows.
    pub fn objects(&self) -> &BTreeMap<ObjectId, Waits> {
        self.objects.get_or_init(|| objects(self.fold))
    }

    /// Objects of these types with their waits.
    pub fn of_types(&self, types: &'static [ObjectType]) -> impl Iterator<Item = (ObjectId, &Waits)> {
        let typed = move |object: &ObjectId| types.contains(&self.fold.object_type(*object));
        self.objects().iter().map(|(object, waits)| (*object, waits)).filter(move |(object, _)| typed(object))
    }

    /// The task that most of the waits lie in, if there is one.
    pub fn within(&self, waits: &Waits) -> Option<Sentence> {
        let most = waits.by_task.iter().max_by_key(|(_, ns)| **ns).filter(|(task, _)| task.is_some());
        let whole = waits.weights.wait_ns();
        let (task, ns) = most.filter(|(_, ns)| **ns as f64 >= WITHIN_SHARE * whole as f64)?;
        Some(say!(WITHIN_TASK, share = Word::part(*ns, whole), task = name(self.fold.trace, *task)))
    }

    /// What the report of waits shows of an object's.
    pub fn claims(&self, object: ObjectId, waits: &Waits) -> Vec<Claim> {
        let query = only(self.fold.query, FilterKey::Object, self.fold.object_name(object));
        let query = only(&query, FilterKey::Idle, "no");
        let numbers = [
            ("wait_ns", waits.weights.wait_ns()),
            ("wait_count", waits.weights.wait_count),
            ("threads", waits.by_thread.len() as u64),
        ];
        // Objects of several processes can have one name.
        let name = self.fold.object_name(object);
        let has_namesakes =
            self.objects().keys().any(|other| *other != object && self.fold.object_name(*other) == name);
        let relation = if has_namesakes { Claim::at_least } else { Claim::is };
        numbers.map(|(column, number)| relation("waits", &query, column, number)).into()
    }

    /// Where the object was created, if that was seen.
    pub fn created(&self, object: ObjectId) -> Option<Sentence> {
        let stack = self.fold.trace.objects.created_stack.get(object.get()?)?;
        Some(say!(CREATED_AT, place = self.fold.sums.stacks.place(*stack)?))
    }

    /// A part of the elapsed time.
    pub fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.elapsed_ns.max(1) as f64
    }

    /// The rows and samples by thread.
    pub fn index(&self) -> &ThreadIndex<'t> {
        self.index.get_or_init(|| ThreadIndex::new(self.fold.trace))
    }

    /// The waits on sockets.
    pub fn sockets(&self) -> &SocketWaits<'t> {
        self.sockets.get_or_init(|| SocketWaits::new(self.fold))
    }

    /// The sockets that were waited on, by name.
    pub fn socket_groups(&self) -> &[Group] {
        self.socket_groups.get_or_init(|| groups(self.fold, self.sockets()))
    }

    /// The intervals, when what delays threads was recorded.
    pub fn latency(&self) -> Option<&Latency<'t>> {
        let recorded = self.fold.trace.manifest.topics.iter().any(|topic| topic == Topic::Latency.id());
        self.latency.get_or_init(|| recorded.then(|| Latency::new(self.fold))).as_ref()
    }
}

fn objects(fold: &Fold<'_>) -> BTreeMap<ObjectId, Waits> {
    let mut objects: BTreeMap<ObjectId, Waits> = BTreeMap::new();
    let (hidden, nesting) = (hidden(fold), fold.trace.nesting());
    let looked_at = |site: &Site| {
        site.is_wait() && !site.idle && site.key.thread.get().is_none_or(|thread| hidden.get(thread) != Some(&true))
    };
    for (_, site, weights) in fold.selected_if(looked_at) {
        let waits = objects.entry(site.key.object).or_default();
        waits.weights.add(&weights);
        *waits.by_stack.entry(site.key.stack).or_default() += weights.wait_ns();
        *waits.by_task.entry(nesting.task(site.key.context)).or_default() += weights.wait_ns();
        if let Some(thread) = site.key.thread.get().filter(|_| weights.wait_ns() > 0) {
            *waits.by_thread.entry(thread).or_default() += weights.wait_ns();
        }
    }
    objects
}
