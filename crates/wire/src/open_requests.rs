//! Requests over TCP that wait for their answer, and connections that wait to be accepted, as looked at now and then.

use crate::declare::{constants, enums, records};
use crate::header::RecordHeader;

constants! {
    /// Instants at which a process sent something that a record keeps.
    MOST_SENDS: usize = 4, MOST_SENDS;
    /// Bytes in which the name of a Unix socket lies.
    LISTENER_NAME_BYTES: usize = 128, LISTENER_NAME_BYTES;
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
        /// It is no connection, but a socket that listens: the record is a [`ListenerState`].
        LISTENS = 16,
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
    /// For the collector, which sums them up: a socket that listens, TCP or Unix. Its first fields lie as those of [`ConnectionState`].
    ListenerState = listener_state, 168 {
        /// The process that has it open.
        tgid: u32,
        /// `LISTENS` of [`connection_flag`].
        flags: u8,
        /// 0.
        reserved: [u8; 3],
        /// Connections that wait to be accepted.
        waiting: u32,
        /// How many may, as `listen` was told and the kernel allows; TCP lets one more wait.
        limit: u32,
        /// Which socket it is, for all processes that have it.
        inode: u64,
        /// When the one that waits longest came; 0 = not known.
        oldest_ns: u64,
        /// Port of TCP; 0 for a Unix socket.
        port: u16,
        /// Bytes of the name.
        name_bytes: u16,
        /// Name of a Unix socket.
        name: [u8; LISTENER_NAME_BYTES],
        /// 0.
        reserved2: u32,
    }
    /// How many connections wait to be accepted at one address of a process, or that one more process has its socket.
    AcceptQueueRecord = record_accept_queue, 168 {
        /// `tid`: the process that has the socket; `time_ns`: when it was looked at.
        h: RecordHeader,
        /// When the one that waits longest came; 0 = not known.
        oldest_ns: u64,
        /// The process with which the queue is counted: of several that have the socket one.
        owner: u32,
        /// Connections that wait.
        waiting: u32,
        /// How many may.
        limit: u32,
        /// Port of TCP; 0 for a Unix socket.
        port: u16,
        /// Bytes of the name.
        name_bytes: u16,
        /// Name of a Unix socket.
        name: [u8; LISTENER_NAME_BYTES],
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
