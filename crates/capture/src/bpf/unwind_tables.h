/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The unwind tables as a walk reads them: which file is mapped at an address, and the row of its table that holds there.
 *
 * The tables are made by the crate dwell-unwind from each file's .eh_frame; `row.rs`, `table.rs` and `registry.rs` there
 * describe the same layout. All tables lie in one space of 64-bit words, `unwind_words`, cut into shards that user space
 * creates when they are needed. `unwind_processes` says for each process which file is mapped where and where the file's
 * table begins. Include after checked.bpf.h, wire.h and model.h.
 */
#ifndef DWELL_UNWIND_TABLES_H
#define DWELL_UNWIND_TABLES_H

#define UNWIND_PROCESSES    4096  /* user space may change it before loading */
#define UNWIND_WINDOW_WORDS 128   /* stack memory is read in pieces of this size */
#define UNWIND_SLOTS        128   /* words of stack that the memory of a walk can hold */
#define UNWIND_REACH        65536 /* … none of them further than so many words from where the walk began */
#define UNWIND_TAG_SHIFT    16

/* The end of a walk that has not ended. */
#define UNWIND_GOES_ON UNWIND_UNKNOWN

/* Numbers of registers, as DWARF counts them. */
#define UNWIND_RBP 6
#define UNWIND_RSP 7

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
	u32 javascript; /* of the process */
	u32 read_words; /* words that the walk read; more than UNWIND_SLOTS: not to be remembered */
	u32 start_bp_used;
	u64 start_ip;
	u64 start_sp;
	u64 start_bp;
	u64 bp_at;     /* where bp was read and not used since; UNWIND_BP_OF_START: it is start_bp; 0: it was used */
	u64 registers; /* where all registers of a frame that `exact` is set for lie */
	u64 registers_in_user; /* in a ucontext_t of the thread, not in the kernel's pt_regs */
	u64 read_hash;         /* of the words that the walk read */
	u32 read[UNWIND_SLOTS]; /* which they were, in words from start_sp, and from UNWIND_TAG_SHIFT on the lowest bits of each */
	u64 sps[DWELL_MAX_FRAMES]; /* stack pointer of each frame */
	u64 window[UNWIND_WINDOW_WORDS];
};

/* The last walk of a thread. A thread mostly waits where it waited before: when the registers and
 * every word that the walk read are the same, so is the stack, and `key` stands for it. */
struct unwind_memory {
	u64 space;
	u64 ip;
	u64 sp;
	u64 bp;
	u64 key; /* 0: nothing is remembered */
	u64 hash;
	u16 count;
	u16 near_bytes; /* how far those of the words lie that a window from sp on reaches: a recall reads no more */
	u32 bp_used;    /* what bp was matters */
	u32 read[UNWIND_SLOTS]; /* as `read` of the walk; most other stacks differ in the first tag */
};

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

#endif
