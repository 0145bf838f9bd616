/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What Python functions are: name, file and lines of a code object. A function is described the first time that it is seen, from here:
 * a moment later the program may have ended. Include after record.bpf.h.
 */
#ifndef DWELL_PYTHON_CODE_BPF_H
#define DWELL_PYTHON_CODE_BPF_H

#include "php.bpf.h"
#include "python.bpf.h"
#include "ruby.bpf.h"

/* A text's characters into `to`: the end of a longer one if `tail`. Returns their bytes; `kind` is what a character has. */
static __always_inline u32 python_text(struct python_process *process, struct python_scratch *scratch, char *to,
				       u64 address, bool tail, u8 *kind)
{
	u64 length, state, width, skip = 0, bytes;

	*kind = 1;
	if (bpf_probe_read_user(scratch->text_bytes, sizeof(scratch->text_bytes), (void *)address))
		return 0;
	length = python_field(scratch->text_bytes, process->text_length, PYTHON_STATE_BYTES - 8);
	state = python_field(scratch->text_bytes, process->text_state, PYTHON_STATE_BYTES - 8);
	state >>= process->text_width_bit & 15;
	width = state & 7; /* struct { kind:3, compact:1, ascii:1 } */
	if (!(state >> 3 & 1) || (width != 1 && width != 2 && width != 4) || length > 1 << 20)
		return 0;
	*kind = width;
	bytes = length * width;
	if (bytes > DWELL_PYTHON_TEXT_BYTES) {
		skip = tail ? bytes - DWELL_PYTHON_TEXT_BYTES : 0;
		bytes = DWELL_PYTHON_TEXT_BYTES;
	}
	address += (state >> 4 & 1 ? process->text_ascii : process->text_compact) + skip;
	if (!bytes || bpf_probe_read_user(to, AT_MOST(bytes, DWELL_PYTHON_TEXT_BYTES), (void *)address))
		return 0;
	return bytes;
}

/* Writes what Python function the frame number `at` runs, unless user space has it. */
__noinline int python_describe(struct python_process *process, struct python_scratch *scratch, u64 at)
{
	struct record_python_code *code;
	u64 table, length = 0;

	if (!process || !scratch || !IS_INDEX(scratch->codes, at) || is_seen(ITEM(scratch->stack.frames, at).code))
		return 0;
	code = &scratch->code;
	if (!python_read(scratch->code_bytes, process->code_bytes, PYTHON_CODE_BYTES, ITEM(scratch->codes, at)))
		return 0;
	code->key = ITEM(scratch->stack.frames, at).code;
	code->version = process->version;
	code->language = LANGUAGE_PYTHON;
	code->first_line = python_field(scratch->code_bytes, process->code_line, PYTHON_CODE_BYTES);
	code->file_bytes = python_text(process, scratch, code->file,
				       python_field(scratch->code_bytes, process->code_file, PYTHON_CODE_BYTES), true,
				       &code->file_kind);
	code->name_bytes = python_text(process, scratch, code->name,
				       python_field(scratch->code_bytes, process->code_name, PYTHON_CODE_BYTES), false,
				       &code->name_kind);
	table = python_field(scratch->code_bytes, process->code_table, PYTHON_CODE_BYTES);
	length = python_pointer(table + process->bytes_length);
	code->table_bytes = length > 1 << 30 ? 0 : length;
	if (length > DWELL_PYTHON_TABLE_BYTES) {
		count_loss(PYTHON_CODE_CUT);
		length = DWELL_PYTHON_TABLE_BYTES;
	}
	length = AT_MOST(length, DWELL_PYTHON_TABLE_BYTES);
	if (length && bpf_probe_read_user(code->table, length, (void *)table + process->bytes_data)) {
		count_loss(PYTHON_CODE_CUT);
		length = 0;
		code->table_bytes = 0;
	}
	write_function(code, length);
	return 0;
}

/* Describes the function by the process's language; see script_step(). */
__noinline int script_describe(struct python_process *process, struct python_scratch *scratch, u64 at)
{
	if (!process || !scratch)
		return 0;
	if (process->style == PYTHON_PHP)
		return php_describe((struct php_process *)process, scratch, at);
	if (process->style == PYTHON_RUBY)
		return ruby_describe((struct ruby_process *)process, scratch, at);
	return python_describe(process, scratch, at);
}

/* Writes the Python frames of this program's buffer, which belong to the native stack of `key`. */
__noinline int publish_python(u64 key, u32 tid, u32 tgid)
{
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &tgid);
	struct python_scratch *scratch = this_python();
	u64 count, size;

	if (!process || !scratch)
		return 0;
	count = scratch->stack.count;
	if (!IS_AT_MOST(count, DWELL_MAX_FRAMES))
		return 0;
	for (u64 i = 0; i < DWELL_MAX_FRAMES && i < count; i++) {
		script_describe(process, scratch, i);
	}
	size = sizeof(scratch->stack) - sizeof(scratch->stack.frames) + count * sizeof(struct python_frame);
	set_header(&scratch->stack.h, RECORD_PYTHON_STACK, size, tid, bpf_ktime_get_ns());
	scratch->stack.key = key;
	scratch->stack.reserved = 0;
	write_record(&scratch->stack, AT_MOST(size, sizeof(scratch->stack)), STACKS_LOST);
	return 0;
}

#endif
