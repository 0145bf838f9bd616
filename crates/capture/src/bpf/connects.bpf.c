// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * Counts the connections of TCP that profiled threads open, by process and address: how many, how long they live, and where they
 * are asked for. User space reads the counts now and then.
 */
#include "connection.bpf.h"
#include "stack.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define TCP_SYN_SENT 2

/* Where a process asks is looked at this often, beside the first times: walking a stack takes longer than all else here. */
#define STACKS_NS 10000000ull

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct connect_key);
	__type(value, struct connect_counts);
} connect_counts SEC(".maps");

/* A connection that a profiled thread asked for. */
struct own_connection {
	struct connect_key to;
	u64 asked_ns;
	u64 there_ns; /* 0 = not yet */
};

/* By socket. What is forgotten is not among the brief ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct own_connection);
} own_connections SEC(".maps");

static __always_inline struct connect_counts *counts_of(const struct connect_key *to)
{
	const struct connect_counts none = {};

	bpf_map_update_elem(&connect_counts, to, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&connect_counts, to);
}

static __always_inline bool wants_stack(const struct connect_counts *counts, u64 now)
{
	return !(counts->connects & (counts->connects - 1)) || now - counts->stack_ns > STACKS_NS;
}

static __always_inline void count_connect(struct task_struct *task, struct thread *thread, struct sock *sk)
{
	struct own_connection own = {.asked_ns = bpf_ktime_get_ns()};
	struct connect_counts *counts;
	struct ends ends = {};
	u64 key = (u64)sk;

	read_ends(&ends, sk);
	own.to.tgid = tgid_of(task);
	own.to.remote_port = ends.remote_port;
	__builtin_memcpy(own.to.remote_address, ends.remote, sizeof(own.to.remote_address));
	counts = counts_of(&own.to);
	if (!counts) {
		count_loss(CONNECTS_UNCOUNTED);
		return;
	}
	bpf_map_update_elem(&own_connections, &key, &own, BPF_ANY);
	__sync_fetch_and_add(&counts->connects, 1);
	counts->last_ns = own.asked_ns;
	counts->tid = tid_of(task);
	if (wants_stack(counts, own.asked_ns)) {
		counts->stack_ns = own.asked_ns;
		counts->user_stack = take_user_stack(task, thread, last_stack(task, SENDING));
	}
}

/* The connection was there until now: an end begins to close it. */
static __always_inline void count_end(struct own_connection *own, struct sock *sk)
{
	u32 segments = BPF_CORE_READ((struct tcp_sock *)sk, data_segs_out);
	struct connect_counts *counts = bpf_map_lookup_elem(&connect_counts, &own->to);

	if (!counts || segments > BRIEF_SEGMENTS)
		return;
	__sync_fetch_and_add(&counts->brief, 1);
	__sync_fetch_and_add(&counts->connect_ns, own->there_ns - own->asked_ns);
	__sync_fetch_and_add(&counts->life_ns, bpf_ktime_get_ns() - own->asked_ns);
}

/*
 * By itself, since a stack is walked here: what the kernel leaves out meanwhile, in an interrupt on the same CPU, asks for no
 * connection.
 */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_connect, struct sock *sk, int old, int state)
{
	struct control *control = controls();
	struct task_struct *current;
	struct thread *thread;

	if (state != TCP_SYN_SENT || !control || control->paused)
		return 0;
	current = bpf_get_current_task_btf();
	thread = recorded(current);
	if (thread)
		count_connect(current, thread, sk);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_progress, struct sock *sk, int old, int state)
{
	struct own_connection *own;
	u64 key = (u64)sk;

	if (old != TCP_SYN_SENT && old != TCP_ESTABLISHED)
		return 0;
	own = bpf_map_lookup_elem(&own_connections, &key);
	if (!own)
		return 0;
	if (state == TCP_ESTABLISHED) {
		own->there_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (own->there_ns)
		count_end(own, sk);
	bpf_map_delete_elem(&own_connections, &key);
	return 0;
}
