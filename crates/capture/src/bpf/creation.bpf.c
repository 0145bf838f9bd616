// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * Calls that initialise a lock, such as pthread_mutex_init(lock): where the lock was created. The stack of each place is copied
 * once, and walked by user space: a walk here would take the verifier longer than all else at the start of a collection.
 */
#include "stack.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A pass of a probe costs a program about a microsecond, a stack some more. Programs may pass on one CPU as often as this at once,
 * as they do when they fill a table of locks, and then once in PASS_NS. Beyond that no pass is recorded, and user space takes the
 * probes away. */
#define MOST_AT_ONCE 10000
#define PASS_NS      2000000ull

/* The passes of whatever program on a CPU that are not forgotten yet: one is forgotten in PASS_NS. */
struct creation_pace {
	u64 since_ns;
	u64 passes;
};

PER_CPU(struct creation_pace, pace)

/* Whether there were too many. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} too_many_creations SEC(".maps");

static __always_inline bool are_too_many(u64 now)
{
	struct creation_pace *pace = this_pace();
	u32 zero = 0, yes = 1;
	u64 forgotten;

	if (!pace)
		return true;
	forgotten = (now - pace->since_ns) / PASS_NS;
	pace->since_ns += forgotten * PASS_NS;
	pace->passes -= forgotten < pace->passes ? forgotten : pace->passes;
	if (++pace->passes <= MOST_AT_ONCE)
		return false;
	bpf_map_update_elem(&too_many_creations, &zero, &yes, BPF_ANY);
	return true;
}

/* A place where a program initialises locks. */
struct place {
	u32 tgid;
	u32 generation;
	u64 caller;
	u64 sp;
};

/* The key of each place's stack. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct place);
	__type(value, u64);
} creation_places SEC(".maps");

/* The function and its caller alone: programs that start create more locks than stacks can be copied. */
static __always_inline u64 callers(struct task_struct *task, struct pt_regs *regs, u64 caller)
{
	struct unwind_scratch *scratch = this_stack();

	if (!scratch)
		return 0;
	scratch->stack.frames[0] = regs->ip;
	scratch->stack.frames[1] = caller;
	scratch->hash = mix(mix(0, regs->ip), caller);
	scratch->stack.count = 2;
	scratch->stack.flags = 0;
	scratch->stack.end = UNWIND_TOO_DEEP;
	return publish_stack(tid_of(task), task->tgid, task->mm->start_stack, 0);
}

static __always_inline u64 stack_of(struct task_struct *task, struct pt_regs *regs)
{
	struct place place = {.tgid = task->tgid, .generation = generation(), .sp = regs->sp};
	u64 *known, key;

	bpf_probe_read_user(&place.caller, sizeof(place.caller), (void *)regs->sp);
	known = bpf_map_lookup_elem(&creation_places, &place);
	if (known)
		return *known;
	key = copy_stack(UNWIND_COMPLETE, task->mm->start_stack);
	if (!key)
		return callers(task, regs, place.caller);
	bpf_map_update_elem(&creation_places, &place, &key, BPF_ANY);
	return key;
}

SEC("uprobe")
int on_creation(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct control *control = controls();
	u64 now = bpf_ktime_get_ns();
	struct record_creation record = {};
	bool too_many = are_too_many(now);

	if (!control || control->paused || !recorded(task))
		return 0;
	record.user_stack = too_many ? 0 : stack_of(task, (struct pt_regs *)bpf_task_pt_regs(task));
	if (!record.user_stack) {
		count_loss(CREATIONS_LOST);
		return 0;
	}
	set_header(&record.h, RECORD_CREATION, sizeof(record), tid_of(task), now);
	record.tgid = tgid_of(task);
	record.address = ctx->di;
	write_record(&record, sizeof(record), CREATIONS_LOST);
	return 0;
}
