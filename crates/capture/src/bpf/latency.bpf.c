// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * What keeps profiled threads from their work while they run or could run, each with begin and end: interrupts, page
 * faults, system calls, signal handlers, who had the CPU instead. Every program here is there only where the kernel has
 * its tracepoint; see latency.rs.
 */
#include "switch.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Codes of Delay of the model crate. */
enum delay {
	DELAY_PREEMPTION = 1,
	DELAY_KERNEL_WORK = 2,
	DELAY_MIGRATION = 3,
	DELAY_THROTTLING = 4,
	DELAY_RUN_QUEUE = 5,
	DELAY_IDLE_EXIT = 6,
	DELAY_TIMER = 7,
	DELAY_INTERRUPT = 8,
	DELAY_SOFT_INTERRUPT = 9,
	DELAY_IPI = 10,
	DELAY_MINOR_FAULT = 12,
	DELAY_MAJOR_FAULT = 13,
	DELAY_RECLAIM = 14,
	DELAY_COMPACTION = 15,
	DELAY_SYSTEM_CALL = 16,
	DELAY_SIGNAL = 17,
	DELAY_BLOCK_IO = 21,
	DELAY_STEAL = 24,
	DELAY_FREQUENCY = 26,
};

#define PF_WQ_WORKER         0x20
#define SYSCALL_RT_SIGRETURN 15
#define IDLE_STATE_NONE      0xffffffffu
#define SIG_IGN              1

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

/* What this CPU is in, on behalf of whoever was interrupted. */
struct cpu_state {
	u64 vector_ns; /* 0 = the interrupted thread is not profiled */
	u64 interrupt_ns;
	u64 soft_interrupt_ns;
	u64 ipi_function;
	u64 idle_exit_ns;
	u64 work_ns; /* when a kworker last began an item here, and its function */
	u64 work_function;
	u64 steal_ns; /* the run queue's account of stolen time, and when it was looked at */
	u64 steal_seen_ns;
	u32 idle_state;
	u32 is_profiled; /* the thread that runs, as of the last switch or interrupt: else most hooks do nothing more */
	u64 call_ns; /* when it began the system call that it is in, 0 = in none; kept with it while it is off the CPU */
	u32 call;
	u32 call_tid;
	u64 switches;
	struct arrival log[SWITCH_LOG]; /* the latest ones: number n lies at n % SWITCH_LOG */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_state);
} cpu_buffer SEC(".maps");

static __always_inline struct cpu_state *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpu_buffer, &zero);
}

static __always_inline bool is_paused(void)
{
	struct control *control = controls();

	return !control || control->paused;
}

/* The thread's state if it is profiled, whether recording is paused or not: what ends in a pause has ended. */
static __always_inline struct thread *known(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	return thread && (thread->mode & (THREAD_RECORD | THREAD_MEASURE)) ? thread : NULL;
}

/* The thread's state if it is profiled, and recording is not paused. */
static __always_inline struct thread *profiled(struct task_struct *task)
{
	return is_paused() ? NULL : known(task);
}

static __always_inline u64 now_if_profiled(void)
{
	return profiled(bpf_get_current_task_btf()) ? bpf_ktime_get_ns() : 0;
}

static __always_inline void begin_delay(struct record_delay *delay, u8 kind, struct task_struct *task, u64 begin_ns,
					u64 end_ns)
{
	set_header(&delay->h, RECORD_DELAY, sizeof(*delay), task->pid, end_ns);
	delay->begin_ns = begin_ns;
	delay->kind = kind;
	delay->cpu = bpf_get_smp_processor_id();
}

static __always_inline void write_delay(struct record_delay *delay)
{
	write_record(delay, sizeof(*delay), LOSS_DELAY);
}

/*
 * The current thread was delayed since `begin_ns`, 0 = it was not. The end is taken last, so that most of what recording
 * costs is part of the delay that it is due to.
 */
static __always_inline void write_current(u8 kind, u64 begin_ns, u64 detail)
{
	struct record_delay *delay;
	void *ring;

	if (!begin_ns || is_paused())
		return;
	ring = this_ring();
	delay = ring ? bpf_ringbuf_reserve(ring, sizeof(*delay), 0) : NULL;
	if (!delay) {
		count_loss(LOSS_DELAY);
		return;
	}
	__builtin_memset(delay, 0, sizeof(*delay));
	begin_delay(delay, kind, bpf_get_current_task_btf(), begin_ns, 0);
	delay->detail = detail;
	delay->h.time_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(delay, BPF_RB_NO_WAKEUP);
}

/* Interrupt vectors. An interrupt nests in no other one of its sort: one place for its begin is enough. */

static __always_inline int enter_vector(void)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu) {
		cpu->vector_ns = now_if_profiled();
		cpu->is_profiled = cpu->vector_ns != 0;
		cpu->ipi_function = 0;
	}
	return 0;
}

static __always_inline int leave_vector(u8 kind, u8 vector)
{
	struct record_delay delay = {};
	struct cpu_state *cpu = this_cpu();

	if (!cpu || !cpu->vector_ns)
		return 0;
	begin_delay(&delay, kind, bpf_get_current_task_btf(), cpu->vector_ns, bpf_ktime_get_ns());
	delay.vector = vector;
	delay.detail = cpu->ipi_function;
	cpu->vector_ns = 0;
	write_delay(&delay);
	return 0;
}

#define VECTOR(name, kind, vector)                                             \
	SEC("tp_btf/" #name "_entry") int BPF_PROG(on_##name##_entry, int irq) \
	{                                                                      \
		return enter_vector();                                         \
	}                                                                      \
	SEC("tp_btf/" #name "_exit") int BPF_PROG(on_##name##_exit, int irq)   \
	{                                                                      \
		return leave_vector(kind, vector);                             \
	}

VECTOR(local_timer, DELAY_TIMER, VECTOR_LOCAL_TIMER)
VECTOR(reschedule, DELAY_IPI, VECTOR_RESCHEDULE)
VECTOR(call_function, DELAY_IPI, VECTOR_CALL_FUNCTION)
VECTOR(call_function_single, DELAY_IPI, VECTOR_CALL_FUNCTION)
VECTOR(irq_work, DELAY_IPI, VECTOR_IRQ_WORK)
VECTOR(x86_platform_ipi, DELAY_INTERRUPT, VECTOR_PLATFORM)
VECTOR(thermal_apic, DELAY_INTERRUPT, VECTOR_THERMAL)

/* What an inter-processor interrupt is for: the first function tells. The verifier lets no tp_btf program read the address
 * of a function. */
SEC("raw_tp/csd_function_entry")
int BPF_PROG(on_csd, u64 function)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu && cpu->vector_ns && !cpu->ipi_function)
		cpu->ipi_function = function;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_interrupt, int number, struct irqaction *action)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		cpu->interrupt_ns = cpu->is_profiled ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_interrupt_end, int number, struct irqaction *action)
{
	struct record_delay delay = {};
	struct cpu_state *cpu = this_cpu();

	if (!cpu || !cpu->interrupt_ns)
		return 0;
	begin_delay(&delay, DELAY_INTERRUPT, bpf_get_current_task_btf(), cpu->interrupt_ns, bpf_ktime_get_ns());
	delay.detail = number;
	bpf_probe_read_kernel_str(delay.text, sizeof(delay.text), BPF_CORE_READ(action, name));
	cpu->interrupt_ns = 0;
	write_delay(&delay);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_soft_interrupt, unsigned int vector)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		cpu->soft_interrupt_ns = cpu->is_profiled ? bpf_ktime_get_ns() : 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_soft_interrupt_end, unsigned int vector)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	write_current(DELAY_SOFT_INTERRUPT, cpu->soft_interrupt_ns, vector);
	cpu->soft_interrupt_ns = 0;
	return 0;
}

/* Page faults. Their end has no tracepoint, but perf counts each one there, as minor or major. */

static __always_inline int begin_fault(u64 address)
{
	struct thread *thread = profiled(bpf_get_current_task_btf());

	if (!thread)
		return 0;
	thread->delayed.fault_address = address;
	thread->delayed.fault_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_user_fault, unsigned long address)
{
	return begin_fault(address);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_kernel_fault, unsigned long address)
{
	return begin_fault(address);
}

static __always_inline int end_fault(u8 kind)
{
	struct thread *thread = known(bpf_get_current_task_btf());

	if (!thread)
		return 0;
	write_current(kind, thread->delayed.fault_ns, thread->delayed.fault_address);
	thread->delayed.fault_ns = 0;
	return 0;
}

SEC("perf_event")
int on_minor_fault(struct bpf_perf_event_data *ctx)
{
	return end_fault(DELAY_MINOR_FAULT);
}

SEC("perf_event")
int on_major_fault(struct bpf_perf_event_data *ctx)
{
	return end_fault(DELAY_MAJOR_FAULT);
}

/* System calls, and signal handlers, which end by one. */

static __always_inline void end_signal(struct delayed *delayed)
{
	u32 at;

	if (!delayed->signals)
		return;
	at = (delayed->signals - 1) & (DELAYED_SIGNALS - 1);
	delayed->signals -= 1;
	write_current(DELAY_SIGNAL, delayed->signal_ns[at], delayed->signal[at]);
}

/* Every program of the machine passes these two often: what they need lies with the CPU. */

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();
	struct thread *thread;

	if (!cpu || !cpu->is_profiled)
		return 0;
	if (number == SYSCALL_RT_SIGRETURN) {
		thread = known(task);
		if (thread)
			end_signal(&thread->delayed);
		return 0;
	}
	cpu->call = number;
	cpu->call_tid = task->pid;
	cpu->call_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_end, struct pt_regs *regs, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();

	if (!cpu || !cpu->is_profiled || !cpu->call_ns)
		return 0;
	/* Another call's begin tells nothing: this one's passed unseen. */
	if (cpu->call_tid == task->pid && cpu->call == (u32)regs->orig_ax)
		write_current(DELAY_SYSTEM_CALL, cpu->call_ns, cpu->call);
	cpu->call_ns = 0;
	return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct thread *thread = profiled(bpf_get_current_task_btf());
	u32 at;

	if (!thread || (u64)BPF_CORE_READ(action, sa.sa_handler) <= SIG_IGN)
		return 0;
	at = thread->delayed.signals & (DELAYED_SIGNALS - 1);
	if (thread->delayed.signals >= DELAYED_SIGNALS) /* they left by longjmp */
		at = thread->delayed.signals = 0;
	thread->delayed.signal_ns[at] = bpf_ktime_get_ns();
	thread->delayed.signal[at] = signal;
	thread->delayed.signals += 1;
	return 0;
}

/* Memory. */

static __always_inline int begin_memory(bool compaction)
{
	struct thread *thread = profiled(bpf_get_current_task_btf());
	u64 now = bpf_ktime_get_ns();

	if (thread && compaction)
		thread->delayed.compaction_ns = now;
	else if (thread)
		thread->delayed.reclaim_ns = now;
	return 0;
}

static __always_inline int end_memory(bool compaction)
{
	struct thread *thread = known(bpf_get_current_task_btf());

	if (thread && compaction) {
		write_current(DELAY_COMPACTION, thread->delayed.compaction_ns, 0);
		thread->delayed.compaction_ns = 0;
	} else if (thread) {
		write_current(DELAY_RECLAIM, thread->delayed.reclaim_ns, 0);
		thread->delayed.reclaim_ns = 0;
	}
	return 0;
}

#define MEMORY(name, compaction)                                      \
	SEC("tp_btf/" #name "_begin") int BPF_PROG(on_##name##_begin) \
	{                                                             \
		return begin_memory(compaction);                      \
	}                                                             \
	SEC("tp_btf/" #name "_end") int BPF_PROG(on_##name##_end)     \
	{                                                             \
		return end_memory(compaction);                        \
	}

MEMORY(mm_vmscan_direct_reclaim, false)
MEMORY(mm_vmscan_memcg_reclaim, false)
MEMORY(mm_compaction, true)

/* How fast a CPU runs, once it was told. */
struct frequency {
	u64 since_ns;
	u32 khz;
	u32 highest_khz;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__type(key, u32);
	__type(value, struct frequency);
} frequency_buffer SEC(".maps");

/* What `task` lost because CPU `number` ran slower than it did before, from the change or since it came there. */
static __always_inline void write_slowness(struct task_struct *task, struct thread *thread, u32 number, u64 now)
{
	struct frequency *frequency = bpf_map_lookup_elem(&frequency_buffer, &number);
	struct record_delay delay = {};
	u64 since;

	if (!frequency || frequency->khz >= frequency->highest_khz)
		return;
	since = frequency->since_ns > thread->in_time_ns ? frequency->since_ns : thread->in_time_ns;
	if (since >= now)
		return;
	begin_delay(&delay, DELAY_FREQUENCY, task, since, now);
	delay.cpu = number;
	delay.detail = (now - since) * (frequency->highest_khz - frequency->khz) / frequency->highest_khz;
	delay.other_tid = frequency->khz;
	write_delay(&delay);
}

SEC("tp_btf/cpu_frequency")
int BPF_PROG(on_frequency, unsigned int khz, unsigned int number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct frequency *frequency = bpf_map_lookup_elem(&frequency_buffer, &number);
	struct thread *thread = profiled(task);
	u64 now = bpf_ktime_get_ns();

	if (!frequency)
		return 0;
	/* Of a thread on another CPU, all since it came there counts as of the later speed. */
	if (thread && number == bpf_get_smp_processor_id())
		write_slowness(task, thread, number, now);
	frequency->since_ns = now;
	frequency->khz = khz;
	if (khz > frequency->highest_khz)
		frequency->highest_khz = khz;
	return 0;
}

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

/* What the hypervisor took since it was looked at last: the run queue's clock knows. */
static __always_inline void look_for_steal(struct task_struct *task, struct thread *thread, struct cpu_state *cpu,
					   u64 now)
{
	struct record_delay delay = {};
	u64 stolen, total, since;
	struct rq *rq;

	if (!bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq))
		return;
	rq = task->se.cfs_rq->rq;
	if (!rq)
		return;
	total = rq->prev_steal_time_rq;
	stolen = cpu->steal_seen_ns && total > cpu->steal_ns ? total - cpu->steal_ns : 0;
	since = cpu->steal_seen_ns;
	cpu->steal_ns = total;
	cpu->steal_seen_ns = now;
	if (!stolen || !thread)
		return;
	if (since < thread->in_time_ns)
		since = thread->in_time_ns;
	if (since >= now)
		return;
	begin_delay(&delay, DELAY_STEAL, task, since, now);
	delay.detail = stolen < now - since ? stolen : now - since;
	write_delay(&delay);
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
	arrival->tid = next->pid;
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

	if (!woken_ns || woken_ns >= thread->in_time_ns)
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
int BPF_PROG(on_latency_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct thread *out = profiled(prev), *in = profiled(next);
	struct cpu_state *cpu = this_cpu();
	u32 state = prev_state & STATE_MASK;
	u16 number = bpf_get_smp_processor_id();
	u64 now = bpf_ktime_get_ns();

	if (!cpu)
		return 0;
	if (out) {
		out->delayed.call_ns = cpu->call_ns;
		out->delayed.call = cpu->call;
	}
	cpu->is_profiled = in != NULL;
	cpu->call_ns = 0;
	if (in) {
		cpu->call_ns = in->delayed.call_ns;
		cpu->call = in->delayed.call;
		cpu->call_tid = next->pid;
	}
	if (!out) {
		barrier_var(in); /* or the compiler tests the two pointers as one, which the verifier refuses */
		if (!in) {
			note_arrival(cpu, next, now);
			return 0;
		}
	}
	look_for_steal(prev, out, cpu, now);
	if (out)
		write_slowness(prev, out, number, now);
	if (out && !(state & STATE_DEAD))
		note_off(prev, out, preempt || !state, number);
	if (in) {
		if (in->delayed.off == OFF_BLOCKED)
			write_woken(next, in, prev, cpu);
		else if (in->delayed.off != OFF_NOT)
			write_taken(next, in, cpu, number);
		in->delayed.off = OFF_NOT;
	}
	note_arrival(cpu, next, now);
	return 0;
}

/* The tick brings the run queue's clock up to date. */
SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_tick, int irq)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();

	if (cpu)
		look_for_steal(task, profiled(task), cpu, bpf_ktime_get_ns());
	return 0;
}
