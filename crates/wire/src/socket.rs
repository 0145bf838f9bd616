//! Sockets, the waits on them, and what TCP did.

use crate::declare::{Char, constants, enums, records};
use crate::header::{COMM_BYTES, RecordHeader};

constants! {
    /// Classes of sizes that a [`SocketRecord`] counts. Class n has the sizes of n bits, 2^(n-1) .. 2^n - 1 bytes; the
    /// last one has all above, too.
    SIZE_CLASSES: usize = 24, DWELL_SIZE_CLASSES;
}

enums! {
    /// Bits of [`TcpState::flags`].
    tcp_state_flag: u8 = tcp_state_flag, TCP_STATE_ {
        /// The state was read; without it, all is 0.
        KNOWN = 1,
        /// The option TCP_NODELAY is set.
        NODELAY = 2,
        /// The option TCP_CORK is set.
        CORK = 4,
    }
    /// Bits of [`SocketRecord::flags`].
    socket_flag: u8 = socket_flag, SOCKET_ {
        /// Open before the collection.
        WAS_OPEN = 1,
        /// This end asked for the connection.
        CONNECTED = 2,
        /// Its first call was a send.
        SENT_FIRST = 4,
    }
}

records! {
    /// How a TCP socket stands at one instant. Of a listening one only `backlog` and its limit mean anything.
    TcpState = tcp_state, 64 {
        /// Of [`tcp_state_flag`].
        flags: u8,
        /// TCP_ESTABLISHED = 1 …
        state: u8,
        /// TCP_CA_Open = 0 … TCP_CA_Loss = 4.
        congestion: u8,
        /// Timeouts in a row.
        backoff: u8,
        /// Bytes not sent once.
        unsent: u32,
        /// Bytes sent and not acknowledged.
        in_flight: u32,
        /// The same in segments.
        packets_out: u32,
        /// Congestion window, segments.
        cwnd: u32,
        /// Bytes that the other end takes in flight.
        send_window: u32,
        /// Memory of all these, as the send buffer counts it.
        queued: u32,
        /// Bytes, as the kernel counts it.
        send_buffer: u32,
        /// Bytes, as the kernel counts it.
        receive_buffer: u32,
        /// Bytes received in order that no call has taken.
        unread: u32,
        /// Segments sent again so far.
        retransmits: u32,
        /// Bytes of a full segment.
        mss: u32,
        /// Round-trip time, smoothed; 0 = not known.
        srtt_us: u32,
        /// The shortest round trip of late.
        min_rtt_us: u32,
        /// Connections that wait to be accepted.
        backlog: u32,
        /// Most of these.
        backlog_limit: u32,
    }
    /// What is known and counted of a socket.
    SocketRecord = record_socket, 640 {
        /// `tid`: the thread that used it first; `time_ns`: of what is counted here.
        h: RecordHeader,
        /// The kernel's number of the socket, never used again.
        cookie: u64,
        /// Key of an object record, whether there is one or not.
        object: u64,
        /// Cookie of the other end of a Unix socket, 0 = not known.
        peer: u64,
        /// Counted since; when that changes, counting began again at 0.
        first_ns: u64,
        /// 0 = not seen to close.
        closed_ns: u64,
        /// By calls.
        bytes_sent: u64,
        /// By calls.
        bytes_received: u64,
        /// Calls.
        sends: u64,
        /// Calls.
        receives: u64,
        /// EAGAIN.
        sends_refused: u64,
        /// EAGAIN.
        receives_empty: u64,
        /// Receives that came after sends.
        turns: u64,
        /// Receives of a few bytes that left more to be received.
        receives_short: u64,
        /// Of TCP: bytes that were taken from it in whatever way, by its own account.
        taken_total: u64,
        /// Of a listening socket: connections that came.
        arrivals: u64,
        /// Of a listening socket: they waited so long in sum to be accepted, at least.
        queued_ns: u64,
        /// Of a listening socket: most that waited at once.
        most_queued: u32,
        /// Of a listening socket: connections refused because too many waited.
        drops: u32,
        /// Sent since the last receive.
        bytes_before: u64,
        /// Sends since the last receive.
        sends_before: u32,
        /// Of these sends.
        first_send_bytes: u32,
        /// Of these sends.
        last_send_bytes: u32,
        /// Most of `sends_before` ever.
        largest_pipeline: u32,
        /// Data that TCP holds back now: since when, 0 = none.
        hold_ns: u64,
        /// Data that TCP holds back now: key of the sender's stack record.
        hold_stack: u64,
        /// Data that TCP holds back now: sender.
        hold_tid: u32,
        /// Data that TCP holds back now: how much.
        hold_bytes: u32,
        /// Process of the thread that used it first.
        tgid: u32,
        /// Delayed ACKs that it sent.
        delayed_acks: u32,
        /// Of its addresses.
        family: u16,
        /// As socket(2) takes it.
        protocol: u16,
        /// As socket(2) takes it.
        ty: u16,
        /// Of [`socket_flag`].
        flags: u8,
        /// HoldKind of the model crate.
        hold_kind: u8,
        /// Host order.
        local_port: u16,
        /// Host order.
        remote_port: u16,
        /// Of `path` that are present.
        path_bytes: u32,
        /// An IPv4 address is in its IPv6 form.
        local_address: [u8; 16],
        /// The same of the other end.
        remote_address: [u8; 16],
        /// How it stands.
        tcp: TcpState,
        /// Sends by the class of their size.
        sizes_sent: [u32; SIZE_CLASSES],
        /// Receives by the class of their size.
        sizes_received: [u32; SIZE_CLASSES],
        /// Of a Unix socket: its own, else the other end's; an abstract one begins with a zero byte.
        path: [Char; 128],
    }
    /// A wait that a socket ended, or that was on one.
    SocketWaitRecord = record_socket_wait, 144 {
        /// `time_ns`: the thread is on a CPU again.
        h: RecordHeader,
        /// It left it: the time of a [`SwitchRecord`](crate::SwitchRecord).
        start_ns: u64,
        /// 0 = the socket was never used.
        cookie: u64,
        /// Key of an object record.
        object: u64,
        /// SocketDirection of the model crate.
        direction: u8,
        /// With SocketDirection::Poll: the wait was for room to send into.
        poll_send: u8,
        /// Whether anything was ever received before.
        received: u8,
        /// 0.
        reserved: u8,
        /// Sends on the socket since the last receive, when the wait began.
        sends_before: u32,
        /// Sent on the socket since the last receive, when the wait began.
        bytes_before: u64,
        /// Of these sends.
        first_send_bytes: u32,
        /// Of these sends.
        last_send_bytes: u32,
        /// Of the first call on the socket afterwards.
        bytes_after: u64,
        /// Profiled thread that made the last call on the other end before the wait ended, 0 = none.
        peer_tid: u32,
        /// On the socket so far, when the wait began.
        receives: u32,
        /// Of a wait to send, as it began; of one on a set, as it ended.
        state: TcpState,
    }
    /// TCP held data of a program back.
    TcpHoldRecord = record_tcp_hold, 48 {
        /// `tid`: sender; `time_ns`: it began.
        h: RecordHeader,
        /// When it ended.
        end_ns: u64,
        /// Of the socket.
        cookie: u64,
        /// Key of the sender's stack record.
        user_stack: u64,
        /// That were held back.
        bytes: u32,
        /// HoldKind of the model crate.
        kind: u8,
        /// HoldEnd of the model crate.
        end_kind: u8,
        /// 0.
        reserved: u16,
    }
    /// A delayed ACK, a retransmission.
    TcpEventRecord = record_tcp_event, 40 {
        /// `tid`: 0, interrupts come to anyone.
        h: RecordHeader,
        /// Of the end that does it, 0 = no profiled thread used it.
        cookie: u64,
        /// Of the other end, 0 likewise.
        peer: u64,
        /// Sent again, or acknowledged late.
        bytes: u32,
        /// TcpEventKind of the model crate.
        kind: u8,
        /// 0.
        reserved: [u8; 3],
    }
    /// Which process has the other end of a socket.
    SocketPeerRecord = record_socket_peer, 56 {
        /// `tid`: 0.
        h: RecordHeader,
        /// Whose other end.
        cookie: u64,
        /// That one's cookie, 0 = not known.
        peer: u64,
        /// The process.
        pid: u32,
        /// 0.
        reserved: u32,
        /// Of the process.
        comm: [Char; COMM_BYTES],
    }
}
