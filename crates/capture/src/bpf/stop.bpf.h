/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Who stops a process: noted with its first thread when the signal is sent, for all that it stops.
 */
#ifndef DWELL_STOP_BPF_H
#define DWELL_STOP_BPF_H

#include "file.bpf.h"
#include "thread.bpf.h"

#define SIGSTOP 19
#define SIGTTOU 22

/* include/linux/sched/signal.h and include/trace/events/signal.h */
#define SEND_SIG_PRIV          1 /* the kernel sends it */
#define TRACE_SIGNAL_DELIVERED 0

static __always_inline void describe_stop(u64 key, u32 signal, struct task_struct *sender, bool by_kernel)
{
	u32 zero = 0;
	struct record_object *record = bpf_map_lookup_elem(&object_buffer, &zero);

	if (!record)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(&record->h, RECORD_OBJECT, sizeof(*record), tid_of(sender), bpf_ktime_get_ns());
	record->key = key;
	record->kind = OBJECT_STOP;
	record->fd = signal;
	if (!by_kernel) {
		record->tgid = tgid_of(sender);
		bpf_probe_read_kernel(record->text, DWELL_COMM_BYTES, sender->comm);
		record->text_bytes = DWELL_COMM_BYTES;
	}
	if (write_record(record, sizeof(*record), OBJECTS_LOST))
		set_seen(key);
}

/* The current thread sends `signal` to the process of `task`. */
static __always_inline void note_stop(u32 signal, bool by_kernel, struct task_struct *task)
{
	struct task_struct *sender = bpf_get_current_task_btf();
	struct thread *first = recorded(task->group_leader);
	u64 key;

	if (!first)
		return;
	key = mix(mix(OBJECT_STOP, signal), by_kernel ? 0 : (u64)sender->start_time ^ sender->pid);
	if (!is_seen(key))
		describe_stop(key, signal, sender, by_kernel);
	first->stop = key;
}

#endif
