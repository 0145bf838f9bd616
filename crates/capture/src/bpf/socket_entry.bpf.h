/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What is known of the sockets that profiled threads use. It lies in an array that user space reads through a map of its
 * memory, and not with the socket: so it is still there when the socket is closed. The place of a socket in the array is
 * known in two ways: by what the kernel keeps with the socket, in a few nanoseconds, and by its cookie, a number that the
 * kernel never uses again, where only the address of a socket is known.
 */
#ifndef DWELL_SOCKET_ENTRY_BPF_H
#define DWELL_SOCKET_ENTRY_BPF_H

#include "record.bpf.h"

/* What goes into the trace, and what only the hooks need. Mirrored in topics/sockets.rs. */
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

/* Context of look_at_sockets: the first of the places that it looks at in one run. */
struct socket_places {
	u32 first;
};

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

/* Addresses of sockets that no call has told of yet, and the processes that waited on them: user space looks for them. */
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
	count_loss(SOCKETS_LOST);
	return false;
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

#endif
