//! Pools whose threads take work by turns: one of them waits for it and has the lock of the queue, for which the others wait.

use std::collections::HashSet;

use dwell_model::Outcome;
use dwell_store::{EventKey, Trace};

use crate::stacks::object::object_type;
use crate::study::explain::terms::{RoleId, parks_threads};

/// Threads of roles in which a thread is parked, to the end of the recording.
pub fn have_idle_mate(trace: &Trace, role_of: &dyn Fn(usize) -> RoleId) -> HashSet<usize> {
    let is_parked = |key: &&EventKey| {
        let is_unfinished = Outcome::from_code(key.outcome()) == Outcome::Unfinished;
        is_unfinished && parks_threads(object_type(trace, key.object()))
    };
    let parked = trace.events().keys.iter().filter(is_parked);
    let roles: HashSet<RoleId> = parked.filter_map(|key| Some(role_of(key.thread().get()?))).collect();
    (0..trace.threads.tid.len()).filter(|thread| roles.contains(&role_of(*thread))).collect()
}
