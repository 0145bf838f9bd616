// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Births, renames and new programs of threads, and the state of those that are there when recording begins. */
#include "io_quota.bpf.h"
#include "switch.bpf.h"
#include "targets.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The mode that --strategy gives to processes of this name, else `mode`. */
static __always_inline u8 mode_by_name(const char *name, struct control *control, u8 mode)
{
	char comm[DWELL_COMM_BYTES] = {};
	u8 *rule = NULL;

	if (control->rule_count) {
		bpf_probe_read_kernel_str(comm, sizeof(comm), name);
		rule = bpf_map_lookup_elem(&rules, comm);
	}
	return rule ? *rule : mode;
}

static __always_inline u8 followed(u8 mode)
{
	return mode & THREAD_FOLLOW ? THREAD_RECORD | THREAD_FOLLOW : 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *thread = bpf_task_storage_get(&threads, parent, 0, 0), *created;
	struct control *control = controls();
	struct birth birth = {};
	u8 mode;

	if (!thread || !control || (thread->mode & THREAD_LAUNCHING))
		return 0;
	mode = thread->mode;
	if (parent->tgid != child->tgid)
		mode = is_in_scope(child) ? mode_by_name(child->comm, control, followed(mode)) : 0;
	if (!mode && !control->rule_count)
		return 0;
	created = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!created) {
		count_loss(THREADS_NOT_TRACKED);
		return 0;
	}
	created->mode = mode;
	remember_ids(child, created);
	if (parent->tgid != child->tgid) {
		unwind_fork(tgid_of(parent), tgid_of(child));
		interpreter_fork(tgid_of(parent), tgid_of(child));
	}
	if (!(mode & THREAD_RECORD))
		return 0;
	if (thread->mode & THREAD_RECORD) {
		birth.parent = parent;
		birth.stack = take_user_stack(parent, thread, last_stack(parent, WAKING));
	}
	write_thread_new(child, &birth, bpf_ktime_get_ns());
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_exec);
} exec_buffer SEC(".maps");

static __always_inline void write_exec(struct task_struct *task, u32 old_tid, struct linux_binprm *bprm, u64 now)
{
	u32 zero = 0;
	struct record_exec *record = bpf_map_lookup_elem(&exec_buffer, &zero);

	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(&record->h, RECORD_EXEC, sizeof(*record), tid_of(task), now);
	record->tgid = tgid_of(task);
	record->old_tid = old_tid;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	bpf_probe_read_kernel_str(record->path, sizeof(record->path), BPF_CORE_READ(bprm, filename));
	write_record(record, sizeof(*record), THREAD_RECORDS_LOST);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid, struct linux_binprm *bprm)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct control *control = controls();
	u32 tgid = tgid_of(task);
	bool is_ours;
	u64 now;
	u8 mode;

	if (!thread || !control)
		return 0;
	unwind_forget(tgid_of(task));
	note_urgency(task);
	bpf_map_delete_elem(&interpreter_processes, &tgid);
	thread->python_state = 0;
	if (scope.pid_level)
		old_tid = thread->tid;
	remember_ids(task, thread);
	/* The new image begins at the rename: its first files are mapped before this tracepoint. */
	now = thread->rename_time_ns ? thread->rename_time_ns : bpf_ktime_get_ns();
	mode = mode_by_name(task->comm, control, thread->mode & THREAD_FOLLOW ? followed(thread->mode) : thread->mode);
	is_ours = is_in_scope(task);
	if (mode && !is_ours) {
		mode = 0;
		count_loss(PROGRAMS_OUT_OF_SCOPE);
	}
	if ((thread->mode & THREAD_RECORD) && !is_ours)
		write_thread_left(task, thread, now);
	else if ((thread->mode & THREAD_RECORD) && !(mode & THREAD_RECORD))
		write_thread_exit(task, thread, bpf_ktime_get_ns()); /* it was recorded until now */
	if (!(thread->mode & THREAD_RECORD) && (mode & THREAD_RECORD))
		begin_running(task, thread, now);
	thread->mode = mode;
	if (mode & THREAD_RECORD)
		write_exec(task, old_tid, bprm, now);
	return 0;
}

/* exec renames the thread first of all (begin_new_exec in fs/exec.c): that is where a launched program begins. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct control *control = controls();
	struct record_thread_name record = {};
	u64 now = bpf_ktime_get_ns();
	u8 mode;

	if (!thread || !control)
		return 0;
	thread->rename_time_ns = now;
	if (thread->mode & THREAD_LAUNCHING) {
		mode = THREAD_RECORD | (control->follow_children ? THREAD_FOLLOW : 0);
		thread->mode = mode_by_name(comm, control, mode); /* task->comm is still the old one */
		if (thread->mode & THREAD_RECORD)
			begin_running(task, thread, now);
	}
	if (!(thread->mode & THREAD_RECORD))
		return 0;
	set_header(&record.h, RECORD_THREAD_NAME, sizeof(record), tid_of(task), now);
	bpf_probe_read_kernel_str(record.comm, sizeof(record.comm), comm);
	write_record(&record, sizeof(record), THREAD_RECORDS_LOST);
	return 0;
}

/* PRIO_TO_NICE of include/linux/sched/prio.h. */
static __always_inline int nice_of(struct task_struct *task)
{
	return task->static_prio - 120;
}

/* On how many CPUs `task` may run; 0 = on all. A thread that nobody bound may run on more than there are. */
static __always_inline u32 cpus_allowed(struct task_struct *task)
{
	const struct control *control = controls();
	u32 allowed = task->nr_cpus_allowed;

	return control && allowed < control->online_cpus ? allowed : 0;
}

/* What the kernel's accounts say of `task`; calls and bytes are 0 where it does not count them. */
static __always_inline void write_thread_account(struct task_struct *task)
{
	struct record_thread_account record = {};

	set_header(&record.h, RECORD_THREAD_ACCOUNT, sizeof(record), tid_of(task), bpf_ktime_get_ns());
	record.policy = task->policy;
	record.nice = nice_of(task);
	record.cpus_allowed = cpus_allowed(task);
	if (bpf_core_field_exists(task->ioac.syscr)) {
		record.read_calls = task->ioac.syscr;
		record.read_bytes = task->ioac.rchar;
		record.write_calls = task->ioac.syscw;
		record.write_bytes = task->ioac.wchar;
	}
	write_record(&record, sizeof(record), THREAD_RECORDS_LOST);
}

/* Whether the accounts say anything: of a thread that has read, written, or is scheduled or bound in another way than usually. */
static __always_inline bool has_account(struct task_struct *task)
{
	if (task->policy || nice_of(task) || cpus_allowed(task))
		return true;
	return bpf_core_field_exists(task->ioac.syscr) && (task->ioac.syscr || task->ioac.syscw);
}

/* A thread reads and writes no more from here on (do_exit in kernel/exit.c). */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	if (thread && (thread->mode & THREAD_RECORD) && has_account(task))
		write_thread_account(task);
	return 0;
}

/* Run once by user space when recording ends. */
SEC("iter/task")
int read_accounts(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *thread;

	if (!task || (task->__state & STATE_DEAD))
		return 0;
	thread = bpf_task_storage_get(&threads, task, 0, 0);
	if (thread && (thread->mode & THREAD_RECORD) && has_account(task))
		write_thread_account(task);
	return 0;
}

/* Whether `task` is one to be taken in as the entry of its process in `targets` says, if any; NULL = it is none to look at. */
static __always_inline struct thread *thread_to_seed(struct task_struct *task, const u8 *mode)
{
	struct thread *thread;

	if (!is_in_scope(task)) {
		/* One that was taken in before was counted when it began to run what it runs. */
		if (!mode || bpf_task_storage_get(&threads, task, 0, 0))
			return NULL;
		/* The child that is to run a program is Dwell itself until then, which nobody may look into. */
		if (!(*mode & THREAD_LAUNCHING)) {
			if (task->pid == task->tgid)
				count_loss(PROGRAMS_OUT_OF_SCOPE);
			return NULL;
		}
	}
	thread = bpf_task_storage_get(&threads, task, 0, mode ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!thread && mode)
		count_loss(THREADS_NOT_TRACKED);
	return thread;
}

/* Takes a thread of a target in. Whether it was none before. */
static __always_inline bool take_in_thread(struct task_struct *task, struct thread *thread, const u8 *mode)
{
	const struct birth birth = {.flags = THREAD_SEEDED};

	if (!mode || thread->mode)
		return false;
	thread->mode = *mode;
	remember_ids(task, thread);
	thread->runtime_base_ns = task->se.sum_exec_runtime;
	if (thread->mode & THREAD_RECORD)
		write_thread_new(task, &birth, bpf_ktime_get_ns());
	if (thread->mode & THREAD_RECORD)
		write_thread_account(task);
	return true;
}

static __always_inline int seed_thread(struct task_struct *task, bool only_new)
{
	struct thread *thread;
	bool is_new;
	u32 tgid;
	u8 *mode;

	if (!task || (task->__state & STATE_DEAD))
		return 0;
	tgid = tgid_of(task);
	mode = bpf_map_lookup_elem(&targets, &tgid);
	if (only_new && !mode)
		return 0;
	thread = thread_to_seed(task, mode);
	if (!thread)
		return 0;
	is_new = take_in_thread(task, thread, mode);
	if ((thread->mode & THREAD_RECORD) && (is_new || !only_new))
		write_state(task, thread);
	return 0;
}

/* Run once by user space when recording begins or is resumed: takes every thread of the target processes in. */
SEC("iter/task")
int seed(struct bpf_iter__task *ctx)
{
	return seed_thread(ctx->task, false);
}

/* Run when processes join that run already: of the others' threads all is known. */
SEC("iter/task")
int seed_joined(struct bpf_iter__task *ctx)
{
	return seed_thread(ctx->task, true);
}
