// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Where a program asks for work that other threads will do: the library calls dwell_itt_stack_caller(id) there. */
#include "stack.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A thread asks from few places, in turns: each keeps the stack that it had the last time. */
struct place {
	u32 tid;
	u32 reserved;
	u64 sp;
	u64 bp;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct place);
	__type(value, struct unwind_memory);
} places SEC(".maps");

static const struct unwind_memory nothing;

static __always_inline struct unwind_memory *memory_of(struct task_struct *task, struct pt_regs *regs)
{
	struct place place = {.tid = task->pid, .sp = regs->sp, .bp = regs->bp};
	struct unwind_memory *memory = bpf_map_lookup_elem(&places, &place);

	if (memory)
		return memory;
	bpf_map_update_elem(&places, &place, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&places, &place);
}

SEC("uprobe")
int on_stack_caller(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = recorded(task);
	struct control *control = controls();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct record_stitch record = {};
	struct unwind_memory *memory;

	if (!control || control->paused || !thread)
		return 0;
	memory = memory_of(task, regs);
	if (!memory)
		memory = last_stack(task, WAKING);
	set_header(&record.h, RECORD_STITCH, sizeof(record), tid_of(task), bpf_ktime_get_ns());
	record.tgid = tgid_of(task);
	record.id = regs->di;
	record.user_stack = take_user_stack(task, thread, memory);
	write_record(&record, sizeof(record), STITCHES_LOST);
	return 0;
}
