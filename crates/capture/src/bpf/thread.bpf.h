/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Which threads are profiled: those that carry a `struct thread` in the kernel's task storage. A look-up costs a few
 * nanoseconds for the threads of other programs, and the kernel frees it with the thread.
 */
#ifndef DWELL_THREAD_BPF_H
#define DWELL_THREAD_BPF_H

#include "ids.bpf.h"

/* The thread's state if it is to be recorded. */
static __always_inline struct thread *recorded(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	return thread && (thread->mode & THREAD_RECORD) ? thread : NULL;
}

struct birth {
	struct task_struct *parent;
	u64 stack;
	u32 flags; /* enum thread_flag */
};

static __always_inline void write_thread_new(struct task_struct *task, const struct birth *birth, u64 now)
{
	struct record_thread_new record = {};

	set_header(&record.h, RECORD_THREAD_NEW, sizeof(record), tid_of(task), now);
	record.tgid = tgid_of(task);
	if (birth->parent) {
		record.parent_tid = tid_of(birth->parent);
		record.parent_tgid = tgid_of(birth->parent);
	}
	record.flags = birth->flags;
	record.creator_stack = birth->stack;
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	read_inner_id(task, &record);
	write_record(&record, sizeof(record), THREAD_RECORDS_LOST);
}

/* A thread that runs is recorded from now on. The kernel's account of its CPU time lags until its next switch. */
static __always_inline void begin_running(struct task_struct *task, struct thread *thread, u64 now)
{
	const struct birth unknown = {};

	thread->on_cpu = 1;
	thread->running_since_ns = now;
	thread->in_time_ns = now; /* or a switch that no hook saw would be dated before its birth */
	thread->in_runtime_ns = task->se.sum_exec_runtime;
	write_thread_new(task, &unknown, now);
}

static __always_inline void fill_thread_exit(struct record_thread_exit *record, struct task_struct *task,
					     struct thread *thread)
{
	int group_code = task->signal->group_exit_code;

	record->tgid = tgid_of(task);
	record->exit_code = group_code ? group_code : task->exit_code;
	record->cpu_ns = task->se.sum_exec_runtime - thread->runtime_base_ns;
}

/* `task` leaves the CPU, or our sight, for good. */
static __always_inline void write_thread_exit(struct task_struct *task, struct thread *thread, u64 now)
{
	struct record_thread_exit record = {};

	set_header(&record.h, RECORD_THREAD_EXIT, sizeof(record), tid_of(task), now);
	fill_thread_exit(&record, task, thread);
	write_record(&record, sizeof(record), THREAD_RECORDS_LOST);
}

/* `task` leaves our sight: since `since_ns` its process runs what Dwell's user may not look at. */
static __always_inline void write_thread_left(struct task_struct *task, struct thread *thread, u64 since_ns)
{
	struct record_thread_left record = {.since_ns = since_ns};

	set_header(&record.exit.h, RECORD_THREAD_LEFT, sizeof(record), tid_of(task), bpf_ktime_get_ns());
	fill_thread_exit(&record.exit, task, thread);
	write_record(&record, sizeof(record), THREAD_RECORDS_LOST);
}

#endif
