// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * What keeps profiled threads from their work while they run, each with begin and end: interrupts, page faults, system
 * calls, signal handlers, a slow or stolen CPU. Attached only while there may be intervals in which a thread runs. Every
 * program here is there only where the kernel has its tracepoint; see latency.rs.
 */
#include "batch.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SIG_IGN   1
#define MOST_CPUS 1024

/* What this CPU is in, on behalf of whoever was interrupted. */
struct cpu_state {
	u64 vector_ns; /* 0 = the interrupted thread is not profiled */
	u64 interrupt_ns;
	u64 soft_interrupt_ns;
	u64 ipi_function;
	u64 steal_ns; /* the run queue's account of stolen time, and when it was looked at */
	u64 steal_seen_ns;
	u32 is_profiled; /* the thread that runs, as of the last switch or interrupt: else most hooks do nothing more */
	u32 call;
	u64 call_ns; /* when it began the system call that it is in, 0 = in none; kept with it while it is off the CPU */
	u32 call_tid;
	u32 reserved;
	struct batch calls;
	struct batch soft_interrupts;
};

PER_CPU(struct cpu_state, cpu)

/* Interrupt vectors. An interrupt nests in no other one of its sort: one place for its begin is enough. */

static __always_inline int enter_vector(void)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu) {
		cpu->is_profiled = known(bpf_get_current_task_btf()) != NULL;
		cpu->vector_ns = cpu->is_profiled ? bpf_ktime_get_ns() : 0;
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
	if (cpu->soft_interrupt_ns)
		write_short(&cpu->soft_interrupts, DELAY_SOFT_INTERRUPT, cpu->soft_interrupt_ns, vector);
	cpu->soft_interrupt_ns = 0;
	return 0;
}

/* Page faults. Their end has no tracepoint, but perf counts each one there, as minor or major. */

static __always_inline int begin_fault(u64 address)
{
	struct thread *thread = known(bpf_get_current_task_btf());

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
		write_short(&cpu->calls, DELAY_SYSTEM_CALL, cpu->call_ns, cpu->call);
	cpu->call_ns = 0;
	return 0;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct thread *thread = known(bpf_get_current_task_btf());
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
	struct thread *thread = known(bpf_get_current_task_btf());
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
	struct thread *thread = known(task);
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

/* Attached after switch.bpf.c's, which has noted when the two threads leave and come. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_running_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread *out = known(prev), *in = known(next);
	struct cpu_state *cpu = this_cpu();
	u64 now;

	if (!cpu)
		return 0;
	flush_idle(&cpu->calls);
	flush_idle(&cpu->soft_interrupts);
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
		TEST_ALONE(in);
		if (!in)
			return 0;
	}
	now = bpf_ktime_get_ns();
	look_for_steal(prev, out, cpu, now);
	if (out)
		write_slowness(prev, out, bpf_get_smp_processor_id(), now);
	return 0;
}

/* The tick brings the run queue's clock up to date, and no delay waits for longer to be written. */
SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_tick, int irq)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	flush_idle(&cpu->calls);
	flush_idle(&cpu->soft_interrupts);
	look_for_steal(task, known(task), cpu, bpf_ktime_get_ns());
	return 0;
}
