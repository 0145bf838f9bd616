//! How long processes ran and waited to make connections: encryption and logging in, besides the connection itself.

use std::collections::{BTreeMap, HashMap};

use dwell_model::{ProcessId, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::stacks::connecting::is_connecting;

/// Of processes of each name, thread-ns in functions that make connections, running and waiting: of threads, or of the goroutines where these stand
/// for them.
pub fn connecting_times<'t>(fold: &Fold<'t>) -> BTreeMap<&'t str, u64> {
    let trace = fold.trace;
    let mut known: HashMap<StackId, bool> = HashMap::new();
    let mut is_connecting = |stack| *known.entry(stack).or_insert_with(|| is_connecting(&fold.sums.stacks, stack));
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    let name_of = |process: ProcessId| process.get().and_then(|row| trace.processes.name.get(row)).map(String::as_str);
    for (_, site) in fold.selected_sites().filter(|(_, site)| site.is_wait() || site.key.reason.is_none()) {
        let process = site.key.thread.get().and_then(|thread| name_of(trace.threads.process[thread]));
        if let Some(process) = process.filter(|_| is_connecting(site.key.stack)) {
            let ns = times.entry(process).or_default();
            *ns = ns.saturating_add(site.busy_ns([true; 5]));
        }
    }
    let (fibers, off) = (&trace.fibers.fibers, &trace.fibers.off_cpu);
    for row in (0..off.stack.len()).filter(|row| fold.sums.windows.contains(off.start_ns[*row])) {
        let process = off.fiber[row].get().and_then(|fiber| name_of(*fibers.process.get(fiber)?));
        if let Some(process) = process.filter(|_| is_connecting(off.stack[row])) {
            let ns = times.entry(process).or_default();
            *ns = ns.saturating_add(off.wait_ns[row]);
        }
    }
    times
}
