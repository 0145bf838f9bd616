/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Why a thread leaves the CPU, as its state and its saved registers tell. Needs no map.
 */
#ifndef DWELL_TASK_STATE_BPF_H
#define DWELL_TASK_STATE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define DWELL_SYSCALLS 512

#define STATE_INTERRUPTIBLE 1
#define STATE_MASK          0xff /* the other bits are hints such as TASK_FREEZABLE */
#define PF_EXITING          0x4
#define PF_KTHREAD          0x200000

/* The system call that `task` is in, -1 when an interrupt or a fault took it out of user code. */
static __always_inline s32 current_syscall(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	s64 number = regs->orig_ax;

	return number < 0 || number >= DWELL_SYSCALLS ? -1 : number;
}

/* The state in which `prev` leaves the CPU, in a program of sched_switch: 0 = it could run on. The kernel passes it since
 * Linux 5.18, because a wake-up on another CPU may change the thread's own meanwhile. */
static __always_inline u32 left_state(const u64 *ctx, struct task_struct *prev)
{
	u32 state = bpf_core_type_matches(btf_trace_sched_switch) ? ctx[3] : prev->__state;

	return state & STATE_MASK;
}

#endif
