/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The frames of Ruby: an array from the innermost to the outermost, in the execution context that a thread-local variable points to.
 * `struct ruby_process` says where that is; here is what Ruby 3.0 to 3.4 have in common. As in python.bpf.h nothing that is read is
 * believed.
 *
 * A frame that C code entered is marked, so that each run of rb_vm_exec has its frames. Those of C functions are passed over: they are in
 * the native stack. Include after record.bpf.h.
 */
#ifndef DWELL_RUBY_BPF_H
#define DWELL_RUBY_BPF_H

#include "script.bpf.h"

/* struct rb_execution_context_struct, vm_core.h */
#define RUBY_CONTEXT_BYTES 24
#define RUBY_CONTEXT_SIZE  8 /* of its stack, in words */
#define RUBY_CONTEXT_FRAME 16
#define RUBY_MOST_STACK    (1 << 27) /* words; 128 Ki are usual */
#define RUBY_MOST_WORDS    4
/* struct rb_control_frame_struct */
#define RUBY_FRAME_BYTES       40
#define RUBY_FRAME_CODE        16
#define RUBY_FRAME_ENVIRONMENT 32   /* points to its flags */
#define RUBY_ENTERED           0x20 /* VM_FRAME_FLAG_FINISH */
#define RUBY_OF_C              0x80 /* VM_FRAME_FLAG_CFRAME */
/* struct rb_iseq_struct: an imemo object, of its kind 7 */
#define RUBY_CODE_FLAGS 0xf01f
#define RUBY_CODE       0x701a
#define RUBY_CODE_BODY  16
/* struct rb_iseq_constant_body */
#define RUBY_BODY_BYTES      96
#define RUBY_BODY_SIZE       4
#define RUBY_BODY_START      8
#define RUBY_BODY_PATH       64
#define RUBY_BODY_LABEL      80
#define RUBY_BODY_FIRST_LINE 88
/* struct iseq_insn_info in it, from `process->lines` on */
#define RUBY_LINES_SIZE  16
#define RUBY_LINES_INDEX 24
#define RUBY_LINES_BYTES 32
/* struct succ_index_table, iseq.c */
#define RUBY_INDEX_BYTES     48 /* for the first positions: */
#define RUBY_INDEX_POSITIONS 54
#define RUBY_INDEX_BLOCK     80
#define RUBY_BLOCK_POSITIONS 512
/* Most of the two parts of a line table, before which is a word: for a thousand rows, and 25,000 positions. */
#define RUBY_MOST_ROWS  12280
#define RUBY_MOST_INDEX 4088
_Static_assert(8 + RUBY_MOST_ROWS + RUBY_MOST_INDEX <= DWELL_SCRIPT_TABLE_BYTES, "a line table fits");
/* struct RString, struct RArray */
#define RUBY_TYPE         0x1f
#define RUBY_TEXT         5
#define RUBY_ARRAY        7
#define RUBY_FLAG         (1 << 13) /* the text lies elsewhere; the array does not */
#define RUBY_DATA         16
#define RUBY_TEXT_POINTER 24

/* Where the thread-local variables are of which one points to the current thread's execution context, 0 where there are none. */
static __always_inline u64 ruby_variables(struct ruby_process *process, u64 thread_pointer)
{
	u64 block = thread_pointer, module;

	if (process->module) {
		module = user_pointer(process->module);
		block = user_pointer(user_pointer(thread_pointer + 8) + module * process->block_bytes);
		if (!block || block == ~0ull)
			return 0;
	}
	return block + process->variable;
}

/* Begins a walk: scratch->frame is the innermost frame, scratch->cframe the end of them. A context has its frames in its stack. */
static __always_inline void ruby_begin(struct ruby_process *process, struct script_scratch *scratch, u64 thread_pointer)
{
	u64 variables = ruby_variables(process, thread_pointer), context, stack, size, frame;

	scratch->frame = 0;
	for (u32 i = 0; variables && i < RUBY_MOST_WORDS && i < process->words; i++) {
		context = user_pointer(variables + i * 8);
		if (!context || bpf_probe_read_user(scratch->frame_bytes, RUBY_CONTEXT_BYTES, (void *)context))
			continue;
		stack = *(u64 *)scratch->frame_bytes;
		size = *(u64 *)(scratch->frame_bytes + RUBY_CONTEXT_SIZE);
		frame = *(u64 *)(scratch->frame_bytes + RUBY_CONTEXT_FRAME);
		if (size >= RUBY_MOST_STACK || frame < stack || frame >= stack + size * 8)
			continue;
		scratch->frame = frame;
		scratch->cframe = stack + size * 8;
		return;
	}
}

/* Notes the frame and goes to its caller. A global function, so that the verifier looks at it once. */
__noinline int ruby_step(struct ruby_process *process, struct script_scratch *scratch)
{
	u64 count, code, body, key, segment, flags, kind, position;

	if (!process || !scratch)
		return SCRIPT_UNREADABLE;
	if (scratch->frame >= scratch->cframe)
		return SCRIPT_COMPLETE;
	if (bpf_probe_read_user(scratch->frame_bytes, RUBY_FRAME_BYTES, (void *)scratch->frame))
		return SCRIPT_UNREADABLE;
	scratch->frame += process->frame_bytes;
	flags = user_pointer(*(u64 *)(scratch->frame_bytes + RUBY_FRAME_ENVIRONMENT));
	segment = scratch->segment;
	if (flags & RUBY_ENTERED)
		scratch->segment = segment + 1;
	code = *(u64 *)(scratch->frame_bytes + RUBY_FRAME_CODE);
	if (flags & RUBY_OF_C || !code)
		return SCRIPT_GOES_ON;
	count = scratch->stack.count;
	if (!IS_INDEX(scratch->codes, count))
		return SCRIPT_TOO_DEEP;
	if (bpf_probe_read_user(scratch->text_bytes, RUBY_CODE_BODY + 8, (void *)code))
		return SCRIPT_UNREADABLE;
	kind = *(u64 *)scratch->text_bytes & RUBY_CODE_FLAGS;
	body = *(u64 *)(scratch->text_bytes + RUBY_CODE_BODY);
	if (kind != RUBY_CODE || bpf_probe_read_user(scratch->code_bytes, RUBY_BODY_BYTES, (void *)body))
		return SCRIPT_UNREADABLE;
	/* The next instruction's; the one before it is the call. */
	position = (*(u64 *)scratch->frame_bytes - *(u64 *)(scratch->code_bytes + RUBY_BODY_START)) / 8;
	if (!position && count)
		return SCRIPT_GOES_ON; /* it has called nothing: the outermost, which stands for the program and never runs */
	position -= position > 0;
	/* Another one may lie there later. */
	key = mix(mix(scratch->space, body), *(u64 *)(scratch->code_bytes + RUBY_BODY_LABEL));
	key = mix(mix(key, *(u64 *)(scratch->code_bytes + RUBY_BODY_START)),
		  *(u64 *)(scratch->code_bytes + RUBY_BODY_FIRST_LINE));
	script_note_frame(scratch, count, body, key, position, segment);
	return SCRIPT_GOES_ON;
}

/* A text into `to`; see script_text(). */
static __always_inline u32 ruby_text(struct ruby_process *process, struct script_scratch *scratch, char *to,
				     u64 address, bool tail)
{
	u64 length, flags, data = address + (process->version >= 32 ? RUBY_TEXT_POINTER : RUBY_DATA);

	if (bpf_probe_read_user(scratch->text_bytes, RUBY_TEXT_POINTER + 8, (void *)address))
		return 0;
	flags = *(u64 *)scratch->text_bytes;
	if ((flags & RUBY_TYPE) != RUBY_TEXT)
		return 0;
	length = *(u64 *)(scratch->text_bytes + RUBY_DATA);
	if (flags & RUBY_FLAG)
		data = *(u64 *)(scratch->text_bytes + RUBY_TEXT_POINTER);
	else if (process->version < 32)
		length = flags >> 14 & 31;
	return script_text(to, data, length, tail);
}

/* A file's path: a text, or an array of it as it was written and the whole one, where there is one. */
static __always_inline u64 ruby_path(u64 path)
{
	u64 flags = user_pointer(path), whole;

	if ((flags & RUBY_TYPE) != RUBY_ARRAY || !(flags & RUBY_FLAG))
		return path;
	whole = user_pointer(path + RUBY_DATA + 8);
	return (user_pointer(whole) & RUBY_TYPE) == RUBY_TEXT ? whole : user_pointer(path + RUBY_DATA);
}

/*
 * The line table of the function in scratch->code_bytes: the bytes of its rows and of each of them, the rows, then the index by which
 * positions find them. Returns its bytes, 0 where it is too long or cannot be read.
 */
__noinline u32 ruby_lines(struct ruby_process *process, struct script_scratch *scratch)
{
	u64 rows, index, address, size, at;
	u8 *table;

	if (!process || !scratch)
		return 0;
	table = (u8 *)scratch->code.table;
	size = script_field(scratch->code_bytes, RUBY_BODY_SIZE, SCRIPT_FUNCTION_BYTES) & 0xffffffff;
	at = process->lines;
	address = script_field(scratch->code_bytes, at, SCRIPT_FUNCTION_BYTES);
	rows = (script_field(scratch->code_bytes, at + RUBY_LINES_SIZE, SCRIPT_FUNCTION_BYTES) & 0xffffffff) *
	       process->line_bytes;
	index = RUBY_INDEX_BYTES;
	if (size > RUBY_INDEX_POSITIONS)
		index += (size - RUBY_INDEX_POSITIONS + RUBY_BLOCK_POSITIONS - 1) / RUBY_BLOCK_POSITIONS *
			 RUBY_INDEX_BLOCK;
	if (rows <= process->line_bytes)
		index = 0; /* one line or none: there is no index */
	if (!IS_AT_MOST(rows, RUBY_MOST_ROWS) || !IS_AT_MOST(index, RUBY_MOST_INDEX))
		return 0;
	*(u64 *)table = rows | (u64)process->line_bytes << 32;
	if (rows && bpf_probe_read_user(table + 8, AT_MOST(rows, RUBY_MOST_ROWS), (void *)address))
		return 0;
	address = script_field(scratch->code_bytes, at + RUBY_LINES_INDEX, SCRIPT_FUNCTION_BYTES);
	if (index && bpf_probe_read_user(table + 8 + AT_MOST(rows, RUBY_MOST_ROWS), AT_MOST(index, RUBY_MOST_INDEX),
					 (void *)address))
		return 0;
	return 8 + rows + index;
}

/* Writes what function the frame number `at` runs, unless user space has it. */
__noinline int ruby_describe(struct ruby_process *process, struct script_scratch *scratch, u64 at)
{
	struct record_script_function *code;
	u64 length, bytes, line;

	if (!process || !scratch || !IS_INDEX(scratch->codes, at) || is_seen(ITEM(scratch->stack.frames, at).code))
		return 0;
	bytes = process->lines + RUBY_LINES_BYTES;
	if (!script_read(scratch->code_bytes, bytes, SCRIPT_FUNCTION_BYTES, ITEM(scratch->codes, at)))
		return 0;
	code = &scratch->code;
	code->key = ITEM(scratch->stack.frames, at).code;
	code->version = process->version;
	code->language = LANGUAGE_RUBY;
	code->file_kind = 0;
	code->name_kind = 0;
	line = *(u64 *)(scratch->code_bytes + RUBY_BODY_FIRST_LINE);
	code->first_line = process->version >= 32 ? line : line >> 1; /* an Integer of Ruby */
	code->file_bytes = ruby_text(process, scratch, code->file,
				     ruby_path(*(u64 *)(scratch->code_bytes + RUBY_BODY_PATH)), true);
	code->name_bytes =
		ruby_text(process, scratch, code->name, *(u64 *)(scratch->code_bytes + RUBY_BODY_LABEL), false);
	length = ruby_lines(process, scratch);
	if (!length)
		count_loss(SCRIPT_FUNCTION_CUT);
	code->table_bytes = length;
	if (IS_AT_MOST(length, DWELL_SCRIPT_TABLE_BYTES))
		write_function(code, length);
	return 0;
}

#endif
