// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * The heart: a context switch tells who leaves the CPU, why and on what, and who comes back and by whom it was woken.
 * One record for both sides.
 */
#include "call.bpf.h"
#include "java.bpf.h"
#include "rival.bpf.h"
#include "switch.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The system call tells the reason of most waits; kernel stacks, the dear part, are for the others. A path alone does not
 * tell what of its file is awaited. */
static __always_inline bool needs_kernel_stack(u32 state, u8 class, struct control *control)
{
	return control->kernel_stacks_for_all || (state & STATE_UNINTERRUPTIBLE) || class == CALL_OTHER ||
	       class >= CALL_PATH;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *out = recorded(prev), *in = recorded(next);
	struct control *control = controls();
	struct wait_target target = {};
	struct record_switch *record;
	u32 state = preempt ? 0 : left_state(ctx, prev);

	if (!HAS(EVERYTHING) || !control || control->paused)
		return 0;
	if (!out) {
		u64 ran_ns = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;

		if (HAS(RIVALS) && prev->pid && ran_ns >= SHORT)
			note_slice(prev->tgid, ran_ns, bpf_ktime_get_ns());
		TEST_ALONE(in);
		if (!in)
			return 0;
	}
	record = new_switch(PLACE_SWITCH, bpf_ktime_get_ns());
	if (!record)
		return 0;
	record->flags = preempt ? SWITCH_PREEMPTED : 0;
	if (out) {
		u64 runtime_ns = prev->se.sum_exec_runtime;

		if (HAS(RIVALS))
			begin_slices(record->h.time_ns);
		if (out->running_since_ns) {
			out->runtime_base_ns = runtime_ns - (record->h.time_ns - out->running_since_ns);
			out->running_since_ns = 0;
		}
		if (!out->on_cpu)
			write_unseen_in(prev, out, record->h.time_ns - (runtime_ns - out->out_runtime_ns));
		out->on_cpu = 0;
		out->out_runtime_ns = runtime_ns;
		out->out_time_ns = record->h.time_ns;
		record->h.tid = tid_of(prev);
		set_out(record, prev, out, state, true, &target);
		if (state & STATE_DEAD) {
			write_thread_exit(prev, out, record->h.time_ns);
		} else {
			record->user_stack = take_user_stack(prev, out, last_stack(prev, state ? LEAVING : WAKING));
			if (record->syscall == SYSCALL_FUTEX && state && !(state & STATE_STOPPED)) {
				if (HAS(SAME_CALL) && is_same_call(prev, out, record->object, record->detail))
					record->flags |= SWITCH_SAME_CALL;
				if (HAS(GIL) && python_gil(prev, out, record->object, &record->owner_tid))
					record->flags |= SWITCH_GIL;
				else if (!(HAS(JAVA) && is_for_java_lock(control, prev, record)) && HAS(OWNER))
					record->owner_inner_tid = lock_owner(record->object, record->detail);
			}
			if (record->syscall == SYSCALL_FLOCK || record->syscall == SYSCALL_FCNTL) {
				record->owner_tid = state ? out->file_lock_owner : 0;
			}
			if (state && needs_kernel_stack(state, target.class, control))
				record->kernel_stack = take_kernel_stack(ctx, prev);
		}
	}
	if (in) {
		if (HAS(RIVALS) && !(in->mode & THREAD_LAUNCHING))
			note_rivals(ready_since(in), record->h.time_ns);
		if (in->on_cpu)
			write_unseen_out(next, in);
		set_in(record, next, in);
		note_urgency(next);
	}
	if (HAS(RECORD))
		write_record(record, sizeof(*record), SWITCHES_LOST);
	return 0;
}
