/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What the walks of interpreters' frames share (python.bpf.h, php.bpf.h, ruby.bpf.h): which processes run one, what walks work on
 * and give, and reading of the program's memory. Include after record.bpf.h.
 */
#ifndef DWELL_SCRIPT_BPF_H
#define DWELL_SCRIPT_BPF_H

#include "ids.bpf.h"

#define INTERPRETER_PROCESSES  1024
#define SCRIPT_TEXT_HEAD_BYTES 48 /* of a text object */

/* Key: tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, INTERPRETER_PROCESSES);
	__type(key, u32);
	__type(value, struct python_process);
} interpreter_processes SEC(".maps");

/* 1 once there is such a process, so that nobody else pays for the look-up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} interpreters_in_use SEC(".maps");

enum script_walk {
	SCRIPT_GOES_ON = 0,
	SCRIPT_COMPLETE = 1,
	SCRIPT_UNREADABLE = 2,
	SCRIPT_TOO_DEEP = 3,
};

/* What a walk works on and gives. Frames that one evaluation ran are a segment; marks[segment] is an address in the C
 * function's frame, 0 = not known. */
struct script_scratch {
	struct record_script_stack stack;
	struct record_script_function code;
	u64 hash;
	u64 space;
	u64 frame;  /* the next one */
	u64 cframe; /* its evaluation's record */
	u64 segment;
	u64 placed; /* frames whose native one is known */
	u64 native; /* the one that is looked at */
	u64 codes[DWELL_MAX_FRAMES];
	u64 marks[DWELL_MAX_FRAMES + 1];
	u8 frame_bytes[SCRIPT_FRAME_BYTES + 8];
	u8 code_bytes[SCRIPT_FUNCTION_BYTES + 8];
	u8 text_bytes[SCRIPT_TEXT_HEAD_BYTES];
};

/* One for each program, as stack_buffer. */
PER_CPU(struct script_scratch, script)

/* NULL for a process that does not run a known interpreter. */
static __always_inline struct python_process *interpreter_of(u32 tgid)
{
	u32 zero = 0, *in_use = bpf_map_lookup_elem(&interpreters_in_use, &zero);

	return in_use && *in_use ? bpf_map_lookup_elem(&interpreter_processes, &tgid) : NULL;
}

static __always_inline u64 user_pointer(u64 address)
{
	u64 value = 0;

	return bpf_probe_read_user(&value, sizeof(value), (void *)address) ? 0 : value;
}

static __always_inline u64 script_field(const u8 *bytes, u32 offset, u32 bound)
{
	u64 at = offset;

	return IS_AT_MOST(at, bound) ? *(u64 *)(bytes + AT_MOST(at, bound)) : 0;
}

static __always_inline bool script_read(u8 *bytes, u64 length, u32 bound, u64 address)
{
	return length && IS_AT_MOST(length, bound) &&
	       !bpf_probe_read_user(bytes, AT_MOST(length, bound), (void *)address);
}

/* Notes a frame, number `count`, of the function at `function`, whose segment is the current one. */
static __always_inline void script_note_frame(struct script_scratch *scratch, u64 count, u64 function, u64 key,
					      u32 instruction, u64 segment)
{
	struct script_frame *frame = &ITEM(scratch->stack.frames, count);

	frame->code = key;
	frame->instruction = instruction;
	frame->native = SCRIPT_BY_COUNT;
	frame->segment = segment;
	ITEM(scratch->codes, count) = function;
	scratch->hash = mix(mix(mix(scratch->hash, key), instruction), segment);
	scratch->stack.count = count + 1;
}

/* The `length` bytes of a text at `address` into `to`: the end of a longer one if `tail`. Returns how many they are. */
static __always_inline u32 script_text(char *to, u64 address, u64 length, bool tail)
{
	if (length > DWELL_SCRIPT_TEXT_BYTES) {
		address += tail ? length - DWELL_SCRIPT_TEXT_BYTES : 0;
		length = DWELL_SCRIPT_TEXT_BYTES;
	}
	if (!length || bpf_probe_read_user(to, AT_MOST(length, DWELL_SCRIPT_TEXT_BYTES), (void *)address))
		return 0;
	return length;
}

/* Writes the function in `code`, with `length` bytes of its table. */
static __always_inline void write_function(struct record_script_function *code, u64 length)
{
	u64 size = sizeof(*code) - sizeof(code->table) + ((length + 7) & ~7ULL);

	set_header(&code->h, RECORD_SCRIPT_FUNCTION, size, 0, bpf_ktime_get_ns());
	if (write_record(code, AT_MOST(size, sizeof(*code)), STACKS_LOST))
		set_seen(code->key);
}

#endif
