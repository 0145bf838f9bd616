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

/* What other programs ran on a CPU since a profiled thread ran there. */
#define SLICES 64     /* a power of two: a quarter of a second of programs that take turns every 4 ms */
#define SHORT  100000 /* ns; what is shorter is left out, so that switches of others cost nearly nothing */

struct slices {
	u64 count;
	u64 reached_ns; /* no slice to come began before */
	struct {
		u64 end_ns;
		u64 ns;
		u32 process;
	} at[SLICES];
};

PER_CPU(struct slices, slices)

/* Puts the process of the current thread among the rivals: without a name where the user may not look at it. */
static __always_inline void know_rival(u32 process)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rival rival = {};

	if (bpf_map_lookup_elem(&rivals, &process))
		return;
	if (is_in_scope(task))
		bpf_probe_read_kernel_str(rival.comm, sizeof(rival.comm), BPF_CORE_READ(task, group_leader, comm));
	bpf_map_update_elem(&rivals, &process, &rival, BPF_NOEXIST);
}

/* The current thread, of process `process`, which is not profiled, leaves the CPU after `ran_ns`. Like the next one a global
 * function, so that the verifier looks at it once. */
__noinline int note_slice(u32 process, u64 ran_ns, u64 now)
{
	struct slices *slices = this_slices();
	u64 index;

	if (!slices)
		return 0;
	know_rival(process);
	/* Of a thread that the scheduler chose again and again the kernel counts more than this turn. */
	if (ran_ns > now - slices->reached_ns)
		ran_ns = now - slices->reached_ns;
	slices->reached_ns = now;
	index = slices->count++ % SLICES;
	ITEM(slices->at, index).process = process;
	ITEM(slices->at, index).ns = ran_ns;
	ITEM(slices->at, index).end_ns = now;
	return 0;
}

/* A profiled thread leaves the CPU: slices of others begin now. */
static __always_inline void begin_slices(u64 now)
{
	struct slices *slices = this_slices();

	if (slices)
		slices->reached_ns = now;
}

/* A profiled thread comes to the CPU, for which it was ready since `ready_ns`, 0 = not known: what others ran there meanwhile, they
 * took. */
__noinline int note_rivals(u64 ready_ns, u64 now)
{
	struct slices *slices = this_slices();
	u64 count;

	if (!slices)
		return 0;
	count = slices->count;
	slices->count = 0;
	slices->reached_ns = now;
	if (!count || !ready_ns)
		return 0;
	for (u32 i = 0; i < SLICES; i++) {
		u64 end_ns, ns;
		struct rival *rival;
		u32 process;

		if (i >= count)
			break;
		end_ns = slices->at[i].end_ns;
		ns = slices->at[i].ns;
		process = slices->at[i].process;
		if (end_ns <= ready_ns)
			continue;
		rival = bpf_map_lookup_elem(&rivals, &process);
		if (rival)
			__sync_fetch_and_add(&rival->ns, ns < end_ns - ready_ns ? ns : end_ns - ready_ns);
	}
	return 0;
}

/* When a thread that comes to the CPU was ready for it: woken, or preempted; 0 = not known. */
static __always_inline u64 ready_since(const struct thread *thread)
{
	return thread->wake_time_ns > thread->out_time_ns ? thread->wake_time_ns : thread->out_time_ns;
}

#endif
