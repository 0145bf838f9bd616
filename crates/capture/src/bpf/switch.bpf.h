/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Filling in the two halves of a switch record; used for real switches and for the state of threads at the start.
 */
#ifndef DWELL_SWITCH_BPF_H
#define DWELL_SWITCH_BPF_H

#include "fault.bpf.h"
#include "memory_limit.bpf.h"
#include "object.bpf.h"
#include "stack.bpf.h"
#include "task_state.bpf.h"
#include "thread.bpf.h"

enum switch_place {
	PLACE_SWITCH = 0,
	PLACE_UNSEEN = 1, /* what is put back before a switch is written */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct record_switch);
} switch_buffer SEC(".maps");

/* An empty record in this CPU's buffer, of time `time_ns`. */
static __always_inline struct record_switch *new_switch(enum switch_place place, u64 time_ns)
{
	u32 key = place;
	struct record_switch *record = bpf_map_lookup_elem(&switch_buffer, &key);

	if (!record)
		return NULL;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(&record->h, RECORD_SWITCH, sizeof(*record), 0, time_ns);
	record->cpu = bpf_get_smp_processor_id();
	record->syscall = -1;
	record->waker_syscall = -1;
	return record;
}

static __always_inline void set_out(struct record_switch *record, struct task_struct *task, struct thread *thread,
				    u32 state, bool current, struct wait_target *target)
{
	record->state = state;
	record->syscall = current_syscall(task);
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		record->flags |= SWITCH_IOWAIT;
	if (state == 0)
		return;
	if (HAS(MEMORY_LIMIT) && lacks_memory(task, record->syscall < 0))
		record->flags |= SWITCH_MEMORY_LIMIT;
	if (state & STATE_STOPPED) {
		struct thread *first = recorded(task->group_leader);

		record->object = first ? first->stop : 0;
		return;
	}
	if (HAS(OBJECT) && record->syscall >= 0)
		find_wait_target(task, thread, record->syscall, current, target);
	else if (HAS(OBJECT) && state & STATE_UNINTERRUPTIBLE)
		target->object = faulting_file(task);
	record->object = target->object;
	record->detail = target->detail;
}

static __always_inline void set_in(struct record_switch *record, struct task_struct *task, struct thread *thread)
{
	u64 pending = task->pending.signal.sig[0] | task->signal->shared_pending.signal.sig[0];

	record->next_tid = tid_of(task);
	record->wake_time_ns = thread->wake_time_ns;
	record->waker_tid = thread->waker_tid;
	record->waker_stack = thread->waker_stack;
	record->waker_syscall = thread->waker_syscall;
	record->waker_context = thread->waker_context;
	if (pending & ~task->blocked.sig[0])
		record->flags |= SWITCH_SIGNAL_PENDING;
	thread->last_wake_ns = thread->wake_time_ns;
	thread->wake_time_ns = 0;
	thread->waker_stack = 0;
	thread->waker_context = WAKER_NONE;
	thread->on_cpu = 1;
	thread->in_time_ns = record->h.time_ns;
	thread->in_runtime_ns = task->se.sum_exec_runtime;
}

/*
 * Under some hypervisors the kernel switches from and to their agent's threads without passing the tracepoint. What no
 * hook saw is put back from the kernel's own account of running time, and counted: first, `task` runs, but was not seen
 * to come to the CPU. `since_ns` is when it came, as well as that is known.
 */
static __always_inline void write_unseen_in(struct task_struct *task, struct thread *thread, u64 since_ns)
{
	struct record_switch *record;

	count_loss(SWITCHES_UNSEEN);
	if (since_ns < thread->wake_time_ns)
		since_ns = thread->wake_time_ns;
	record = new_switch(PLACE_UNSEEN, since_ns);
	if (!record)
		return;
	set_in(record, task, thread);
	write_record(record, sizeof(*record), SWITCHES_LOST);
}

/* Second, `task` comes to the CPU, but was not seen to leave it. A wake-up since tells that it had blocked. */
static __always_inline void write_unseen_out(struct task_struct *task, struct thread *thread)
{
	u64 left_ns = thread->in_time_ns + (task->se.sum_exec_runtime - thread->in_runtime_ns);
	struct record_switch *record = new_switch(PLACE_UNSEEN, left_ns);
	struct wait_target target = {};

	count_loss(SWITCHES_UNSEEN);
	if (!record)
		return;
	record->h.tid = tid_of(task);
	set_out(record, task, thread, thread->wake_time_ns > left_ns ? STATE_INTERRUPTIBLE : 0, false, &target);
	write_record(record, sizeof(*record), SWITCHES_LOST);
}

/*
 * The key of the user stack of `task`, which waits. Its memory cannot be read from here: user space walks the stack from
 * the registers that this writes, and gives it that key if the thread has not moved. Returns 0 when there is none.
 */
static __always_inline u64 request_user_stack(struct task_struct *task, u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct record_registers record = {};

	if (!task->mm || (task->flags & (PF_EXITING | PF_KTHREAD)))
		return 0;
	if (!regs->ip) /* a worker of io_uring: it has no user code */
		return 0;
	set_header(&record.h, RECORD_REGISTERS, sizeof(record), tid_of(task), now);
	record.key = mix(mix(task->mm->start_stack, tid_of(task)), now) | 1ull << 63;
	set_registers(&record, regs);
	record.switches = task->nvcsw + task->nivcsw;
	record.thread_pointer = task->thread.fsbase;
	record.tgid = tgid_of(task);
	return write_record(&record, sizeof(record), STACKS_LOST) ? record.key : 0;
}

/* The state of a thread that is not switching. */
static __always_inline void write_state(struct task_struct *task, struct thread *thread)
{
	struct record_switch *record = new_switch(PLACE_SWITCH, bpf_ktime_get_ns());
	struct wait_target target = {};

	if (!record)
		return;
	record->flags = SWITCH_SEEDED;
	record->cpu = 0xffff;
	thread->on_cpu = task->on_cpu;
	thread->out_runtime_ns = task->se.sum_exec_runtime;
	if (task->on_cpu) {
		record->next_tid = tid_of(task);
	} else {
		record->h.tid = tid_of(task);
		set_out(record, task, thread, task->__state & STATE_MASK, false, &target);
		if (record->state)
			record->user_stack = request_user_stack(task, record->h.time_ns);
	}
	write_record(record, sizeof(*record), SWITCHES_LOST);
}

#endif
