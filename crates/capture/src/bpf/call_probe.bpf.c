// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* System calls at which intervals begin or end, of profiled threads. */
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MOST_AT_A_CALL 4

/* For each: its probe's number << 2, + enum task_edge, all that + 1; 0 = none. */
struct call_probes {
	u64 cookies[MOST_AT_A_CALL];
};

/* The key is the call's number << 1, + 1 for its end. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct call_probes);
} call_probes SEC(".maps");

static __always_inline int pass(struct task_struct *task, u32 key)
{
	struct call_probes *probes = bpf_map_lookup_elem(&call_probes, &key);
	struct control *control = controls();
	u64 now = bpf_ktime_get_ns();

	if (!probes || !control || control->paused || !recorded(task))
		return 0;
	for (int at = 0; at < MOST_AT_A_CALL; at++) {
		struct record_task_probe record = {};
		u64 cookie = probes->cookies[at];

		if (!cookie)
			break;
		set_header(&record.h, RECORD_TASK_PROBE, sizeof(record), tid_of(task), now);
		record.tgid = tgid_of(task);
		record.probe = (cookie - 1) >> 2;
		record.end = (cookie - 1) & 3;
		write_record(&record, sizeof(record), TASK_PROBES_LOST);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call_probe, struct pt_regs *regs, long number)
{
	return pass(bpf_get_current_task_btf(), number << 1);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_end_probe, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);

	return pass(task, (u32)registers->orig_ax << 1 | 1);
}
