//! Waits on sockets for an answer, as something was sent there before.

use std::collections::HashSet;

use dwell_store::Trace;

/// What a wait on a socket was for: `socket_waits.direction`.
const RECEIVE: u8 = 2;
const POLL: u8 = 5;

/// Rows that wait to receive on a socket on which something was sent before.
pub fn asked(trace: &Trace) -> HashSet<usize> {
    let (waits, rows) = (&trace.sockets.waits, &trace.events().off_cpu);
    let mut asked = HashSet::new();
    for wait in 0..waits.sends_before.len() {
        let is_answer = matches!(waits.direction[wait], RECEIVE | POLL);
        let Some(thread) = waits.thread[wait].get().filter(|_| is_answer && waits.sends_before[wait] > 0) else {
            continue;
        };
        let start = waits.start_ns[wait];
        let row = rows.partition_point(rows.of(thread), |other| other < start);
        if row < rows.of(thread).end && rows.start_ns(row) == start {
            asked.insert(row);
        }
    }
    asked
}
