/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The frames of PHP: a list from the innermost to the outermost, which begins at EG(current_execute_data), and of which each says the
 * line that it is at. `struct php_process` says where it begins; here is what PHP 7.4 to 8.5 have in common. As in python.bpf.h
 * nothing that is read is believed.
 *
 * A frame that C code entered is marked, so that each run of execute_ex has its frames. Functions of PHP itself (usleep, PDO::query)
 * have frames without file and line. Include after record.bpf.h.
 */
#ifndef DWELL_PHP_BPF_H
#define DWELL_PHP_BPF_H

#include "script.bpf.h"

/* struct _zend_execute_data, zend_compile.h */
#define PHP_FRAME_BYTES    56
#define PHP_FRAME_LINE     0
#define PHP_FRAME_FUNCTION 24
#define PHP_FRAME_INFO     40
#define PHP_FRAME_PREVIOUS 48
#define PHP_ENTERED        (1 << 17) /* ZEND_CALL_TOP */
/* struct _zend_op: u32 lineno */
#define PHP_OPLINE_LINE 24
/* union _zend_function; the rest is of functions that are written in PHP */
#define PHP_FUNCTION_BYTES 24
#define PHP_FUNCTION_NAME  8
#define PHP_FUNCTION_CLASS 16
#define PHP_INTERNAL       1
#define PHP_USER           2
#define PHP_EVAL           4
/* struct _zend_class_entry */
#define PHP_CLASS_NAME 8
/* struct _zend_string */
#define PHP_TEXT_HASH   8
#define PHP_TEXT_LENGTH 16
#define PHP_TEXT_DATA   24

/* What tells a text from others, also from one that lies there later. */
static __always_inline u64 php_text_key(struct script_scratch *scratch, u64 address)
{
	u64 hash;

	if (!address || bpf_probe_read_user(scratch->text_bytes, PHP_TEXT_DATA, (void *)address))
		return 0;
	hash = *(u64 *)(scratch->text_bytes + PHP_TEXT_HASH);
	return mix(hash ?: address, *(u64 *)(scratch->text_bytes + PHP_TEXT_LENGTH));
}

/* Reads a function as far as its kind goes. Returns that, 0 when it is none. */
static __always_inline u32 php_read_function(struct php_process *process, struct script_scratch *scratch, u64 function)
{
	u64 bytes = process->function_line + 8;
	bool is_whole = script_read(scratch->code_bytes, bytes, SCRIPT_FUNCTION_BYTES, function);
	u32 kind;

	/* Those of PHP itself are shorter, and may be the last in their memory. */
	if (!is_whole && bpf_probe_read_user(scratch->code_bytes, PHP_FUNCTION_BYTES, (void *)function))
		return 0;
	kind = scratch->code_bytes[0];
	return kind == PHP_INTERNAL || (is_whole && (kind == PHP_USER || kind == PHP_EVAL)) ? kind : 0;
}

/* Notes the frame and goes to its caller. A global function, so that the verifier looks at it once. */
__noinline int php_step(struct php_process *process, struct script_scratch *scratch)
{
	u64 count, function, key, line_at, segment;
	u32 kind, line = 0;

	if (!process || !scratch)
		return SCRIPT_UNREADABLE;
	if (!scratch->frame)
		return SCRIPT_COMPLETE;
	if (bpf_probe_read_user(scratch->frame_bytes, PHP_FRAME_BYTES, (void *)scratch->frame))
		return SCRIPT_UNREADABLE;
	scratch->frame = *(u64 *)(scratch->frame_bytes + PHP_FRAME_PREVIOUS);
	function = *(u64 *)(scratch->frame_bytes + PHP_FRAME_FUNCTION);
	if (!function)
		return SCRIPT_GOES_ON; /* a dummy, which no code runs */
	kind = php_read_function(process, scratch, function);
	if (!kind)
		return SCRIPT_UNREADABLE;
	count = scratch->stack.count;
	if (!IS_INDEX(scratch->codes, count))
		return SCRIPT_TOO_DEEP;
	key = mix(mix(scratch->space, php_text_key(scratch, *(u64 *)(scratch->code_bytes + PHP_FUNCTION_NAME))),
		  *(u64 *)(scratch->code_bytes + PHP_FUNCTION_CLASS));
	if (kind != PHP_INTERNAL) {
		line_at = *(u64 *)(scratch->frame_bytes + PHP_FRAME_LINE) + PHP_OPLINE_LINE;
		bpf_probe_read_user(&line, sizeof(line), (void *)line_at);
		key = mix(key, script_field(scratch->code_bytes, process->function_line, SCRIPT_FUNCTION_BYTES) &
				       0xffffffff);
		key = mix(key, script_field(scratch->code_bytes, process->function_file, SCRIPT_FUNCTION_BYTES));
	}
	segment = scratch->segment;
	script_note_frame(scratch, count, function, key, line, segment);
	/* execute_ex runs what is written in PHP. */
	if (kind != PHP_INTERNAL && *(u32 *)(scratch->frame_bytes + PHP_FRAME_INFO) & PHP_ENTERED)
		scratch->segment = segment + 1;
	return SCRIPT_GOES_ON;
}

/* A text into `to`; see script_text(). */
static __always_inline u32 php_text(struct script_scratch *scratch, char *to, u64 address, bool tail)
{
	if (!address || bpf_probe_read_user(scratch->text_bytes, PHP_TEXT_DATA, (void *)address))
		return 0;
	return script_text(to, address + PHP_TEXT_DATA, *(u64 *)(scratch->text_bytes + PHP_TEXT_LENGTH), tail);
}

/* Writes what function the frame number `at` runs, unless user space has it. */
__noinline int php_describe(struct php_process *process, struct script_scratch *scratch, u64 at)
{
	struct record_script_function *code;
	u64 length = 0, owner;
	u32 kind;

	if (!process || !scratch || !IS_INDEX(scratch->codes, at) || is_seen(ITEM(scratch->stack.frames, at).code))
		return 0;
	code = &scratch->code;
	kind = php_read_function(process, scratch, ITEM(scratch->codes, at));
	if (!kind)
		return 0;
	code->key = ITEM(scratch->stack.frames, at).code;
	code->version = process->version;
	code->language = LANGUAGE_PHP;
	code->file_kind = 0;
	code->name_kind = 0;
	code->first_line = 0;
	code->file_bytes = 0;
	if (kind != PHP_INTERNAL) {
		code->first_line = script_field(scratch->code_bytes, process->function_line, SCRIPT_FUNCTION_BYTES);
		code->file_bytes = php_text(
			scratch, code->file,
			script_field(scratch->code_bytes, process->function_file, SCRIPT_FUNCTION_BYTES), true);
	}
	code->name_bytes = php_text(scratch, code->name, *(u64 *)(scratch->code_bytes + PHP_FUNCTION_NAME), false);
	owner = *(u64 *)(scratch->code_bytes + PHP_FUNCTION_CLASS);
	if (owner)
		length = php_text(scratch, code->table, user_pointer(owner + PHP_CLASS_NAME), false);
	code->table_bytes = length;
	write_function(code, length);
	return 0;
}

#endif
