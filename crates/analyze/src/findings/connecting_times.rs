//! How long processes ran and waited to make connections: encryption and logging in, besides the connection itself.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ProcessId, StackId};

use crate::engine::fold::Fold;
use crate::stacks::connecting::is_connecting;

/// Time in functions that make connections, thread-ns.
#[derive(Clone, Copy, Default)]
pub struct ConnectingTimes {
    /// Running.
    pub running_ns: u64,
    /// Waiting: of threads, or of the goroutines where these stand for them.
    pub waits_ns: u64,
}

impl ConnectingTimes {
    pub fn sum_ns(self) -> u64 {
        self.running_ns.saturating_add(self.waits_ns)
    }
}

/// Those of all processes of each name.
pub fn connecting_times<'t>(fold: &Fold<'t>) -> BTreeMap<&'t str, ConnectingTimes> {
    let trace = fold.trace;
    let mut known: HashMap<StackId, bool> = HashMap::new();
    let mut is_connecting = |stack| *known.entry(stack).or_insert_with(|| is_connecting(&fold.stacks, stack));
    let mut times: BTreeMap<&str, ConnectingTimes> = BTreeMap::new();
    let name_of = |process: ProcessId| process.get().and_then(|row| trace.processes.name.get(row)).map(String::as_str);
    for (_, site) in fold.selected_sites().filter(|(_, site)| site.is_wait() || site.key.reason.is_none()) {
        let process = site.key.thread.get().and_then(|thread| name_of(trace.threads.process[thread]));
        if let Some(process) = process.filter(|_| is_connecting(site.key.stack)) {
            let of = times.entry(process).or_default();
            let ns = if site.is_wait() { &mut of.waits_ns } else { &mut of.running_ns };
            *ns = ns.saturating_add(site.busy_ns([true; 5]));
        }
    }
    let (fibers, off) = (&trace.fibers.fibers, &trace.fibers.off_cpu);
    for row in (0..off.stack.len()).filter(|row| fold.windows.contains(off.start_ns[*row])) {
        let process = off.fiber[row].get().and_then(|fiber| name_of(*fibers.process.get(fiber)?));
        if let Some(process) = process.filter(|_| is_connecting(off.stack[row])) {
            let of = times.entry(process).or_default();
            of.waits_ns = of.waits_ns.saturating_add(off.wait_ns[row]);
        }
    }
    times
}
