//! What the other end did during a wait, once both hosts are in one result.
//!
//! Of an end that was not recorded beside it, a wait says only that it was for that (cause `peer`). The thread that took what
//! was asked is known now, and what it did meanwhile, as well as the clocks are aligned: so these parts are inferred. What it
//! did not do itself is the way there and back. The parts of a wait still add up to it.

use std::collections::HashMap;
use std::ops::Range;

use dwell_model::{ObjectId, SocketCause, SocketId, ThreadId};
use dwell_store::tables::{SocketWaitCauseRow, SocketWaitCauses};
use dwell_store::{SpanState, Table, ThreadStates, Trace};

use crate::connection::Joined;
use crate::link::{both_ways, receivers};

/// A part that the other end's thread explains: cause, time, what it waited on.
type Part = (SocketCause, u64, ObjectId);

/// Replaces causes `peer` of waits on `connections`, which are linked. Returns how many waits it explained.
pub fn explain(trace: &mut Trace, connections: &[Joined]) -> usize {
    let peers = both_ways(connections);
    let received = receivers(trace, &peers);
    let waits = &trace.sockets.waits;
    let socket_of: HashMap<(ThreadId, u64), SocketId> =
        (0..waits.len()).map(|row| ((waits.thread[row], waits.start_ns[row]), waits.socket[row])).collect();
    let states = ThreadStates::new(&trace.off_cpu, trace.threads.len());
    let (mut causes, mut explained) = (SocketWaitCauses::default(), 0);
    for row in 0..trace.sockets.causes.len() {
        let own = row_of(&trace.sockets.causes, row);
        let peer = (own.cause == SocketCause::Peer.code()).then(|| own.wait.get()).flatten().and_then(|wait| {
            let span = waits.start_ns[wait]..waits.start_ns[wait].saturating_add(waits.wait_ns[wait]);
            let socket = *peers.get(&waits.socket[wait])?;
            let received = received.get(&socket)?;
            let last = received.partition_point(|(time, _)| *time <= span.end).checked_sub(1)?;
            Some((received.get(last)?.1, socket, span))
        });
        let Some((thread, socket, span)) = peer else {
            causes.push(own);
            continue;
        };
        explained += 1;
        let is_on = |row: usize| {
            let on = socket_of.get(&(trace.off_cpu.thread[row], trace.off_cpu.start_ns[row]));
            on == Some(&socket)
        };
        for (cause, cause_ns, object) in parts(&states, thread, span, own.cause_ns, is_on) {
            causes.push(SocketWaitCauseRow {
                wait: own.wait,
                cause: cause.code(),
                cause_ns,
                exact: false,
                thread: if cause == SocketCause::RoundTrip { ThreadId::NONE } else { thread },
                object,
            });
        }
    }
    trace.sockets.causes = causes;
    explained
}

/// `time_ns` split by what `thread` did within `span`; where it waited on the same connection (`is_on`) the bytes were on their
/// way.
fn parts(
    states: &ThreadStates<'_>,
    thread: ThreadId,
    span: Range<u64>,
    time_ns: u64,
    is_on: impl Fn(usize) -> bool,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut left = time_ns;
    for (stretch, state) in states.within(thread, span) {
        let (cause, object) = match state {
            SpanState::Running => (SocketCause::PeerRunning, ObjectId::NONE),
            SpanState::Runnable => (SocketCause::PeerRunnable, ObjectId::NONE),
            SpanState::Waiting(row, _) if is_on(row) => continue,
            SpanState::Waiting(_, object) => (SocketCause::PeerWaiting, object),
        };
        let part_ns = (stretch.end - stretch.start).min(left);
        left -= part_ns;
        match parts.iter_mut().find(|part| (part.0, part.2) == (cause, object)) {
            Some(part) => part.1 += part_ns,
            None if part_ns > 0 => parts.push((cause, part_ns, object)),
            None => {}
        }
    }
    if left > 0 {
        parts.push((SocketCause::RoundTrip, left, ObjectId::NONE));
    }
    parts
}

fn row_of(causes: &SocketWaitCauses, row: usize) -> SocketWaitCauseRow {
    SocketWaitCauseRow {
        wait: causes.wait[row],
        cause: causes.cause[row],
        cause_ns: causes.cause_ns[row],
        exact: causes.exact[row],
        thread: causes.thread[row],
        object: causes.object[row],
    }
}
