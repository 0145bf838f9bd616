//! Why a wait on a socket lasted as long as it did.
//!
//! What was seen comes first: data that TCP held back, segments that were sent again. What is left of a wait for an answer
//! is what the thread at the other end did meanwhile, where that is profiled; of one that is not, no more is known than
//! that the way takes a round trip. A wait for a question that nobody had asked is idle.

use std::ops::Range;

use dwell_model::{HoldKind, ObjectId, SocketCause, SocketDirection, SocketId};
use dwell_store::raw::wire::{TCP_CA_RECOVERY, TcpState, tcp_state_flag};
use dwell_store::tables::OffCpu;
use dwell_store::{SpanState, ThreadStates};

use super::ends::SocketEnds;
use super::parts::{Reason, WaitParts};
use super::tcp::{DelayedAck, SentAgain, Tcp};
use super::waits::SocketWait;
use crate::hash::FastMap;

/// After a probe that was needed the answer comes so soon, or within two round trips.
const PROBED_NS: u64 = 2_000_000;

/// What the causes are found in.
pub struct CauseSources<'a> {
    /// The sockets.
    pub ends: &'a SocketEnds,
    /// What TCP did.
    pub tcp: &'a Tcp,
    /// What threads did.
    pub states: &'a ThreadStates<'a>,
    /// When.
    pub off_cpu: &'a OffCpu,
    /// The socket that each row of `off_cpu` waited on, or was ended by.
    pub socket_of_row: &'a FastMap<usize, SocketId>,
}

impl CauseSources<'_> {
    /// The parts of a wait; they add up to it.
    pub fn parts(&self, wait: &SocketWait<'_>) -> WaitParts {
        let start = self.off_cpu.start_ns[wait.row];
        let span = start..start + self.off_cpu.wait_ns[wait.row];
        let mut parts = WaitParts::new(span.clone());
        let sends = wait.direction == SocketDirection::Send
            || wait.record.is_some_and(|record| record.poll_send != 0 && wait.direction == SocketDirection::Poll);
        match wait.direction {
            _ if self.is_listening(wait.socket) => parts.rest(Reason::seen(SocketCause::Accept)),
            SocketDirection::Accept => parts.rest(Reason::seen(SocketCause::Accept)),
            SocketDirection::Connect => {
                self.claim_retransmissions(wait.socket, &span, &mut parts);
                parts.rest(Reason::seen(SocketCause::Connect));
            }
            _ if sends => self.claim_send(wait, &span, &mut parts),
            _ => self.claim_receive(wait, &span, &mut parts),
        }
        parts
    }

    fn is_listening(&self, socket: SocketId) -> bool {
        socket.get().is_some_and(|row| self.ends.sockets.listening[row])
    }

    /// Whether the thread waits for a question: the end that answers, when it has answered the last one.
    fn is_idle(&self, wait: &SocketWait<'_>) -> bool {
        let Some(row) = wait.socket.get() else { return false };
        let (sockets, record) = (&self.ends.sockets, wait.record);
        let answered = record.is_some_and(|record| record.sends_before > 0 || record.received == 0);
        !sockets.asks[row] && sockets.sends[row] > 0 && answered
    }

    fn other_end(&self, socket: SocketId) -> SocketId {
        socket.get().map_or(SocketId::NONE, |row| self.ends.sockets.peer[row])
    }

    /// Until a segment is sent again, the wait is for its loss.
    fn claim_retransmissions(&self, socket: SocketId, span: &Range<u64>, parts: &mut WaitParts) {
        self.claim_until_last(socket, self.tcp.retransmissions_of(socket), span, parts);
    }

    fn claim_until_last(&self, socket: SocketId, again: &[SentAgain], span: &Range<u64>, parts: &mut WaitParts) {
        let way_ns = socket.get().map_or(0, |row| self.ends.sockets.min_rtt_ns[row]);
        // What a probe sent again was lost if the answer comes at once; else the other end had it, and was slow.
        let in_vain = |again: &SentAgain| again.is_probe && span.end - again.time_ns > PROBED_NS.max(2 * way_ns);
        let before = again.partition_point(|again| again.time_ns < span.end);
        let mut within = again[..before].iter().rev().take_while(|again| again.time_ns >= span.start);
        if let Some(last) = within.find(|again| !in_vain(again)) {
            parts.claim(span.start..last.time_ns, Reason::seen(SocketCause::Retransmission));
        }
    }

    fn claim_send(&self, wait: &SocketWait<'_>, span: &Range<u64>, parts: &mut WaitParts) {
        let state = wait.record.map(|record| &record.state);
        let recovering = state.is_some_and(|state| state.congestion >= TCP_CA_RECOVERY);
        if recovering || !self.tcp.retransmissions_of(wait.socket).is_empty() {
            self.claim_retransmissions(wait.socket, span, parts);
        }
        let cause = state.map_or(SocketCause::SendBuffer, in_the_way);
        parts.rest(Reason::inferred(cause).of(wait.peer, ObjectId::NONE));
    }

    fn claim_receive(&self, wait: &SocketWait<'_>, span: &Range<u64>, parts: &mut WaitParts) {
        let peer = self.other_end(wait.socket);
        self.claim_holds(wait.socket, span, parts);
        self.claim_holds(peer, span, parts);
        self.claim_retransmissions(wait.socket, span, parts);
        self.claim_until_last(wait.socket, self.tcp.retransmissions_to(wait.socket), span, parts);
        self.claim_retransmissions(peer, span, parts);
        if self.is_idle(wait) {
            return parts.rest(Reason::seen(SocketCause::Idle));
        }
        if wait.peer.is_some() {
            for free in parts.free() {
                self.claim_states(wait, peer, free, parts);
            }
        } else if wait.record.is_some() {
            self.claim_way(wait, span, parts);
            parts.rest(Reason::inferred(SocketCause::Peer));
        }
        parts.rest(Reason::inferred(SocketCause::Unexplained));
    }

    fn claim_holds(&self, socket: SocketId, span: &Range<u64>, parts: &mut WaitParts) {
        for hold in self.tcp.holds_of(socket, span) {
            let reason = match (hold.kind, hold.delayed_ack) {
                (HoldKind::Cork, _) => Reason::seen(SocketCause::Cork),
                (_, DelayedAck::Seen) => Reason::seen(SocketCause::DelayedAck),
                (_, DelayedAck::Inferred) => Reason::inferred(SocketCause::DelayedAck),
                (_, DelayedAck::No) => Reason::seen(SocketCause::Nagle),
            };
            parts.claim(hold.range.clone(), reason);
        }
    }

    /// What the other end's thread did. Where that waits on the same connection, or goes on because of it, the bytes are on
    /// their way.
    fn claim_states(&self, wait: &SocketWait<'_>, peer: SocketId, range: Range<u64>, parts: &mut WaitParts) {
        for (stretch, state) in self.states.within(wait.peer, range) {
            let reason = match state {
                SpanState::Running => Reason::seen(SocketCause::PeerRunning),
                SpanState::Runnable => Reason::seen(SocketCause::PeerRunnable),
                SpanState::Waiting(row, _) if self.is_on(row, peer) => Reason::inferred(SocketCause::RoundTrip),
                SpanState::Waiting(_, object) => {
                    let reason = Reason::seen(SocketCause::PeerWaiting).of(wait.peer, object);
                    parts.claim(stretch, reason);
                    continue;
                }
            };
            parts.claim(stretch, reason.of(wait.peer, ObjectId::NONE));
        }
    }

    fn is_on(&self, row: usize, socket: SocketId) -> bool {
        socket.is_some() && self.socket_of_row.get(&row) == Some(&socket)
    }

    /// The way there and back takes the shortest round trip at least.
    fn claim_way(&self, wait: &SocketWait<'_>, span: &Range<u64>, parts: &mut WaitParts) {
        let way_ns = wait.socket.get().map_or(0, |row| self.ends.sockets.min_rtt_ns[row]);
        parts.claim(span.end.saturating_sub(way_ns)..span.end, Reason::inferred(SocketCause::RoundTrip));
    }
}

/// What kept a full send buffer full: data that TCP may not send yet, for the smaller of its two windows; else the buffer holds no
/// more than what is on its way.
fn in_the_way(state: &TcpState) -> SocketCause {
    if state.flags & tcp_state_flag::KNOWN == 0 {
        return SocketCause::SendBuffer;
    }
    let congestion_window = u64::from(state.cwnd) * u64::from(state.mss);
    if state.congestion >= TCP_CA_RECOVERY {
        SocketCause::Retransmission
    } else if state.unsent < state.mss.max(1) {
        SocketCause::SendBuffer
    } else if congestion_window < u64::from(state.send_window) {
        SocketCause::CongestionWindow
    } else {
        SocketCause::ReceiveWindow
    }
}
