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
use dwell_store::{Annotations, SocketTables, ThreadStates};

pub use raw::RawSockets;

use self::causes::{Sources, Wait};
use self::ends::Ends;
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
    /// What was told before the naming.
    pub unnumbered: &'a Unnumbered,
    /// End of the collection, ns since its start.
    pub end_ns: u64,
}

/// What has to be taken of the trace before its waits and stacks have their last numbers.
pub struct Unnumbered {
    /// The key of what each row of `off_cpu` waited on, 0 for what has none.
    object_keys: Vec<u64>,
    /// Stacks of the holds.
    hold_stacks: Vec<StackId>,
}

impl Unnumbered {
    /// Of the intervals, whose objects are still numbers of waits.
    pub fn take(raw: &RawSockets, replay: &mut Replay, off_cpu: &OffCpu) -> Self {
        let key = |id: &ObjectId| {
            let wait = id.get().and_then(|number| replay.waits.keys().get(number));
            wait.filter(|wait| wait.kind() != CallKind::Futex).map_or(0, |wait| wait.object)
        };
        let object_keys = if raw.is_empty() { Vec::new() } else { off_cpu.object.iter().map(key).collect() };
        let hold_stacks = raw.holds.iter().map(|hold| replay.user_stack(hold.user_stack)).collect();
        Self { object_keys, hold_stacks }
    }

    /// Puts a row of the table of stacks in the place of each number.
    pub fn name_stacks(&mut self, row: impl Fn(StackId) -> StackId) {
        self.hold_stacks.iter_mut().for_each(|stack| *stack = row(*stack));
    }
}

/// The tables of sockets, and how many records of waits match nothing else. The sockets' throughput goes to the counters.
pub fn resolve(input: &Input<'_>, annotations: &mut Annotations) -> (SocketTables, u64) {
    let mut ends = Ends::new(input.raw, input.replay, input.end_ns);
    counters::add(annotations, input.raw, &ends, input.replay);
    let tcp = Tcp::new(input, &ends);
    let states = ThreadStates::new(input.off_cpu, input.replay.lives.threads.len());
    let (waits, unmatched) = waits(input, &ends, &states);
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
    (SocketTables { sockets, sizes, waits: table, causes, holds: tcp.holds, events: tcp.events }, unmatched)
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

/// The waits on sockets, in the order of `off_cpu`: those with a record, and those on a file that is a known socket. And how
/// many records are of no such wait.
fn waits<'a>(input: &Input<'a>, ends: &Ends, states: &ThreadStates<'_>) -> (Vec<Wait<'a>>, u64) {
    let mut by_row: FastMap<usize, Wait<'a>> = FastMap::default();
    let mut unmatched = 0;
    for record in &input.raw.waits {
        match recorded(record, input, ends, states) {
            Some(wait) => _ = by_row.insert(wait.row, wait),
            None => unmatched += u64::from(record.direction != SocketDirection::Poll.code()),
        }
    }
    for (row, &key) in input.unnumbered.object_keys.iter().enumerate() {
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
    (waits, unmatched)
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
