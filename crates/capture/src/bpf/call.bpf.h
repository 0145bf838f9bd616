/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Whether a thread that blocks in futex(2) is still in the call in which it blocked the last time: a lock that wakes it and
 * is taken by another thread meanwhile makes it wait again without returning. Then the registers that calls preserve and
 * what its functions saved on the stack are the same bytes; a program that has come back to the call has mostly changed one.
 */
#ifndef DWELL_CALL_BPF_H
#define DWELL_CALL_BPF_H

#include "lock.bpf.h"

/* What a lock's own functions save, and a part of their caller's frame. */
#define CALL_WORDS 24

struct call_top {
	u64 words[CALL_WORDS];
};

PER_CPU(struct call_top, call)

/* The multiplications do not wait for one another: this runs at each wait for a lock. */
#define CALL_FACTOR(place) (0x9e3779b97f4a7c15ull * (2 * (place) + 1))

/* A global function, so that the verifier looks at it once. */
__noinline u64 hash_stack_top(u64 sp)
{
	struct call_top *top = this_call();
	u64 sum = sp;

	if (!top || bpf_probe_read_user(top, sizeof(*top), (void *)sp))
		return 0;
#pragma unroll
	for (int i = 0; i < CALL_WORDS; i++)
		sum += top->words[i] * CALL_FACTOR(i);
	return sum;
}

/* Whether a waiter that expects this in the futex waits for a lock which several threads want: 2 and 3 of glibc's and Rust's
 * locks, a word with an owner in it of musl's and robust ones. */
static __always_inline bool expects_lock(u32 expected)
{
	return (expected | 1) == RWLOCK_WRITTEN || (expected & FUTEX_WAITERS);
}

/* Whether `task`, the current one, blocks on the futex `object`, a lock, in the same call as the last time. `detail` is that of
 * a record_switch. */
static __always_inline bool is_same_call(struct task_struct *task, struct thread *thread, u64 object, u64 detail)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 call, last = thread->call;

	if (!expects_lock(detail >> 32))
		return false;
	call = hash_stack_top(regs->sp);
	if (!call)
		return false;
	call += regs->bx * CALL_FACTOR(CALL_WORDS) + regs->bp * CALL_FACTOR(CALL_WORDS + 1);
	call += regs->r12 * CALL_FACTOR(CALL_WORDS + 2) + regs->r13 * CALL_FACTOR(CALL_WORDS + 3);
	call += regs->r14 * CALL_FACTOR(CALL_WORDS + 4) + regs->r15 * CALL_FACTOR(CALL_WORDS + 5);
	call = mix(call, object);
	thread->call = call;
	return call == last;
}

#endif
