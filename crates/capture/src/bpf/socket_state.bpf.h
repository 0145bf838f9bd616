/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Describes a socket: its addresses, how TCP stands, and the entry of one that is used for the first time.
 */
#ifndef DWELL_SOCKET_STATE_BPF_H
#define DWELL_SOCKET_STATE_BPF_H

#include "connection.bpf.h"
#include "object.bpf.h"
#include "socket_entry.bpf.h"

#define TCP_SYN_SENT  2
#define TCP_CLOSE     7
#define ACK_SCHEDULED 1 /* enum inet_csk_ack_state_t */
#define EAGAIN        11
#define MSG_PEEK      2

static __always_inline u64 cookie_of(struct sock *sk)
{
	return FIELD(sk, __sk_common.skc_cookie.counter);
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

	if (peer)
		record->peer = BPF_CORE_READ(peer, sk.__sk_common.skc_cookie.counter);
	record->path_bytes = read_unix_name(record->path, sk);
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

#endif
