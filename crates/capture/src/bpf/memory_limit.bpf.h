/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Waits that come of too little memory. The kernel notes with a thread that it waits for memory to be freed, or for a page that was in
 * use when it was thrown out a short while ago (pressure stall information, psi=1). Where a control group of the thread is at its limit
 * then, that limit is why. So it is where a fault reads a page from a device, and the full group holds mostly what the process has
 * mapped itself: the page takes the place of one of these. A group that is full of files that were read once is no cause.
 * Only such waits are looked at.
 */
#ifndef DWELL_MEMORY_LIMIT_BPF_H
#define DWELL_MEMORY_LIMIT_BPF_H

#include "record.bpf.h"
#include "vmlinux_memory.h"

#define NESTED_GROUPS 8
#define PAGE_KINDS    4 /* enum of include/linux/mm_types_task.h: MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES */
#define SWAPPED_PAGES 2
/* A group is at its limit if less is free than this many pages, and than this part: the kernel frees some at once. */
#define FREE_PAGES 4096
#define FREE_PART  16

static __always_inline u64 free_below(u64 limit)
{
	return limit / FREE_PART < FREE_PAGES ? limit / FREE_PART : FREE_PAGES;
}

/* The address of how much memory the control group of `task` uses, 0 = not known. */
static __always_inline u64 memory_of(struct task_struct *task)
{
	u64 groups = (u64)BPF_CORE_READ(task, cgroups) + bpf_core_field_offset(struct css_set, subsys);
	u32 number = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	u64 group = 0;

	bpf_probe_read_kernel(&group, sizeof(group), (void *)(groups + number * sizeof(group)));
	if (!group)
		return 0;
	return group - bpf_core_field_offset(struct mem_cgroup, css) + bpf_core_field_offset(struct mem_cgroup, memory);
}

/* Pages that the process of `task` has mapped: of files, shared ones, and its own. Counted roughly where there are many CPUs. */
static __always_inline u64 mapped_pages(struct task_struct *task)
{
	u64 mm = (u64)BPF_CORE_READ(task, mm), counters, size, pages = 0;

	if (bpf_core_type_exists(struct mm_rss_stat)) {
		counters = mm + bpf_core_field_offset(struct mm_struct___sums, rss_stat.count);
		size = sizeof(s64);
	} else {
		counters = mm + bpf_core_field_offset(struct mm_struct___counters, rss_stat) +
			   bpf_core_field_offset(struct percpu_counter, count);
		size = bpf_core_type_size(struct percpu_counter);
	}
	for (u32 i = 0; i < PAGE_KINDS; i++) {
		s64 count = 0;

		bpf_probe_read_kernel(&count, sizeof(count), (void *)(counters + i * size));
		if (i != SWAPPED_PAGES && count > 0)
			pages += count;
	}
	return pages;
}

/* Whether a control group or one that it is in is at its limit, and `mapped` pages are at least half of it. A global function, so
 * that the verifier looks at it once. */
__noinline int is_at_limit(u64 memory, u64 mapped)
{
	struct page_counter *counter = (struct page_counter *)memory;

	for (u32 i = 0; i < NESTED_GROUPS && counter; i++) {
		u64 limit = BPF_CORE_READ(counter, max), used = BPF_CORE_READ(counter, usage.counter);
		u64 high = BPF_CORE_READ(counter, high);

		if (high < limit)
			limit = high;
		if (used + free_below(limit) >= limit && mapped >= used / 2)
			return 1;
		counter = BPF_CORE_READ(counter, parent);
	}
	return 0;
}

/* Whether the wait that `task` begins comes of its control group's limit of memory. */
static __always_inline bool lacks_memory(struct task_struct *task, bool faults)
{
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return false;
	if (bpf_core_field_exists(task->in_memstall) && BPF_CORE_READ_BITFIELD(task, in_memstall))
		return is_at_limit(memory_of(task), ~0ull);
	if (!faults || !BPF_CORE_READ_BITFIELD(task, in_iowait))
		return false;
	return is_at_limit(memory_of(task), mapped_pages(task));
}

#endif
