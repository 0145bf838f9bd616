/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Stacks: taken into a buffer of the CPU, hashed, and written to the ring the first time that they are seen. What
 * travels with every event is the 64-bit key. The key covers the address space, so that equal addresses of two
 * processes, or of two programs of one process, are two stacks.
 */
#ifndef DWELL_STACK_BPF_H
#define DWELL_STACK_BPF_H

#include "record.bpf.h"

/* One buffer for each program: they can interrupt one another on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_scratch);
} stack_buffer SEC(".maps");

static __always_inline struct unwind_scratch *this_stack_buffer(void)
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
	struct unwind_scratch *scratch = this_stack_buffer();
	u32 count, size;
	u64 key;

	if (!scratch)
		return 0;
	count = scratch->stack.count;
	if (count == 0 || count > DWELL_MAX_FRAMES)
		return 0;
	key = mix(mix(mix(space, tgid), scratch->hash), count << 8 | scratch->stack.end);
	if (key == 0)
		key = 1;
	if (is_seen(key))
		return key;
	size = sizeof(scratch->stack) - sizeof(scratch->stack.frames) + count * sizeof(u64);
	set_header(&scratch->stack.h, RECORD_STACK, size, tid, bpf_ktime_get_ns());
	scratch->stack.key = key;
	scratch->stack.tgid = tgid;
	if (!write_record(&scratch->stack, size, LOSS_STACK))
		return 0;
	set_seen(key);
	return key;
}

static __always_inline u64 take_kernel_stack(void *ctx, struct task_struct *task)
{
	struct unwind_scratch *scratch = this_stack_buffer();
	long bytes;
	u32 count, i;

	if (!scratch)
		return 0;
	bytes = bpf_get_stack(ctx, scratch->stack.frames, sizeof(scratch->stack.frames), 0);
	if (bytes <= 0)
		return 0;
	count = bytes / sizeof(u64);
	scratch->hash = 0;
	for (i = 0; i < DWELL_MAX_FRAMES && i < count; i++)
		scratch->hash = mix(scratch->hash, scratch->stack.frames[i]);
	scratch->stack.count = count;
	scratch->stack.flags = STACK_KERNEL;
	scratch->stack.end = UNWIND_COMPLETE;
	return publish_stack(task->pid, 0, 0);
}

/*
 * The stack of the current thread's user code, by unwind tables. `memory` is of the thread: where it stood the last time
 * that this program asked, so that a thread which blocks again at the same place is not walked again.
 */
static __always_inline u64 take_user_stack(struct task_struct *task, struct unwind_memory *memory)
{
	struct unwind_scratch *scratch = this_stack_buffer();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 space = task->mm->start_stack, key;

	if (!scratch)
		return 0;
	scratch->stack.flags = 0;
	unwind_begin(scratch, regs->ip, regs->sp, regs->bp);
	key = unwind_recall(scratch, memory, space);
	if (key)
		return key;
	if (unwind_walk(task->tgid, scratch) <= 0) {
		count_loss(LOSS_USER_STACK_EMPTY);
		return 0;
	}
	key = publish_stack(task->pid, task->tgid, space);
	if (key)
		unwind_remember(scratch, memory, space, key);
	return key;
}

#endif
