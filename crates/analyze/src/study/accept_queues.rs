//! Connections that waited to be accepted, by the process that has the socket and where it listens. From looks at the sockets that listen.

use std::collections::{BTreeMap, BTreeSet};

use dwell_model::ProcessId;
use dwell_store::Trace;

use crate::study::step_function::StepFunction;

/// The queue of a socket that listens.
#[derive(Debug, Default)]
pub struct AcceptQueue {
    /// Connections that waited.
    pub waiting: StepFunction,
    /// The most that may wait.
    pub limit: u32,
    /// How long the one that came first had waited, at the looks at which that is known: when, ns.
    pub oldest: Vec<(u64, u64)>,
    /// The processes that have the socket.
    pub processes: BTreeSet<ProcessId>,
}

/// The queues of a trace, by owner and address.
pub fn accept_queues(trace: &Trace) -> BTreeMap<(ProcessId, &str), AcceptQueue> {
    let table = &trace.accept_queues;
    let mut queues: BTreeMap<(ProcessId, &str), AcceptQueue> = BTreeMap::new();
    for row in 0..table.time_ns.len() {
        let (process, time_ns) = (table.process[row], table.time_ns[row]);
        let queue = queues.entry((table.owner[row], table.endpoint[row].as_str())).or_default();
        queue.processes.insert(process);
        if process == table.owner[row] {
            queue.waiting.0.push((time_ns, table.waiting[row]));
            queue.limit = queue.limit.max(table.limit[row]);
            queue.oldest.extend((table.oldest_ns[row] > 0).then_some((time_ns, table.oldest_ns[row])));
        }
    }
    queues
}
