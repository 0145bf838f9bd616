//! Sockets: their protocols, what a thread waits for on one, why it waits, and what TCP does meanwhile.

use crate::state::codes;

codes! {
    /// Protocol of a socket.
    SocketProtocol {
        /// None of the others.
        Unknown = 0, "unknown", "Other";
        /// TCP, over IPv4 or IPv6.
        Tcp = 1, "tcp", "TCP";
        /// UDP, over IPv4 or IPv6.
        Udp = 2, "udp", "UDP";
        /// A Unix socket of type stream.
        UnixStream = 3, "unix-stream", "Unix stream";
        /// A Unix socket of type datagram.
        UnixDatagram = 4, "unix-datagram", "Unix datagram";
        /// A Unix socket of type sequenced packet.
        UnixPacket = 5, "unix-packet", "Unix packet";
    }

    /// What a thread waits for on a socket.
    SocketDirection {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// Room to send into.
        Send = 1, "send", "Send";
        /// Data.
        Receive = 2, "receive", "Receive";
        /// A connection from outside.
        Accept = 3, "accept", "Accept";
        /// Its own connection's being made.
        Connect = 4, "connect", "Connect";
        /// Any of several sockets (poll, select, epoll): this one ended the wait.
        Poll = 5, "poll", "Poll";
    }

    /// What a part of a wait on a socket was for.
    SocketCause {
        /// Nothing that was recorded explains it.
        Unexplained = 0, "unexplained", "Unexplained";
        /// Nagle or cork held our data until the other end's delayed ACK.
        DelayedAck = 1, "delayed-ack", "Delayed ACK";
        /// Nagle held our data, or the other end's, until an ACK that was not delayed.
        Nagle = 2, "nagle", "Nagle";
        /// Cork (TCP_CORK, MSG_MORE) held data.
        Cork = 3, "cork", "Cork";
        /// The program at the other end ran.
        PeerRunning = 4, "peer-running", "Peer running";
        /// The program at the other end was runnable: it waited for a CPU.
        PeerRunnable = 5, "peer-runnable", "Peer runnable";
        /// The program at the other end waited for something else.
        PeerWaiting = 6, "peer-waiting", "Peer waiting";
        /// The other end's receive window was full: it does not read fast enough, or its buffer is too small.
        ReceiveWindow = 7, "receive-window", "Receive window full";
        /// The own send buffer was full, and nothing but the way to the other end kept it so.
        SendBuffer = 8, "send-buffer", "Send buffer full";
        /// The congestion window was used up.
        CongestionWindow = 9, "congestion-window", "Congestion window";
        /// A segment was lost and had to be sent again.
        Retransmission = 10, "retransmission", "Retransmission";
        /// The connection was being made.
        Connect = 11, "connect", "Connect";
        /// No one asked for a connection.
        Accept = 12, "accept", "Accept";
        /// The way to the other end and back.
        RoundTrip = 13, "round-trip", "Round trip";
        /// No one had asked for anything: the thread waits for the other end's next request.
        Idle = 14, "idle", "Idle";
        /// The other end had been asked; it is not profiled, so that what it did is not known.
        Peer = 15, "peer", "Peer";
    }

    /// Why TCP held data back.
    HoldKind {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// Nagle's algorithm: a small segment while another one is not acknowledged.
        Nagle = 1, "nagle", "Nagle";
        /// TCP_CORK or MSG_MORE.
        Cork = 2, "cork", "Cork";
    }

    /// How the end of a hold is known.
    HoldEnd {
        /// It is not: the hold lasts to the next call on the socket that found it gone, or to the end of the trace.
        Unknown = 0, "unknown", "Unknown";
        /// An ACK came.
        Ack = 1, "ack", "ACK";
        /// A later call on the socket sent the data.
        Call = 2, "call", "Call";
    }

    /// What TCP did.
    TcpEventKind {
        /// The trace does not say.
        Unknown = 0, "unknown", "Unknown";
        /// The timer for delayed ACKs ran out and an ACK was sent.
        DelayedAck = 1, "delayed-ack", "Delayed ACK";
        /// The same timer ran out, but the ACK had gone with data before.
        IdleTimer = 2, "idle-timer", "ACK timer, no ACK";
        /// A segment was sent again.
        Retransmission = 3, "retransmission", "Retransmission";
        /// A segment was sent again to find out whether it was lost: its ACK was late.
        Probe = 4, "probe", "Loss probe";
        /// A segment was sent again that the other end, on this host, had already.
        Spurious = 5, "spurious", "Retransmission, nothing lost";
    }
}
