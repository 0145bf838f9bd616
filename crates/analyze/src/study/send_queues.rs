//! Data that processes had to send over TCP and that waited, by process and connections of one kind: for the other end to read, or for an
//! acknowledgement. From looks at the connections.

use std::collections::BTreeMap;

use dwell_model::ProcessId;
use dwell_store::Trace;

use crate::study::step_function::StepFunction;

/// What processes send over: the process, whether it accepted the connections, and the port or the address.
pub type Sender<'t> = (ProcessId, bool, &'t str);

/// On how many connections it waited at once.
#[derive(Debug, Default)]
pub struct SendQueue {
    /// For the other end to read: the receive window was full.
    pub unread: StepFunction,
    /// As a small rest, until what was sent before is acknowledged: Nagle's algorithm.
    pub held: StepFunction,
}

/// The queues of a trace.
pub fn send_queues(trace: &Trace) -> BTreeMap<Sender<'_>, SendQueue> {
    let table = &trace.send_queues;
    let mut queues: BTreeMap<Sender<'_>, SendQueue> = BTreeMap::new();
    for row in 0..table.time_ns.len() {
        let sender = (table.process[row], table.is_incoming[row], table.endpoint[row].as_str());
        let queue = queues.entry(sender).or_default();
        queue.unread.0.push((table.time_ns[row], table.unread[row]));
        queue.held.0.push((table.time_ns[row], table.held[row]));
    }
    queues
}
