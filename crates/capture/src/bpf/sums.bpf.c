// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * Sums of all waits by what they were for, and of the time in between: nothing is written to a ring, no stack is walked.
 *
 * A thread carries what it does and since when; when it comes back to a CPU, one sum grows by the wait that ended and by all that
 * it did since the wait before. User space begins an interval by a number in `sum_control`: sums of odd intervals lie in one map,
 * those of even ones in the other. Then it walks over the threads for what each had done by that instant and has in no sum yet.
 * A thread that goes on meanwhile keeps that for the walk, so that each part is in one interval, whoever comes first.
 */
#include "scope.bpf.h"
#include "checked.bpf.h"
#include "task_state.bpf.h"
#include "vmlinux_memory.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* What a thread does, and what is in no sum yet. */
struct summed {
	struct sum_key key; /* of its wait; without one while it runs */
	struct sum_value pending;
	u64 since_ns; /* it does so since then */
	u64 wake_ns;  /* when it was woken last; may be before it left the CPU */
	u64 kept_ns;  /* begin of an interval: `kept` is how it stood then */
	struct open_sum kept;
	u32 stage;   /* enum sum_stage */
	u32 version; /* odd while the members above change */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct summed);
} summed_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sum_control);
} sum_control SEC(".maps");

/* Preallocated, since a switch must not allocate memory. User space sets how many there are. */
struct sums {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, DWELL_MOST_SUMS);
	__type(key, struct sum_key);
	__type(value, struct sum_value);
};
struct sums sums_even SEC(".maps");
struct sums sums_odd SEC(".maps");

/* What found no place in them. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sum_value);
} sums_lost SEC(".maps");

/* The names of threads that have ended, by process << 32 | thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct sum_name);
} sum_names SEC(".maps");

/* Which bits of a system call's first argument tell its objects apart. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DWELL_SYSCALLS);
	__type(key, u32);
	__type(value, u64);
} object_masks SEC(".maps");

static __always_inline struct sum_control *controls(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&sum_control, &zero);
}

/* As wait.rs of crates/live has it. */
static __always_inline bool is_lock(u32 operation, u32 expected)
{
	operation &= FUTEX_COMMANDS;
	return operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 || expected == MUTEX_CONTENDED ||
	       expected == RWLOCK_WRITTEN || (expected & FUTEX_WAITERS);
}

/* `task` waits in `state`. */
static __always_inline void set_wait(struct sum_key *key, struct task_struct *task, u32 state)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 *mask;
	u32 call;

	key->cgroup = task->cgroups->dfl_cgrp->kn->id;
	key->object = 0;
	key->state = state;
	key->flags = BPF_CORE_READ_BITFIELD(task, in_iowait) ? TASK_IS_IOWAIT : 0;
	key->is_lock = 0;
	if (task->flags & PF_KTHREAD) {
		key->flags |= TASK_IS_KERNEL_THREAD;
		key->syscall = -1;
		return;
	}
	key->syscall = current_syscall(task);
	call = key->syscall;
	mask = bpf_map_lookup_elem(&object_masks, &call);
	if (!mask || !*mask)
		return;
	key->object = regs->di & *mask;
	if (*mask == ~0ull)
		key->is_lock = is_lock(regs->si, regs->dx);
}

static __always_inline void set_no_wait(struct sum_key *key)
{
	key->object = 0;
	key->syscall = -1;
	key->state = 0;
	key->flags = 0;
	key->is_lock = 0;
}

/* What of `thread` is in no sum at `now`. Its last change was before. */
static __always_inline void add_open(struct sum_value *value, const struct summed *thread, u64 now)
{
	u64 woken = now;

	*value = thread->pending;
	switch (thread->stage) {
	case SUM_RUNNING:
		value->running_ns += now - thread->since_ns;
		break;
	case SUM_QUEUED:
		value->queued_ns += now - thread->since_ns;
		break;
	case SUM_WAITING:
		if (thread->wake_ns > thread->since_ns && thread->wake_ns < now)
			woken = thread->wake_ns;
		value->wait_ns += woken - thread->since_ns;
		value->runnable_ns += now - woken;
		value->longest_ns = woken - thread->since_ns;
		break;
	}
}

/* Before the first change in an interval: how the thread stood when that began. */
static __always_inline void keep_begin(struct summed *thread, const struct sum_control *control)
{
	u64 begin_ns = control->begin_ns;

	if (thread->since_ns >= begin_ns || thread->kept_ns == begin_ns)
		return;
	thread->kept.key = thread->key;
	add_open(&thread->kept.value, thread, begin_ns);
	thread->kept_ns = begin_ns;
}

static __always_inline void add(struct sum_value *sum, const struct sum_value *value)
{
	sum->waits += value->waits;
	sum->wait_ns += value->wait_ns;
	sum->runnable_ns += value->runnable_ns;
	sum->queued_ns += value->queued_ns;
	sum->running_ns += value->running_ns;
	sum->switches += value->switches;
	if (value->longest_ns > sum->longest_ns)
		sum->longest_ns = value->longest_ns;
}

static __always_inline struct sum_value *sum_of(const struct sum_key *key, u32 interval)
{
	return interval & 1 ? bpf_map_lookup_elem(&sums_odd, key) : bpf_map_lookup_elem(&sums_even, key);
}

static __always_inline long new_sum(const struct sum_key *key, const struct sum_value *value, u32 interval)
{
	return interval & 1 ? bpf_map_update_elem(&sums_odd, key, value, BPF_NOEXIST)
			    : bpf_map_update_elem(&sums_even, key, value, BPF_NOEXIST);
}

/* What is pending goes into the sum of the thread's key. */
static __always_inline void book(struct summed *thread, const struct sum_control *control)
{
	struct sum_value *sum = sum_of(&thread->key, control->interval);
	u32 zero = 0;

	if (!sum && new_sum(&thread->key, &thread->pending, control->interval)) {
		/* Another CPU made it meanwhile, or there is no place. */
		sum = sum_of(&thread->key, control->interval);
		if (!sum)
			sum = bpf_map_lookup_elem(&sums_lost, &zero);
	}
	if (sum)
		add(sum, &thread->pending);
	__builtin_memset(&thread->pending, 0, sizeof(thread->pending));
}

static __always_inline void note_name(struct task_struct *task, const struct summed *thread)
{
	u64 id = (u64)thread->key.pid << 32 | thread->key.tid;
	struct sum_name name = {};

	bpf_probe_read_kernel(name.process, sizeof(name.process), task->group_leader->comm);
	bpf_probe_read_kernel(name.thread, sizeof(name.thread), task->comm);
	bpf_map_update_elem(&sum_names, &id, &name, BPF_ANY);
}

/* The walk may look at the thread on another CPU meanwhile; the order of writes is that of the program on x86. */
static __always_inline void begin_change(struct summed *thread)
{
	thread->version++;
	barrier();
}

static __always_inline void end_change(struct summed *thread)
{
	barrier();
	thread->version++;
}

/* What the thread did until `now` is pending; a wait is over then. */
static __always_inline void settle(struct summed *thread, u64 now)
{
	u64 since_ns = thread->since_ns, woken = thread->wake_ns;

	switch (thread->stage) {
	case SUM_RUNNING:
		thread->pending.running_ns += now - since_ns;
		break;
	case SUM_QUEUED:
		thread->pending.queued_ns += now - since_ns;
		break;
	case SUM_WAITING:
		if (!woken || woken > now)
			woken = now;
		if (woken < since_ns) /* on another CPU, before it had left its own */
			woken = since_ns;
		thread->pending.waits++;
		thread->pending.wait_ns += woken - since_ns;
		thread->pending.runnable_ns += now - woken;
		thread->pending.longest_ns = woken - since_ns;
		break;
	}
	thread->since_ns = now;
}

static __always_inline void leave(struct task_struct *task, struct summed *thread, u32 state, u64 now,
				  const struct sum_control *control)
{
	begin_change(thread);
	keep_begin(thread, control);
	settle(thread, now);
	thread->pending.switches++;
	/* It waits where no hook saw it come back: some hypervisors' agents switch without passing the tracepoint. */
	if (thread->stage == SUM_WAITING || (state & STATE_DEAD))
		book(thread, control);
	if (state & STATE_DEAD) {
		note_name(task, thread);
		thread->stage = SUM_GONE;
	} else if (state) {
		set_wait(&thread->key, task, state);
		thread->stage = SUM_WAITING;
	} else {
		set_no_wait(&thread->key);
		thread->stage = SUM_QUEUED;
		thread->wake_ns = 0; /* of a wait that it did not begin */
	}
	end_change(thread);
}

static __always_inline void arrive(struct summed *thread, u64 now, const struct sum_control *control)
{
	begin_change(thread);
	keep_begin(thread, control);
	settle(thread, now);
	if (thread->stage == SUM_WAITING) {
		book(thread, control);
		set_no_wait(&thread->key);
	}
	thread->wake_ns = 0;
	thread->stage = SUM_RUNNING;
	end_change(thread);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sum_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct summed *out = bpf_task_storage_get(&summed_threads, prev, 0, 0);
	struct summed *in = bpf_task_storage_get(&summed_threads, next, 0, 0);
	struct sum_control *control = controls();
	u64 now;

	if (!control)
		return 0;
	if (!out) {
		TEST_ALONE(in);
		if (!in)
			return 0;
	}
	now = bpf_ktime_get_ns();
	if (out)
		leave(prev, out, preempt ? 0 : left_state(ctx, prev), now, control);
	if (in)
		arrive(in, now, control);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sum_waking, struct task_struct *task)
{
	struct summed *thread = bpf_task_storage_get(&summed_threads, task, 0, 0);

	if (thread)
		thread->wake_ns = bpf_ktime_get_ns();
	return 0;
}

/* Begins the sums of `task`, which does `stage` since `since_ns`. */
static __always_inline void begin(struct task_struct *task, u32 stage, u64 since_ns, const struct sum_control *control)
{
	struct summed thread = {.stage = stage, .since_ns = since_ns};

	if ((task->flags & PF_KTHREAD) && !control->kernel_threads)
		return;
	thread.key.pid = own_number(task, true);
	if (!thread.key.pid)
		return;
	if (control->by_thread)
		thread.key.tid = own_number(task, false);
	set_no_wait(&thread.key);
	thread.key.cgroup = task->cgroups->dfl_cgrp->kn->id;
	if (stage == SUM_WAITING)
		set_wait(&thread.key, task, task->__state & STATE_MASK);
	bpf_task_storage_get(&summed_threads, task, &thread, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sum_birth, struct task_struct *parent, struct task_struct *child)
{
	struct sum_control *control = controls();

	/* Before that, the walk that begins it all finds it. */
	if (control && control->begin_ns)
		begin(child, SUM_QUEUED, bpf_ktime_get_ns(), control);
	return 0;
}

/* The threads that are there when it begins. */
SEC("iter/task")
int sums_begin(struct bpf_iter__task *ctx)
{
	struct sum_control *control = controls();
	struct task_struct *task = ctx->task;

	if (!task || !control || task->exit_state || bpf_task_storage_get(&summed_threads, task, 0, 0))
		return 0;
	if (task->on_cpu)
		begin(task, SUM_RUNNING, control->begin_ns, control);
	else if (task->__state & STATE_MASK)
		begin(task, SUM_WAITING, control->begin_ns, control);
	else
		begin(task, SUM_QUEUED, control->begin_ns, control);
	return 0;
}

/* How often a thread is looked at that changes meanwhile. */
#define LOOKS 4

/* What each thread had done when the current interval began and is in no sum yet. */
SEC("iter/task")
int sums_open(struct bpf_iter__task *ctx)
{
	struct sum_control *control = controls();
	struct task_struct *task = ctx->task;
	struct open_sum open = {};
	struct summed *thread;
	u64 begin_ns;
	bool is_there = false;

	if (!task || !control)
		return 0;
	thread = bpf_task_storage_get(&summed_threads, task, 0, 0);
	if (!thread)
		return 0;
	begin_ns = control->begin_ns;
	for (int i = 0; i < LOOKS; i++) {
		u32 version = *(volatile u32 *)&thread->version;

		barrier();
		is_there = true;
		if (thread->kept_ns == begin_ns) {
			open = thread->kept;
		} else if (thread->since_ns < begin_ns && thread->stage != SUM_GONE) {
			open.key = thread->key;
			add_open(&open.value, thread, begin_ns);
		} else {
			is_there = false;
		}
		barrier();
		if (!(version & 1) && version == *(volatile u32 *)&thread->version)
			break;
	}
	if (is_there)
		bpf_seq_write(ctx->meta->seq, &open, sizeof(open));
	return 0;
}
