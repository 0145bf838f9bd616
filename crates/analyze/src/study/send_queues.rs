//! Data that processes had to send over TCP and that waited, by process and connections of one kind: for the other end to read, or for an
//! acknowledgement. From looks at the connections.

use std::collections::{BTreeMap, HashMap};

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
    /// As a small rest, until what was sent before is acknowledged late: Nagle's algorithm.
    pub held: StepFunction,
}

/// Segments with data that a connection sends between two looks at most, if what it holds waits for a late acknowledgement. That takes 40 ms, about the
/// time from look to look. A busy connection always has a rest that waits, but its acknowledgement comes at once.
const SEGMENTS_EACH: u32 = 16;

/// The queues of a trace.
pub fn send_queues(trace: &Trace) -> BTreeMap<Sender<'_>, SendQueue> {
    let table = &trace.open_requests;
    let mut sent: HashMap<(u64, Sender<'_>), u32> = HashMap::new();
    for row in 0..table.time_ns.len() {
        let sender = (table.process[row], table.is_incoming[row], table.endpoint[row].as_str());
        let segments = if table.is_incoming[row] { table.answers[row] } else { table.requests[row] };
        let known = sent.entry((table.time_ns[row], sender)).or_default();
        *known = known.saturating_add(segments);
    }
    let table = &trace.send_queues;
    let mut queues: BTreeMap<Sender<'_>, SendQueue> = BTreeMap::new();
    for row in 0..table.time_ns.len() {
        let (time_ns, held) = (table.time_ns[row], table.held[row]);
        let sender = (table.process[row], table.is_incoming[row], table.endpoint[row].as_str());
        let is_busy =
            sent.get(&(time_ns, sender)).is_some_and(|segments| *segments > SEGMENTS_EACH.saturating_mul(held));
        let queue = queues.entry(sender).or_default();
        queue.unread.0.push((time_ns, table.unread[row]));
        queue.held.0.push((time_ns, if is_busy { 0 } else { held }));
    }
    queues
}

#[cfg(test)]
mod tests {
    use dwell_store::Manifest;
    use dwell_store::tables::{OpenRequestRow, SendQueueRow};

    use super::*;

    #[test]
    fn what_is_held_under_load_is_not_held_for_long() {
        let held = |is_incoming: bool, requests: u32, answers: u32| {
            let mut trace = Trace::new(Manifest::default());
            let (process, endpoint) = (ProcessId::new(0), "TCP :80".to_owned());
            let (time_ns, unread, held) = (5, 0, 2);
            trace.send_queues.push(SendQueueRow {
                time_ns,
                process,
                is_incoming,
                endpoint: endpoint.clone(),
                unread,
                held,
            });
            let (connections, open) = (2, 2);
            let look = OpenRequestRow { time_ns, process, is_incoming, endpoint, connections, open, requests, answers };
            trace.open_requests.push(look);
            send_queues(&trace).into_values().map(|queue| queue.held.0[0].1).sum::<u32>()
        };
        assert_eq!(held(true, 900, 32), 2, "who accepted sends answers");
        assert_eq!(held(true, 900, 33), 0);
        assert_eq!(held(false, 33, 0), 0, "who connected sends requests");
    }
}
