/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The kernel types that tell which control group a process is in, how much memory both use, and what they map: see vmlinux.h.
 */
#ifndef DWELL_VMLINUX_MEMORY_H
#define DWELL_VMLINUX_MEMORY_H

#include "vmlinux.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cgroup_subsys_state;

enum cgroup_subsys_id {
	memory_cgrp_id = 4,
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct percpu_counter {
	s64 count;
};

/* Since Linux 6.2. */
struct mm_struct___counters {
	struct percpu_counter rss_stat[4];
};

/* Before. */
struct mm_rss_stat {
	struct {
		s64 counter;
	} count[4];
};

struct mm_struct___sums {
	struct mm_rss_stat rss_stat;
};

struct page_counter {
	struct {
		s64 counter;
	} usage;
	unsigned long high;
	unsigned long max;
	struct page_counter *parent;
};

struct mem_cgroup {
	struct {
	} css;
	struct page_counter memory;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	struct file *vm_file;
};

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long address;
};

#pragma clang attribute pop

#endif
