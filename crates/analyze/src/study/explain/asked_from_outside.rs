//! Who is asked by programs that are not recorded: they wait unseen for what these threads do.

use std::collections::{HashMap, HashSet};

use dwell_model::{ProcessId, WakerKind};
use dwell_store::{EventKey, Trace};

use crate::study::explain::dialogues::Dialogues;
use crate::study::explain::terms::{RoleId, is_of_event_loop, listens};
use crate::study::explain::wait_ends::{waited_for, waker_of};

/// Waits for questions that make a role one that is asked.
const USUAL: u64 = 5;

/// See the module.
#[derive(Default)]
pub struct AskedFromOutside {
    /// Roles whose waits for questions ended from outside often enough …
    asked: HashSet<RoleId>,
    /// … and the processes in which such a wait did: a server's master is no worker, though it may be called like one.
    processes: HashSet<ProcessId>,
    /// Roles that work for these.
    workers: HashSet<RoleId>,
}

impl AskedFromOutside {
    /// Those of a trace. `is_idle` tells of a key, by number, whether its waits are for whatever comes.
    pub fn new(
        trace: &Trace,
        role_of: &dyn Fn(usize) -> RoleId,
        dialogues: &Dialogues<'_>,
        is_idle: &dyn Fn(usize) -> bool,
    ) -> Self {
        let mut processes = HashSet::new();
        let asked = usual_roles(trace, dialogues, |number, key| {
            let thread = key.thread().get().filter(|_| is_idle(number) && is_question(trace, key))?;
            processes.insert(trace.threads.process[thread]);
            Some(role_of(thread))
        });
        let is_asked = |thread: usize| asked.contains(&role_of(thread));
        let of_one_process = |one: usize, other: usize| trace.threads.process[one] == trace.threads.process[other];
        // Those to which these hand on what they were asked, and those that tell their loops that something is done: workers that are
        // never without work are never seen to be given any.
        let workers = usual_roles(trace, dialogues, |number, key| {
            let (thread, waker) = key.thread().get().zip(waker_of(key))?;
            let worker = match (is_asked(thread), is_asked(waker)) {
                (false, true) if is_idle(number) => thread,
                (true, false) if is_of_event_loop(key.syscall()) && of_one_process(thread, waker) => waker,
                _ => return None,
            };
            Some(role_of(worker))
        });
        Self { asked, processes, workers }
    }

    /// Whether a thread of the role and the process is asked from outside, or works for those that are.
    pub fn has(&self, role: RoleId, process: ProcessId) -> bool {
        self.workers.contains(&role) || (self.asked.contains(&role) && self.processes.contains(&process))
    }
}

fn is_question(trace: &Trace, key: &EventKey) -> bool {
    let ender = WakerKind::from_code(key.waker_kind());
    listens(waited_for(trace, key)) && matches!(ender, WakerKind::Network | WakerKind::OtherThread)
}

/// Roles with enough waits, by the role that a key's waits tell of, if any.
fn usual_roles(
    trace: &Trace,
    dialogues: &Dialogues<'_>,
    mut role_of_key: impl FnMut(usize, &EventKey) -> Option<RoleId>,
) -> HashSet<RoleId> {
    let mut counts: HashMap<RoleId, u64> = HashMap::new();
    for (number, key) in trace.events().keys.iter().enumerate() {
        if let Some(role) = role_of_key(number, key) {
            *counts.entry(role).or_default() += dialogues.waits(number);
        }
    }
    counts.retain(|_, count| *count >= USUAL);
    counts.into_keys().collect()
}
