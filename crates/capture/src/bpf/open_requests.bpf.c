// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* How each connection of TCP of profiled processes stands at one instant, and how many wait to be accepted at each socket that listens: run
 * by user space now and then, without a hook anywhere. */
#include "connection.bpf.h"
#include "checked.bpf.h"
#include "unix_name.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline bool is_established(struct sock *sk)
{
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	return (family == AF_INET || family == AF_INET6) && BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP &&
	       BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_ESTABLISHED;
}

/* Whether data waits to be sent, and for what: for the other end to read what it has, or for the acknowledgement of what went before, as
 * Nagle's algorithm has it (tcp_write_xmit in net/ipv4/tcp_output.c). */
static __always_inline u8 send_queue_flags(struct tcp_sock *tcp)
{
	u32 next = BPF_CORE_READ(tcp, snd_nxt);
	u32 unsent = BPF_CORE_READ(tcp, write_seq) - next;
	u32 largest = BPF_CORE_READ(tcp, mss_cache);
	s32 room = (s32)(BPF_CORE_READ(tcp, snd_una) + BPF_CORE_READ(tcp, snd_wnd) - next);
	u32 in_flight = BPF_CORE_READ(tcp, packets_out);

	if ((s32)unsent <= 0)
		return 0;
	if (room < (s32)(unsent < largest ? unsent : largest))
		return CONNECTION_IS_UNREAD;
	if (unsent >= largest || !in_flight || in_flight >= BPF_CORE_READ(tcp, snd_cwnd))
		return 0;
	return BPF_CORE_READ_BITFIELD_PROBED(tcp, nonagle) & (TCP_NAGLE_OFF | TCP_NAGLE_CORK) ? 0 : CONNECTION_IS_HELD;
}

/* When the connection that waits longest came: its first acknowledgement was sent then. Where that was a cookie, it is not known (0). */
static __always_inline u64 oldest_ns(struct sock *sk)
{
	struct tcp_request_sock *first = (struct tcp_request_sock *)BPF_CORE_READ((struct inet_connection_sock *)sk,
										  icsk_accept_queue.rskq_accept_head);

	return first ? BPF_CORE_READ(first, snt_synack) * NSEC_PER_USEC : 0;
}

/* Writes how many connections wait at a socket that listens. A Unix socket has them in its queue of packets (net/unix/af_unix.c). */
static __always_inline int write_listener(struct seq_file *seq, struct task_struct *task, struct file *file,
					  struct sock *sk)
{
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct listener_state listener = {};

	if (family == AF_UNIX) {
		listener.waiting = BPF_CORE_READ(sk, sk_receive_queue.qlen);
		listener.name_bytes = read_unix_name((char *)listener.name, sk);
	} else if ((family == AF_INET || family == AF_INET6) && BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP) {
		listener.waiting = BPF_CORE_READ(sk, sk_ack_backlog);
		listener.port = BPF_CORE_READ(sk, __sk_common.skc_num);
		listener.oldest_ns = oldest_ns(sk);
	} else {
		return 0;
	}
	listener.tgid = tgid_of(task);
	listener.flags = CONNECTION_LISTENS;
	listener.limit = BPF_CORE_READ(sk, sk_max_ack_backlog);
	listener.inode = BPF_CORE_READ(file, f_inode, i_ino);
	bpf_seq_write(seq, &listener, sizeof(listener));
	return 0;
}

SEC("iter/task_file")
int open_requests(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct connection_state connection = {};
	struct sock *sk = open_socket(ctx);
	struct ends ends = {};
	struct tcp_sock *tcp;
	u32 received, sent;
	bool accepted;

	if (!sk || !task || !file)
		return 0;
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		return write_listener(ctx->meta->seq, task, file, sk);
	if (!is_established(sk))
		return 0;
	tcp = (struct tcp_sock *)sk;
	accepted = is_accepted(sk);
	/* Until anything is asked nobody waits for an answer. */
	if (accepted ? !BPF_CORE_READ(tcp, bytes_received) : !BPF_CORE_READ(tcp, bytes_sent))
		return 0;
	received = BPF_CORE_READ(tcp, data_segs_in);
	sent = BPF_CORE_READ(tcp, data_segs_out);
	connection.segments = accepted ? received : sent;
	connection.answers = accepted ? sent : received;
	/* The latest segment with data, whether it was acknowledged or not: an acknowledgement by itself does not count. */
	connection.sent_ns = BPF_CORE_READ(tcp, first_tx_mstamp) * NSEC_PER_USEC;
	connection.tgid = tgid_of(task);
	connection.flags = accepted ? CONNECTION_ACCEPTED : 0;
	if (other_end_sent_last(tcp) == accepted)
		connection.flags |= CONNECTION_IS_ASKED;
	connection.flags |= send_queue_flags(tcp);
	read_ends(&ends, sk);
	connection.local_port = ends.local_port;
	connection.remote_port = ends.remote_port;
	__builtin_memcpy(connection.remote_address, ends.remote, sizeof(ends.remote));
	bpf_seq_write(ctx->meta->seq, &connection, sizeof(connection));
	return 0;
}
