/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Ids of threads and processes as Dwell's pid namespace has them, which are those in its /proc: in a container others
 * than the kernel's own. On the host the verifier drops all but the first line of each function.
 */
#ifndef DWELL_IDS_BPF_H
#define DWELL_IDS_BPF_H

#include "record.bpf.h"
#include "scope.bpf.h"

/* 0 = a thread outside of Dwell's namespace. One that leaves its CPU for good may have lost its ids: it is remembered. */
static __always_inline u32 tid_of(struct task_struct *task)
{
	struct thread *thread;
	u32 id;

	if (!scope.pid_level)
		return task->pid;
	id = own_id((u64)BPF_CORE_READ(task, thread_pid));
	if (id)
		return id;
	thread = bpf_task_storage_get(&threads, task, 0, 0);
	return thread ? thread->tid : 0;
}

/* The same of the thread's process. */
static __always_inline u32 tgid_of(struct task_struct *task)
{
	struct thread *thread;

	if (!scope.pid_level)
		return task->tgid;
	if (BPF_CORE_READ(task, thread_pid))
		return own_id((u64)BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
	thread = bpf_task_storage_get(&threads, task, 0, 0);
	return thread ? thread->tgid : 0;
}

static __always_inline void remember_ids(struct task_struct *task, struct thread *thread)
{
	if (!scope.pid_level)
		return;
	thread->tid = tid_of(task);
	thread->tgid = tgid_of(task);
}

/* What the thread itself takes for its id, when it lives in a pid namespace within Dwell's; else nothing is written. */
static __always_inline void read_inner_id(struct task_struct *task, struct record_thread_new *record)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = pid ? BPF_CORE_READ(pid, level) : 0;
	struct upid *id;

	if (level <= scope.pid_level)
		return;
	id = id_at(pid, level);
	record->inner_tid = BPF_CORE_READ(id, nr);
	record->pid_namespace = BPF_CORE_READ(id, ns, ns.inum);
}

#endif
