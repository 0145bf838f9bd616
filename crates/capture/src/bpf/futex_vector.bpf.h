/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Which of its futexes woke a thread from futex_waitv: the one that the waker's call names. Only the two threads' registers
 * tell, and only at the wake-up.
 */
#ifndef DWELL_FUTEX_VECTOR_BPF_H
#define DWELL_FUTEX_VECTOR_BPF_H

#include "switch.bpf.h"

#define FUTEX_WAITV_MAX 128 /* include/uapi/linux/futex.h */

struct vector_search {
	u64 vector; /* address of its struct futex_waitv */
	u64 count;
	u64 wanted[2]; /* addresses of futexes, 0 = none */
	u64 found;
};

static long look_at_futex(u64 index, struct vector_search *search)
{
	struct futex_waitv futex = {};

	if (index >= search->count)
		return 1;
	bpf_probe_read_user(&futex, sizeof(futex), (void *)(search->vector + index * sizeof(futex)));
	if (futex.uaddr && (futex.uaddr == search->wanted[0] || futex.uaddr == search->wanted[1])) {
		search->found = futex.uaddr;
		return 1;
	}
	return 0;
}

/* The current thread wakes `task` by `call`. Threads of two processes name a futex that they share by two addresses. */
static __always_inline void note_woken_futex(struct task_struct *current, s32 call, struct task_struct *task, u64 now)
{
	struct pt_regs *waker = (struct pt_regs *)bpf_task_pt_regs(current);
	struct pt_regs *woken = (struct pt_regs *)bpf_task_pt_regs(task);
	struct record_woken_futex record = {};
	struct vector_search search = {};

	if (current_syscall(task) != SYSCALL_FUTEX_WAITV || task->mm != current->mm)
		return;
	search.vector = woken->di;
	search.count = woken->si;
	search.wanted[0] = waker->di;
	if (call == SYSCALL_FUTEX && (waker->si & FUTEX_COMMANDS) == FUTEX_WAKE_OP)
		search.wanted[1] = waker->r8;
	REPEAT(FUTEX_WAITV_MAX, 16, look_at_futex, &search);
	if (!search.found)
		return;
	set_header(&record.h, RECORD_WOKEN_FUTEX, sizeof(record), tid_of(task), now);
	record.address = search.found;
	write_record(&record, sizeof(record), OBJECTS_LOST);
}

#endif
