// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* System calls of the whole machine, counted: the one number of it that /proc does not tell. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} system_calls SEC(".maps");

SEC("raw_tp/sys_enter")
int on_system_call(void *ctx)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&system_calls, &zero);

	if (count)
		++*count;
	return 0;
}
