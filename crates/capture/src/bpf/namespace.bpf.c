// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* How deep the pid namespace of whoever runs this lies below the first one, which nothing in the namespace tells. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} level SEC(".maps");

SEC("iter/task")
int find_level(struct bpf_iter__task *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 zero = 0, found = BPF_CORE_READ(task, thread_pid, level);

	bpf_map_update_elem(&level, &zero, &found, BPF_ANY);
	return 0;
}
