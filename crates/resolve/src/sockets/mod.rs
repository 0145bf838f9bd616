//! Sockets: their table, the waits on them and why each lasted as long as it did ([`causes`]), and what TCP did.

mod causes;
mod counters;
mod ends;
mod parts;
mod raw;
mod tcp;

use dwell_model::{CallKind, ObjectId, Reason, SocketDirection, SocketId, SocketWaitId, StackId, Syscall};
use dwell_store::raw::wire::SocketWaitRecord;
use dwell_store::tables::{OffCpu, SocketWaitCauseRow, SocketWaitCauses, SocketWaitRow, SocketWaits};
use dwell_store::{SocketTables, Table, ThreadStates};

pub use counters::add as add_counters;
pub use ends::Ends;
pub use raw::RawSockets;

use self::causes::{Sources, Wait};
use self::tcp::Tcp;
use crate::hash::FastMap;
use crate::replay::Replay;

/// What the tables are made of.
pub struct Input<'a> {
    /// The records.
    pub raw: &'a RawSockets,
    /// Who lived.
    pub replay: &'a Replay,
    /// The intervals, with the objects' rows.
    pub off_cpu: &'a OffCpu,
    /// The key of what each row of `off_cpu` waited on, 0 for what has none.
    pub object_keys: &'a [u64],
    /// Stacks of the holds.
    pub hold_stacks: &'a [StackId],
    /// End of the collection, ns since its start.
    pub end_ns: u64,
}

/// The tables of sockets.
pub fn resolve(input: &Input<'_>, mut ends: Ends) -> SocketTables {
    let tcp = Tcp::new(input, &ends);
    let states = ThreadStates::new(input.off_cpu, input.replay.lives.threads.len());
    let waits = waits(input, &ends, &states);
    for wait in waits.iter().filter(|wait| wait.direction != SocketDirection::Poll) {
        if let Some(socket) = wait.socket.get() {
            ends.sockets.object[socket] = input.off_cpu.object[wait.row];
        }
    }
    let socket_of_row: FastMap<usize, SocketId> = waits.iter().map(|wait| (wait.row, wait.socket)).collect();
    let sources =
        Sources { ends: &ends, tcp: &tcp, states: &states, off_cpu: input.off_cpu, socket_of_row: &socket_of_row };
    let (mut table, mut causes) = (SocketWaits::default(), SocketWaitCauses::default());
    for wait in &waits {
        let id = SocketWaitId::new(table.push(row(wait, input.off_cpu)));
        for (reason, cause_ns) in sources.parts(wait).found {
            causes.push(SocketWaitCauseRow {
                wait: id,
                cause: reason.cause.code(),
                cause_ns,
                exact: reason.exact,
                thread: reason.thread,
                object: reason.object,
            });
        }
    }
    let Ends { sockets, sizes, .. } = ends;
    SocketTables { sockets, sizes, waits: table, causes, holds: tcp.holds, events: tcp.events }
}

fn row(wait: &Wait<'_>, off_cpu: &OffCpu) -> SocketWaitRow {
    let record = wait.record;
    SocketWaitRow {
        socket: wait.socket,
        thread: off_cpu.thread[wait.row],
        start_ns: off_cpu.start_ns[wait.row],
        wait_ns: off_cpu.wait_ns[wait.row],
        direction: wait.direction.code(),
        sends_before: record.map_or(0, |record| record.sends_before),
        bytes_before: record.map_or(0, |record| record.bytes_before),
        first_send_bytes: record.map_or(0, |record| record.first_send_bytes),
        last_send_bytes: record.map_or(0, |record| record.last_send_bytes),
        bytes_after: record.map_or(0, |record| record.bytes_after),
        receives_before: record.map_or(0, |record| record.receives),
    }
}

/// The waits on sockets, in the order of `off_cpu`: those with a record, and those on a file that is a known socket.
fn waits<'a>(input: &Input<'a>, ends: &Ends, states: &ThreadStates<'_>) -> Vec<Wait<'a>> {
    let mut by_row: FastMap<usize, Wait<'a>> = FastMap::default();
    for record in &input.raw.waits {
        if let Some(wait) = recorded(record, input, ends, states) {
            by_row.insert(wait.row, wait);
        }
    }
    for row in 0..input.off_cpu.len() {
        let key = input.object_keys.get(row).copied().unwrap_or(0);
        let waiting = input.off_cpu.reason[row] == Reason::Waiting.code();
        if key == 0 || !waiting || by_row.contains_key(&row) {
            continue;
        }
        if let Some(socket) = ends.find(0, key, input.off_cpu.start_ns[row]) {
            let direction = direction(input.off_cpu.syscall[row]);
            let peer = ends.thread_at_other_end(socket);
            by_row.insert(row, Wait { record: None, socket, row, direction, peer });
        }
    }
    let mut waits: Vec<Wait<'a>> = by_row.into_values().collect();
    waits.sort_by_key(|wait| wait.row);
    waits
}

fn recorded<'a>(
    record: &'a SocketWaitRecord,
    input: &Input<'a>,
    ends: &Ends,
    states: &ThreadStates<'_>,
) -> Option<Wait<'a>> {
    let lives = &input.replay.lives;
    let start_ns = input.replay.relative(record.start_ns);
    let woken_ns = input.replay.relative(record.h.time_ns);
    let thread = lives.find_at(record.h.tid, start_ns)?;
    let row = states.row_at(thread, start_ns)?;
    if input.off_cpu.reason[row] != Reason::Waiting.code() {
        return None;
    }
    let socket = ends.find(record.cookie, record.object, woken_ns)?;
    let peer = Some(record.peer_tid).filter(|&tid| tid != 0).and_then(|tid| lives.find_at(tid, woken_ns));
    let direction = SocketDirection::from_code(record.direction);
    let peer = peer.unwrap_or_else(|| ends.thread_at_other_end(socket));
    Some(Wait { record: Some(record), socket, row, direction, peer })
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

/// The key of the object of each row of `off_cpu`, whose objects are still numbers of waits.
pub fn object_keys(off_cpu: &OffCpu, replay: &Replay) -> Vec<u64> {
    let key = |id: &ObjectId| {
        let wait = id.get().and_then(|number| replay.waits.keys().get(number));
        wait.filter(|wait| wait.kind() != CallKind::Futex).map_or(0, |wait| wait.object)
    };
    off_cpu.object.iter().map(key).collect()
}
