/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Who took the CPU: other programs that ran while a profiled thread was ready for it.
 */
#ifndef DWELL_RIVAL_BPF_H
#define DWELL_RIVAL_BPF_H

#include "thread.bpf.h"

/* Mirrored in hooks/rivals.rs. */
struct rival {
	u64 ns;
	char comm[DWELL_COMM_BYTES];
};

/* By process id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct rival);
} rivals SEC(".maps");

/*
 * The current thread, of another program, leaves the CPU for one that was ready since `ready_ns`. What it ran since it came is
 * what it took, as far as that one waited. A global function, so that the verifier looks at it once.
 */
__noinline int note_rival(u64 ready_ns, u64 now)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	u64 ran_ns = BPF_CORE_READ(task, se.sum_exec_runtime) - BPF_CORE_READ(task, se.prev_sum_exec_runtime);
	u64 waited_ns = now - ready_ns, taken_ns = ran_ns < waited_ns ? ran_ns : waited_ns;
	u32 process = BPF_CORE_READ(task, tgid);
	struct rival *known = bpf_map_lookup_elem(&rivals, &process);
	struct rival rival = {.ns = taken_ns};

	if (known) {
		__sync_fetch_and_add(&known->ns, taken_ns);
		return 0;
	}
	bpf_probe_read_kernel_str(rival.comm, sizeof(rival.comm), BPF_CORE_READ(task, group_leader, comm));
	bpf_map_update_elem(&rivals, &process, &rival, BPF_ANY);
	return 0;
}

/* When a thread that comes to the CPU was ready for it: woken, or preempted; 0 = not known. */
static __always_inline u64 ready_since(const struct thread *thread)
{
	return thread->wake_time_ns > thread->out_time_ns ? thread->wake_time_ns : thread->out_time_ns;
}

#endif
