/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Which Java monitor or lock of java.util.concurrent a thread of a HotSpot JVM waits for. The JVM parks each thread on a
 * futex of the thread's own, which says nothing; its JavaThread knows the monitor, its Thread object what it is parked for.
 * `struct java_process` says where; user space finds that by the tables that libjvm.so exports, and finds the threads.
 *
 * Everything is read from the program, so nothing of it is believed: what cannot be read is zero, a thread's stack must be
 * the one that its JavaThread has, and a lock must have the class of locks with owners. Include after ids.bpf.h.
 */
#ifndef DWELL_JAVA_BPF_H
#define DWELL_JAVA_BPF_H

#include "ids.bpf.h"

#define JAVA_PROCESSES 256

/* Key: tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, JAVA_PROCESSES);
	__type(key, u32);
	__type(value, struct java_process);
} java_processes SEC(".maps");

/* Key: tid. Old ones go by themselves. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct java_thread);
} java_threads SEC(".maps");

struct java_wait {
	u64 thread; /* address of its JavaThread */
	u64 stack;  /* where the thread's stack pointer is */
	u64 lock;   /* 0 = it waits for none */
	u64 owner;  /* what the lock says of it */
	u32 class;  /* as objects have it */
	u32 is_monitor;
};

PER_CPU(struct java_wait, java_wait)

static __always_inline u64 java_word(u64 address)
{
	u64 value = 0;

	return bpf_probe_read_user(&value, sizeof(value), (void *)address) ? 0 : value;
}

static __always_inline u32 java_half(u64 address)
{
	u32 value = 0;

	return bpf_probe_read_user(&value, sizeof(value), (void *)address) ? 0 : value;
}

/* The object to which the reference at `address`, in another object, leads. */
static __always_inline u64 java_reference(const struct java_process *process, u64 address)
{
	u64 reference;

	if (process->oop_bytes == 8)
		return java_word(address);
	reference = java_half(address);
	return reference ? process->oop_base + (reference << (process->oop_shift & 31)) : 0;
}

static __always_inline void java_monitor(const struct java_process *process, struct java_wait *wait, u64 monitor)
{
	u64 object = java_word(java_word(monitor + process->monitor_object));

	wait->lock = monitor;
	wait->is_monitor = 1;
	wait->owner = java_word(monitor + process->monitor_owner);
	wait->class = object ? java_half(object + process->object_class) : 0;
}

/* A lock is what has an exclusive owner, should it have one now or not. */
static __always_inline void java_parked(const struct java_process *process, struct java_wait *wait)
{
	u64 thread = java_word(java_word(wait->thread + process->thread_object));
	u64 blocker = thread && process->owned_class ? java_reference(process, thread + process->park_blocker) : 0;
	u64 class, owner;

	if (!blocker)
		return;
	wait->class = java_half(blocker + process->object_class);
	class = process->class_base + ((u64)wait->class << (process->class_shift & 31));
	if (java_word(class + process->class_ancestor) != process->owned_class)
		return;
	owner = java_reference(process, blocker + process->exclusive_owner);
	wait->lock = blocker;
	wait->owner = owner ? java_word(owner + process->native_thread) : 0;
}

/* What the thread of `wait` waits for: true when it is a lock. */
static __always_inline bool find_java_lock(struct java_process *process, struct java_wait *wait)
{
	u64 end, monitor;

	wait->lock = 0;
	wait->owner = 0;
	wait->is_monitor = 0;
	end = java_word(wait->thread + process->stack_base);
	if (end - wait->stack > java_word(wait->thread + process->stack_size))
		return false;
	monitor = java_word(wait->thread + process->pending_monitor);
	if (monitor)
		java_monitor(process, wait, monitor);
	else
		java_parked(process, wait);
	return wait->lock != 0;
}

/* Says in `record` which Java lock a thread waits for whose stack pointer is `sp`: true when it does. A function of its own: switches
 * of all other threads are the faster for it. */
__noinline int note_java_lock(struct record_switch *record, u32 tgid, u32 tid, u64 sp)
{
	struct java_process *process = bpf_map_lookup_elem(&java_processes, &tgid);
	struct java_thread *thread = process ? bpf_map_lookup_elem(&java_threads, &tid) : NULL;
	struct java_wait *wait = this_java_wait();

	if (!record || !process || !thread || !wait || thread->tgid != tgid)
		return 0;
	wait->thread = thread->address;
	wait->stack = sp;
	if (!find_java_lock(process, wait))
		return 0;
	record->flags |= SWITCH_JAVA_LOCK;
	record->object = wait->lock;
	record->detail = (u16)record->detail | wait->is_monitor << 16 | (u64)wait->class << 32;
	record->owner_tid = wait->owner;
	record->owner_inner_tid = wait->owner >> 32;
	return 1;
}

/* The same of `task`, which is switched out, where there is a JVM whose locks can be told. */
static __always_inline bool is_for_java_lock(struct control *control, struct task_struct *task,
					     struct record_switch *record)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return control->reads_java_locks && note_java_lock(record, tgid_of(task), tid_of(task), regs->sp);
}

#endif
