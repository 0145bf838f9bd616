/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The records of sockets, the waits on them and what TCP did: a part of wire.h, which includes it.
 */
#ifndef DWELL_WIRE_SOCKETS_H
#define DWELL_WIRE_SOCKETS_H

/* Class n of sizes: those of n bits, 2^(n-1) .. 2^n - 1 bytes; the last one has all above, too. */
#define DWELL_SIZE_CLASSES 24

enum tcp_state_flag {
	TCP_STATE_KNOWN = 1,
	TCP_STATE_NODELAY = 2,
	TCP_STATE_CORK = 4,
};

/* How a TCP socket stands at one instant. Of a listening one only `backlog` and its limit mean anything. */
struct tcp_state {
	u8 flags;        /* enum tcp_state_flag */
	u8 state;        /* TCP_ESTABLISHED = 1 … */
	u8 congestion;   /* TCP_CA_Open = 0 … TCP_CA_Loss = 4 */
	u8 backoff;      /* timeouts in a row */
	u32 unsent;      /* bytes not sent once */
	u32 in_flight;   /* bytes sent and not acknowledged */
	u32 packets_out; /* the same in segments */
	u32 cwnd;        /* congestion window, segments */
	u32 send_window; /* bytes that the other end takes in flight */
	u32 queued;      /* memory of all these, as the send buffer counts it */
	u32 send_buffer; /* bytes, as the kernel counts it */
	u32 receive_buffer;
	u32 unread;      /* bytes received in order that no call has taken */
	u32 retransmits; /* segments sent again so far */
	u32 mss;
	u32 srtt_us; /* 0 = not known */
	u32 min_rtt_us;
	u32 backlog; /* connections that wait to be accepted */
	u32 backlog_limit;
};

enum socket_flag {
	SOCKET_WAS_OPEN = 1,   /* open before the collection */
	SOCKET_CONNECTED = 2,  /* this end asked for the connection */
	SOCKET_SENT_FIRST = 4, /* its first call was a send */
};

struct record_socket {
	struct record_header h; /* tid: the thread that used it first; time: of what is counted here */
	u64 cookie;             /* the kernel's number of the socket, never used again */
	u64 object;             /* key of a RECORD_OBJECT, whether there is one or not */
	u64 peer;               /* cookie of the other end of a Unix socket, 0 = not known */
	u64 first_ns;           /* counted since; when that changes, counting began again at 0 */
	u64 closed_ns;          /* 0 = not seen to close */
	u64 bytes_sent;
	u64 bytes_received;
	u64 sends;
	u64 receives;
	u64 sends_refused; /* EAGAIN */
	u64 receives_empty;
	u64 turns;          /* receives that came after sends */
	u64 receives_short; /* receives of a few bytes that left more to be received */
	u64 taken_total;    /* of TCP: bytes that were taken from it in whatever way, by its own account */
	/* of a listening socket */
	u64 arrivals;  /* connections that came */
	u64 queued_ns; /* they waited so long in sum to be accepted, at least */
	u32 most_queued;
	u32 drops; /* connections refused because too many waited */
	/* since the last receive */
	u64 bytes_before;
	u32 sends_before;
	u32 first_send_bytes;
	u32 last_send_bytes;
	u32 largest_pipeline; /* most of sends_before ever */
	/* data that TCP holds back now */
	u64 hold_ns; /* since when, 0 = none */
	u64 hold_stack;
	u32 hold_tid;
	u32 hold_bytes;
	u32 tgid;
	u32 delayed_acks;
	u16 family;
	u16 protocol;
	u16 type;
	u8 flags;       /* enum socket_flag */
	u8 hold_kind;   /* enum tcp_hold_kind */
	u16 local_port; /* host order */
	u16 remote_port;
	u32 path_bytes;
	u8 local_address[16];
	u8 remote_address[16];
	struct tcp_state tcp;
	u32 sizes_sent[DWELL_SIZE_CLASSES];
	u32 sizes_received[DWELL_SIZE_CLASSES];
	char path[128]; /* of a Unix socket: its own, else the other end's; an abstract one begins with a zero byte */
};

enum socket_direction {
	SOCKET_SEND = 1,
	SOCKET_RECEIVE = 2,
	SOCKET_ACCEPT = 3,
	SOCKET_CONNECT = 4,
	SOCKET_POLL = 5, /* a set of files: this socket ended the wait */
};

struct record_socket_wait {
	struct record_header h; /* time: the thread is on a CPU again */
	u64 start_ns;           /* it left it: the time of a RECORD_SWITCH */
	u64 cookie;             /* 0 = the socket was never used */
	u64 object;
	u8 direction; /* enum socket_direction */
	u8 poll_send; /* with SOCKET_POLL: the wait was for room to send into */
	u8 received;  /* whether anything was ever received before */
	u8 reserved;
	/* sent on the socket since the last receive, when the wait began */
	u32 sends_before;
	u64 bytes_before;
	u32 first_send_bytes;
	u32 last_send_bytes;
	u64 bytes_after; /* of the first call on the socket afterwards */
	u32 peer_tid;    /* profiled thread that made the last call on the other end before the wait ended, 0 = none */
	u32 receives;    /* on the socket so far, when the wait began */
	struct tcp_state state; /* of a wait to send, as it began; of one on a set, as it ended */
};

enum tcp_hold_kind {
	TCP_HOLD_NAGLE = 1,
	TCP_HOLD_CORK = 2,
};

enum tcp_hold_end {
	TCP_HOLD_OPEN = 0,
	TCP_HOLD_ACKED = 1,
	TCP_HOLD_CALLED = 2,
};

struct record_tcp_hold {
	struct record_header h; /* tid: sender; time: it began */
	u64 end_ns;
	u64 cookie;
	u64 user_stack;
	u32 bytes;
	u8 kind;     /* enum tcp_hold_kind */
	u8 end_kind; /* enum tcp_hold_end */
	u16 reserved;
};

enum tcp_event_kind {
	TCP_DELAYED_ACK = 1,
	TCP_IDLE_TIMER = 2, /* of delayed ACKs: it ran out, but the ACK had gone with data */
	TCP_RETRANSMISSION = 3,
	TCP_PROBE = 4,    /* sent again to find out whether it was lost; where the other end is, is not known */
	TCP_SPURIOUS = 5, /* sent again although the other end had it */
};

struct record_tcp_event {
	struct record_header h; /* tid: 0, interrupts come to anyone */
	u64 cookie;             /* of the end that does it, 0 = no profiled thread used it */
	u64 peer;               /* of the other end, 0 likewise */
	u32 bytes;
	u8 kind; /* enum tcp_event_kind */
	u8 reserved[3];
};

struct record_socket_peer {
	struct record_header h;
	u64 cookie; /* whose other end */
	u64 peer;   /* that one's cookie, 0 = not known */
	u32 pid;
	u32 reserved;
	char comm[DWELL_COMM_BYTES]; /* of the process */
};

_Static_assert(sizeof(struct tcp_state) == 64, "wire");
_Static_assert(sizeof(struct record_socket) == 640, "wire");
_Static_assert(sizeof(struct record_socket_wait) == 144, "wire");
_Static_assert(sizeof(struct record_tcp_hold) == 48, "wire");
_Static_assert(sizeof(struct record_tcp_event) == 40, "wire");
_Static_assert(sizeof(struct record_socket_peer) == 56, "wire");

#endif
