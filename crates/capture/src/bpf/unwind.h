/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Walks a user stack by unwind tables, so that code without frame pointers gives whole stacks.
 *
 * The tables are made by the crate dwell-unwind from each file's .eh_frame; `row.rs`, `table.rs` and `registry.rs` there
 * describe the same layout. All tables lie in one space of 64-bit words, `unwind_words`, cut into shards that user space
 * creates when they are needed. `unwind_processes` says for each process which file is mapped where and where the file's
 * table begins. Where no table covers an address (JIT code, a file mapped a moment ago), that step follows the frame
 * pointer. Only rsp and rbp are followed from frame to frame; the other registers are known where a thread stands and
 * where a signal interrupted it. A walk that needs more ends with UNWIND_BAD_RULE, and user space goes on (stack.bpf.h).
 *
 * A step is a global function, which the verifier checks once instead of once per frame. Its steps need Linux 5.15 (global
 * functions with pointers to memory, bpf_task_pt_regs). Memory is read without faults: a page that is not resident ends
 * the walk. Include after checked.bpf.h and wire.h.
 */
#ifndef DWELL_UNWIND_H
#define DWELL_UNWIND_H

#define UNWIND_MAPPINGS     336   /* with its header an entry of the hash map fits two pages */
#define UNWIND_PROCESSES    4096  /* user space may change it before loading */
#define UNWIND_SHARD_SHIFT  19    /* a shard is 4 MiB; each new one waits for a grace period of RCU */
#define UNWIND_SHARDS       256   /* user space may change it before loading */
#define UNWIND_BLOCK_SHIFT  8     /* BLOCK_SHIFT of dwell-unwind */
#define UNWIND_WINDOW_WORDS 128   /* stack memory is read in pieces of this size */
#define UNWIND_SLOTS        128   /* words of stack that the memory of a walk can hold */
#define UNWIND_REACH        65536 /* … none of them further than so many words from where the walk began */

/* How a walk ends: StackEnd of dwell-model. 0 = it goes on. */
enum unwind_end {
	UNWIND_GOES_ON = 0,
	UNWIND_COMPLETE = 1,
	UNWIND_NO_TABLE = 2,
	UNWIND_UNREADABLE = 3,
	UNWIND_TOO_DEEP = 4,
	UNWIND_BAD_RULE = 5,
};

/* Rule of dwell-unwind. */
enum unwind_rule {
	UNWIND_RULE_NO_TABLE = 0,
	UNWIND_RULE_RSP = 1,
	UNWIND_RULE_RBP = 2,
	UNWIND_RULE_PLT = 3,
	UNWIND_RULE_SIGNAL = 4,
	UNWIND_RULE_END = 5,
	UNWIND_RULE_UNSUPPORTED = 6,
	UNWIND_RULE_RBP_DEREF = 7,
	UNWIND_RULE_RSP_DEREF = 8,
	UNWIND_RULE_EXTRA = 9,
	UNWIND_RULE_STACK_SWITCH = 10,
};

/* Numbers of registers, as DWARF counts them. */
#define UNWIND_RBP 6
#define UNWIND_RSP 7

#define UNWIND_RBP_LOST (-128)
/* Offsets in ucontext_t of the interrupted registers. */
#define UNWIND_UCONTEXT_RBP 120
#define UNWIND_UCONTEXT_RSP 160
#define UNWIND_UCONTEXT_RIP 168
/* mov $15,%rax; syscall (its first 8 bytes): a signal trampoline that has no table. */
#define UNWIND_TRAMPOLINE 0x0f0000000fc0c748ULL

struct unwind_mapping {
	u64 start;
	u32 pages;
	u32 offset; /* the table's address for `start` */
	u32 table;  /* the table's first word */
	u32 blocks; /* index words of the table; 0 = no table */
};

struct unwind_process {
	u32 count;
	u32 reserved;
	struct unwind_mapping mappings[UNWIND_MAPPINGS]; /* ascending by start */
};

/* What a walk works on and gives: too large for a BPF stack, so it lies in a map of the caller's. Programs that can
 * interrupt one another on a CPU need one each. The result is `stack.count`, `.end` and `.frames`; `hash` is of the frames. */
struct unwind_scratch {
	struct record_stack stack;
	u64 hash;
	u64 ip;
	u64 sp;
	u64 bp;
	u64 window_start;
	/* Between which mappings one is searched: in memory, where the verifier does not follow it from round to round. */
	volatile u32 low;
	volatile u32 high;
	u32 mapping;    /* the last one that was hit */
	u32 exact;      /* ip is where the thread stands, not the address after a call */
	u32 read_words; /* words that the walk read; more than UNWIND_SLOTS: not to be remembered */
	u32 start_bp_used;
	u64 start_ip;
	u64 start_sp;
	u64 start_bp;
	u64 bp_at;     /* where bp was read and not used since; UNWIND_BP_OF_START: it is start_bp; 0: it was used */
	u64 registers; /* where all registers of a frame that `exact` is set for lie */
	u64 registers_in_user;     /* in a ucontext_t of the thread, not in the kernel's pt_regs */
	u64 read_hash;             /* of the words that the walk read */
	u16 read[UNWIND_SLOTS];    /* which they were, in words from start_sp */
	u16 tags[UNWIND_SLOTS];    /* the lowest bits of each */
	u64 sps[DWELL_MAX_FRAMES]; /* stack pointer of each frame */
	u64 window[UNWIND_WINDOW_WORDS];
};

/* The last walk of a thread, for its task storage. A thread mostly waits where it waited before: when the registers and
 * every word that the walk read are the same, so is the stack, and `key` stands for it. */
struct unwind_memory {
	u64 space;
	u64 ip;
	u64 sp;
	u64 bp;
	u64 key; /* 0: nothing is remembered */
	u64 hash;
	u32 count;
	u32 bp_used;             /* what bp was matters */
	u16 slots[UNWIND_SLOTS]; /* as `read`, `tags` and `read_hash` of the walk */
	u16 tags[UNWIND_SLOTS];  /* most other stacks differ in the first of them */
};

_Static_assert(sizeof(struct unwind_mapping) == 24, "registry.rs");
_Static_assert(sizeof(struct unwind_process) == 8 + 24 * UNWIND_MAPPINGS, "registry.rs");

/* Key: tgid. Where perf_event programs may not use maps without preallocation (before Linux 6.1), user space clears the flag. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_PROCESSES);
	__type(key, u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

/* Stands in for a process without an entry, whose every step is by the frame pointer. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_process);
} unwind_no_process SEC(".maps");

struct unwind_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << UNWIND_SHARD_SHIFT);
	__type(key, u32);
	__type(value, u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_SHARDS);
	__type(key, u32);
	__array(values, struct unwind_shard);
} unwind_words SEC(".maps");

static __always_inline bool unwind_word(u32 number, u64 *word)
{
	u32 shard = number >> UNWIND_SHARD_SHIFT;
	u32 within = number & ((1 << UNWIND_SHARD_SHIFT) - 1);
	void *words = bpf_map_lookup_elem(&unwind_words, &shard);
	u64 *found;

	if (!words)
		return false;
	found = bpf_map_lookup_elem(words, &within);
	if (!found)
		return false;
	*word = *found;
	return true;
}

static __always_inline bool unwind_covers(const struct unwind_mapping *mapping, u64 pc)
{
	return pc - mapping->start < (u64)mapping->pages << 12;
}

#define UNWIND_NO_MAPPING UNWIND_MAPPINGS

/* Which mapping is at `pc`: the one of the step before, else by binary search. UNWIND_NO_MAPPING: there is none. A global
 * function, so that the verifier does not follow each of its ends through the rest of the step. */
__noinline u64 unwind_find_mapping(struct unwind_process *process, struct unwind_scratch *scratch, u64 pc)
{
	u64 found;

	if (!process || !scratch)
		return UNWIND_NO_MAPPING;
	found = scratch->mapping;
	if (IS_INDEX(process->mappings, found) && found < process->count &&
	    unwind_covers(&ITEM(process->mappings, found), pc))
		return found;
	scratch->low = 0;
	scratch->high = process->count;
	for (int i = 0; i < 9 && scratch->low < scratch->high; i++) { /* 2^9 > UNWIND_MAPPINGS */
		u64 middle = ((u64)scratch->low + scratch->high) / 2;

		if (!IS_INDEX(process->mappings, middle))
			return UNWIND_NO_MAPPING;
		if (ITEM(process->mappings, middle).start <= pc)
			scratch->low = middle + 1;
		else
			scratch->high = middle;
	}
	found = (u64)scratch->low - 1;
	if (!IS_INDEX(process->mappings, found) || !unwind_covers(&ITEM(process->mappings, found), pc))
		return UNWIND_NO_MAPPING;
	scratch->mapping = found;
	return found;
}

/* The row that holds at `pc`; 0 (no table) when there is none. */
static __always_inline u64 unwind_find_row(const struct unwind_mapping *mapping, u64 pc)
{
	u32 address = pc - mapping->start + mapping->offset;
	u32 block = address >> UNWIND_BLOCK_SHIFT;
	u64 entry, word, row = 0;
	u32 low, high;

	if (block >= mapping->blocks || !unwind_word(mapping->table + block, &entry))
		return 0;
	low = mapping->table + (u32)entry;
	high = low + (entry >> 32);
	for (int i = 0; i < 9 && low < high; i++) { /* at most 257 rows in a block */
		u32 middle = low + (high - low) / 2;

		if (!unwind_word(middle, &word))
			return 0;
		if ((u32)word <= address) {
			row = word;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return row;
}

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
		ITEM(scratch->read, count) = distance / 8;
		ITEM(scratch->tags, count) = value;
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

/* By the frame pointer, where there is no table. A zero in rbp marks the outermost frame. */
static __always_inline int unwind_frame_pointer_step(struct unwind_scratch *scratch)
{
	u64 frame = scratch->bp, code = 0, caller_bp = 0, caller_ip = 0;

	scratch->read_words = UNWIND_NOT_TO_BE_REMEMBERED; /* there may be a table next time */
	if (!bpf_probe_read_user(&code, sizeof(code), (void *)scratch->ip) && code == UNWIND_TRAMPOLINE)
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
		return unwind_frame_pointer_step(scratch);
	mapping = &ITEM(process->mappings, at);
	return unwind_row_step(scratch, unwind_find_row(mapping, pc), mapping->table, exact);
}

/* First: the user registers of the current process's thread, and the piece of stack that most walks need. */
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
	unwind_read_window(scratch, regs->sp);
}

/* The key of the stack when it is the one that is remembered, else 0. After unwind_begin. `space` names the address
 * space and must differ after exec. Code that was replaced under an unchanged stack (dlclose, dlopen) is not noticed. */
__noinline u64 unwind_recall(struct unwind_scratch *scratch, struct unwind_memory *memory, u64 space)
{
	u64 hash = 0, value = 0;

	if (!scratch || !memory)
		return 0;
	if (scratch->start_ip != memory->ip || scratch->start_sp != memory->sp || memory->space != space ||
	    (memory->bp_used && scratch->start_bp != memory->bp))
		return 0;
	for (u64 i = 0; i < UNWIND_SLOTS && i < memory->count; i++) {
		if (!unwind_peek(scratch, scratch->start_sp + memory->slots[i] * 8, &value) ||
		    (u16)value != memory->tags[i])
			return 0;
		hash = unwind_mix(hash, value);
	}
	return hash == memory->hash ? memory->key : 0;
}

/* Keeps a complete walk under the caller's key for unwind_recall. */
__noinline int unwind_remember(struct unwind_scratch *scratch, struct unwind_memory *memory, u64 space, u64 key)
{
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
		memory->slots[i] = scratch->read[i];
		memory->tags[i] = scratch->tags[i];
	}
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
