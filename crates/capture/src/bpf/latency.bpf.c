// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * What keeps profiled threads from running once they could: who had the CPU instead, the quota, a move, an idle state; and
 * which device ended a wait. Every program here is there only where the kernel has its tracepoint; see latency.rs.
 */
#include "delay.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PF_WQ_WORKER    0x20
#define IDLE_STATE_NONE 0xffffffffu

#define SWITCH_LOG     16 /* a power of two */
#define COMPLETION_LOG 8  /* a power of two */
#define MOST_CPUS      1024
/* A wait that a device ended ends in the interrupt in which the device is done. */
#define COMPLETION_NS 50000

/* A thread that came to a CPU. */
struct arrival {
	u64 time_ns;
	u32 tid; /* 0 = the CPU became idle */
	u32 flags;
	char comm[DWELL_COMM_BYTES];
};

struct cpu_state {
	u64 idle_exit_ns;
	u64 work_ns; /* when a kworker last began an item here, and its function */
	u64 work_function;
	u32 idle_state;
	u32 reserved;
	u64 switches;
	struct arrival log[SWITCH_LOG]; /* the latest ones: number n lies at n % SWITCH_LOG */
};

PER_CPU(struct cpu_state, cpu)

/* Devices. */

/* When a device got a request. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u64);
} in_flight_buffer SEC(".maps");

/* A request that a device is done with. */
struct completion {
	u64 issued_ns;
	u64 done_ns;
	char disk[DWELL_COMM_BYTES];
};

struct completions {
	u64 count;
	struct completion log[COMPLETION_LOG]; /* the latest ones: number n lies at n % COMPLETION_LOG */
};

/* By the CPU that was told so. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__type(key, u32);
	__type(value, struct completions);
} completions_buffer SEC(".maps");

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *request)
{
	u64 key = (u64)request, now = bpf_ktime_get_ns();

	bpf_map_update_elem(&in_flight_buffer, &key, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *request)
{
	u32 number = bpf_get_smp_processor_id();
	struct completions *completions = bpf_map_lookup_elem(&completions_buffer, &number);
	u64 key = (u64)request;
	u64 *issued_ns = bpf_map_lookup_elem(&in_flight_buffer, &key);
	struct completion *completion;

	if (!issued_ns || !completions)
		return 0;
	completion = &completions->log[completions->count & (COMPLETION_LOG - 1)];
	completion->issued_ns = *issued_ns;
	completion->done_ns = bpf_ktime_get_ns();
	completion->disk[0] = 0;
	if (bpf_core_field_exists(request->q->disk))
		BPF_CORE_READ_STR_INTO(&completion->disk, request, q, disk, disk_name);
	completions->count += 1;
	return 0;
}

/* The device that ended the wait of `task`, which was woken on the CPU that the device told. */
static __always_inline void write_device(struct task_struct *task, struct thread *thread)
{
	struct completions *completions = bpf_map_lookup_elem(&completions_buffer, &thread->waker_cpu);
	u64 woken_ns = thread->last_wake_ns, out_ns = thread->out_time_ns;
	u32 back;

	if (!completions)
		return;
	for (back = 1; back <= COMPLETION_LOG; back++) {
		struct completion *done = &completions->log[(completions->count - back) & (COMPLETION_LOG - 1)];
		struct record_delay delay = {};

		if (done->done_ns > woken_ns)
			continue;
		if (done->done_ns + COMPLETION_NS < woken_ns || done->done_ns <= out_ns)
			return;
		begin_delay(&delay, DELAY_BLOCK_IO, task, done->issued_ns > out_ns ? done->issued_ns : out_ns,
			    done->done_ns);
		__builtin_memcpy(delay.text, done->disk, sizeof(delay.text));
		write_delay(&delay);
		return;
	}
}

/* Who had the CPU. */

SEC("tp_btf/cpu_idle")
int BPF_PROG(on_idle, unsigned int state, unsigned int number)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (state == IDLE_STATE_NONE)
		cpu->idle_exit_ns = bpf_ktime_get_ns();
	else
		cpu->idle_state = state;
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_work, struct work_struct *work)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->work_function = (u64)BPF_CORE_READ(work, func);
	cpu->work_ns = bpf_ktime_get_ns();
	return 0;
}

/* Whether the bandwidth controller keeps the thread, which could run, from running. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled) && BPF_CORE_READ(task, throttled)) /* since 6.18 */
		return true;
	return bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count) &&
	       BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

static __always_inline void note_off(struct task_struct *task, struct thread *thread, bool ready, u16 number)
{
	struct delayed *delayed = &thread->delayed;

	delayed->off = !ready ? OFF_BLOCKED : is_throttled(task) ? OFF_THROTTLED : OFF_READY;
	delayed->cpu = number;
	delayed->iowait = !ready && BPF_CORE_READ_BITFIELD(task, in_iowait);
}

static __always_inline void note_arrival(struct cpu_state *cpu, struct task_struct *next, u64 now)
{
	struct arrival *arrival = &cpu->log[cpu->switches & (SWITCH_LOG - 1)];

	arrival->time_ns = now;
	arrival->tid = tid_of(next);
	arrival->flags = next->flags;
	bpf_probe_read_kernel(arrival->comm, sizeof(arrival->comm), next->comm);
	cpu->switches += 1;
}

/* Who had this CPU while `task` could run, a record each. */
static __always_inline void write_others(struct task_struct *task, struct cpu_state *cpu, u64 begin_ns, u64 end_ns,
					 u8 kind)
{
	struct arrival *arrival;
	u64 from, to = end_ns;
	u32 back;

	for (back = 1; back <= SWITCH_LOG; back++) {
		struct record_delay delay = {};

		arrival = &cpu->log[(cpu->switches - back) & (SWITCH_LOG - 1)];
		if (!arrival->time_ns || to <= begin_ns)
			return;
		from = arrival->time_ns > begin_ns ? arrival->time_ns : begin_ns;
		if (arrival->tid && from < to) {
			begin_delay(&delay, arrival->flags & PF_KTHREAD ? DELAY_KERNEL_WORK : kind, task, from, to);
			if ((arrival->flags & PF_WQ_WORKER) && cpu->work_ns >= from && cpu->work_ns < to)
				delay.detail = cpu->work_function;
			delay.other_tid = arrival->tid;
			__builtin_memcpy(delay.text, arrival->comm, sizeof(delay.text));
			write_delay(&delay);
		}
		to = from;
	}
}

/* A thread that could run all the time is back. */
static __always_inline void write_taken(struct task_struct *task, struct thread *thread, struct cpu_state *cpu,
					u16 number)
{
	struct delayed *delayed = &thread->delayed;
	struct record_delay delay = {};

	if (!is_told(thread->out_time_ns))
		return;
	if (delayed->off == OFF_READY && delayed->cpu == number) {
		write_others(task, cpu, thread->out_time_ns, thread->in_time_ns, DELAY_PREEMPTION);
		return;
	}
	begin_delay(&delay, delayed->off == OFF_THROTTLED ? DELAY_THROTTLING : DELAY_MIGRATION, task,
		    thread->out_time_ns, thread->in_time_ns);
	delay.detail = delayed->cpu;
	write_delay(&delay);
}

/* A thread that was woken is back. */
static __always_inline void write_woken(struct task_struct *task, struct thread *thread, struct task_struct *before,
					struct cpu_state *cpu)
{
	struct record_delay delay = {};
	u64 woken_ns = thread->last_wake_ns;

	if (!woken_ns || woken_ns >= thread->in_time_ns || !is_told(woken_ns))
		return;
	if (thread->delayed.iowait)
		write_device(task, thread);
	if (before->pid) {
		write_others(task, cpu, woken_ns, thread->in_time_ns, DELAY_RUN_QUEUE);
	} else if (cpu->idle_exit_ns > woken_ns && cpu->idle_exit_ns <= thread->in_time_ns) {
		begin_delay(&delay, DELAY_IDLE_EXIT, task, woken_ns, cpu->idle_exit_ns);
		delay.detail = cpu->idle_state;
		write_delay(&delay);
	}
}

/* Attached after switch.bpf.c's, which has noted when the two threads leave and come. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_latency_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *out = known(prev), *in = known(next);
	struct cpu_state *cpu = this_cpu();
	u32 state = left_state(ctx, prev);
	u16 number = bpf_get_smp_processor_id();

	if (!cpu)
		return 0;
	if (out && !(state & STATE_DEAD))
		note_off(prev, out, preempt || !state, number);
	if (in) {
		if (in->delayed.off == OFF_BLOCKED)
			write_woken(next, in, prev, cpu);
		else if (in->delayed.off != OFF_NOT)
			write_taken(next, in, cpu, number);
		in->delayed.off = OFF_NOT;
	}
	note_arrival(cpu, next, bpf_ktime_get_ns());
	return 0;
}
