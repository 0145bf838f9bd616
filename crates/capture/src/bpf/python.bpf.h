/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The Python frames of a thread: CPython keeps a list of them for each of its threads, and a walk of the native stack
 * meets only the interpreter's own functions. `struct python_process` says where the list begins and how its structures
 * are laid out in that version; user space finds that in the mapped files (interpreters.rs of dwell-unwind).
 *
 * Everything is read from the program, so nothing of it is believed: loops are bounded, a code object must have the type
 * of code objects, and what cannot be read makes a shorter stack and a counted loss.
 *
 * Which native frame ran which Python frames: since CPython 3.11 the frames that C code entered can be told, and of each
 * evaluation something lies in the frame of its C function; earlier, each C function ran one frame. Include after
 * record.bpf.h.
 */
#ifndef DWELL_PYTHON_BPF_H
#define DWELL_PYTHON_BPF_H

#include "ids.bpf.h"
#include "script.bpf.h"

#define PYTHON_THREADS     2048 /* interpreters and thread states that are looked through for one thread */
#define PYTHON_FEW_THREADS 32   /* the same before Linux 5.17 */
#define PYTHON_OWNED_BY_C \
	3                         /* the first owner that is no Python function: FRAME_OWNED_BY_CSTACK of 3.12 and 3.13,
				       FRAME_OWNED_BY_INTERPRETER of 3.14 (Include/internal/pycore_frame.h) */
#define PYTHON_GIL_BYTES 256      /* struct _gil_runtime_state is 208 bytes */
#define PYTHON_RETRIES   16       /* searches for a thread's state without a pause */
#define PYTHON_PAUSE_NS  10000000 /* between later ones: threads of native libraries have none */

/* Which thread a thread state is of: python_thread_key() -> thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u32);
} python_threads SEC(".maps");

/* Of the thread state at this address: ids of processes come again, when they began does not. */
static __always_inline u64 python_thread_key(struct task_struct *task, u64 state)
{
	return mix(mix(task->tgid, task->group_leader->start_time), state);
}

/* The innermost frame of a thread state, 0 when it runs none. `cframe` is its evaluation's record, where there is one. */
static __always_inline u64 python_current_frame(struct python_process *process, u64 state, u64 *cframe)
{
	*cframe = 0;
	if (!process->cframe)
		return user_pointer(state + process->thread_frame);
	*cframe = user_pointer(state + process->cframe);
	return *cframe ? user_pointer(*cframe + process->cframe_frame) : 0;
}

struct python_search {
	struct python_process *process;
	u64 interpreter;
	u64 thread;
	u64 id;
	u64 found;
	u64 owner; /* its interpreter */
};

static int python_search_step(u32 i, struct python_search *search)
{
	struct python_process *process = search->process;

	if (!search->thread) {
		search->interpreter = user_pointer(search->interpreter + process->interpreter_next);
		if (!search->interpreter)
			return 1;
		search->thread = user_pointer(search->interpreter + process->interpreter_threads);
		return 0;
	}
	if (user_pointer(search->thread + process->thread_id) == search->id) {
		u64 cframe;

		/* A thread may have one in each of several interpreters. */
		search->found = search->thread;
		search->owner = search->interpreter;
		if (python_current_frame(process, search->thread, &cframe))
			return 1;
	}
	search->thread = user_pointer(search->thread + process->thread_next);
	return 0;
}

/* The current thread's state, which CPython knows by what pthread_self gives: the base of the thread's local storage. */
static __always_inline u64 python_state(struct python_process *process, struct task_struct *task, struct thread *thread)
{
	struct python_search search = {.process = process, .id = task->thread.fsbase};
	u64 known, now, key;
	u32 tid = tid_of(task);

	if (!search.id)
		return 0;
	known = thread->python_state;
	if (known && user_pointer(known + process->thread_id) != search.id)
		known = 0;
	if (known && !thread->python_idle)
		return known;
	now = bpf_ktime_get_ns();
	if (thread->python_failures > PYTHON_RETRIES && now - thread->python_failure_ns < PYTHON_PAUSE_NS)
		return known;
	search.interpreter = user_pointer(process->runtime + process->interpreters);
	search.thread = user_pointer(search.interpreter + process->interpreter_threads);
	REPEAT(PYTHON_THREADS, PYTHON_FEW_THREADS, python_search_step, &search);
	thread->python_failures++;
	thread->python_failure_ns = now;
	if (!search.found) {
		thread->python_state = 0;
		return 0;
	}
	thread->python_state = search.found;
	thread->python_interpreter = search.owner;
	key = python_thread_key(task, search.found);
	bpf_map_update_elem(&python_threads, &key, &tid, BPF_ANY);
	return search.found;
}

/* Ends a segment with an address in the frame of the C function that ran it. */
static __always_inline void python_end_segment(struct script_scratch *scratch, u64 mark)
{
	u64 segment = scratch->segment;

	if (IS_AT_MOST(segment, DWELL_MAX_FRAMES - 1)) {
		ITEM(scratch->marks, segment) = mark;
		ITEM(scratch->marks, segment + 1) = 0;
		scratch->segment = segment + 1;
	}
}

/* Where the instructions begin that the frame runs: without a GIL, threads have copies of them, the first of which is the code
 * object's own (struct _PyCodeArray, Include/cpython/code.h). */
static __always_inline u64 python_first_instruction(struct python_process *process, struct script_scratch *scratch,
						    u64 code)
{
	u64 copy = 0;

	if (process->frame_copy)
		copy = script_field(scratch->frame_bytes, process->frame_copy, SCRIPT_FRAME_BYTES) & 0xffffffff;
	return copy ? user_pointer(user_pointer(code + process->code_copies) + 8 + copy * 8)
		    : code + process->code_start;
}

/* Notes the frame and goes to its caller. A global function, so that the verifier looks at it once. */
__noinline int python_step(struct python_process *process, struct script_scratch *scratch)
{
	u64 count, previous, code, instruction, key, owner;
	struct script_frame *frame;

	if (!process || !scratch)
		return SCRIPT_UNREADABLE;
	if (!scratch->frame)
		return SCRIPT_COMPLETE;
	if (!script_read(scratch->frame_bytes, process->frame_bytes, SCRIPT_FRAME_BYTES, scratch->frame))
		return SCRIPT_UNREADABLE;
	previous = script_field(scratch->frame_bytes, process->frame_previous, SCRIPT_FRAME_BYTES);
	owner = script_field(scratch->frame_bytes, process->frame_owner, SCRIPT_FRAME_BYTES) & 0xff;
	if (process->style == INTERPRETER_SHIM && owner >= PYTHON_OWNED_BY_C) {
		python_end_segment(scratch, scratch->frame);
		scratch->frame = previous;
		return SCRIPT_GOES_ON;
	}
	count = scratch->stack.count;
	if (!IS_INDEX(scratch->codes, count))
		return SCRIPT_TOO_DEEP;
	/* Since 3.14 the lowest bit says how the reference is counted. */
	code = script_field(scratch->frame_bytes, process->frame_code, SCRIPT_FRAME_BYTES) & ~7ull;
	if (!script_read(scratch->code_bytes, process->code_bytes, SCRIPT_FUNCTION_BYTES, code) ||
	    script_field(scratch->code_bytes, process->object_type, SCRIPT_FUNCTION_BYTES) != process->code_type)
		return SCRIPT_UNREADABLE;
	instruction = script_field(scratch->frame_bytes, process->frame_instruction, SCRIPT_FRAME_BYTES);
	if (process->instruction_bytes)
		instruction = (u64)((s64)(s32)instruction * process->instruction_bytes);
	else
		instruction -= python_first_instruction(process, scratch, code);
	/* Another code object may lie there later. */
	key = mix(mix(scratch->space, code),
		  script_field(scratch->code_bytes, process->code_name, SCRIPT_FUNCTION_BYTES));
	key = mix(key, script_field(scratch->code_bytes, process->code_table, SCRIPT_FUNCTION_BYTES));
	key = mix(key, script_field(scratch->code_bytes, process->code_line, SCRIPT_FUNCTION_BYTES) & 0xffffffff);
	frame = &ITEM(scratch->stack.frames, count);
	frame->code = key;
	frame->instruction = instruction;
	frame->native = SCRIPT_BY_COUNT;
	frame->segment = process->style == INTERPRETER_FRAME_OBJECTS ? count : scratch->segment;
	ITEM(scratch->codes, count) = code;
	scratch->hash = mix(mix(mix(scratch->hash, key), instruction & 0xffffffff), scratch->segment);
	scratch->stack.count = count + 1;
	if (process->style == INTERPRETER_ENTRY_MARK && owner) {
		python_end_segment(scratch, scratch->cframe);
		scratch->cframe = user_pointer(scratch->cframe + process->cframe_previous);
	}
	scratch->frame = previous;
	return SCRIPT_GOES_ON;
}

/* A text's characters into `to`: the end of a longer one if `tail`. Returns their bytes; `kind` is what a character has. */
static __always_inline u32 python_text(struct python_process *process, struct script_scratch *scratch, char *to,
				       u64 address, bool tail, u8 *kind)
{
	u64 length, state, width, skip = 0, bytes;

	*kind = 1;
	if (bpf_probe_read_user(scratch->text_bytes, sizeof(scratch->text_bytes), (void *)address))
		return 0;
	length = script_field(scratch->text_bytes, process->text_length, SCRIPT_TEXT_HEAD_BYTES - 8);
	state = script_field(scratch->text_bytes, process->text_state, SCRIPT_TEXT_HEAD_BYTES - 8);
	state >>= process->text_width_bit & 15;
	width = state & 7; /* struct { kind:3, compact:1, ascii:1 } */
	if (!(state >> 3 & 1) || (width != 1 && width != 2 && width != 4) || length > 1 << 20)
		return 0;
	*kind = width;
	bytes = length * width;
	if (bytes > DWELL_SCRIPT_TEXT_BYTES) {
		skip = tail ? bytes - DWELL_SCRIPT_TEXT_BYTES : 0;
		bytes = DWELL_SCRIPT_TEXT_BYTES;
	}
	address += (state >> 4 & 1 ? process->text_ascii : process->text_compact) + skip;
	if (!bytes || bpf_probe_read_user(to, AT_MOST(bytes, DWELL_SCRIPT_TEXT_BYTES), (void *)address))
		return 0;
	return bytes;
}

/* Writes what Python function the frame number `at` runs, unless user space has it. */
__noinline int python_describe(struct python_process *process, struct script_scratch *scratch, u64 at)
{
	struct record_script_function *code;
	u64 table, length = 0;

	if (!process || !scratch || !IS_INDEX(scratch->codes, at) || is_seen(ITEM(scratch->stack.frames, at).code))
		return 0;
	code = &scratch->code;
	if (!script_read(scratch->code_bytes, process->code_bytes, SCRIPT_FUNCTION_BYTES, ITEM(scratch->codes, at)))
		return 0;
	code->key = ITEM(scratch->stack.frames, at).code;
	code->version = process->version;
	code->language = LANGUAGE_PYTHON;
	code->first_line = script_field(scratch->code_bytes, process->code_line, SCRIPT_FUNCTION_BYTES);
	code->file_bytes = python_text(process, scratch, code->file,
				       script_field(scratch->code_bytes, process->code_file, SCRIPT_FUNCTION_BYTES),
				       true, &code->file_kind);
	code->name_bytes = python_text(process, scratch, code->name,
				       script_field(scratch->code_bytes, process->code_name, SCRIPT_FUNCTION_BYTES),
				       false, &code->name_kind);
	table = script_field(scratch->code_bytes, process->code_table, SCRIPT_FUNCTION_BYTES);
	length = user_pointer(table + process->bytes_length);
	code->table_bytes = length > 1 << 30 ? 0 : length;
	if (length > DWELL_SCRIPT_TABLE_BYTES) {
		count_loss(SCRIPT_FUNCTION_CUT);
		length = DWELL_SCRIPT_TABLE_BYTES;
	}
	length = AT_MOST(length, DWELL_SCRIPT_TABLE_BYTES);
	if (length && bpf_probe_read_user(code->table, length, (void *)table + process->bytes_data)) {
		count_loss(SCRIPT_FUNCTION_CUT);
		length = 0;
		code->table_bytes = 0;
	}
	write_function(code, length);
	return 0;
}

/*
 * Who holds the global interpreter lock, when the futex at `address` is part of it: true then. The lock's mutex and
 * condition variable lie in struct _gil_runtime_state, Include/internal/pycore_gil.h.
 */
static __always_inline bool python_gil(struct task_struct *task, struct thread *thread, u64 address, u32 *owner_tid)
{
	struct python_process *process = interpreter_of(tgid_of(task));
	u64 gil, state, key;
	u32 locked = 0, *tid;

	if (!process || !thread->python_state)
		return false;
	gil = process->gil_pointer ? user_pointer(thread->python_interpreter + process->gil_pointer)
				   : process->runtime + process->gil;
	if (!gil || address - gil >= PYTHON_GIL_BYTES)
		return false;
	state = user_pointer(gil + process->gil_holder);
	bpf_probe_read_user(&locked, sizeof(locked), (void *)gil + process->gil_locked);
	if (locked != 1 || state == thread->python_state)
		return true;
	key = python_thread_key(task, state);
	tid = bpf_map_lookup_elem(&python_threads, &key);
	*owner_tid = tid ? *tid : 0;
	return true;
}

#endif
