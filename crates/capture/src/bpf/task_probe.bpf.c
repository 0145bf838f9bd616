// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Passes of the probes that begin and end tasks. The cookie of a probe's link is its number << 2, + enum task_edge. */
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("uprobe")
int on_task_probe(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct control *control = controls();
	struct record_task_probe record = {};
	u64 cookie;

	if (!control || control->paused || !recorded(task))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	set_header(&record.h, RECORD_TASK_PROBE, sizeof(record), tid_of(task), bpf_ktime_get_ns());
	record.tgid = tgid_of(task);
	record.probe = cookie >> 2;
	record.end = cookie & 3;
	write_record(&record, sizeof(record), TASK_PROBES_LOST);
	return 0;
}
