/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What every hook family shares: the maps, writing records, and telling keys that user space has seen from new ones.
 * Every record that cannot be written counts a loss.
 */
#ifndef DWELL_RECORD_BPF_H
#define DWELL_RECORD_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "wire.h"  /* the records, struct control; build.rs makes it of crates/wire */
#include "model.h" /* losses, codes, system calls; build.rs makes it of crates/model */
#include "checked.bpf.h"
#include "part.bpf.h"
#include "unwind.h"

#define DELAYED_SIGNALS 4 /* signal handlers within one another; a power of two */

/* How a thread left the CPU. */
enum off {
	OFF_NOT = 0,
	OFF_BLOCKED = 1,
	OFF_READY = 2,
	OFF_THROTTLED = 3,
};

/* What delays a profiled thread now; of the latency hooks alone. Times are 0 while it is in no such thing. */
struct delayed {
	u64 fault_ns;
	u64 fault_address;
	u64 call_ns;
	u64 reclaim_ns;
	u64 compaction_ns;
	u64 signal_ns[DELAYED_SIGNALS];
	u8 signal[DELAYED_SIGNALS];
	u8 signals;
	u8 off; /* enum off */
	u16 cpu;
	u32 call;
	u8 iowait; /* it left the CPU to wait for a device */
	u8 reserved[7];
};

/* What is known of a profiled thread; that a thread has one is what makes it profiled. */
struct thread {
	u32 mode; /* enum thread_mode; first: user space sets it, too */
	u32 tid;  /* its ids, where they are not the kernel's (ids.bpf.h) */
	u32 tgid;
	u32 waker_cpu;
	u64 rename_time_ns; /* 0 = not renamed yet */
	u64 wake_time_ns;
	u64 last_wake_ns; /* the same of its latest return to a CPU */
	u64 waker_stack;
	u32 waker_tid;
	s32 waker_syscall;
	u64 running_since_ns; /* recorded while running, since then; 0 = runtime_base_ns is known */
	u64 runtime_base_ns;  /* CPU time that it had used when it was first recorded */
	u64 in_time_ns;       /* when it last came to the CPU, and the CPU time that it had used then */
	u64 in_runtime_ns;
	u64 out_time_ns;        /* when it last left the CPU */
	u64 out_runtime_ns;     /* CPU time that it had used when it last left the CPU */
	u64 last_object;        /* key of a file or set that it waited for and that is written, plus the generation */
	u64 call;               /* what tells its last call of futex from others (call.bpf.h) */
	u64 python_state;       /* its PyThreadState, 0 = not found yet */
	u64 python_interpreter; /* that one's PyInterpreterState */
	u64 python_failure_ns;  /* when it was last looked for in vain */
	u64 stop;               /* of a process's first thread: key of what stopped the process last */
	u32 file_lock_owner;    /* of the file lock that it asked for last and did not get, 0 = not known */
	u32 python_failures;    /* searches since it was last seen to run Python code */
	u8 python_idle;         /* that state ran none the last time */
	u8 waker_context;
	u8 on_cpu;      /* as the hooks saw it */
	u8 socket_wait; /* enum wait_stage of its wait on a socket */
	struct delayed delayed;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_COUNT);
	__type(key, u32);
	__type(value, u64);
} losses SEC(".maps");

/* The highest real-time priority of a profiled thread so far, 1 to 99: user space wants to stay ahead of it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} urgency SEC(".maps");

/* Keys of stacks and objects that user space has, with the generation in which they were written. Forgetting one only means
 * that it is written again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, u64);
	__type(value, u32);
} seen SEC(".maps");

/* A ring for each CPU: no two CPUs ever contend for one. User space makes them and sets the number of entries. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* A `value_type` for each CPU in the map NAME_buffer, and this_NAME(), which is that of the current CPU. */
#define PER_CPU(value_type, name)                                  \
	struct {                                                   \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);           \
		__uint(max_entries, 1);                            \
		__type(key, u32);                                  \
		__type(value, value_type);                         \
	} name##_buffer SEC(".maps");                              \
                                                                   \
	static __always_inline value_type *this_##name(void)       \
	{                                                          \
		u32 zero = 0;                                      \
                                                                   \
		return bpf_map_lookup_elem(&name##_buffer, &zero); \
	}

static __always_inline void count_losses(u32 loss, u64 number)
{
	u64 *count = bpf_map_lookup_elem(&losses, &loss);

	if (count)
		*count += number;
}

static __always_inline void count_loss(u32 loss)
{
	count_losses(loss, 1);
}

static __always_inline void note_urgency(const struct task_struct *task)
{
	u32 key = 0;
	u64 *highest;

	if (!task->rt_priority)
		return;
	highest = bpf_map_lookup_elem(&urgency, &key);
	if (highest && task->rt_priority > *highest)
		*highest = task->rt_priority;
}

static __always_inline struct control *controls(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&control, &zero);
}

static __always_inline void *this_ring(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline void set_header(struct record_header *h, u16 kind, u16 size, u32 tid, u64 time_ns)
{
	h->kind = kind;
	h->size = size;
	h->tid = tid;
	h->time_ns = time_ns;
}

/* Writes `size` bytes that begin with a header; counts `loss` when there is no room. */
static __always_inline bool write_record(void *record, u32 size, u32 loss)
{
	void *ring = this_ring();

	if (ring && !bpf_ringbuf_output(ring, record, size, BPF_RB_NO_WAKEUP))
		return true;
	count_loss(loss);
	return false;
}

static __always_inline u32 generation(void)
{
	struct control *control = controls();

	return control ? control->generation : 0;
}

static __always_inline bool is_seen(u64 key)
{
	u32 *written = bpf_map_lookup_elem(&seen, &key);

	return written && *written == generation();
}

static __always_inline void set_seen(u64 key)
{
	u32 now = generation();

	bpf_map_update_elem(&seen, &key, &now, BPF_ANY);
}

/* A step of a 64-bit multiplicative hash (the constant of splitmix64). */
static __always_inline u64 mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * 0xbf58476d1ce4e5b9ull;
	return hash ^ (hash >> 29);
}

#endif
