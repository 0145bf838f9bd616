//! The tables of sockets, of the waits on them, and of the causes of each wait.

use dwell_model::{SocketDirection, SocketId, SocketWaitId};
use dwell_store::tables::{OffCpu, SocketWaitCauseRow, SocketWaitCauses, SocketWaitRow, SocketWaits};
use dwell_store::{Annotations, SocketTables, ThreadStates};

use super::causes::CauseSources;
use super::counters;
use super::ends::SocketEnds;
use super::input::Input;
use super::tcp::Tcp;
use super::waits::{SocketWait, waits};
use crate::hash::FastMap;

/// The tables of sockets, and how many records of waits match nothing else. The sockets' throughput goes to the counters.
pub fn resolve(input: &Input<'_>, annotations: &mut Annotations) -> (SocketTables, u64) {
    let mut ends = SocketEnds::new(input.raw, input.replay, input.end_ns);
    counters::add(annotations, input.raw, &ends, input.replay);
    let tcp = Tcp::new(input, &ends);
    let states = ThreadStates::new(input.off_cpu, input.replay.thread_table.threads.len());
    let (waits, unmatched) = waits(input, &ends, &states);
    for wait in waits.iter().filter(|wait| wait.direction != SocketDirection::Poll) {
        if let Some(socket) = wait.socket.get() {
            ends.sockets.object[socket] = input.off_cpu.object[wait.row];
        }
    }
    let socket_of_row: FastMap<usize, SocketId> = waits.iter().map(|wait| (wait.row, wait.socket)).collect();
    let sources =
        CauseSources { ends: &ends, tcp: &tcp, states: &states, off_cpu: input.off_cpu, socket_of_row: &socket_of_row };
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
    let SocketEnds { sockets, sizes, .. } = ends;
    (SocketTables { sockets, sizes, waits: table, causes, holds: tcp.holds, events: tcp.events }, unmatched)
}

fn row(wait: &SocketWait<'_>, off_cpu: &OffCpu) -> SocketWaitRow {
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
