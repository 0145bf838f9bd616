/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Requests to block devices that an I/O quota held back (io.max, blkio.throttle.*). Such a request is issued not by the thread that
 * wants it but, when its time has come, by a worker of the queue kthrotld: then it is noted. When it is complete, the CPU wakes
 * who waits for it, still within the completion: so the wake-up finds the note with its CPU. A wait for a device is ended by the
 * quota if the request was held for most of it. Threads are not looked at before they wake up: a switch costs nothing.
 */
#ifndef DWELL_IO_QUOTA_BPF_H
#define DWELL_IO_QUOTA_BPF_H

#include "record.bpf.h"

#define PF_WQ_WORKER 0x20
/* What a completion does before it wakes a waiter takes less. */
#define COMPLETION_NS 100000

/* The request that a CPU completed last. */
struct completion {
	u64 time_ns;
	u64 issued_ns; /* when it was, where a quota had held it; 0 = none had */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct completion);
} completions SEC(".maps");

static __always_inline struct completion *last_completion(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&completions, &zero);
}

/* Whether `task`, which was off the CPU since `out_ns`, is woken by a request that a quota held for most of that time. */
static __always_inline bool was_held_by_quota(struct task_struct *task, u64 out_ns, u64 now)
{
	struct completion *last;

	if (!BPF_CORE_READ_BITFIELD(task, in_iowait))
		return false;
	last = last_completion();
	if (!last || !last->issued_ns || now - last->time_ns > COMPLETION_NS)
		return false;
	return last->issued_ns > out_ns && last->issued_ns - out_ns >= now - last->issued_ns;
}

#endif
