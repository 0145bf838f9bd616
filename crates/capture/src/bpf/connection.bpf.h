/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Which end of a connection of TCP asks, and whether it waits for an answer.
 */
#ifndef DWELL_CONNECTION_BPF_H
#define DWELL_CONNECTION_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define NSEC_PER_USEC 1000

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
