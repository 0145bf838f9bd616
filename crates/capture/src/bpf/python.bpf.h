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
#include "php.bpf.h"
#include "ruby.bpf.h"
#include "script.bpf.h"

#define PYTHON_PROCESSES   1024
#define PYTHON_THREADS     2048 /* interpreters and thread states that are looked through for one thread */
#define PYTHON_FEW_THREADS 32   /* the same before Linux 5.17 */
#define PYTHON_OWNED_BY_C \
	3                         /* the first owner that is no Python function: FRAME_OWNED_BY_CSTACK of 3.12 and 3.13,
				       FRAME_OWNED_BY_INTERPRETER of 3.14 (Include/internal/pycore_frame.h) */
#define PYTHON_GIL_BYTES 256      /* struct _gil_runtime_state is 208 bytes */
#define PYTHON_RETRIES   16       /* searches for a thread's state without a pause */
#define PYTHON_PAUSE_NS  10000000 /* between later ones: threads of native libraries have none */

/* Key: tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PYTHON_PROCESSES);
	__type(key, u32);
	__type(value, struct python_process);
} python_processes SEC(".maps");

/* 1 once there is such a process, so that nobody else pays for the look-up. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} python_in_use SEC(".maps");

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

/* NULL for a process that does not run a known CPython. */
static __always_inline struct python_process *python_of(u32 tgid)
{
	u32 zero = 0, *in_use = bpf_map_lookup_elem(&python_in_use, &zero);

	return in_use && *in_use ? bpf_map_lookup_elem(&python_processes, &tgid) : NULL;
}

/* The innermost frame of a thread state, 0 when it runs none. `cframe` is its evaluation's record, where there is one. */
static __always_inline u64 python_current_frame(struct python_process *process, u64 state, u64 *cframe)
{
	*cframe = 0;
	if (!process->cframe)
		return python_pointer(state + process->thread_frame);
	*cframe = python_pointer(state + process->cframe);
	return *cframe ? python_pointer(*cframe + process->cframe_frame) : 0;
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
		search->interpreter = python_pointer(search->interpreter + process->interpreter_next);
		if (!search->interpreter)
			return 1;
		search->thread = python_pointer(search->interpreter + process->interpreter_threads);
		return 0;
	}
	if (python_pointer(search->thread + process->thread_id) == search->id) {
		u64 cframe;

		/* A thread may have one in each of several interpreters. */
		search->found = search->thread;
		search->owner = search->interpreter;
		if (python_current_frame(process, search->thread, &cframe))
			return 1;
	}
	search->thread = python_pointer(search->thread + process->thread_next);
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
	if (known && python_pointer(known + process->thread_id) != search.id)
		known = 0;
	if (known && !thread->python_idle)
		return known;
	now = bpf_ktime_get_ns();
	if (thread->python_failures > PYTHON_RETRIES && now - thread->python_failure_ns < PYTHON_PAUSE_NS)
		return known;
	search.interpreter = python_pointer(process->runtime + process->interpreters);
	search.thread = python_pointer(search.interpreter + process->interpreter_threads);
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
static __always_inline void python_end_segment(struct python_scratch *scratch, u64 mark)
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
static __always_inline u64 python_first_instruction(struct python_process *process, struct python_scratch *scratch,
						    u64 code)
{
	u64 copy = 0;

	if (process->frame_copy)
		copy = python_field(scratch->frame_bytes, process->frame_copy, PYTHON_FRAME_BYTES) & 0xffffffff;
	return copy ? python_pointer(python_pointer(code + process->code_copies) + 8 + copy * 8)
		    : code + process->code_start;
}

/* Notes the frame and goes to its caller. A global function, so that the verifier looks at it once. */
__noinline int python_step(struct python_process *process, struct python_scratch *scratch)
{
	u64 count, previous, code, instruction, key, owner;
	struct python_frame *frame;

	if (!process || !scratch)
		return PYTHON_UNREADABLE;
	if (!scratch->frame)
		return PYTHON_COMPLETE;
	if (!python_read(scratch->frame_bytes, process->frame_bytes, PYTHON_FRAME_BYTES, scratch->frame))
		return PYTHON_UNREADABLE;
	previous = python_field(scratch->frame_bytes, process->frame_previous, PYTHON_FRAME_BYTES);
	owner = python_field(scratch->frame_bytes, process->frame_owner, PYTHON_FRAME_BYTES) & 0xff;
	if (process->style == PYTHON_SHIM && owner >= PYTHON_OWNED_BY_C) {
		python_end_segment(scratch, scratch->frame);
		scratch->frame = previous;
		return PYTHON_GOES_ON;
	}
	count = scratch->stack.count;
	if (!IS_INDEX(scratch->codes, count))
		return PYTHON_TOO_DEEP;
	/* Since 3.14 the lowest bit says how the reference is counted. */
	code = python_field(scratch->frame_bytes, process->frame_code, PYTHON_FRAME_BYTES) & ~7ull;
	if (!python_read(scratch->code_bytes, process->code_bytes, PYTHON_CODE_BYTES, code) ||
	    python_field(scratch->code_bytes, process->object_type, PYTHON_CODE_BYTES) != process->code_type)
		return PYTHON_UNREADABLE;
	instruction = python_field(scratch->frame_bytes, process->frame_instruction, PYTHON_FRAME_BYTES);
	if (process->instruction_bytes)
		instruction = (u64)((s64)(s32)instruction * process->instruction_bytes);
	else
		instruction -= python_first_instruction(process, scratch, code);
	/* Another code object may lie there later. */
	key = mix(mix(scratch->space, code), python_field(scratch->code_bytes, process->code_name, PYTHON_CODE_BYTES));
	key = mix(key, python_field(scratch->code_bytes, process->code_table, PYTHON_CODE_BYTES));
	key = mix(key, python_field(scratch->code_bytes, process->code_line, PYTHON_CODE_BYTES) & 0xffffffff);
	frame = &ITEM(scratch->stack.frames, count);
	frame->code = key;
	frame->instruction = instruction;
	frame->native = PYTHON_BY_COUNT;
	frame->segment = process->style == PYTHON_FRAME_OBJECTS ? count : scratch->segment;
	ITEM(scratch->codes, count) = code;
	scratch->hash = mix(mix(mix(scratch->hash, key), instruction & 0xffffffff), scratch->segment);
	scratch->stack.count = count + 1;
	if (process->style == PYTHON_ENTRY_MARK && owner) {
		python_end_segment(scratch, scratch->cframe);
		scratch->cframe = python_pointer(scratch->cframe + process->cframe_previous);
	}
	scratch->frame = previous;
	return PYTHON_GOES_ON;
}

/* The step of the process's language. A function of its own: the verifier goes through each round of the loop that calls it. */
__noinline int script_step(struct python_process *process, struct python_scratch *scratch)
{
	if (!process || !scratch)
		return PYTHON_UNREADABLE;
	if (process->style == PYTHON_PHP)
		return php_step((struct php_process *)process, scratch);
	if (process->style == PYTHON_RUBY)
		return ruby_step((struct ruby_process *)process, scratch);
	return python_step(process, scratch);
}

/* Walks the frames from scratch->frame on. Returns a hash of them, 0 when there is none. */
__noinline u64 python_walk(struct python_process *process, struct python_scratch *scratch)
{
	int end = PYTHON_GOES_ON;

	if (!process || !scratch)
		return 0;
	scratch->hash = 0;
	scratch->segment = 0;
	scratch->marks[0] = 0; /* those of styles without marks stay so */
	scratch->stack.count = 0;
	/* Twice as many steps as frames: each may be followed by a shim. */
	for (int i = 0; i <= 2 * DWELL_MAX_FRAMES && end == PYTHON_GOES_ON; i++)
		end = script_step(process, scratch);
	scratch->stack.flags = end == PYTHON_COMPLETE ? 0 : PYTHON_CUT;
	if (end == PYTHON_UNREADABLE)
		count_loss(PYTHON_FRAMES_UNREADABLE);
	if (!scratch->stack.count)
		return 0;
	return mix(scratch->hash, end) | 1;
}

/* The frames of a thread of PHP or Ruby: the same as take_python_frames(). */
__noinline u64 take_php_or_ruby_frames(struct python_process *process, u64 space, u64 thread_pointer)
{
	struct python_scratch *scratch = this_python();

	if (!process || !scratch)
		return 0;
	scratch->space = space;
	if (process->style == PYTHON_RUBY)
		ruby_begin((struct ruby_process *)process, scratch, thread_pointer);
	else
		scratch->frame = python_pointer(process->runtime);
	return scratch->frame ? python_walk(process, scratch) : 0;
}

/* The Python frames of the current thread, into this program's buffer. Returns a hash of them, 0 when it has none. */
static __always_inline u64 take_python_frames(struct task_struct *task, struct thread *thread, u64 space)
{
	struct python_process *process = python_of(tgid_of(task));
	struct python_scratch *scratch;
	u64 state;

	if (!process)
		return 0;
	if (process->style >= PYTHON_PHP)
		return take_php_or_ruby_frames(process, space, task->thread.fsbase);
	scratch = this_python();
	state = python_state(process, task, thread);
	if (!scratch || !state)
		return 0;
	scratch->space = space;
	scratch->frame = python_current_frame(process, state, &scratch->cframe);
	thread->python_idle = !scratch->frame; /* then another of its states may run */
	if (!scratch->frame)
		return 0;
	thread->python_failures = 0;
	return python_walk(process, scratch);
}

/* Places a frame, or goes on to the next native one: true while there is more to do. Its state lies in memory, where the
 * verifier does not follow it from step to step. */
__noinline int python_place_step(struct unwind_scratch *unwound, struct python_scratch *scratch)
{
	struct python_frame *frame;
	u64 at, native, mark;

	if (!unwound || !scratch)
		return 0;
	at = scratch->placed;
	native = scratch->native;
	if (!IS_INDEX(scratch->codes, at) || at >= scratch->stack.count || !IS_AT_MOST(native, DWELL_MAX_FRAMES - 2))
		return 0;
	frame = &ITEM(scratch->stack.frames, at);
	mark = frame->segment < DWELL_MAX_FRAMES ? ITEM(scratch->marks, frame->segment) : 0;
	/* How far the last frame reaches is not known, but the outermost one evaluates nothing. */
	if (!mark || native + 1 >= unwound->stack.count)
		return 0;
	if (ITEM(unwound->sps, native + 1) <= mark) {
		scratch->native = native + 1;
		return 1;
	}
	if (mark < ITEM(unwound->sps, native))
		return 0;
	frame->native = native;
	scratch->placed = at + 1;
	return 1;
}

/* Which native frame ran each Python frame. `sps` of the native walk: a frame reaches from its own to the next one. */
__noinline int python_place(struct unwind_scratch *unwound, struct python_scratch *scratch)
{
	if (!unwound || !scratch)
		return 0;
	scratch->placed = 0;
	scratch->native = 0;
	for (int i = 0; i < 2 * DWELL_MAX_FRAMES; i++) {
		if (!python_place_step(unwound, scratch))
			break;
	}
	return 0;
}

/* For the stack of this program's native walk. A style without marks has one segment a frame, all of them unknown. */
static __always_inline void place_python_frames(struct unwind_scratch *unwound)
{
	struct python_scratch *scratch = this_python();

	if (scratch && scratch->segment)
		python_place(unwound, scratch);
}

/*
 * Who holds the global interpreter lock, when the futex at `address` is part of it: true then. The lock's mutex and
 * condition variable lie in struct _gil_runtime_state, Include/internal/pycore_gil.h.
 */
static __always_inline bool python_gil(struct task_struct *task, struct thread *thread, u64 address, u32 *holder)
{
	struct python_process *process = python_of(tgid_of(task));
	u64 gil, state, key;
	u32 locked = 0, *tid;

	if (!process || !thread->python_state)
		return false;
	gil = process->gil_pointer ? python_pointer(thread->python_interpreter + process->gil_pointer)
				   : process->runtime + process->gil;
	if (!gil || address - gil >= PYTHON_GIL_BYTES)
		return false;
	state = python_pointer(gil + process->gil_holder);
	bpf_probe_read_user(&locked, sizeof(locked), (void *)gil + process->gil_locked);
	if (locked != 1 || state == thread->python_state)
		return true;
	key = python_thread_key(task, state);
	tid = bpf_map_lookup_elem(&python_threads, &key);
	*holder = tid ? *tid : 0;
	return true;
}

/* A child has its parent's interpreter. */
static __always_inline void python_fork(u32 parent_tgid, u32 child_tgid)
{
	struct python_process *parent = python_of(parent_tgid);

	if (parent)
		bpf_map_update_elem(&python_processes, &child_tgid, parent, BPF_ANY);
	else
		bpf_map_delete_elem(&python_processes, &child_tgid);
}

#endif
