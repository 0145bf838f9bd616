/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What the hooks of delays share: who is profiled, and writing a delay.
 */
#ifndef DWELL_DELAY_BPF_H
#define DWELL_DELAY_BPF_H

#include "switch.bpf.h"
#include "thread.bpf.h"

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
