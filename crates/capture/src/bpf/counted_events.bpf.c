// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * --events: what each profiled thread counts of events that the kernel counts on each CPU. Read where a thread comes to a CPU
 * and where it leaves it: the difference is the thread's. Nothing is written before a thread's end.
 *
 * Attached before the hooks of threads: where these begin to record a thread that runs, it is not recorded yet here.
 */
#include "task_state.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* include/uapi/linux/bpf.h; times in ns. */
struct bpf_perf_event_value {
	u64 counter;
	u64 enabled;
	u64 running;
};

/* User space makes it as large as it must be: entry of event E on CPU C as in struct event_setup. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, DWELL_MOST_EVENTS);
	__type(key, u32);
	__type(value, u32);
} counted_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event_setup);
} event_setups SEC(".maps");

/* What the events of a CPU stood at when the thread that has it came to it. */
struct slice {
	u64 task; /* 0 = nobody's who is profiled */
	struct bpf_perf_event_value at[DWELL_MOST_EVENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct slice);
} slice_buffer SEC(".maps");

/* By thread id, until the thread's end. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct record_event_counts);
} event_counts SEC(".maps");

/* Zeros. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct record_event_counts);
} nothing_buffer SEC(".maps");

static __always_inline struct record_event_counts *counts_of(u32 tid)
{
	struct record_event_counts *counts = bpf_map_lookup_elem(&event_counts, &tid);
	u32 zero = 0;
	void *nothing;

	if (counts)
		return counts;
	nothing = bpf_map_lookup_elem(&nothing_buffer, &zero);
	if (!nothing || bpf_map_update_elem(&event_counts, &tid, nothing, BPF_ANY)) {
		count_loss(EVENT_COUNTS_LOST);
		return NULL;
	}
	return bpf_map_lookup_elem(&event_counts, &tid);
}

/* Ends the slice of this CPU, whose events go to `counts` if there is such, and begins that of `task`. */
static __always_inline void cut(struct record_event_counts *counts, u64 task)
{
	u32 zero = 0, cpu = bpf_get_smp_processor_id();
	struct event_setup *setup = bpf_map_lookup_elem(&event_setups, &zero);
	struct slice *slice = bpf_map_lookup_elem(&slice_buffer, &zero);

	if (!setup || !slice)
		return;
#pragma clang loop unroll(disable)
	for (u32 event = 0; event < DWELL_MOST_EVENTS; event++) {
		struct bpf_perf_event_value now = {}, *at = &slice->at[event];

		if (event >= setup->events)
			break;
		if (bpf_perf_event_read_value(&counted_events, event * setup->cpus + cpu, &now, sizeof(now))) {
			count_loss(EVENT_COUNTS_LOST);
			task = 0;
			break;
		}
		TEST_ALONE(counts);
		if (counts) {
			TEST_ALONE(counts); /* before an address in it is made */
			counts->counts[event] += now.counter - at->counter;
			counts->enabled_ns[event] += now.enabled - at->enabled;
			counts->running_ns[event] += now.running - at->running;
		}
		*at = now;
	}
	slice->task = task;
}

/* Where this CPU's slice goes when `task` leaves it; NULL = it is not known whose it is. */
static __always_inline struct record_event_counts *counts_of_slice(struct task_struct *task)
{
	u32 zero = 0;
	struct slice *slice = bpf_map_lookup_elem(&slice_buffer, &zero);

	return slice && slice->task == (u64)task && recorded(task) ? counts_of(tid_of(task)) : NULL;
}

/* A profiled thread leaves the CPU to which no hook saw it come, as under some hypervisors. */
static __always_inline bool came_unseen(struct task_struct *task)
{
	u32 zero = 0;
	struct slice *slice = bpf_map_lookup_elem(&slice_buffer, &zero);

	return slice && slice->task != (u64)task && recorded(task);
}

static __always_inline void write_counts(u32 tid)
{
	struct record_event_counts *counts = bpf_map_lookup_elem(&event_counts, &tid);

	if (!counts)
		return;
	set_header(&counts->h, RECORD_EVENT_COUNTS, sizeof(*counts), tid, bpf_ktime_get_ns());
	write_record(counts, sizeof(*counts), EVENT_COUNTS_LOST);
	bpf_map_delete_elem(&event_counts, &tid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_at_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *out = bpf_task_storage_get(&threads, prev, 0, 0),
		      *in = bpf_task_storage_get(&threads, next, 0, 0);
	u32 state = preempt ? 0 : left_state(ctx, prev);
	struct control *control = controls();
	bool paused = !control || control->paused;

	if (!out) {
		TEST_ALONE(in);
		if (!in)
			return 0;
	}
	if (out && !paused && came_unseen(prev))
		count_loss(EVENT_COUNTS_LOST);
	cut(out && !paused ? counts_of_slice(prev) : NULL, in && !paused ? (u64)next : 0);
	if (out && (state & STATE_DEAD))
		write_counts(tid_of(prev));
	return 0;
}

/* A launched program begins at the rename of its exec (threads.bpf.c), another one that was not recorded at the exec's end. */
SEC("tp_btf/task_rename")
int BPF_PROG(count_from_rename, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	if (thread && (thread->mode & THREAD_LAUNCHING))
		cut(NULL, (u64)task);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(count_from_exec, struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	if (thread && !(thread->mode & THREAD_RECORD))
		cut(NULL, (u64)task);
	return 0;
}

/* Run by user space on each CPU, where recording begins and ends while threads run: what they counted until then is theirs
 * if they were recorded, and from then on it is a new slice. */
SEC("raw_tp")
int count_now(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (bpf_task_storage_get(&threads, task, 0, 0))
		cut(counts_of_slice(task), (u64)task);
	return 0;
}
