// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Who ends a wait: noted with the woken thread, and written when it comes back to a CPU. */
#include "answer.bpf.h"
#include "futex_vector.bpf.h"
#include "io_quota.bpf.h"
#include "switch.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* include/linux/preempt.h: bits of the preempt count. */
#define SOFTIRQ_SERVING 0x00000100
#define HARDIRQ_MASK    0x000f0000
#define NMI_MASK        0x00f00000

/*
 * The preempt count is a per-CPU variable that the BPF helpers reach only on kernels whose symbol table has data. But the
 * kernel's types tell how far it lies from the CPU's run queue, and the current task points to that.
 */
static __always_inline u8 waker_context(struct task_struct *current, struct control *control)
{
	/* The verifier adds no number to what it knows to be a run queue: its address is read. */
	u64 rq = long_at((void *)current->se.cfs_rq + bpf_core_field_offset(struct cfs_rq, rq));
	int count = 0;

	if (control->has_preempt_count && rq)
		count = int_at((void *)(rq + control->preempt_count_offset));
	if (count & (HARDIRQ_MASK | NMI_MASK))
		return WAKER_HARDIRQ;
	if (count & SOFTIRQ_SERVING)
		return WAKER_SOFTIRQ;
	if (!current->pid)
		return WAKER_IDLE;
	return current->flags & PF_KTHREAD ? WAKER_KERNEL_THREAD : WAKER_TASK;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = recorded(task), *waker;
	struct control *control = controls();

	if (!HAS(EVERYTHING) || !thread || !control || control->paused)
		return 0;
	thread->wake_time_ns = bpf_ktime_get_ns();
	thread->waker_tid = tid_of(current);
	thread->waker_cpu = bpf_get_smp_processor_id();
	thread->waker_context = HAS(WAKER) ? waker_context(current, control) : WAKER_TASK;
	thread->waker_syscall = -1;
	thread->waker_stack = 0;
	if (HAS(WAKER) && was_held_by_quota(task, thread->out_time_ns, thread->wake_time_ns))
		thread->waker_context = WAKER_IO_QUOTA;
	if (thread->waker_context == WAKER_SOFTIRQ && in_call_on_loopback(current, current_syscall(current)))
		thread->waker_context = WAKER_TASK;
	if (thread->waker_context != WAKER_TASK)
		return 0;
	thread->waker_syscall = current_syscall(current);
	if (thread->waker_syscall == SYSCALL_FUTEX || thread->waker_syscall == SYSCALL_FUTEX_WAKE)
		note_woken_futex(current, thread->waker_syscall, task, thread->wake_time_ns);
	waker = recorded(current);
	if (waker)
		thread->waker_stack = take_user_stack(current, waker, last_stack(current, WAKING));
	else
		thread->waker_context = sender_context(current, thread->waker_syscall);
	return 0;
}
