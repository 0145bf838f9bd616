//! Pools and unfair locks of a program's own: threads of one role each take one of a few, work, and give it back.
//!
//! Whoever gives one back may take it again before the thread that it woke, so that some never wait and others hardly ever
//! work: no turns show that. But nobody else ends these waits, and whoever does is within the same activity: one function
//! of the program calls both what waits and what wakes. Workers get theirs from another role, or from somewhere in a task.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dwell_model::{ObjectId, Outcome};
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
    objects: BTreeSet<ObjectId>,
    all: u64,
    by_role_mates: u64,
}

/// The objects on which threads wait for one of a few.
pub fn by_permits(trace: &Trace, role_of: &dyn Fn(usize) -> RoleId, names: &mut Names<'_, '_>) -> BTreeSet<ObjectId> {
    let mut groups: BTreeMap<(RoleId, PlaceId), Waits> = BTreeMap::new();
    let mut of_object: HashMap<ObjectId, BTreeSet<(RoleId, PlaceId)>> = HashMap::new();
    for (key, waits) in trace.events().keys_with_waits() {
        let woken = Outcome::from_code(key.outcome()) == Outcome::Woken;
        let both = key.thread().get().zip(key.waker().get()).filter(|(thread, waker)| thread != waker && woken);
        let may_be_shared = || parks_threads(object_type(trace, key.object())) && !is_of_nameless_pool(trace, key);
        let Some((thread, waker)) = both.filter(|_| may_be_shared()) else { continue };
        let (role, place) = (role_of(thread), names.place_of(key.stack()));
        let of = groups.entry((role, place)).or_default();
        of.objects.insert(key.object());
        of_object.entry(key.object()).or_default().insert((role, place));
        of.all += waits.count;
        let is_mate =
            role_of(waker) == role && !receives_from_queue(trace, key.stack()) && !takes_message(trace, key.stack());
        if is_mate && names.are_of_one_activity(key.stack(), key.waker_stack()) {
            of.by_role_mates += waits.count;
        }
    }
    let is_shared = |of: &Waits| of.by_role_mates >= HABIT && of.by_role_mates as f64 >= BY_ROLE_MATES * of.all as f64;
    groups.retain(|_, of| is_shared(of));
    // A thread of Ruby waits for everything on one object.
    let are_all = |object: &ObjectId| of_object[object].iter().all(|of| groups.contains_key(of));
    groups.values().flat_map(|of| &of.objects).copied().filter(are_all).collect()
}
