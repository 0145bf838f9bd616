//! What TCP did on each connection: when it held data back, sent delayed ACKs and sent segments again.

use std::ops::Range;

use dwell_model::{HoldEnd, HoldKind, SocketId, TcpEventKind, ThreadId};
use dwell_store::tables::{TcpEventRow, TcpEvents, TcpHoldRow, TcpHolds};

use super::ends::SocketEnds;
use super::input::Input;
use crate::hash::FastMap;

/// How long a delayed ACK may take to end a hold on the same host: a tick of the clock or a few, when the CPU is at work …
const SAME_HOST_NS: u64 = 5_000_000;
/// … and how much its time may be behind, as seen from another CPU.
const SLACK_NS: u64 = 1_000_000;
/// A delayed ACK ends a hold of this length or more, over a shorter way, even where nobody saw the ACK: the kernel delays
/// ACKs by 40 ms at least, counted from the segment.
const DELAYED_NS: u64 = 20_000_000;
/// No ACK is delayed longer; with this much for the way.
const LONGEST_DELAY_NS: u64 = 250_000_000;

/// A stretch in which data was held back.
#[derive(Clone, Debug)]
pub struct HeldData {
    /// From the call that sent it to when it could go out.
    pub range: Range<u64>,
    /// Why.
    pub kind: HoldKind,
    /// Whether a delayed ACK ended it.
    pub delayed_ack: DelayedAck,
}

/// Whether a delayed ACK ended a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Something else did.
    No,
    /// It was not seen, but nothing else takes so long.
    Inferred,
    /// The other end sent one then.
    Seen,
}

/// A segment was sent again.
#[derive(Clone, Copy, Debug)]
pub struct SentAgain {
    /// When.
    pub time_ns: u64,
    /// Whether it was to find out if it was lost.
    pub is_probe: bool,
}

/// What happened on each socket.
#[derive(Default)]
pub struct Tcp {
    /// The table of holds.
    pub holds: TcpHolds,
    /// The table of events.
    pub events: TcpEvents,
    holds_of: FastMap<SocketId, Vec<HeldData>>,
    delayed_acks_for: FastMap<SocketId, Vec<u64>>,
    retransmissions_of: FastMap<SocketId, Vec<SentAgain>>,
    /// By the end that they were sent to, where the sending one was not recorded.
    retransmissions_to: FastMap<SocketId, Vec<SentAgain>>,
}

impl Tcp {
    /// Of the raw records.
    pub fn new(input: &Input<'_>, ends: &SocketEnds) -> Self {
        let mut tcp = Self::default();
        tcp.take_events(input, ends);
        tcp.take_holds(input, ends);
        tcp
    }

    /// The holds of data that was sent on `socket`, by start, that reach into `span`. One ends before the next one begins.
    pub fn holds_of<'t>(&'t self, socket: SocketId, span: &'t Range<u64>) -> impl Iterator<Item = &'t HeldData> {
        let holds = self.holds_of.get(&socket).map_or(&[][..], Vec::as_slice);
        let first = holds.partition_point(|hold| hold.range.end <= span.start);
        holds.iter().skip(first).take_while(|hold| hold.range.start < span.end)
    }

    /// When segments of `socket` were sent again that may have been lost.
    pub fn retransmissions_of(&self, socket: SocketId) -> &[SentAgain] {
        self.retransmissions_of.get(&socket).map_or(&[], Vec::as_slice)
    }

    /// When segments were sent again to `socket`, by an end that was not recorded.
    pub fn retransmissions_to(&self, socket: SocketId) -> &[SentAgain] {
        self.retransmissions_to.get(&socket).map_or(&[], Vec::as_slice)
    }

    fn take_events(&mut self, input: &Input<'_>, ends: &SocketEnds) {
        let &Input { raw, replay, end_ns, .. } = input;
        let mut events: Vec<_> = raw.events.iter().collect();
        events.sort_by_key(|event| event.h.time_ns);
        for event in events {
            let time_ns = replay.relative(event.h.time_ns).min(end_ns);
            let mut socket = ends.find(event.cookie, 0, time_ns).unwrap_or(SocketId::NONE);
            let mut peer = ends.find(event.peer, 0, time_ns).unwrap_or(SocketId::NONE);
            let other_of = |id: SocketId| id.get().map_or(SocketId::NONE, |row| ends.sockets.peer[row]);
            if !socket.is_some() {
                socket = other_of(peer);
            }
            if !peer.is_some() {
                peer = other_of(socket);
            }
            let kind = TcpEventKind::from_code(event.kind);
            match kind {
                TcpEventKind::DelayedAck if peer.is_some() => {
                    self.delayed_acks_for.entry(peer).or_default().push(time_ns);
                }
                TcpEventKind::Retransmission | TcpEventKind::Probe => {
                    let again = SentAgain { time_ns, is_probe: kind == TcpEventKind::Probe };
                    if socket.is_some() {
                        self.retransmissions_of.entry(socket).or_default().push(again);
                    } else if peer.is_some() {
                        self.retransmissions_to.entry(peer).or_default().push(again);
                    }
                }
                _ => {}
            }
            self.events.push(TcpEventRow { time_ns, kind: kind.code(), socket, peer, bytes: event.bytes });
        }
    }

    fn take_holds(&mut self, input: &Input<'_>, ends: &SocketEnds) {
        let &Input { raw, replay, hold_stacks, end_ns, .. } = input;
        let mut holds: Vec<_> = raw.holds.iter().zip(hold_stacks).collect();
        holds.sort_by_key(|(hold, _)| hold.h.time_ns);
        for (hold, &stack) in holds {
            let start_ns = replay.relative(hold.h.time_ns).min(end_ns);
            let hold_end_ns = replay.relative(hold.end_ns).clamp(start_ns, end_ns);
            let Some(socket) = ends.find(hold.cookie, 0, start_ns) else { continue };
            let kind = HoldKind::from_code(hold.kind);
            let range = start_ns..hold_end_ns;
            let delayed_ack = match kind {
                HoldKind::Nagle => self.delayed_ack(ends, socket, &range),
                _ => DelayedAck::No,
            };
            self.holds_of.entry(socket).or_default().push(HeldData { range, kind, delayed_ack });
            self.holds.push(TcpHoldRow {
                socket,
                kind: kind.code(),
                start_ns,
                end_ns: hold_end_ns,
                end_kind: HoldEnd::from_code(hold.end_kind).code(),
                bytes: hold.bytes,
                thread: replay.thread_table.find_at(hold.h.tid, start_ns).unwrap_or(ThreadId::NONE),
                stack,
            });
        }
    }

    /// Whether a delayed ACK ended what was held on `socket`.
    fn delayed_ack(&self, ends: &SocketEnds, socket: SocketId, held: &Range<u64>) -> DelayedAck {
        let Some(row) = socket.get() else { return DelayedAck::No };
        let way_ns = ends.sockets.min_rtt_ns[row];
        let acks = self.delayed_acks_for.get(&socket).map_or(&[][..], Vec::as_slice);
        let earliest = held.start.max(held.end.saturating_sub(SAME_HOST_NS.max(2 * way_ns)));
        let first = acks.partition_point(|&time_ns| time_ns < earliest);
        if acks.get(first).is_some_and(|&time_ns| time_ns <= held.end + SLACK_NS) {
            return DelayedAck::Seen;
        }
        let remote = !ends.sockets.loopback[row];
        let is_late = held.end - held.start >= DELAYED_NS.max(2 * way_ns);
        let delayed = is_late && held.end - held.start <= LONGEST_DELAY_NS + way_ns;
        if remote && delayed { DelayedAck::Inferred } else { DelayedAck::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holds_of_a_span_are_those_that_reach_into_it() {
        let socket = SocketId::new(3);
        let hold = |range: Range<u64>| HeldData { range, kind: HoldKind::Nagle, delayed_ack: DelayedAck::No };
        let mut tcp = Tcp::default();
        tcp.holds_of.insert(socket, [0..10, 10..20, 20..30, 40..50].map(hold).into());
        let starts = |span: Range<u64>| tcp.holds_of(socket, &span).map(|hold| hold.range.start).collect::<Vec<_>>();
        assert_eq!(starts(10..20), [10]);
        assert_eq!(starts(9..21), [0, 10, 20]);
        assert_eq!(starts(30..40), [] as [u64; 0]);
        assert_eq!(starts(45..90), [40]);
        assert_eq!(tcp.holds_of(SocketId::NONE, &(0..90)).count(), 0);
    }
}
