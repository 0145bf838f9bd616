// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Which requests to block devices an I/O quota held back: see io_quota.bpf.h. */
#include "io_quota.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* When held requests were issued, by the address of their bio, until they are complete. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u64);
} issued_buffer SEC(".maps");

/* Whether any request was held: until then completions have nothing to look for. */
bool any_held = false;

/* A worker is called by what it works for: the name of the workqueue. */
static __always_inline bool issues_held_requests(struct task_struct *task)
{
	const char queue[] = "kthrotld";
	char name[sizeof(queue)] = {};
	struct kthread *kthread;
	struct worker *worker;

	if (!(task->flags & PF_WQ_WORKER))
		return false;
	if (bpf_core_field_exists(task->worker_private))
		kthread = BPF_CORE_READ(task, worker_private);
	else
		kthread = (struct kthread *)BPF_CORE_READ(task, set_child_tid); /* before Linux 5.17 */
	worker = BPF_CORE_READ(kthread, data);
	bpf_probe_read_kernel(name, sizeof(name), &worker->desc);
	return !__builtin_memcmp(name, queue, sizeof(queue));
}

/* Before Linux 5.11 the first argument is the device's queue: there no request is seen as held. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_issue, struct bio *bio)
{
	u64 key = (u64)bio, now;

	if (!issues_held_requests(bpf_get_current_task_btf()))
		return 0;
	any_held = true;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&issued_buffer, &key, &now, BPF_ANY);
	return 0;
}

#define MERGED_REQUESTS 16

/* When `bio` was issued, if it was held. It is complete now. */
static __always_inline u64 take_issued(struct bio *bio)
{
	u64 key = (u64)bio, issued_ns, *noted = bpf_map_lookup_elem(&issued_buffer, &key);

	if (!noted)
		return 0;
	issued_ns = *noted;
	bpf_map_delete_elem(&issued_buffer, &key);
	return issued_ns;
}

static __always_inline void note_completion(u64 issued_ns)
{
	struct completion *last = last_completion();

	if (!last)
		return;
	last->issued_ns = issued_ns;
	last->time_ns = issued_ns ? bpf_ktime_get_ns() : 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_request_complete, struct request *request)
{
	struct bio *bio;
	u64 issued_ns = 0;

	if (!any_held)
		return 0;
	bio = BPF_CORE_READ(request, bio);
	for (u32 i = 0; i < MERGED_REQUESTS && bio; i++) {
		u64 one_ns = take_issued(bio);

		if (one_ns > issued_ns)
			issued_ns = one_ns;
		bio = BPF_CORE_READ(bio, bi_next);
	}
	note_completion(issued_ns);
	return 0;
}

/* Of devices that others lie below: those have no requests of their own. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *queue, struct bio *bio)
{
	if (any_held)
		note_completion(take_issued(bio));
	return 0;
}
