// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Where a program asks for work that other threads will do: the library calls dwell_itt_stack_caller(id) there. */
#include "stack.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("uprobe")
int on_stack_caller(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = recorded(task);
	struct control *control = controls();
	struct record_stitch record = {};

	if (!control || control->paused || !thread)
		return 0;
	set_header(&record.h, RECORD_STITCH, sizeof(record), task->pid, bpf_ktime_get_ns());
	record.tgid = task->tgid;
	record.id = ((struct pt_regs *)bpf_task_pt_regs(task))->di;
	record.user_stack = take_user_stack(task, thread, &thread->waking);
	write_record(&record, sizeof(record), LOSS_STITCH);
	return 0;
}
