// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Where running threads are, by the CPU clock of perf. */
#include "switch.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = recorded(task);
	struct control *control = controls();
	struct record_sample record = {};

	if (!control || control->paused || !thread)
		return 0;
	if (!thread->on_cpu)
		write_unseen_in(task, thread, bpf_ktime_get_ns() - control->period_ns);
	set_header(&record.h, RECORD_SAMPLE, sizeof(record), tid_of(task), bpf_ktime_get_ns());
	record.cpu = bpf_get_smp_processor_id();
	record.period_ns = control->period_ns;
	record.in_kernel = (ctx->regs.cs & 3) == 0;
	record.kernel_stack = record.in_kernel ? take_kernel_stack(ctx, task) : 0;
	record.user_stack = take_user_stack(task, thread, last_stack(task, SAMPLED));
	write_record(&record, sizeof(record), SAMPLES_LOST);
	note_urgency(task);
	return 0;
}
