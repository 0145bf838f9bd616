/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * A connection: its two ends, which of them asks, and whether it waits for an answer.
 */
#ifndef DWELL_CONNECTION_BPF_H
#define DWELL_CONNECTION_BPF_H

#include "thread.bpf.h"

#define TCP_ESTABLISHED 1
#define TCP_LISTEN      10
#define TCP_NAGLE_OFF   1
#define TCP_NAGLE_CORK  2
#define NSEC_PER_USEC   1000

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

/* The socket behind an open file of a profiled thread, NULL when the file is no socket. */
static __always_inline struct sock *open_socket(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;

	if (!task || !file || !recorded(task))
		return NULL;
	socket = bpf_sock_from_file(file);
	return socket ? socket->sk : NULL;
}

/* Whether it is the accepted end of a connection of TCP: that has the port of the socket which listens. The kernel chose the other end's,
 * and marks it so (__inet_hash_connect in net/ipv4/inet_hashtables.c). */
static __always_inline bool is_accepted(struct sock *sk)
{
	struct inet_bind_bucket *port = BPF_CORE_READ((struct inet_connection_sock *)sk, icsk_bind_hash);

	return port && BPF_CORE_READ(port, fastreuse) >= 0;
}

/*
 * Whether the other end sent data last. The times at which this end sent and received data are known in ticks. Within one tick: what was
 * received since this end sent anything at all is not acknowledged (rcv_wup is what the last segment acknowledged); what this end sent
 * may not be, either; and where all is, this end sent its last segment to acknowledge data if it did so when it learned that its own had
 * arrived (delivered_mstamp), or later: else that segment was what arrived (net/ipv4/tcp_output.c, tcp_rate.c).
 */
static __always_inline bool other_end_sent_last(struct tcp_sock *tcp)
{
	s32 later = (s32)(BPF_CORE_READ(tcp, inet_conn.icsk_ack.lrcvtime) - BPF_CORE_READ(tcp, lsndtime));

	if (later)
		return later > 0;
	if (BPF_CORE_READ(tcp, rcv_nxt) != BPF_CORE_READ(tcp, rcv_wup))
		return true;
	if (BPF_CORE_READ(tcp, snd_una) != BPF_CORE_READ(tcp, write_seq))
		return false;
	return BPF_CORE_READ(tcp, tcp_wstamp_ns) / NSEC_PER_USEC >= BPF_CORE_READ(tcp, delivered_mstamp);
}

#endif
