// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * The heart: a context switch tells who leaves the CPU, why and on what, and who comes back and by whom it was woken.
 * One record for both sides.
 */
#include "switch.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline void set_in(struct record_switch *record, struct task_struct *task, struct thread *thread)
{
	u64 pending = task->pending.signal.sig[0] | task->signal->shared_pending.signal.sig[0];

	record->next_tid = task->pid;
	record->wake_time_ns = thread->wake_time_ns;
	record->waker_tid = thread->waker_tid;
	record->waker_stack = thread->waker_stack;
	record->waker_syscall = thread->waker_syscall;
	record->waker_context = thread->waker_context;
	if (pending & ~task->blocked.sig[0])
		record->flags |= SWITCH_SIGNAL_PENDING;
	thread->wake_time_ns = 0;
	thread->waker_stack = 0;
	thread->waker_context = WAKER_NONE;
}

/* The system call tells the reason of most waits; kernel stacks, the dear part, are for the others. */
static __always_inline bool needs_kernel_stack(u32 state, u8 class, struct control *control)
{
	return control->kernel_stacks_for_all || (state & STATE_UNINTERRUPTIBLE) || class == CALL_OTHER;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct thread *out = recorded(prev), *in = recorded(next);
	struct control *control = controls();
	struct record_switch record = {};
	struct wait_target target = {};
	u32 state = prev_state & STATE_MASK;

	if (!control || control->paused)
		return 0;
	if (!out) {
		barrier_var(in);        /* or the compiler tests the two pointers as one, which the verifier refuses */
		if (!in)
			return 0;
	}
	set_header(&record.h, RECORD_SWITCH, sizeof(record), 0, bpf_ktime_get_ns());
	record.cpu = bpf_get_smp_processor_id();
	record.flags = preempt ? SWITCH_PREEMPTED : 0;
	record.syscall = -1;
	record.waker_syscall = -1;
	if (out) {
		record.h.tid = prev->pid;
		if (preempt)
			state = 0;
		set_out(&record, prev, state, true, &target);
		if (state & STATE_DEAD) {
			write_thread_exit(prev, record.h.time_ns);
		} else {
			if (control->user_stacks)
				record.user_stack = take_user_stack(prev, state ? &out->out : &out->waking);
			if (state && needs_kernel_stack(state, target.class, control))
				record.kernel_stack = take_kernel_stack(ctx, prev);
		}
	}
	if (in)
		set_in(&record, next, in);
	write_record(&record, sizeof(record), LOSS_SWITCH);
	return 0;
}
