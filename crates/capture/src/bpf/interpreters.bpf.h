/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The functions of a script that the current thread runs, by the process's language: the walk, which native frame ran which of them, and
 * their descriptions. A function is described the first time that it is seen, from here: a moment later the program may have ended.
 * Include after record.bpf.h.
 */
#ifndef DWELL_INTERPRETERS_BPF_H
#define DWELL_INTERPRETERS_BPF_H

#include "php.bpf.h"
#include "python.bpf.h"
#include "ruby.bpf.h"

/* The step of the process's language. A function of its own: the verifier goes through each round of the loop that calls it. */
__noinline int script_step(struct python_process *process, struct script_scratch *scratch)
{
	if (!process || !scratch)
		return SCRIPT_UNREADABLE;
	if (process->style == INTERPRETER_PHP)
		return php_step((struct php_process *)process, scratch);
	if (process->style == INTERPRETER_RUBY)
		return ruby_step((struct ruby_process *)process, scratch);
	return python_step(process, scratch);
}

/* Walks the frames from scratch->frame on. Returns a hash of them, 0 when there is none. */
__noinline u64 script_walk(struct python_process *process, struct script_scratch *scratch)
{
	int end = SCRIPT_GOES_ON;

	if (!process || !scratch)
		return 0;
	scratch->hash = 0;
	scratch->segment = 0;
	scratch->marks[0] = 0; /* those of styles without marks stay so */
	scratch->stack.count = 0;
	/* Twice as many steps as frames: each may be followed by a shim. */
	for (int i = 0; i <= 2 * DWELL_MAX_FRAMES && end == SCRIPT_GOES_ON; i++)
		end = script_step(process, scratch);
	scratch->stack.flags = end == SCRIPT_COMPLETE ? 0 : SCRIPT_CUT;
	if (end == SCRIPT_UNREADABLE)
		count_loss(SCRIPT_FRAMES_UNREADABLE);
	if (!scratch->stack.count)
		return 0;
	return mix(scratch->hash, end) | 1;
}

/* The frames of a thread of PHP or Ruby: the same as take_script_frames(). */
__noinline u64 take_php_or_ruby_frames(struct python_process *process, u64 space, u64 thread_pointer)
{
	struct script_scratch *scratch = this_script();

	if (!process || !scratch)
		return 0;
	scratch->space = space;
	if (process->style == INTERPRETER_RUBY)
		ruby_begin((struct ruby_process *)process, scratch, thread_pointer);
	else
		scratch->frame = user_pointer(process->runtime);
	return scratch->frame ? script_walk(process, scratch) : 0;
}

/* The frames of the script that the current thread runs, into this program's buffer. Returns a hash of them, 0 when it runs none. */
static __always_inline u64 take_script_frames(struct task_struct *task, struct thread *thread, u64 space)
{
	struct python_process *process = interpreter_of(tgid_of(task));
	struct script_scratch *scratch;
	u64 state;

	if (!process)
		return 0;
	if (process->style >= INTERPRETER_PHP)
		return take_php_or_ruby_frames(process, space, task->thread.fsbase);
	scratch = this_script();
	state = python_state(process, task, thread);
	if (!scratch || !state)
		return 0;
	scratch->space = space;
	scratch->frame = python_current_frame(process, state, &scratch->cframe);
	thread->python_idle = !scratch->frame; /* then another of its states may run */
	if (!scratch->frame)
		return 0;
	thread->python_failures = 0;
	return script_walk(process, scratch);
}

/* Places a frame, or goes on to the next native one: true while there is more to do. Its state lies in memory, where the
 * verifier does not follow it from step to step. */
__noinline int script_place_step(struct unwind_scratch *unwound, struct script_scratch *scratch)
{
	struct script_frame *frame;
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

/* Which native frame ran each frame of a script. `sps` of the native walk: a frame reaches from its own to the next one. */
__noinline int script_place(struct unwind_scratch *unwound, struct script_scratch *scratch)
{
	if (!unwound || !scratch)
		return 0;
	scratch->placed = 0;
	scratch->native = 0;
	for (int i = 0; i < 2 * DWELL_MAX_FRAMES; i++) {
		if (!script_place_step(unwound, scratch))
			break;
	}
	return 0;
}

/* For the stack of this program's native walk. A style without marks has one segment a frame, all of them unknown. */
static __always_inline void place_script_frames(struct unwind_scratch *unwound)
{
	struct script_scratch *scratch = this_script();

	if (scratch && scratch->segment)
		script_place(unwound, scratch);
}

/* Describes the function by the process's language; see script_step(). */
__noinline int script_describe(struct python_process *process, struct script_scratch *scratch, u64 at)
{
	if (!process || !scratch)
		return 0;
	if (process->style == INTERPRETER_PHP)
		return php_describe((struct php_process *)process, scratch, at);
	if (process->style == INTERPRETER_RUBY)
		return ruby_describe((struct ruby_process *)process, scratch, at);
	return python_describe(process, scratch, at);
}

/* Writes the frames of a script of this program's buffer, which belong to the native stack of `key`. */
__noinline int publish_script(u64 key, u32 tid, u32 tgid)
{
	struct python_process *process = bpf_map_lookup_elem(&interpreter_processes, &tgid);
	struct script_scratch *scratch = this_script();
	u64 count, size;

	if (!process || !scratch)
		return 0;
	count = scratch->stack.count;
	if (!IS_AT_MOST(count, DWELL_MAX_FRAMES))
		return 0;
	for (u64 i = 0; i < DWELL_MAX_FRAMES && i < count; i++) {
		script_describe(process, scratch, i);
	}
	size = sizeof(scratch->stack) - sizeof(scratch->stack.frames) + count * sizeof(struct script_frame);
	set_header(&scratch->stack.h, RECORD_SCRIPT_STACK, size, tid, bpf_ktime_get_ns());
	scratch->stack.key = key;
	scratch->stack.reserved = 0;
	write_record(&scratch->stack, AT_MOST(size, sizeof(scratch->stack)), STACKS_LOST);
	return 0;
}

/* A child has its parent's interpreter. */
static __always_inline void interpreter_fork(u32 parent_tgid, u32 child_tgid)
{
	struct python_process *parent = interpreter_of(parent_tgid);

	if (parent)
		bpf_map_update_elem(&interpreter_processes, &child_tgid, parent, BPF_ANY);
	else
		bpf_map_delete_elem(&interpreter_processes, &child_tgid);
}

#endif
