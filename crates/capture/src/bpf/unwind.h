/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Walks a user stack by unwind tables, so that code without frame pointers gives whole stacks.
 *
 * Where no table covers an address (JIT code, a file mapped a moment ago), that step follows the frame pointer. Only rsp and
 * rbp are followed from frame to frame; the other registers are known where a thread stands and where a signal interrupted it.
 * A walk that needs more ends with UNWIND_BAD_RULE, and user space goes on (stack.bpf.h).
 *
 * A step is a global function, which the verifier checks once instead of once per frame. Its steps need Linux 5.15 (global
 * functions with pointers to memory, bpf_task_pt_regs). Memory is read without faults: a page that is not resident ends
 * the walk. Include after checked.bpf.h, wire.h and model.h.
 */
#ifndef DWELL_UNWIND_H
#define DWELL_UNWIND_H

#include "unwind_tables.h"

#define UNWIND_NOT_TO_BE_REMEMBERED (UNWIND_SLOTS + 1)
#define UNWIND_BP_OF_START          1

static __always_inline u64 unwind_mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

static __always_inline void unwind_note_read(struct unwind_scratch *scratch, u64 address, u64 value)
{
	u64 count = scratch->read_words, distance = address - scratch->start_sp;

	if (IS_INDEX(scratch->read, count) && !(distance & 7) && distance / 8 < UNWIND_REACH) {
		ITEM(scratch->read, count) = (u32)(distance / 8) | (u32)value << UNWIND_TAG_SHIFT;
		scratch->read_hash = unwind_mix(scratch->read_hash, value);
		scratch->read_words = count + 1;
	} else {
		scratch->read_words = UNWIND_NOT_TO_BE_REMEMBERED;
	}
}

/* Brings the stack from `address` on into the window; false near the end of the stack. */
static __always_inline bool unwind_read_window(struct unwind_scratch *scratch, u64 address)
{
	bool read = !bpf_probe_read_user(scratch->window, sizeof(scratch->window), (void *)address);

	scratch->window_start = read ? address : ~0ULL;
	return read;
}

/* A word of the stack that is not in the window, which moves there if it can. Returns 1, or 0 where nothing can be read. */
__noinline int unwind_peek_far(struct unwind_scratch *scratch, u64 address, u64 *value)
{
	if (!scratch || !value)
		return 0;
	if (!unwind_read_window(scratch, address))
		return !bpf_probe_read_user(value, 8, (void *)address);
	*value = scratch->window[0];
	return 1;
}

/* A word of the stack, by way of the window. `value` must have one already: the verifier wants that. */
static __always_inline bool unwind_peek(struct unwind_scratch *scratch, u64 address, u64 *value)
{
	u64 offset = address - scratch->window_start;

	if (!IS_AT_MOST(offset, sizeof(scratch->window) - 8))
		return unwind_peek_far(scratch, address, value);
	*value = *(u64 *)((char *)scratch->window + AT_MOST(offset, sizeof(scratch->window) - 8));
	return true;
}

/* The same for a walk, which remembers what it read. */
static __always_inline bool unwind_read(struct unwind_scratch *scratch, u64 address, u64 *value)
{
	if (!unwind_peek(scratch, address, value))
		return false;
	unwind_note_read(scratch, address, *value);
	return true;
}

/* rbp of the frame, to find a CFA by. Only now the word that it was read from counts for the memory of the walk: most
 * functions have other things in it, which come and go in their callers. */
static __always_inline u64 unwind_bp(struct unwind_scratch *scratch)
{
	if (scratch->bp_at == UNWIND_BP_OF_START)
		scratch->start_bp_used = 1;
	else if (scratch->bp_at)
		unwind_note_read(scratch, scratch->bp_at, scratch->bp);
	scratch->bp_at = 0;
	return scratch->bp;
}

/* Where registers lie, in words: by DWARF number, in pt_regs and in ucontext_t. */
static const u8 unwind_in_pt_regs[16] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0};
static const u8 unwind_in_ucontext[16] = {18, 17, 19, 16, 14, 13, 15, 20, 5, 6, 7, 8, 9, 10, 11, 12};

/* Register `number` of the frame; but for rsp and rbp, `all` tells whether it is known. */
static __always_inline bool unwind_register(struct unwind_scratch *scratch, u32 number, bool all, u64 *value)
{
	number &= 15;
	if (number == UNWIND_RSP || number == UNWIND_RBP) {
		*value = number == UNWIND_RSP ? scratch->sp : unwind_bp(scratch);
		return true;
	}
	if (!all)
		return false;
	scratch->read_words = UNWIND_NOT_TO_BE_REMEMBERED; /* the memory has no such register */
	if (scratch->registers_in_user)
		return !bpf_probe_read_user(value, 8, (void *)(scratch->registers + unwind_in_ucontext[number] * 8));
	return !bpf_probe_read_kernel(value, 8, (void *)(scratch->registers + unwind_in_pt_regs[number] * 8));
}

/* The CFA by an extra word: see Extra of dwell-unwind. */
__noinline int unwind_extra(struct unwind_scratch *scratch, u64 extra, u32 all, u64 *cfa)
{
	u64 base = 0, index = 0;

	if (!scratch || !cfa)
		return UNWIND_BAD_RULE;
	if (!unwind_register(scratch, extra, all, &base))
		return UNWIND_BAD_RULE;
	if (extra >> 10 & 1 && !unwind_register(scratch, extra >> 4, all, &index))
		return UNWIND_BAD_RULE;
	base += (index << (extra >> 8 & 3)) + ((s64)extra >> 32);
	if (extra >> 11 & 1 && !unwind_read(scratch, base, &base))
		return UNWIND_UNREADABLE;
	*cfa = base + ((s64)(extra << 32) >> 48);
	return UNWIND_GOES_ON;
}

static __always_inline int unwind_signal_step(struct unwind_scratch *scratch)
{
	u64 context = scratch->sp;

	scratch->registers = context;
	scratch->registers_in_user = 1;

	if (!unwind_read(scratch, context + UNWIND_UCONTEXT_RBP, &scratch->bp) ||
	    !unwind_read(scratch, context + UNWIND_UCONTEXT_RSP, &scratch->sp) ||
	    !unwind_read(scratch, context + UNWIND_UCONTEXT_RIP, &scratch->ip))
		return UNWIND_UNREADABLE;
	scratch->bp_at = 0;
	scratch->exact = 1;
	return UNWIND_GOES_ON;
}

/* The frame that was noted last runs this method, if it can be one: that is more than its address in the interpreter says. */
static __always_inline void unwind_note_method(struct unwind_scratch *scratch, u64 method, u64 bytecode)
{
	u64 last = scratch->stack.count - 1;

	if (method < 4096 || method >= UNWIND_INTERPRETED_METHOD || method & 7 ||
	    !IS_INDEX(scratch->stack.frames, last))
		return;
	/* The frame of a method that runs does not tell which bytecode it is at, that of one that called does. */
	if (last > 0 && bytecode >= 4096)
		method |= UNWIND_KNOWS_BYTECODE | (bytecode & UNWIND_BYTECODE_BITS) << UNWIND_BYTECODE_SHIFT;
	ITEM(scratch->stack.frames, last) = method | UNWIND_INTERPRETED_METHOD;
	scratch->hash = unwind_mix(scratch->hash, method);
}

/* The object that a value of V8's refers to; 0 of a small integer and of a weak reference. */
static __always_inline u64 unwind_v8_object(u64 value)
{
	return (value & 3) == 1 ? value - 1 : 0;
}

/*
 * The frame that was noted last runs this function of JavaScript, if its frame pointer is one of V8's: below it lie the context,
 * where other frames have the number of their kind, and the function (StandardFrameConstants and CommonFrameConstants,
 * src/execution/frame-constants.h). Its description does not move with it. Gives whether it does.
 */
__noinline int unwind_note_function(struct unwind_scratch *scratch)
{
	u64 below[2] = {}, shared = 0; /* the function, and the context */

	if (!scratch)
		return 0;
	if (bpf_probe_read_user(below, sizeof(below), (void *)scratch->bp - sizeof(below)) ||
	    !unwind_v8_object(below[0]) || !unwind_v8_object(below[1]) ||
	    bpf_probe_read_user(&shared, 8, (void *)unwind_v8_object(below[0]) + scratch->javascript) ||
	    !unwind_v8_object(shared))
		return 0;
	unwind_note_method(scratch, unwind_v8_object(shared), 0);
	return 1;
}

/* By the frame pointer, where there is no table. A zero in rbp marks the outermost frame. */
static __always_inline int unwind_frame_pointer_step(struct unwind_scratch *scratch)
{
	u64 frame = scratch->bp, code = 0, caller_bp = 0, caller_ip = 0;

	scratch->read_words = UNWIND_NOT_TO_BE_REMEMBERED; /* there may be a table next time */
	if ((!scratch->javascript || !unwind_note_function(scratch)) &&
	    !bpf_probe_read_user(&code, sizeof(code), (void *)scratch->ip) && code == UNWIND_TRAMPOLINE)
		return unwind_signal_step(scratch);
	if (frame == 0)
		return scratch->stack.count > 1 ? UNWIND_COMPLETE : UNWIND_NO_TABLE;
	if (frame < scratch->sp || frame & 7)
		return UNWIND_NO_TABLE;
	if (!unwind_read(scratch, frame, &caller_bp) || !unwind_read(scratch, frame + 8, &caller_ip))
		return UNWIND_NO_TABLE;
	if (caller_ip == 0)
		return UNWIND_COMPLETE;
	if (caller_ip < 4096)
		return UNWIND_NO_TABLE;
	scratch->ip = caller_ip;
	scratch->sp = frame + 16;
	scratch->bp = caller_bp;
	scratch->bp_at = 0;
	return UNWIND_GOES_ON;
}

/*
 * In code that no file known so far is mapped at: of a JIT compiler, or of a program that began a moment ago. No thread begins there,
 * so that what looks like an outermost frame is something else: in `sleep` rbp leads to the timespec { 0, 500000000 }.
 */
static __always_inline int unwind_unmapped_step(struct unwind_scratch *scratch)
{
	int end = unwind_frame_pointer_step(scratch);

	return end == UNWIND_COMPLETE ? UNWIND_NO_TABLE : end;
}

/* Through HotSpot's interpreter; what has no frame of its form there, such as a call from native code, by the frame pointer. */
static __always_inline int unwind_interpreted_step(struct unwind_scratch *scratch)
{
	u64 frame = scratch->bp, caller_sp = 0, method = 0, bytecode = 0;
	int end = unwind_frame_pointer_step(scratch);

	if (end != UNWIND_GOES_ON || scratch->sp != frame + 16 || !unwind_read(scratch, frame - 8, &caller_sp) ||
	    caller_sp < scratch->sp || caller_sp & 7)
		return end;
	scratch->sp = caller_sp;
	if (unwind_read(scratch, frame - 24, &method) && unwind_read(scratch, frame - 64, &bytecode))
		unwind_note_method(scratch, method, bytecode);
	return end;
}

/* `table` is the first word of the table that the row is from; `all` as in unwind_register. */
static __always_inline int unwind_row_step(struct unwind_scratch *scratch, u64 row, u32 table, u32 all)
{
	s64 cfa_offset = ((s64)(row << 12) >> 44) * 8; /* bits 32..52 */
	s64 rbp = (s64)(row << 4) >> 56;               /* bits 52..60 */
	u64 sp = scratch->sp, cfa = 0, caller_bp = scratch->bp, bp_at = 0, caller_ip = 0, extra;
	int end;

	switch (row >> 60) {
	case UNWIND_RULE_RSP:
		cfa = sp + cfa_offset;
		break;
	case UNWIND_RULE_RBP:
		cfa = unwind_bp(scratch) + cfa_offset;
		break;
	case UNWIND_RULE_PLT:
		cfa = sp + 8 + ((scratch->ip & 15) >= 11 ? 8 : 0);
		break;
	case UNWIND_RULE_RBP_DEREF:
		bp_at = unwind_bp(scratch);
		if (!unwind_read(scratch, bp_at + cfa_offset, &cfa) || !unwind_peek(scratch, bp_at, &caller_bp))
			return UNWIND_UNREADABLE;
		break;
	case UNWIND_RULE_RSP_DEREF:
		if (!unwind_read(scratch, sp + cfa_offset, &cfa))
			return UNWIND_UNREADABLE;
		cfa += 8;
		break;
	case UNWIND_RULE_EXTRA:
		if (!unwind_word(table - 1 - (u32)(cfa_offset / 8), &extra))
			return UNWIND_BAD_RULE;
		end = unwind_extra(scratch, extra, all, &cfa);
		if (end != UNWIND_GOES_ON)
			return end;
		break;
	case UNWIND_RULE_STACK_SWITCH:
		cfa = unwind_bp(scratch) + 16;
		sp = 0;
		break;
	case UNWIND_RULE_SIGNAL:
		return unwind_signal_step(scratch);
	case UNWIND_RULE_END:
		return UNWIND_COMPLETE;
	case UNWIND_RULE_NO_TABLE:
		return unwind_frame_pointer_step(scratch);
	case UNWIND_RULE_INTERPRETED:
		return unwind_interpreted_step(scratch);
	default:
		return UNWIND_BAD_RULE;
	}
	if (cfa <= sp)
		return UNWIND_BAD_RULE; /* a register that the walk needs was lost */
	if (rbp == UNWIND_RBP_LOST) {
		caller_bp = 0;
		scratch->bp_at = 0;
	} else if (rbp) {
		bp_at = cfa + rbp * 8;
		if (!unwind_peek(scratch, bp_at, &caller_bp))
			return UNWIND_UNREADABLE;
	}
	if (!unwind_read(scratch, cfa - 8, &caller_ip))
		return UNWIND_UNREADABLE;
	if (caller_ip == 0)
		return UNWIND_COMPLETE;
	scratch->ip = caller_ip;
	scratch->sp = cfa;
	scratch->bp = caller_bp;
	if (bp_at)
		scratch->bp_at = bp_at;
	return UNWIND_GOES_ON;
}

/* Notes the frame and goes to its caller. */
__noinline int unwind_step(struct unwind_process *process, struct unwind_scratch *scratch)
{
	struct unwind_mapping *mapping;
	u64 count, pc, at;
	u32 exact;

	if (!process || !scratch)
		return UNWIND_NO_TABLE;
	count = scratch->stack.count;
	if (!IS_INDEX(scratch->sps, count))
		return UNWIND_TOO_DEEP;
	ITEM(scratch->stack.frames, count) = scratch->ip;
	ITEM(scratch->sps, count) = scratch->sp;
	scratch->stack.count = count + 1;
	scratch->hash = unwind_mix(scratch->hash, scratch->ip);
	exact = scratch->exact;
	pc = scratch->ip - !exact; /* a call that does not return may be a function's last instruction */
	scratch->exact = 0;
	at = unwind_find_mapping(process, scratch, pc);
	if (!IS_INDEX(process->mappings, at))
		return unwind_unmapped_step(scratch);
	mapping = &ITEM(process->mappings, at);
	return unwind_row_step(scratch, unwind_find_row(mapping, pc), mapping->table, exact);
}

/* First: the user registers of the current process's thread. Reads nothing of its stack: a recall needs less than a walk. */
static __always_inline void unwind_begin(struct unwind_scratch *scratch, struct pt_regs *regs)
{
	scratch->start_ip = scratch->ip = regs->ip;
	scratch->start_sp = scratch->sp = regs->sp;
	scratch->start_bp = scratch->bp = regs->bp;
	scratch->registers = (u64)regs;
	scratch->registers_in_user = 0;
	scratch->hash = 0;
	scratch->mapping = 0;
	scratch->exact = 1;
	scratch->read_words = 0;
	scratch->read_hash = 0;
	scratch->start_bp_used = 0;
	scratch->bp_at = UNWIND_BP_OF_START;
	scratch->stack.count = 0;
	scratch->window_start = ~0ULL;
}

/* The key of the stack when it is the one that is remembered, else 0. After unwind_begin. `space` names the address
 * space and must differ after exec. Code that was replaced under an unchanged stack (dlclose, dlopen) is not noticed. */
__noinline u64 unwind_recall(struct unwind_scratch *scratch, struct unwind_memory *memory, u64 space)
{
	u64 hash = 0, value = 0, bytes;

	if (!scratch || !memory)
		return 0;
	if (scratch->start_ip != memory->ip || scratch->start_sp != memory->sp || memory->space != space ||
	    (memory->bp_used && scratch->start_bp != memory->bp))
		return 0;
	bytes = memory->near_bytes;
	if (bpf_probe_read_user(scratch->window, AT_MOST(bytes, sizeof(scratch->window)), (void *)scratch->start_sp))
		return 0;
	scratch->window_start = scratch->start_sp;
	for (u64 i = 0; i < UNWIND_SLOTS && i < memory->count; i++) {
		u32 read = memory->read[i];

		if (!unwind_peek(scratch, scratch->start_sp + (read & (UNWIND_REACH - 1)) * 8, &value) ||
		    (u16)value != read >> UNWIND_TAG_SHIFT)
			return 0;
		hash = unwind_mix(hash, value);
	}
	return hash == memory->hash ? memory->key : 0;
}

/* Keeps a complete walk under the caller's key for unwind_recall. */
__noinline int unwind_remember(struct unwind_scratch *scratch, struct unwind_memory *memory, u64 space, u64 key)
{
	u32 near_bytes = 0;

	if (!scratch || !memory)
		return 0;
	memory->key = 0;
	if (scratch->stack.end != UNWIND_COMPLETE || scratch->read_words > UNWIND_SLOTS)
		return 0;
	memory->ip = scratch->start_ip;
	memory->sp = scratch->start_sp;
	memory->bp = scratch->start_bp;
	memory->bp_used = scratch->start_bp_used;
	memory->space = space;
	memory->hash = scratch->read_hash;
	memory->count = scratch->read_words;
	for (u64 i = 0; i < UNWIND_SLOTS && i < scratch->read_words; i++) {
		u32 end = (scratch->read[i] & (UNWIND_REACH - 1)) * 8 + 8;

		memory->read[i] = scratch->read[i];
		if (end > near_bytes && end <= sizeof(scratch->window))
			near_bytes = end;
	}
	memory->near_bytes = near_bytes;
	memory->key = key;
	return 1;
}

/* Walks the stack that unwind_begin was told of, of a thread of process `tgid`; gives the number of frames. */
__noinline int unwind_walk(u32 tgid, struct unwind_scratch *scratch)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	int end = UNWIND_GOES_ON;

	if (!scratch)
		return 0;
	if (!process) {
		u32 none = 0;

		process = bpf_map_lookup_elem(&unwind_no_process, &none);
		if (!process)
			return 0;
	}
	scratch->javascript = process->javascript;
	unwind_read_window(scratch, scratch->start_sp);
	for (int i = 0; i <= DWELL_MAX_FRAMES && end == UNWIND_GOES_ON; i++)
		end = unwind_step(process, scratch);
	scratch->stack.end = end;
	return scratch->stack.count;
}

/* A child has its parent's mappings from its first instruction on. */
static __always_inline void unwind_fork(u32 parent_tgid, u32 child_tgid)
{
	struct unwind_process *parent = bpf_map_lookup_elem(&unwind_processes, &parent_tgid);

	/* What is there under the child's id is of a process that had it before. */
	if (parent)
		bpf_map_update_elem(&unwind_processes, &child_tgid, parent, BPF_ANY);
	else
		bpf_map_delete_elem(&unwind_processes, &child_tgid);
}

/* After exec the old program's mappings are wrong; those of the new one come from user space. */
static __always_inline void unwind_forget(u32 tgid)
{
	bpf_map_delete_elem(&unwind_processes, &tgid);
}

#endif
