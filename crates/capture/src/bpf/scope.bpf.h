/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Which threads may be looked at, and the numbers that Dwell's pid namespace has for them. Needs no map.
 */
#ifndef DWELL_SCOPE_BPF_H
#define DWELL_SCOPE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "wire.h"

#define PIDTYPE_TGID 1

/* Set by user space before loading. */
const volatile struct scope scope SEC(".rodata.scope");

static __always_inline struct upid *id_at(struct pid *pid, u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
}

/* The number of the `struct pid` at `address` in Dwell's namespace, 0 when it has none there. */
__noinline u32 own_id(u64 address)
{
	struct pid *pid = (struct pid *)address;
	struct upid *id;

	if (!pid || BPF_CORE_READ(pid, level) < scope.pid_level)
		return 0;
	id = id_at(pid, scope.pid_level);
	return BPF_CORE_READ(id, ns, ns.inum) == scope.pid_namespace ? BPF_CORE_READ(id, nr) : 0;
}

/* The number of a thread, or of its process, in Dwell's namespace; 0 = it has none there. */
static __always_inline u32 own_number(struct task_struct *task, bool of_process)
{
	if (!scope.pid_level)
		return of_process ? task->tgid : task->pid;
	if (of_process)
		return own_id((u64)BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
	return own_id((u64)BPF_CORE_READ(task, thread_pid));
}

/* Before Linux 6.18 a number, then a set of bits (mm_flags_t); the lowest two tell. */
struct mm_struct___number {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct mm_struct___bits {
	mm_flags_t flags;
} __attribute__((preserve_access_index));

/* Since Linux 7.2 dumpability is the task's. */
struct task_struct___state {
	struct task_exec_state *exec_state;
} __attribute__((preserve_access_index));

#define DUMPABLE_MASK     3
#define DUMPABLE_BY_OWNER 1 /* SUID_DUMP_USER, TASK_DUMPABLE_OWNER */

/*
 * Whether the task's user may have its core: not so once it has set prctl(PR_SET_DUMPABLE), or runs a file that may not be
 * read. False on a kernel that keeps that in another way, so that nobody sees more than is right.
 */
static __always_inline bool is_dumpable(struct task_struct *task)
{
	struct task_struct___state *state = (void *)task;
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	unsigned long flags = 0;
	u32 offset;

	if (bpf_core_field_exists(state->exec_state))
		return BPF_CORE_READ(state, exec_state, dumpable) == TASK_DUMPABLE_OWNER;
	if (!mm)
		return true;
	if (bpf_core_field_exists(struct mm_struct___bits, flags))
		offset = bpf_core_field_offset(struct mm_struct___bits, flags);
	else if (bpf_core_field_exists(struct mm_struct___number, flags))
		offset = bpf_core_field_offset(struct mm_struct___number, flags);
	else
		return false;
	bpf_probe_read_kernel(&flags, sizeof(flags), (void *)mm + offset);
	return (flags & DUMPABLE_MASK) == DUMPABLE_BY_OWNER;
}

/*
 * Whether a user without Dwell's rights might look at the task: the rule of ptrace(2). A program that is started with the
 * rights of its file, such as a set-user-ID one, is another user's.
 */
static __always_inline bool is_in_scope(struct task_struct *task)
{
	const struct cred *cred = task->real_cred;
	u64 capabilities = 0;

	if (!scope.own_only)
		return true;
	if (BPF_CORE_READ(cred, user_ns, ns.inum) == scope.user_namespace)
		bpf_probe_read_kernel(&capabilities, sizeof(capabilities), &cred->cap_permitted);
	return BPF_CORE_READ(cred, uid.val) == scope.uid && BPF_CORE_READ(cred, euid.val) == scope.uid &&
	       BPF_CORE_READ(cred, suid.val) == scope.uid && BPF_CORE_READ(cred, gid.val) == scope.gid &&
	       BPF_CORE_READ(cred, egid.val) == scope.gid && BPF_CORE_READ(cred, sgid.val) == scope.gid &&
	       !capabilities && is_dumpable(task);
}

#endif
