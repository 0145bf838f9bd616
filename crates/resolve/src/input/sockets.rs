//! What the trace tells of sockets, kept until the threads' intervals are known.

use dwell_store::raw::Record;
use dwell_store::raw::wire::{SocketPeerRecord, SocketRecord, SocketWaitRecord, TcpEventRecord, TcpHoldRecord};

use crate::hash::FastMap;

/// How much a socket had sent and received when the collector looked.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When, CLOCK_MONOTONIC ns.
    pub time_ns: u64,
    /// The socket.
    pub cookie: u64,
    /// Sent since the sample before.
    pub sent: u64,
    /// Received since the sample before.
    pub received: u64,
}

/// The records, in the order of the stream.
#[derive(Default)]
pub struct RawSockets {
    /// By cookie, the last state of each time that counting began.
    pub sockets: FastMap<u64, Vec<SocketRecord>>,
    /// Waits on them.
    pub waits: Vec<SocketWaitRecord>,
    /// Data held back.
    pub holds: Vec<TcpHoldRecord>,
    /// Delayed ACKs and retransmissions.
    pub events: Vec<TcpEventRecord>,
    /// Who has the other end, by cookie.
    pub peers: FastMap<u64, SocketPeerRecord>,
    /// How the counters rose.
    pub samples: Vec<Sample>,
}

impl RawSockets {
    /// Whether no socket was recorded.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Keeps a record of sockets; ignores other records.
    pub fn take(&mut self, record: &Record<'_>) {
        match record {
            Record::Socket(record) => self.take_socket(record),
            Record::SocketWait(record) => self.waits.push(**record),
            Record::TcpHold(record) => self.holds.push(*record),
            Record::TcpEvent(record) => self.events.push(*record),
            Record::SocketPeer(record) => {
                self.peers.insert(record.cookie, *record);
            }
            _ => {}
        }
    }

    fn take_socket(&mut self, record: &SocketRecord) {
        let states = self.sockets.entry(record.cookie).or_default();
        let before = states.last().filter(|last| last.first_ns == record.first_ns).copied();
        let (sent, received) = before.map_or((0, 0), |last| (last.bytes_sent, last.bytes_received));
        self.samples.push(Sample {
            time_ns: record.h.time_ns,
            cookie: record.cookie,
            sent: record.bytes_sent.saturating_sub(sent),
            received: record.bytes_received.saturating_sub(received),
        });
        match states.last_mut().filter(|last| last.first_ns == record.first_ns) {
            Some(last) => *last = *record,
            None => states.push(*record),
        }
    }
}
