/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What the hooks of delays share: the kinds, who is profiled, and writing a delay.
 */
#ifndef DWELL_DELAY_BPF_H
#define DWELL_DELAY_BPF_H

#include "switch.bpf.h"
#include "thread.bpf.h"

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

/* Whether a delay that began then is recorded: not in a pause, nor what began in one or before. */
static __always_inline bool is_told(u64 begin_ns)
{
	struct control *control = controls();

	return control && !control->paused && begin_ns >= control->since_ns;
}

/* The thread's state if it is profiled, whether recording is paused or not: what ends in a pause has ended. */
static __always_inline struct thread *known(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);

	return thread && (thread->mode & (THREAD_RECORD | THREAD_MEASURE)) ? thread : NULL;
}

static __always_inline void begin_delay(struct record_delay *delay, u8 kind, struct task_struct *task, u64 begin_ns,
					u64 end_ns)
{
	set_header(&delay->h, RECORD_DELAY, sizeof(*delay), tid_of(task), end_ns);
	delay->begin_ns = begin_ns;
	delay->kind = kind;
	delay->cpu = bpf_get_smp_processor_id();
}

static __always_inline void write_delay(struct record_delay *delay)
{
	if (is_told(delay->begin_ns))
		write_record(delay, sizeof(*delay), DELAYS_LOST);
}

#endif
