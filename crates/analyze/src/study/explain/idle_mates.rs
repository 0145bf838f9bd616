//! Pools whose threads take work by turns: one of them waits for it and has the lock of the queue, for which the others wait.

use std::collections::{HashMap, HashSet};

use dwell_model::{Outcome, ProcessId};
use dwell_query::stacks::frames::{frame_rows, functions, module_path};
use dwell_query::stacks::object::object_type;
use dwell_query::stacks::own_code::is_system_module;
use dwell_store::{EventKey, Trace};

use crate::study::explain::terms::{RoleId, accepts, parks_threads};
use crate::study::explain::wait_ends::waited_for;

/// Functions at the leaf of a wait for connections, of which one takes the lock.
const DEPTH: usize = 8;

/// Whether a wait with that outcome went on to the end of the recording, or may have ended with the program, which did not wait for it.
pub fn is_broken_off(trace: &Trace, outcome: Outcome) -> bool {
    outcome == Outcome::Unfinished || (outcome == Outcome::Interrupted && trace.manifest.exit_status.is_some())
}

/// Who waits for work to the end of the recording.
pub struct IdleMates<'t> {
    trace: &'t Trace,
    /// Threads of roles in which a thread is parked.
    of_parked: HashSet<usize>,
    /// The functions in which threads of each process wait for connections.
    listening: HashMap<ProcessId, HashSet<&'t str>>,
}

impl<'t> IdleMates<'t> {
    /// Those of a trace.
    pub fn new(trace: &'t Trace, role_of: &dyn Fn(usize) -> RoleId) -> Self {
        let mut listening: HashMap<ProcessId, HashSet<&'t str>> = HashMap::new();
        let mut roles: HashSet<RoleId> = HashSet::new();
        let is_broken_off = |key: &&EventKey| is_broken_off(trace, Outcome::from_code(key.outcome()));
        for key in trace.events().keys.iter().filter(is_broken_off) {
            let Some(thread) = key.thread().get() else { continue };
            if parks_threads(object_type(trace, key.object())) {
                roles.insert(role_of(thread));
            }
            if accepts(waited_for(trace, key)) {
                let of_process = listening.entry(trace.threads.process[thread]).or_default();
                of_process.extend(functions(trace, key.stack()).take(DEPTH));
            }
        }
        let of_parked = (0..trace.threads.tid.len()).filter(|thread| roles.contains(&role_of(*thread))).collect();
        Self { trace, of_parked, listening }
    }

    /// Whether a thread that waits for a lock to the end has a mate that waits for work: one of its role, or one of its process in the
    /// function that takes the lock.
    pub fn has_one(&self, thread: usize, key: &EventKey) -> bool {
        let trace = self.trace;
        let is_own = |frame: &usize| {
            let path = module_path(trace, *frame);
            !path.is_empty() && !is_system_module(path)
        };
        let takes_lock = frame_rows(trace, key.stack()).find(is_own).map(|frame| trace.frames.function[frame].as_str());
        let in_process = self.listening.get(&trace.threads.process[thread]);
        self.of_parked.contains(&thread)
            || in_process.zip(takes_lock).is_some_and(|(functions, function)| functions.contains(function))
    }
}

#[cfg(test)]
mod tests {
    use dwell_trace_dsl::trace;

    use super::*;

    /// One of the threads waits for work, and has the lock for which its mate waits; the program's end breaks both off.
    #[test]
    fn the_programs_end_breaks_off_what_idle_mates_wait_for() {
        let has_mate = |exit_status: Option<i32>| {
            let mut trace = trace("w1: #ccccccc\nw2: #mmmmmmm\nx: ########");
            trace.off_cpu.outcome.fill(Outcome::Interrupted.code());
            trace.manifest.exit_status = exit_status;
            trace.tables_changed();
            let (key, role_of) =
                (trace.events().off_cpu_key(trace.events().off_cpu.of(1).start), |thread: usize| thread as RoleId / 2);
            IdleMates::new(&trace, &role_of).has_one(1, &key)
        };
        assert!(has_mate(Some(0)));
        assert!(!has_mate(None), "a signal broke them off");
    }
}
