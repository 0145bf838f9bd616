/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * When TCP holds back data that a program has sent, since when, and which call sent it.
 */
#ifndef DWELL_TCP_HOLD_BPF_H
#define DWELL_TCP_HOLD_BPF_H

#include "socket_state.bpf.h"
#include "stack.bpf.h"
#include "thread.bpf.h"

/* When TCP last held data back, in ticks of the clock: long after that, incoming segments need not be looked at. */
u64 last_hold = 0;

#define HOLD_TICKS 2500

static __always_inline void end_hold(struct socket_entry *entry, u64 now, u8 end_kind)
{
	struct record_tcp_hold hold = {};
	u64 since;

	set_header(&hold.h, RECORD_TCP_HOLD, sizeof(hold), entry->record.hold_tid, 0);
	hold.end_ns = now;
	hold.cookie = entry->record.cookie;
	hold.user_stack = entry->record.hold_stack;
	hold.bytes = entry->record.hold_bytes;
	hold.kind = entry->record.hold_kind;
	hold.end_kind = end_kind;
	since = exchange(&entry->record.hold_ns, 0);
	if (!since) /* another CPU was faster */
		return;
	hold.h.time_ns = since;
	write_record(&hold, sizeof(hold), SOCKET_WAITS_LOST);
}

/* Why TCP holds the rest of what was just sent, 0 when it does not or something else is in the way. */
static __always_inline u8 hold_kind(struct tcp_sock *tcp, u32 unsent)
{
	u8 nonagle = BPF_CORE_READ_BITFIELD(tcp, nonagle);

	if (!unsent || unsent >= tcp->mss_cache)
		return 0;
	if (nonagle & TCP_NAGLE_CORK)
		return TCP_HOLD_CORK;
	if (!tcp->packets_out) /* MSG_MORE, or it is on its way */
		return TCP_HOLD_CORK;
	if ((s32)(tcp->snd_una + tcp->snd_wnd - tcp->snd_nxt) < (s32)unsent || tcp->packets_out >= tcp->snd_cwnd)
		return 0;
	return nonagle & TCP_NAGLE_OFF ? 0 : TCP_HOLD_NAGLE;
}

/* Ends the hold of data that has gone, as a call finds: no more than `later` bytes were sent since. */
static __always_inline void look_for_release(struct socket_entry *entry, struct tcp_sock *tcp, u32 later)
{
	if (entry->record.hold_ns && tcp->write_seq - tcp->snd_nxt <= later)
		end_hold(entry, bpf_ktime_get_ns(), TCP_HOLD_END_CALL);
}

/* A call sent `bytes`: are some of them held back? */
static __always_inline void look_for_hold(struct socket_entry *entry, struct tcp_sock *tcp, u32 bytes,
					  struct task_struct *task, struct thread *thread)
{
	u32 unsent = tcp->write_seq - tcp->snd_nxt;
	u8 kind;

	look_for_release(entry, tcp, bytes);
	if (!unsent && !entry->record.hold_ns)
		return;
	kind = hold_kind(tcp, unsent);
	if (entry->record.hold_ns) {
		entry->record.hold_bytes = unsent;
		if (!kind)
			end_hold(entry, bpf_ktime_get_ns(), TCP_HOLD_END_CALL);
		return;
	}
	if (!kind || bytes >= tcp->mss_cache) /* the end of a large piece holds nobody up */
		return;
	entry->record.hold_kind = kind;
	entry->record.hold_bytes = unsent;
	entry->record.hold_tid = tid_of(task);
	entry->record.hold_stack = take_user_stack(task, thread, last_stack(task, SENDING));
	entry->record.hold_ns = bpf_ktime_get_ns();
	last_hold = bpf_jiffies64();
}

#endif
