//! Pools and unfair locks of a program's own: threads of one role each take one of a few, work, and give it back.
//!
//! Whoever gives one back may take it again before the thread that it woke, so that some never wait and others hardly ever
//! work: no turns show that. But nobody else ends these waits, and whoever does is within the same activity: one function
//! of the program calls both what waits and what wakes. Workers get theirs from another role, or from somewhere in a task.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use dwell_model::{ObjectId, Outcome, StackId};
use dwell_query::stacks::channels::{receives_from_queue, takes_message};
use dwell_query::stacks::object::object_type;
use dwell_store::Trace;

use crate::study::explain::bare_stacks::is_of_nameless_pool;
use crate::study::explain::names::Names;
use crate::study::explain::terms::{PlaceId, RoleId, parks_threads};

/// Waits at a place from which they are a habit.
const HABIT: u64 = 8;
/// Part of the waits that must end by threads of the role, within the same activity.
const BY_ROLE_MATES: f64 = 0.9;

/// Waits of a role at a place that another thread ended.
#[derive(Default)]
struct Waits {
    at_stacks: BTreeMap<(ObjectId, StackId), Ends>,
    all: Ends,
}

/// How many of them ended.
#[derive(Clone, Copy, Default)]
struct Ends {
    all: u64,
    by_role_mates: u64,
}

impl Ends {
    fn add(&mut self, waits: u64, is_by_mate: bool) {
        self.all += waits;
        self.by_role_mates += if is_by_mate { waits } else { 0 };
    }

    fn are_by_mates(&self) -> bool {
        self.by_role_mates >= HABIT && self.by_role_mates as f64 >= BY_ROLE_MATES * self.all as f64
    }
}

/// What threads wait on for one of a few.
#[derive(Default)]
pub struct Permits {
    /// The objects that are waited on for nothing else.
    pub objects: BTreeSet<ObjectId>,
    /// The objects with the stacks in which they are: a thread of Ruby waits for everything on one object.
    pub at_stacks: HashSet<(ObjectId, StackId)>,
}

/// Those of a trace.
pub fn by_permits(trace: &Trace, role_of: &dyn Fn(usize) -> RoleId, names: &mut Names<'_, '_>) -> Permits {
    let mut groups: BTreeMap<(RoleId, PlaceId), Waits> = BTreeMap::new();
    let mut of_object: HashMap<ObjectId, BTreeSet<(RoleId, PlaceId)>> = HashMap::new();
    for (key, waits) in trace.events().keys_with_waits() {
        let woken = Outcome::from_code(key.outcome()) == Outcome::Woken;
        let both = key.thread().get().zip(key.waker().get()).filter(|(thread, waker)| thread != waker && woken);
        let may_be_shared = || parks_threads(object_type(trace, key.object())) && !is_of_nameless_pool(trace, key);
        let Some((thread, waker)) = both.filter(|_| may_be_shared()) else { continue };
        let (role, place) = (role_of(thread), names.place_of(key.stack()));
        let of = groups.entry((role, place)).or_default();
        of_object.entry(key.object()).or_default().insert((role, place));
        let is_mate =
            role_of(waker) == role && !receives_from_queue(trace, key.stack()) && !takes_message(trace, key.stack());
        let is_mate = is_mate && names.are_of_one_activity(key.stack(), key.waker_stack());
        of.all.add(waits.count, is_mate);
        of.at_stacks.entry((key.object(), key.stack())).or_default().add(waits.count, is_mate);
    }
    // At the place at which a thread of Ruby takes a lock it waits for the interpreter as well.
    let shared = |of: &Waits| {
        let is_shared = |ends: &Ends| of.all.are_by_mates() || ends.are_by_mates();
        let shared = of.at_stacks.iter().filter(|(_, ends)| is_shared(ends));
        shared.map(|(at, _)| *at).collect::<Vec<_>>()
    };
    let at_stacks = groups.values().flat_map(shared).collect();
    groups.retain(|_, of| of.all.are_by_mates());
    let are_all = |object: &ObjectId| of_object[object].iter().all(|of| groups.contains_key(of));
    Permits {
        objects: groups
            .values()
            .flat_map(|of| of.at_stacks.keys())
            .map(|(object, _)| *object)
            .filter(are_all)
            .collect(),
        at_stacks,
    }
}
