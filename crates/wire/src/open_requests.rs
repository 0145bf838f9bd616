//! Requests over TCP that wait for their answer, as looked at now and then.

use crate::declare::{constants, enums, records};
use crate::header::RecordHeader;

constants! {
    /// Instants at which a process sent something that a record keeps.
    MOST_SENDS: usize = 4, MOST_SENDS;
}

enums! {
    /// Bits of [`ConnectionState::flags`].
    connection_flag: u8 = connection_flag, CONNECTION_ {
        /// This end accepted it.
        ACCEPTED = 1,
        /// Whoever asks over it, the end that connected, sent last: its request waits for the answer.
        IS_ASKED = 2,
        /// This end has data to send, and the window of the other end, which does not read, has no room for it.
        IS_UNREAD = 4,
        /// This end has a small rest to send, which Nagle's algorithm holds until what it sent before is acknowledged.
        IS_HELD = 8,
    }
}

records! {
    /// For the collector, which sums them up: how a connection of TCP stands over which anything was sent.
    ConnectionState = connection_state, 48 {
        /// The process that has it open.
        tgid: u32,
        /// Of [`connection_flag`].
        flags: u8,
        /// 0.
        reserved: [u8; 3],
        /// Port at this end.
        local_port: u16,
        /// Port at the other end.
        remote_port: u16,
        /// Segments with data that the asking end sent so far: requests, or parts of these.
        segments: u32,
        /// Address of the other end, in the form of IPv6.
        remote_address: [u8; 16],
        /// Segments with data that the other end, the one that is asked, sent so far: answers, or parts of these.
        answers: u32,
        /// 0.
        reserved2: u32,
        /// When this end last sent data.
        sent_ns: u64,
    }
    /// How many of a process's connections of one kind have a request that waits for its answer: those accepted at a port, or those
    /// made to an address.
    OpenRequestsRecord = record_open_requests, 88 {
        /// `tid`: the process; `time_ns`: when it was looked at.
        h: RecordHeader,
        /// Of connections made to it, in the form of IPv6; else 0.
        remote_address: [u8; 16],
        /// Connections.
        connections: u32,
        /// Those of them with a request that waits for its answer.
        open: u32,
        /// Requests, or parts of these, since the look before.
        requests: u32,
        /// Answers, or parts of these, since the look before.
        answers: u32,
        /// The port at which they were accepted, or that of the address.
        port: u16,
        /// Whether they were accepted: others ask this process.
        is_incoming: u8,
        /// 0.
        reserved: u8,
        /// Connections with data that waits to be sent, since the other end does not read.
        unread: u16,
        /// Connections with a small rest that Nagle's algorithm holds.
        held: u16,
        /// When this end sent data since the look before, the last time on some of the connections; 0 = none.
        sent_ns: [u64; MOST_SENDS],
    }
}
