/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Stacks: taken into a buffer of the CPU, hashed, and written to the ring the first time that they are seen. What
 * travels with every event is the 64-bit key. The key covers the address space, so that equal addresses of two
 * processes, or of two programs of one process, are two stacks. A stack whose walk does not get through is copied, as
 * far as COPY_PIECES reach and no more often than copy_paces allows, and walked by user space.
 */
#ifndef DWELL_STACK_BPF_H
#define DWELL_STACK_BPF_H

#include "interpreters.bpf.h"
#include "ids.bpf.h"
#include "registers.bpf.h"

/* One buffer for each program: they can interrupt one another on a CPU. */
PER_CPU(struct unwind_scratch, stack)

/*
 * Gives the stack in this program's buffer its key, and writes it when it is new. `script` is the hash of the script's
 * frames in their buffer, 0 when there are none. Returns the key, 0 for none. A global function, so that the verifier
 * looks at it once and not at every call.
 */
__noinline u64 publish_stack(u32 tid, u32 tgid, u64 space, u64 script)
{
	struct unwind_scratch *scratch = this_stack();
	u32 count, size;
	u64 key;

	if (!scratch)
		return 0;
	count = scratch->stack.count;
	if (count == 0 || count > DWELL_MAX_FRAMES)
		return 0;
	key = mix(mix(mix(space ^ script, tgid), scratch->hash), count << 8 | scratch->stack.end);
	if (key == 0)
		key = 1;
	if (is_seen(key))
		return key;
	if (script)
		publish_script(key, tid, tgid);
	size = sizeof(scratch->stack) - sizeof(scratch->stack.frames) + count * sizeof(u64);
	set_header(&scratch->stack.h, RECORD_STACK, size, tid, bpf_ktime_get_ns());
	scratch->stack.key = key;
	scratch->stack.tgid = tgid;
	if (!write_record(&scratch->stack, AT_MOST(size, sizeof(scratch->stack)), STACKS_LOST))
		return 0;
	set_seen(key);
	return key;
}

/* The stack of a thread is copied up to this size, in pieces that end with a page of its memory. */
#define COPY_PIECES 7
#define COPY_PIECE  4096

struct stack_copy {
	struct record_registers registers;
	u8 bytes[COPY_PIECES * COPY_PIECE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_copy);
} copy_buffer SEC(".maps");

/* When the next copy may be made: a rule that needs one is worth more of them than a missing table, which is missing for
 * good in the code of most JIT compilers. */
struct copy_pace {
	u64 rule_ns;
	u64 other_ns;
	u64 place_ns; /* of places that are not walked here at all */
	u64 young_ns; /* of young processes, whose tables are still being made: many live no longer than that */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct copy_pace);
} copy_paces SEC(".maps");

#define COPY_RULE_NS     2000000ull
#define COPY_OTHER_NS    20000000ull
#define COPY_YOUNG_NS    250000ull
#define YOUNG_FOR_NS     1000000000ull
#define COPY_BURST       16
#define COPY_YOUNG_BURST 64 /* of young processes: their stacks are short */

static __always_inline bool may_copy(u64 *next_ns, u64 interval_ns, u64 burst, u64 now)
{
	u64 next = *next_ns > now ? *next_ns : now;

	if (next > now + burst * interval_ns)
		return false;
	*next_ns = next + interval_ns;
	return true;
}

/* Whether the pace admits another copy of the stack of `task`, whose walk came to `end`. */
static __always_inline bool may_copy_again(struct copy_pace *pace, u32 end, struct task_struct *task, u64 now)
{
	if (end == UNWIND_BAD_RULE)
		return may_copy(&pace->rule_ns, COPY_RULE_NS, COPY_BURST, now);
	if (now - task->group_leader->start_time < YOUNG_FOR_NS)
		return may_copy(&pace->young_ns, COPY_YOUNG_NS, COPY_YOUNG_BURST, now);
	return may_copy(&pace->other_ns, COPY_OTHER_NS, COPY_BURST, now);
}

/* Bytes of the stack from `sp` on that could be read into the copy. */
__noinline u32 copy_pieces(struct stack_copy *copy, u64 sp)
{
	u32 first = COPY_PIECE - (sp & (COPY_PIECE - 1)), at, i;

	if (!copy || bpf_probe_read_user(copy->bytes, first, (void *)sp))
		return 0;
	for (i = 0; i < COPY_PIECES - 1; i++) {
		at = first + i * COPY_PIECE;
		if (at > sizeof(copy->bytes) - COPY_PIECE)
			break;
		if (bpf_probe_read_user(copy->bytes + at, COPY_PIECE, (void *)(sp + at)))
			return at;
	}
	return first + i * COPY_PIECE;
}

/*
 * Asks user space to walk the current thread's stack, whose walk here came to `end`, or UNWIND_COMPLETE where none was tried: who
 * asks so does without. Returns the stack's key to be.
 */
__noinline u64 copy_stack(u32 end, u64 space)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0, bytes;
	u64 size;
	struct stack_copy *copy = bpf_map_lookup_elem(&copy_buffer, &zero);
	struct copy_pace *pace = bpf_map_lookup_elem(&copy_paces, &zero);
	u64 now = bpf_ktime_get_ns();
	bool is_asked = end != UNWIND_COMPLETE;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!copy || !pace)
		return 0;
	if (!is_asked) {
		if (!may_copy(&pace->place_ns, COPY_RULE_NS, COPY_BURST, now))
			return 0;
	} else if (!may_copy_again(pace, end, task, now)) {
		count_loss(STACK_COPIES_SKIPPED);
		return 0;
	}
	set_registers(&copy->registers, regs);
	bytes = copy_pieces(copy, regs->sp) & ~7u;
	size = sizeof(copy->registers) + bytes;
	set_header(&copy->registers.h, RECORD_STACK_COPY, size, tid_of(task), now);
	copy->registers.key = mix(mix(space, tid_of(task)), now) | 1ull << 63;
	copy->registers.switches = 0;
	copy->registers.thread_pointer = 0;
	copy->registers.tgid = tgid_of(task);
	copy->registers.bytes = bytes;
	return write_record(copy, AT_MOST(size, sizeof(*copy)), STACKS_LOST) ? copy->registers.key : 0;
}

static __always_inline u64 take_kernel_stack(void *ctx, struct task_struct *task)
{
	struct unwind_scratch *scratch = this_stack();
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
	return publish_stack(tid_of(task), 0, 0, 0);
}

/* When a thread's stack is taken: it is mostly the one of the last time. */
enum occasion {
	LEAVING = 0, /* the CPU */
	WAKING = 1,  /* another thread, or preempted, often for that one */
	SAMPLED = 2, /* by the clock */
	SENDING = 3, /* what TCP holds back */
	OCCASIONS = 4,
};

#define REMEMBERED_THREADS 4096 /* a power of two */

/*
 * The last stacks of the threads, by the lowest bits of their ids. Two that share a row lose what is remembered, no more: it
 * says of which registers and words it is. In the threads' storage it would make their births expensive.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REMEMBERED_THREADS *OCCASIONS);
	__type(key, u32);
	__type(value, struct unwind_memory);
} last_stacks SEC(".maps");

static __always_inline struct unwind_memory *last_stack(struct task_struct *task, enum occasion occasion)
{
	u32 row = (task->pid & (REMEMBERED_THREADS - 1)) * OCCASIONS + occasion;

	return bpf_map_lookup_elem(&last_stacks, &row);
}

/*
 * The stack of the current thread's user code, by unwind tables, with its frames of a script. `memory` is of the thread: where
 * it stood the last time that this program asked, so that a thread which blocks again at the same place is not walked
 * again. The same native stack may be another function of a script: it is remembered with the hash of the script's frames, and
 * with the generation, so that its description is written again in the next one.
 */
static __always_inline u64 take_user_stack(struct task_struct *task, struct thread *thread,
					   struct unwind_memory *memory)
{
	struct unwind_scratch *scratch = this_stack();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 space = task->mm->start_stack, script, key, told;

	if (!HAS(STACK) || !scratch)
		return 0;
	scratch->stack.flags = 0;
	unwind_begin(scratch, regs);
	script = HAS(SCRIPTS) ? take_script_frames(task, thread, space) : 0;
	told = (space ^ script) + generation();
	key = HAS(RECALL) ? unwind_recall(scratch, memory, told) : 0;
	if (key)
		return key;
	if (unwind_walk(tgid_of(task), scratch) <= 0) {
		count_loss(USER_STACKS_EMPTY);
		return 0;
	}
	if (script)
		place_script_frames(scratch);
	/* Where the kernel began the stack nobody called: the first instructions of a program have no unwind information. A thread
	 * that exits has left its code for good, and its memory is gone. */
	if (scratch->sp == space || !space)
		scratch->stack.end = UNWIND_COMPLETE;
	if (scratch->stack.end != UNWIND_COMPLETE && scratch->stack.end != UNWIND_TOO_DEEP) {
		key = copy_stack(scratch->stack.end, space);
		if (key && script)
			publish_script(key, tid_of(task), tgid_of(task));
		if (key)
			return key;
	}
	key = publish_stack(tid_of(task), tgid_of(task), space, script);
	if (key)
		unwind_remember(scratch, memory, told, key);
	return key;
}

#endif
