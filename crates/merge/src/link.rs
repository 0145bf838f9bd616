//! The two ends of a connection, once both hosts are in one result: whose they are, and who ended the waits on them.

use std::collections::HashMap;

use dwell_model::{Outcome, SocketId, ThreadId, WakerKind};
use dwell_store::Trace;

use crate::connection::Joined;
use crate::exchanges::is_for_data;

/// Links the ends of `connections` in a joined result. A wait for the other end that no thread of its own host ended gets as
/// its waker the thread that last received there before. Returns how many waits got one.
pub fn link(trace: &mut Trace, connections: &[Joined]) -> usize {
    for &Joined { first, second } in connections {
        for (own, other) in [(first, second), (second, first)] {
            link_end(trace, own, other);
        }
    }
    let peers = both_ways(connections);
    let received = receivers(trace, &peers);
    let waits = &trace.sockets.waits;
    let mut wakers: HashMap<(ThreadId, u64), ThreadId> = HashMap::new();
    for row in 0..waits.start_ns.len() {
        let Some(peer) = peers.get(&waits.socket[row]) else { continue };
        let end = waits.start_ns[row].saturating_add(waits.wait_ns[row]);
        let Some(received) = received.get(peer) else { continue };
        let last = received.partition_point(|(time, _)| *time <= end).checked_sub(1);
        if let Some(&(_, thread)) = last.and_then(|last| received.get(last)) {
            wakers.insert((waits.thread[row], waits.start_ns[row]), thread);
        }
    }
    let off_cpu = &mut trace.off_cpu;
    let mut linked = 0;
    for row in 0..off_cpu.start_ns.len() {
        let open = !off_cpu.waker[row].is_some() && off_cpu.outcome[row] == Outcome::Woken.code();
        let waker = wakers.get(&(off_cpu.thread[row], off_cpu.start_ns[row])).filter(|_| open);
        if let Some(&waker) = waker {
            (off_cpu.waker[row], off_cpu.waker_kind[row]) = (waker, WakerKind::Thread.code());
            linked += 1;
        }
    }
    trace.tables_changed();
    linked
}

fn link_end(trace: &mut Trace, own: SocketId, far: SocketId) {
    let (Some(own), Some(other)) = (own.get(), far.get()) else { return };
    let process = trace.sockets.sockets.process[other].get();
    let sockets = &mut trace.sockets.sockets;
    sockets.peer[own] = far;
    if let Some(process) = process {
        sockets.peer_process[own].clone_from(&trace.processes.name[process]);
        sockets.peer_pid[own] = trace.processes.pid[process];
    }
}

/// The other end of each end.
pub(crate) fn both_ways(connections: &[Joined]) -> HashMap<SocketId, SocketId> {
    connections.iter().flat_map(|&Joined { first, second }| [(first, second), (second, first)]).collect()
}

/// When a thread had waited for data on each of these sockets, in order, and which.
pub(crate) fn receivers(trace: &Trace, peers: &HashMap<SocketId, SocketId>) -> HashMap<SocketId, Vec<(u64, ThreadId)>> {
    let waits = &trace.sockets.waits;
    let mut found: HashMap<SocketId, Vec<(u64, ThreadId)>> = HashMap::new();
    for row in (0..waits.start_ns.len()).filter(|&row| is_for_data(waits.direction[row])) {
        let socket = waits.socket[row];
        if peers.contains_key(&socket) {
            let end = waits.start_ns[row].saturating_add(waits.wait_ns[row]);
            found.entry(socket).or_default().push((end, waits.thread[row]));
        }
    }
    found.values_mut().for_each(|waits| waits.sort_unstable());
    found
}
