// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* How every thread stands at one instant: for `dwell top`, run by user space, without a hook anywhere. */
#include "registers.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

static __always_inline u32 flags_of(struct task_struct *task)
{
	u32 flags = 0;

	if (task->on_cpu)
		flags |= TASK_IS_ON_CPU;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		flags |= TASK_IS_IOWAIT;
	if (task->flags & PF_KTHREAD)
		flags |= TASK_IS_KERNEL_THREAD;
	return flags;
}

/* A thread that runs user code has its last call's registers, and none. */
static __always_inline void read_call(struct task_struct *task, struct task_snapshot *snapshot)
{
	struct pt_regs regs; /* as of user space: its layout is the same in all kernels */

	/* One read of them all: there is one for each thread of the machine. */
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (const void *)bpf_task_pt_regs(task)))
		return;
	snapshot->syscall = (s32)regs.orig_ax;
	snapshot->arguments[0] = regs.di;
	snapshot->arguments[1] = regs.si;
	snapshot->arguments[2] = regs.dx;
}

SEC("iter/task")
int snapshot(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_snapshot snapshot = {.syscall = -1};

	if (!task || task->exit_state)
		return 0;
	snapshot.tid = own_number(task, false);
	if (!snapshot.tid || !is_in_scope(task))
		return 0;
	snapshot.pid = own_number(task, true);
	if (task->real_parent)
		snapshot.parent = own_number(task->real_parent, true);
	snapshot.started_ns = task->start_time;
	snapshot.running_ns = task->se.sum_exec_runtime;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		snapshot.runnable_ns = task->sched_info.run_delay;
	snapshot.switches = task->nvcsw + task->nivcsw;
	snapshot.state = task->__state;
	snapshot.flags = flags_of(task);
	if (!(snapshot.flags & (TASK_IS_ON_CPU | TASK_IS_KERNEL_THREAD)))
		read_call(task, &snapshot);
	bpf_probe_read_kernel(snapshot.comm, sizeof(snapshot.comm), task->comm);
	snapshot.time_ns = bpf_ktime_get_ns();
	bpf_seq_write(ctx->meta->seq, &snapshot, sizeof(snapshot));
	return 0;
}

/* Of each thread that is off its CPU and has user code: where that stands. Run when stacks are asked for, not at each look. */
SEC("iter/task")
int registers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct record_registers record = {};
	struct pt_regs regs;

	if (!task || task->on_cpu || !task->mm || (task->flags & (PF_EXITING | PF_KTHREAD)))
		return 0;
	record.h.tid = own_number(task, false);
	if (!record.h.tid || !is_in_scope(task))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (const void *)bpf_task_pt_regs(task)) || !regs.ip)
		return 0;
	set_registers(&record, &regs);
	record.tgid = own_number(task, true);
	record.switches = task->nvcsw + task->nivcsw;
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}
