//! The waits on sockets: which rows of `off_cpu` they are, and for what.

use dwell_model::{CallKind, Reason, SocketDirection, SocketId, Syscall, ThreadId};
use dwell_store::ThreadStates;
use dwell_store::raw::wire::SocketWaitRecord;

use super::ends::SocketEnds;
use super::input::Input;
use crate::hash::FastMap;

/// A wait on a socket: its record and its row of `off_cpu`.
#[derive(Clone, Copy)]
pub struct SocketWait<'a> {
    /// How the socket stood, when the record is there.
    pub record: Option<&'a SocketWaitRecord>,
    /// The socket.
    pub socket: SocketId,
    /// Row of `off_cpu`.
    pub row: usize,
    /// What for.
    pub direction: SocketDirection,
    /// Thread at the other end, when it is profiled.
    pub peer: ThreadId,
}

/// The waits on sockets, in the order of `off_cpu`: those with a record, and those on a file that is a known socket. And how
/// many records are of no such wait.
pub fn waits<'a>(input: &Input<'a>, ends: &SocketEnds, states: &ThreadStates<'_>) -> (Vec<SocketWait<'a>>, u64) {
    let mut by_row: FastMap<usize, SocketWait<'a>> = FastMap::default();
    let mut unmatched = 0;
    for record in &input.raw.waits {
        match recorded(record, input, ends, states) {
            Some(wait) => _ = by_row.insert(wait.row, wait),
            None => unmatched += u64::from(record.direction != SocketDirection::Poll.code()),
        }
    }
    for (row, &key) in input.object_keys.iter().enumerate() {
        let waiting = input.off_cpu.reason[row] == Reason::Waiting.code();
        if key == 0 || !waiting || by_row.contains_key(&row) {
            continue;
        }
        if let Some(socket) = ends.find(0, key, input.off_cpu.start_ns[row]) {
            let direction = direction(input.off_cpu.syscall[row]);
            let peer = ends.thread_at_other_end(socket);
            by_row.insert(row, SocketWait { record: None, socket, row, direction, peer });
        }
    }
    let mut waits: Vec<SocketWait<'a>> = by_row.into_values().collect();
    waits.sort_by_key(|wait| wait.row);
    (waits, unmatched)
}

fn recorded<'a>(
    record: &'a SocketWaitRecord,
    input: &Input<'a>,
    ends: &SocketEnds,
    states: &ThreadStates<'_>,
) -> Option<SocketWait<'a>> {
    let thread_table = &input.replay.thread_table;
    let start_ns = input.replay.relative(record.start_ns);
    let woken_ns = input.replay.relative(record.h.time_ns);
    let thread = thread_table.find_at(record.h.tid, start_ns)?;
    let row = states.row_at(thread, start_ns)?;
    if input.off_cpu.reason[row] != Reason::Waiting.code() {
        return None;
    }
    let socket = ends.find(record.cookie, record.object, woken_ns)?;
    let peer = Some(record.peer_tid).filter(|&tid| tid != 0).and_then(|tid| thread_table.find_at(tid, woken_ns));
    let direction = SocketDirection::from_code(record.direction);
    let peer = peer.unwrap_or_else(|| ends.thread_at_other_end(socket));
    Some(SocketWait { record: Some(record), socket, row, direction, peer })
}

/// What a call on a socket waits for.
fn direction(syscall: i16) -> SocketDirection {
    match Syscall::name_of(syscall).as_str() {
        "connect" => SocketDirection::Connect,
        "accept" | "accept4" => SocketDirection::Accept,
        "write" | "writev" | "pwritev" | "pwritev2" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" => {
            SocketDirection::Send
        }
        _ if Syscall::kind_of(syscall) == CallKind::Poll => SocketDirection::Poll,
        _ => SocketDirection::Receive,
    }
}
