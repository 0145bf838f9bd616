/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What is known of the sockets that profiled threads use. It lies in an array that user space reads through a map of its
 * memory, and not with the socket: so it is still there when the socket is closed. Which place of the array is a socket's is
 * known in two ways: by what the kernel keeps with the socket, in a few nanoseconds, and by its cookie, a number that the
 * kernel never uses again, where only the address of a socket is known.
 */
#ifndef DWELL_SOCKETS_BPF_H
#define DWELL_SOCKETS_BPF_H

#include "object.bpf.h"

#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT    2
#define TCP_CLOSE       7
#define TCP_LISTEN      10
#define TCP_CA_RECOVERY 3 /* and TCP_CA_Loss after it */
#define TCP_NAGLE_OFF   1
#define TCP_NAGLE_CORK  2
#define IPPROTO_TCP     6
#define ACK_SCHEDULED   1 /* enum inet_csk_ack_state_t */
#define SOCK_STREAM     1
#define E2BIG           7
#define EAGAIN          11
#define MSG_PEEK        2
#define REFRESH_TICKS   3
/* Bytes up to which a receive is a small one. */
#define SHORT_BYTES 256

/* What goes into the trace, and what only the hooks need. Mirrored in sockets.rs. */
struct socket_entry {
	struct record_socket record;
	u64 connection;   /* key of its addresses in `connections`, 0 = none */
	u64 answer;       /* the other end's key there */
	volatile u64 sk;  /* its address: a number only after it has been in a map, says the verifier */
	u64 seen_ns;      /* when look_at_sockets last met it */
	u64 queue_ns;     /* when the length of its queue was last looked at */
	u64 peer_cookie;  /* of the other end as far as it is known, */
	u32 peer_place;   /* and its place */
	u32 tcp_ticks;    /* when record.tcp was read */
	u32 last_tid;     /* thread of the last call */
	u32 reserved[17]; /* to whole cache lines: the ends of a connection are used on two CPUs */
};

#define MOST_SOCKETS 16384

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, u32);
	__type(value, struct socket_entry);
} sockets SEC(".maps");

/* Places in `sockets` that user space has done with. Those from next_place on were never used. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, MOST_SOCKETS);
	__type(value, u32);
} free_places SEC(".maps");

u64 next_place = 0;

/* The place of a cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_SOCKETS);
	__type(key, u64);
	__type(value, u32);
} places SEC(".maps");

/* The same, kept with the socket. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} own_place SEC(".maps");

/* Addresses of sockets of which no call has told, and the processes that waited on them: user space looks for them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, u64);
	__type(value, u32);
} unknown_sockets SEC(".maps");

/* The cookie of the socket that has these addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, u64);
} connections SEC(".maps");

static __always_inline u64 cookie_of(struct sock *sk)
{
	return FIELD(sk, __sk_common.skc_cookie.counter);
}

static __always_inline struct socket_entry *entry_of_cookie(u64 cookie)
{
	u32 *place = cookie ? bpf_map_lookup_elem(&places, &cookie) : NULL;

	return place ? bpf_map_lookup_elem(&sockets, place) : NULL;
}

/* The entry of a socket whose storage can be looked at: NULL too when its place is another's now, or may soon be. */
static __always_inline struct socket_entry *entry_of(struct sock *sk)
{
	u32 *place = bpf_sk_storage_get(&own_place, sk, 0, 0);
	struct socket_entry *entry = place ? bpf_map_lookup_elem(&sockets, place) : NULL;

	return entry && entry->record.cookie == (u64)sk->__sk_common.skc_cookie.counter && !entry->record.closed_ns
		       ? entry
		       : NULL;
}

static __always_inline void note_unknown(u64 address, struct task_struct *task)
{
	u32 tgid = task->tgid;

	bpf_map_update_elem(&unknown_sockets, &address, &tgid, BPF_ANY);
}

/* The two addresses of a socket of IPv4 or IPv6. Those of IPv4 lie in their IPv6 form, so that both ends of a connection
 * name them alike. */
struct ends {
	u64 local[2];
	u64 remote[2];
	u16 local_port;
	u16 remote_port;
	u32 reserved;
};

static __always_inline void read_ends(struct ends *ends, struct sock *sk)
{
	u32 *local = (u32 *)ends->local, *remote = (u32 *)ends->remote;

	ends->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	ends->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (BPF_CORE_READ(sk, __sk_common.skc_family) == AF_INET6 &&
	    bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO((struct in6_addr *)local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)remote, sk, __sk_common.skc_v6_daddr);
		return;
	}
	local[2] = remote[2] = __builtin_bswap32(0xffff);
	local[3] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	remote[3] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
}

static __always_inline u64 hash_ends(const u64 *near, u16 near_port, const u64 *far, u16 far_port)
{
	return mix(mix(mix(mix(near[0], near[1]), far[0]), far[1]), (u64)near_port << 16 | far_port);
}

/* The key of a connection as its own end sees it. */
static __always_inline u64 connection_key(const struct ends *ends)
{
	return hash_ends(ends->local, ends->local_port, ends->remote, ends->remote_port);
}

/* The same as the other end sees it. */
static __always_inline u64 answer_key(const struct ends *ends)
{
	return hash_ends(ends->remote, ends->remote_port, ends->local, ends->local_port);
}

static __always_inline void describe_ends(struct socket_entry *entry, struct sock *sk)
{
	struct record_socket *record = &entry->record;
	struct ends ends = {};

	read_ends(&ends, sk);
	record->local_port = ends.local_port;
	record->remote_port = ends.remote_port;
	__builtin_memcpy(record->local_address, ends.local, sizeof(ends.local));
	__builtin_memcpy(record->remote_address, ends.remote, sizeof(ends.remote));
	entry->connection = 0;
	if (!ends.local_port || !ends.remote_port)
		return;
	entry->connection = connection_key(&ends);
	entry->answer = answer_key(&ends);
	bpf_map_update_elem(&connections, &entry->connection, &record->cookie, BPF_ANY);
}

static __always_inline void read_path_of_unix(struct record_socket *record, struct sock *sk)
{
	struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ((struct unix_sock *)sk, peer);
	struct unix_address *address = BPF_CORE_READ((struct unix_sock *)sk, addr);
	int length;

	if (peer)
		record->peer = BPF_CORE_READ(peer, sk.__sk_common.skc_cookie.counter);
	if (!address && peer)
		address = BPF_CORE_READ(peer, addr);
	if (!address)
		return;
	length = BPF_CORE_READ(address, len) - 2;
	record->path_bytes = length < 0 ? 0 : length > 108 ? 108 : length;
	bpf_probe_read_kernel(record->path, 108,
			      (void *)address + bpf_core_field_offset(struct unix_address, name) + 2);
}

/* The key of the object that waits on a socket have. */
static __always_inline u64 socket_object(struct sock *sk)
{
	u64 key = socket_key(sk);

	return key ? key : 1;
}

static __always_inline void describe(struct socket_entry *entry)
{
	struct record_socket *record = &entry->record;
	struct sock *sk = (struct sock *)entry->sk;

	record->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	record->protocol = BPF_CORE_READ(sk, sk_protocol);
	record->type = BPF_CORE_READ(sk, sk_type);
	record->object = socket_object(sk);
	record->tcp.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (record->family == AF_UNIX)
		read_path_of_unix(record, sk);
	if (record->family == AF_INET || record->family == AF_INET6)
		describe_ends(entry, sk);
}

/* Bytes that TCP was given and has not sent once. */
static __always_inline u32 unsent_bytes(u64 address)
{
	struct tcp_sock *tcp = (struct tcp_sock *)address;

	return FIELD(tcp, write_seq) - FIELD(tcp, snd_nxt);
}

/* How a socket stands now. `address` need not be a socket's any more: what cannot be read is zero. */
static __noinline int read_tcp_state(u64 address, struct tcp_state *state)
{
	struct tcp_sock *tcp = (struct tcp_sock *)address;
	struct sock *sk = (struct sock *)address;
	u8 nonagle;

	if (!address || !state)
		return 0;
	state->state = FIELD(sk, __sk_common.skc_state);
	state->send_buffer = FIELD(sk, sk_sndbuf);
	state->receive_buffer = FIELD(sk, sk_rcvbuf);
	state->queued = FIELD(sk, sk_wmem_queued);
	state->backlog = FIELD(sk, sk_ack_backlog);
	state->backlog_limit = FIELD(sk, sk_max_ack_backlog);
	if (FIELD(sk, sk_protocol) != IPPROTO_TCP || state->state == TCP_LISTEN)
		return 0;
	state->unsent = unsent_bytes(address);
	state->in_flight = FIELD(tcp, snd_nxt) - FIELD(tcp, snd_una);
	state->packets_out = FIELD(tcp, packets_out);
	state->cwnd = FIELD(tcp, snd_cwnd);
	state->send_window = FIELD(tcp, snd_wnd);
	state->unread = FIELD(tcp, rcv_nxt) - FIELD(tcp, copied_seq);
	state->retransmits = FIELD(tcp, total_retrans);
	state->mss = FIELD(tcp, mss_cache);
	state->srtt_us = FIELD(tcp, srtt_us) >> 3;
	state->min_rtt_us = FIELD(tcp, rtt_min.s[0].v);
	state->congestion = FIELD_BITS(&tcp->inet_conn, icsk_ca_state);
	state->backoff = FIELD(tcp, inet_conn.icsk_backoff);
	nonagle = FIELD_BITS(tcp, nonagle);
	state->flags = TCP_STATE_KNOWN | (nonagle & TCP_NAGLE_OFF ? TCP_STATE_NODELAY : 0) |
		       (nonagle & TCP_NAGLE_CORK ? TCP_STATE_CORK : 0);
	return 0;
}

/* Brings what the kernel tells of a socket up to date. */
static __always_inline void refresh(struct socket_entry *entry)
{
	struct sock *sk = (struct sock *)entry->sk;
	struct tcp_sock *tcp = (struct tcp_sock *)sk;
	struct tcp_state *state = &entry->record.tcp;

	read_tcp_state(entry->sk, state);
	if (state->flags & TCP_STATE_KNOWN)
		entry->record.taken_total = FIELD(tcp, bytes_received) - state->unread;
	else if (state->state == TCP_LISTEN)
		entry->record.drops = FIELD(sk, sk_drops.counter);
}

/* Atomic, with the value before. The compiler has them only with 32-bit registers (-mcpu=v3), with which the verifier takes
 * seven times as long for a walk of the stack. */
static __always_inline u64 fetch_and_add(u64 *at, u64 value)
{
	asm volatile("%0 = atomic_fetch_add((u64 *)(%1 + 0), %0)" : "+r"(value) : "r"(at) : "memory");
	return value;
}

static __always_inline u64 exchange(u64 *at, u64 value)
{
	asm volatile("%0 = xchg_64(%1 + 0, %0)" : "+r"(value) : "r"(at) : "memory");
	return value;
}

/* A free place of the array. */
static __always_inline bool take_place(u32 *place)
{
	if (!bpf_map_pop_elem(&free_places, place))
		return true;
	if (next_place < MOST_SOCKETS) {
		*place = fetch_and_add(&next_place, 1);
		if (*place < MOST_SOCKETS)
			return true;
	}
	count_loss(LOSS_SOCKET);
	return false;
}

/* The kernel's tcp_delack_timer, the same function in every TCP socket; 0 = no profiled thread has used one yet. Read from a
 * socket, since /proc/kallsyms may hide addresses (kptr_restrict). */
u64 delayed_ack_function = 0;

static __always_inline void learn_delayed_ack_function(struct sock *sk)
{
	if (!delayed_ack_function && BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP)
		delayed_ack_function =
			(u64)BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_delack_timer.function);
}

/* The entry of a socket that is used for the first time. */
static __noinline struct socket_entry *new_entry(struct sock *sk, u64 cookie, struct task_struct *task, u8 flags)
{
	struct socket_entry *entry;
	u32 place;

	if (!take_place(&place))
		return NULL;
	entry = bpf_map_lookup_elem(&sockets, &place);
	if (!entry)
		return NULL;
	__builtin_memset(entry, 0, sizeof(*entry));
	set_header(&entry->record.h, RECORD_SOCKET, sizeof(entry->record), tid_of(task), 0);
	entry->record.first_ns = bpf_ktime_get_ns();
	entry->record.tgid = tgid_of(task);
	entry->record.flags = flags;
	entry->record.cookie = cookie;
	entry->last_tid = tid_of(task);
	entry->sk = (u64)sk;
	describe(entry);
	refresh(entry);
	learn_delayed_ack_function(sk);
	entry->tcp_ticks = bpf_jiffies64();
	if (!bpf_map_update_elem(&places, &cookie, &place, BPF_NOEXIST))
		return entry;
	/* Another thread was faster. */
	entry->record.cookie = 0;
	bpf_map_push_elem(&free_places, &place, 0);
	return entry_of_cookie(cookie);
}

/* The cookie of the other end, 0 when no profiled thread used it. */
static __always_inline u64 peer_cookie(struct socket_entry *entry)
{
	u64 *cookie;

	if (entry->record.family == AF_UNIX)
		return entry->record.peer;
	cookie = entry->connection ? bpf_map_lookup_elem(&connections, &entry->answer) : NULL;
	return cookie ? *cookie : 0;
}

/* The entry of the other end, NULL when no profiled thread used it. */
static __always_inline struct socket_entry *peer_of(struct socket_entry *entry)
{
	u32 at = entry->peer_place, *place;
	u64 cookie = entry->peer_cookie;
	struct socket_entry *peer = cookie ? bpf_map_lookup_elem(&sockets, &at) : NULL;

	if (peer && peer->record.cookie == cookie)
		return peer;
	cookie = peer_cookie(entry);
	place = cookie ? bpf_map_lookup_elem(&places, &cookie) : NULL;
	if (!place)
		return NULL;
	entry->peer_cookie = cookie;
	entry->peer_place = *place;
	return bpf_map_lookup_elem(&sockets, place);
}

/* How many bits a number has whose highest bits are all set, by where it puts those of a De Bruijn sequence. Branches would
 * multiply the ways that the verifier has to go. */
static const u8 bits_of[32] = {
	1, 10, 2,  11, 14, 22, 3,  30, 12, 15, 17, 19, 23, 26, 4, 31,
	9, 13, 21, 29, 16, 18, 25, 8,  20, 28, 24, 7,  27, 6,  5, 32,
};

/* The class of a size: its number of bits, up to the last class. */
static __always_inline u32 size_class(u32 bytes)
{
	u32 bits;

	if (!bytes)
		return 0;
	bytes |= bytes >> 1;
	bytes |= bytes >> 2;
	bytes |= bytes >> 4;
	bytes |= bytes >> 8;
	bytes |= bytes >> 16;
	bits = bits_of[bytes * 0x07c4acddu >> 27];
	return AT_MOST(bits, DWELL_SIZE_CLASSES - 1);
}

#endif
