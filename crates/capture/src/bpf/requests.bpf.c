// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Requests: from where a thread has received on a socket to where it has sent on it. Who sends first asks, and handles none. */
#include "object.bpf.h"
#include "stand_in.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct end {
	u64 sk;
	u64 tid;
};

struct open_request {
	u64 begin_ns; /* 0 = none is open */
	u64 asks;     /* this thread sent first */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct end);
	__type(value, struct open_request);
} requests SEC(".maps");

static __always_inline bool is_recorded(struct task_struct *task)
{
	struct control *control = controls();

	return control && !control->paused && recorded(task);
}

static __always_inline int received(struct sock *sk, int result, int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct end end = {.sk = (u64)sk, .tid = task->pid};
	struct open_request begun = {}, *open;

	if (result <= 0 || !is_recorded(task))
		return 0;
	begun.begin_ns = bpf_ktime_get_ns();
	open = bpf_map_lookup_elem(&requests, &end);
	if (!open)
		bpf_map_update_elem(&requests, &end, &begun, BPF_ANY);
	else if (!open->asks && !open->begin_ns)
		open->begin_ns = begun.begin_ns;
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_received, struct sock *sk, int result, int flags)
{
	return received(sk, result, flags);
}

STAND_IN_FOR_RECEIVES(on_received, received)

static __always_inline int sent(struct sock *sk, int result, int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct end end = {.sk = (u64)sk, .tid = task->pid};
	const struct open_request asks = {.asks = 1};
	struct record_request record = {};
	struct open_request *open;

	if (result <= 0 || !is_recorded(task))
		return 0;
	open = bpf_map_lookup_elem(&requests, &end);
	if (!open) {
		bpf_map_update_elem(&requests, &end, &asks, BPF_ANY);
		return 0;
	}
	if (!open->begin_ns)
		return 0;
	set_header(&record.h, RECORD_REQUEST, sizeof(record), tid_of(task), bpf_ktime_get_ns());
	record.begin_ns = open->begin_ns;
	record.tgid = tgid_of(task);
	record.family = sk->__sk_common.skc_family;
	record.local_port = record.family == AF_INET || record.family == AF_INET6 ? sk->__sk_common.skc_num : 0;
	open->begin_ns = 0;
	write_record(&record, sizeof(record), DELAYS_LOST);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sent, struct sock *sk, int result, int flags)
{
	return sent(sk, result, flags);
}

STAND_IN_FOR_SENDS(on_sent, sent)
