/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Stacks: taken into a buffer of the CPU, hashed, and written to the ring the first time that they are seen. What
 * travels with every event is the 64-bit key. The key covers the address space, so that equal addresses of two
 * processes, or of two programs of one process, are two stacks.
 */
#ifndef DWELL_STACK_BPF_H
#define DWELL_STACK_BPF_H

#include "record.bpf.h"

/* One buffer for each kind of program that can interrupt another on the same CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_stack);
} stack_buffer SEC(".maps");

static __always_inline struct record_stack *this_stack_buffer(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&stack_buffer, &zero);
}

/*
 * Gives the stack in this program's buffer its key, and writes it when it is new. Returns the key, 0 for none. A global
 * function, so that the verifier looks at it once and not at every call.
 */
__noinline u64 publish_stack(u32 tid, u32 tgid, u64 space)
{
	struct record_stack *stack = this_stack_buffer();
	u64 key = mix(space, tgid);
	u32 count, size, i;

	if (!stack)
		return 0;
	count = stack->count;
	if (count == 0)
		return 0;
	for (i = 0; i < DWELL_MAX_FRAMES; i++) {
		if (i >= count)
			break;
		key = mix(key, stack->frames[i]);
	}
	key = mix(key, stack->end);
	if (key == 0)
		key = 1;
	if (is_seen(key))
		return key;
	if (count > DWELL_MAX_FRAMES)
		return 0;
	size = sizeof(*stack) - sizeof(stack->frames) + count * sizeof(u64);
	set_header(&stack->h, RECORD_STACK, size, tid, bpf_ktime_get_ns());
	stack->key = key;
	stack->tgid = tgid;
	if (!write_record(stack, size, LOSS_STACK))
		return 0;
	set_seen(key);
	return key;
}

static __always_inline u64 take_kernel_stack(void *ctx, struct task_struct *task)
{
	struct record_stack *stack = this_stack_buffer();
	long bytes;

	if (!stack)
		return 0;
	bytes = bpf_get_stack(ctx, stack->frames, sizeof(stack->frames), 0);
	if (bytes <= 0)
		return 0;
	stack->count = bytes / sizeof(u64);
	stack->flags = STACK_KERNEL;
	stack->end = 1;
	return publish_stack(task->pid, 0, 0);
}

static __always_inline u64 take_user_stack(void *ctx, struct task_struct *task)
{
	struct record_stack *stack = this_stack_buffer();
	long bytes;

	if (!stack)
		return 0;
	bytes = bpf_get_stack(ctx, stack->frames, sizeof(stack->frames), BPF_F_USER_STACK);
	if (bytes <= 0) {
		count_loss(LOSS_USER_STACK_EMPTY);
		return 0;
	}
	stack->count = bytes / sizeof(u64);
	stack->flags = 0;
	stack->end = 0;
	return publish_stack(task->pid, task->tgid, BPF_CORE_READ(task, mm, start_stack));
}

#endif
