/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * A call of a profiled thread on a socket: the socket's entry, brought up to date, and the count of its bytes.
 */
#ifndef DWELL_SOCKET_CALL_BPF_H
#define DWELL_SOCKET_CALL_BPF_H

#include "socket_wait.bpf.h"

#define REFRESH_TICKS 3

static __always_inline bool is_paused(void)
{
	struct control *control = controls();

	return !control || control->paused;
}

/* The entry of a socket that has none at hand: its place is kept with it from now on. */
static __noinline struct socket_entry *first_use(struct sock *sk, struct task_struct *task, u8 flags)
{
	u64 cookie = bpf_get_socket_cookie(sk);
	struct socket_entry *entry = entry_of_cookie(cookie);
	u32 *place;

	if (!entry)
		entry = new_entry(sk, cookie, task, flags);
	place = entry ? bpf_map_lookup_elem(&places, &cookie) : NULL;
	if (place)
		bpf_sk_storage_get(&own_place, sk, place, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return entry;
}

/* The entry of a socket that profiled thread `task` uses now. */
static __always_inline struct socket_entry *used_entry(struct sock *sk, struct task_struct *task)
{
	struct socket_entry *entry = entry_of(sk);

	if (entry)
		return entry;
	return first_use(sk, task, 0);
}

/* The entry of the socket that a call of a profiled thread was on, NULL when it is not recorded. */
static __always_inline struct socket_entry *called(struct sock *sk, struct task_struct *task)
{
	struct socket_entry *entry;
	u32 ticks, tid;

	if (is_paused())
		return NULL;
	entry = used_entry(sk, task);
	if (!entry)
		return NULL;
	tid = tid_of(task);
	if (entry->last_tid != tid) /* the other end's CPU reads it */
		entry->last_tid = tid;
	ticks = bpf_jiffies64();
	if (ticks - entry->tcp_ticks >= REFRESH_TICKS) {
		if (!entry->record.remote_port && (entry->record.family != AF_UNIX || !entry->record.peer))
			describe(entry);
		entry->tcp_ticks = ticks;
		refresh(entry);
	}
	return entry;
}

/* How many bits a number has whose highest bits are all set, by where it puts those of a De Bruijn sequence. Branches would
 * multiply the paths of the verifier. */
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

/* A call of a profiled thread on a socket that is recorded. */
struct socket_call {
	struct task_struct *task;
	struct thread *thread;
	struct socket_entry *entry;
};

/* Takes in a call that returned `ret`, and ends the wait that it tells the outcome of. False when it is not recorded. */
static __always_inline bool take_call(struct socket_call *call, struct sock *sk, int ret, bool send)
{
	call->task = bpf_get_current_task_btf();
	call->thread = recorded(call->task);
	call->entry = call->thread ? called(sk, call->task) : NULL;
	if (!call->entry)
		return false;
	end_wait(call->task, call->thread, call->entry, ret, send);
	return true;
}

static __always_inline void count_call(u64 *total, u64 *calls, u32 *sizes, int bytes)
{
	__sync_fetch_and_add(total, bytes);
	__sync_fetch_and_add(calls, 1);
	__sync_fetch_and_add(&sizes[size_class(bytes)], 1);
}

#endif
