/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What the walks of interpreters' frames share (python.bpf.h, php.bpf.h, ruby.bpf.h): what they work on and give, and reading of the program's
 * memory. Include after record.bpf.h.
 */
#ifndef DWELL_SCRIPT_BPF_H
#define DWELL_SCRIPT_BPF_H

#include "ids.bpf.h"

#define PYTHON_STATE_BYTES 48 /* the head of a text object */

enum python_walk {
	PYTHON_GOES_ON = 0,
	PYTHON_COMPLETE = 1,
	PYTHON_UNREADABLE = 2,
	PYTHON_TOO_DEEP = 3,
};

/* What a walk works on and gives. Frames that one evaluation ran are a segment; marks[segment] is an address in the C
 * function's frame, 0 = not known. */
struct python_scratch {
	struct record_python_stack stack;
	struct record_python_code code;
	u64 hash;
	u64 space;
	u64 frame;  /* the next one */
	u64 cframe; /* its evaluation's record */
	u64 segment;
	u64 placed; /* frames whose native one is known */
	u64 native; /* the one that is looked at */
	u64 codes[DWELL_MAX_FRAMES];
	u64 marks[DWELL_MAX_FRAMES + 1];
	u8 frame_bytes[PYTHON_FRAME_BYTES + 8];
	u8 code_bytes[PYTHON_CODE_BYTES + 8];
	u8 text_bytes[PYTHON_STATE_BYTES];
};

/* One for each program, as stack_buffer. */
PER_CPU(struct python_scratch, python)

static __always_inline u64 python_pointer(u64 address)
{
	u64 value = 0;

	return bpf_probe_read_user(&value, sizeof(value), (void *)address) ? 0 : value;
}

static __always_inline u64 python_field(const u8 *bytes, u32 offset, u32 bound)
{
	u64 at = offset;

	return IS_AT_MOST(at, bound) ? *(u64 *)(bytes + AT_MOST(at, bound)) : 0;
}

static __always_inline bool python_read(u8 *bytes, u64 length, u32 bound, u64 address)
{
	return length && IS_AT_MOST(length, bound) &&
	       !bpf_probe_read_user(bytes, AT_MOST(length, bound), (void *)address);
}

/* Notes a frame, number `count`, of the function at `function`, whose segment is the current one. */
static __always_inline void script_note_frame(struct python_scratch *scratch, u64 count, u64 function, u64 key,
					      u32 instruction, u64 segment)
{
	struct python_frame *frame = &ITEM(scratch->stack.frames, count);

	frame->code = key;
	frame->instruction = instruction;
	frame->native = PYTHON_BY_COUNT;
	frame->segment = segment;
	ITEM(scratch->codes, count) = function;
	scratch->hash = mix(mix(mix(scratch->hash, key), instruction), segment);
	scratch->stack.count = count + 1;
}

/* The `length` bytes of a text at `address` into `to`: the end of a longer one if `tail`. Returns how many they are. */
static __always_inline u32 script_text(char *to, u64 address, u64 length, bool tail)
{
	if (length > DWELL_PYTHON_TEXT_BYTES) {
		address += tail ? length - DWELL_PYTHON_TEXT_BYTES : 0;
		length = DWELL_PYTHON_TEXT_BYTES;
	}
	if (!length || bpf_probe_read_user(to, AT_MOST(length, DWELL_PYTHON_TEXT_BYTES), (void *)address))
		return 0;
	return length;
}

/* Writes the function in `code`, with `length` bytes of its table. */
static __always_inline void write_function(struct record_python_code *code, u64 length)
{
	u64 size = sizeof(*code) - sizeof(code->table) + ((length + 7) & ~7ULL);

	set_header(&code->h, RECORD_PYTHON_CODE, size, 0, bpf_ktime_get_ns());
	if (write_record(code, AT_MOST(size, sizeof(*code)), STACKS_LOST))
		set_seen(code->key);
}

#endif
