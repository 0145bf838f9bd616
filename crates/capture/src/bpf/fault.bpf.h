/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The file whose page a blocked thread needs. The kernel describes a page fault on its stack, below the saved registers, and nothing
 * points there (struct vm_fault, include/linux/mm.h). It is found by what it says: a mapping of this thread's memory, and a page in that.
 * A hook at each fault would cost those that never wait; here only they are looked at that do.
 */
#ifndef DWELL_FAULT_BPF_H
#define DWELL_FAULT_BPF_H

#include "file.bpf.h"
#include "vmlinux_memory.h"

#define FAULT_WORDS \
	192 /* of the stack below the registers: more than the functions from there to __handle_mm_fault take */
#define FAULT_MEMBERS 8 /* words of the description that are looked at */
#define PAGE_BITS     12

struct fault_stack {
	u64 words[FAULT_WORDS + FAULT_MEMBERS];
	u64 registers; /* where they are saved */
	u64 memory;    /* struct mm_struct of the thread */
};

struct fault_search {
	struct fault_stack *stack;
	struct vm_area_struct *mapping; /* NULL = not found */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fault_stack);
} fault_buffer SEC(".maps");

/* Whether the description of a fault begins at word `at`. Returns 1 at the end: where it does. */
static long look_for_fault(u64 at, struct fault_search *search)
{
	struct fault_stack *stack = search->stack;
	u64 address_at = bpf_core_field_offset(struct vm_fault, address) / sizeof(u64);
	struct vm_area_struct *mapping;
	u64 address;

	if (!IS_AT_MOST(at, FAULT_WORDS - 1) || !IS_AT_MOST(address_at, FAULT_MEMBERS - 1))
		return 1;
	mapping = (struct vm_area_struct *)stack->words[AT_MOST(at, FAULT_WORDS - 1)];
	address = stack->words[AT_MOST(at, FAULT_WORDS - 1) + AT_MOST(address_at, FAULT_MEMBERS - 1)];
	if ((s64)mapping >= 0 || (s64)address <= 0 || address & ((1 << PAGE_BITS) - 1))
		return 0;
	if ((u64)BPF_CORE_READ(mapping, vm_mm) != stack->memory)
		return 0;
	if (address < BPF_CORE_READ(mapping, vm_start) || address >= BPF_CORE_READ(mapping, vm_end))
		return 0;
	search->mapping = mapping;
	return 1;
}

/* Of what lies in this CPU's buffer. A global function, so that the verifier looks at it once. */
__noinline u64 described_file(u32 tid, u32 tgid)
{
	u32 zero = 0;
	struct fault_stack *stack = bpf_map_lookup_elem(&fault_buffer, &zero);
	struct fault_search search = {.stack = stack};
	struct vm_area_struct *mapping;

	if (!stack)
		return 0;
	if (bpf_probe_read_kernel(stack->words, sizeof(stack->words[0]) * FAULT_WORDS,
				  (void *)(stack->registers - sizeof(stack->words[0]) * FAULT_WORDS)))
		return 0;
	REPEAT(FAULT_WORDS, FAULT_WORDS, look_for_fault, &search);
	mapping = search.mapping;
	return mapping ? file_object((u64)BPF_CORE_READ(mapping, vm_file), -1, tid, tgid) : 0;
}

/* The key of the file that is mapped where `task` faults; describes it when it is new. 0 = it is no file's page. */
static __always_inline u64 faulting_file(struct task_struct *task)
{
	u32 zero = 0;
	struct fault_stack *stack = bpf_map_lookup_elem(&fault_buffer, &zero);

	if (!stack || !bpf_core_type_exists(struct vm_fault))
		return 0;
	stack->registers = (u64)bpf_task_pt_regs(task);
	stack->memory = (u64)task->mm;
	return described_file(tid_of(task), tgid_of(task));
}

#endif
