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
    /// Segments with data that were sent, as far as the looks at requests and answers counted them.
    pub segments: u64,
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
    let table = &trace.open_requests;
    for row in 0..table.time_ns.len() {
        let sender = (table.process[row], table.is_incoming[row], table.endpoint[row].as_str());
        if let Some(queue) = queues.get_mut(&sender) {
            queue.segments += u64::from(if table.is_incoming[row] { table.answers[row] } else { table.requests[row] });
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use dwell_store::Manifest;
    use dwell_store::tables::{OpenRequestRow, SendQueueRow};

    use super::*;

    #[test]
    fn who_accepted_sends_answers_and_who_connected_requests() {
        let mut trace = Trace::new(Manifest::default());
        for (is_incoming, endpoint) in [(true, "TCP :80"), (false, "TCP 10.0.0.1:5432")] {
            let (time_ns, process, endpoint) = (5, ProcessId::new(0), endpoint.to_owned());
            trace.send_queues.push(SendQueueRow {
                time_ns,
                process,
                is_incoming,
                endpoint: endpoint.clone(),
                unread: 0,
                held: 1,
            });
            let looked = OpenRequestRow {
                time_ns,
                process,
                is_incoming,
                endpoint,
                connections: 1,
                open: 1,
                requests: 7,
                answers: 3,
            };
            trace.open_requests.push(looked);
        }
        let segments: Vec<u64> = send_queues(&trace).into_values().map(|queue| queue.segments).collect();
        assert_eq!(segments, [7, 3]);
    }
}
