/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What a blocked thread waits on, from the system call that it is in and that call's arguments. A file descriptor
 * becomes the key of the file, pipe or socket behind it, which is described once.
 */
#ifndef DWELL_OBJECT_BPF_H
#define DWELL_OBJECT_BPF_H

#include "file.bpf.h"
#include "path.bpf.h"
#include "task_state.bpf.h"

/* The enum syscall_class of each system call, as the model crate's table says. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DWELL_SYSCALLS);
	__type(key, u32);
	__type(value, u8);
} syscall_classes SEC(".maps");

struct wait_target {
	u64 object;
	u64 detail;
	u8 class;
};

static __always_inline u8 syscall_class(s32 number)
{
	u32 key = number;
	u8 *class = bpf_map_lookup_elem(&syscall_classes, &key);

	return class ? *class : CALL_OTHER;
}

/* What poll and select wait for: the first of their descriptors. */
struct fd_set {
	u64 files; /* address of the descriptors' files, and how many there are */
	u32 limit;
	u32 count; /* of the whole set, may exceed DWELL_MAX_MEMBERS */
	u32 tid;
	u32 tgid;
	s32 fds[DWELL_MAX_MEMBERS];               /* -1 = this one is left out */
	struct pollfd entries[DWELL_MAX_MEMBERS]; /* as the program gave them to poll */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fd_set);
} set_buffer SEC(".maps");

/* An empty set of `task` in this CPU's buffer. */
static __always_inline struct fd_set *begin_set(struct task_struct *task)
{
	struct fdtable *table = task->files->fdt;
	u32 zero = 0;
	struct fd_set *set = bpf_map_lookup_elem(&set_buffer, &zero);

	if (!set)
		return NULL;
	set->files = (u64)table->fd;
	set->limit = table->max_fds;
	set->tid = tid_of(task);
	set->tgid = tgid_of(task);
	set->count = 0;
	return set;
}

static __always_inline u64 member_file(const struct fd_set *set, u32 i)
{
	u64 file = 0;

	if (set->fds[i] >= 0 && set->fds[i] < set->limit)
		bpf_probe_read_kernel(&file, sizeof(file), (void *)(set->files + set->fds[i] * sizeof(file)));
	return file;
}

#define FOR_EACH_MEMBER(i, set) for (u32 i = 0; i < DWELL_MAX_MEMBERS && i < (set)->count; i++)
#define EMPTY_SET_KEY(set)      mix((set)->count, 0x706f6c6c)

/* Writes the set and what is new of its members. Global, too, as is set_object. */
__noinline u64 describe_set(struct fd_set *set)
{
	u32 one = 1;
	struct record_object *record = bpf_map_lookup_elem(&object_buffer, &one);
	bool complete = true;

	if (!record || !set)
		return 0;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(&record->h, RECORD_OBJECT, sizeof(*record), set->tid, bpf_ktime_get_ns());
	record->key = EMPTY_SET_KEY(set);
	record->tgid = set->tgid;
	record->kind = OBJECT_POLL_SET;
	record->member_count = set->count;
	FOR_EACH_MEMBER (i, set) {
		u64 member = file_object(member_file(set, i), set->fds[i], set->tid, set->tgid);

		record->members[i] = member;
		record->key = mix(record->key, member);
		complete = complete && (!member || is_seen(member));
	}
	if (write_record(record, sizeof(*record), OBJECTS_LOST) && complete)
		set_seen(record->key);
	return record->key;
}

/* The key of a set; describes it when it is new. */
__noinline u64 set_object(struct fd_set *set, struct thread *thread)
{
	u64 key, written;

	if (!set || !thread)
		return 0;
	key = EMPTY_SET_KEY(set);
	FOR_EACH_MEMBER (i, set)
		key = mix(key, file_key(member_file(set, i)));
	written = key + generation();
	if (written == thread->last_object)
		return key;
	if (!is_seen(key))
		return describe_set(set);
	thread->last_object = written;
	return key;
}

static __always_inline u64 poll_object(struct task_struct *task, struct thread *thread, u64 user_fds, u32 count)
{
	u64 read = count < DWELL_MAX_MEMBERS ? count : DWELL_MAX_MEMBERS;
	struct fd_set *set = begin_set(task);

	if (!set)
		return 0;
	set->count = count;
	if (bpf_probe_read_user(set->entries, AT_MOST(read, DWELL_MAX_MEMBERS) * sizeof(*set->entries),
				(void *)user_fds))
		return 0;
#pragma unroll
	for (u32 i = 0; i < DWELL_MAX_MEMBERS; i++)
		set->fds[i] = set->entries[i].fd;
	return set_object(set, thread);
}

/* Where a De Bruijn sequence, shifted by n, has its highest 6 bits: n. BPF has no instruction for the lowest bit that is
 * set, and branches would multiply the paths of the verifier. */
#define DE_BRUIJN 0x03f79d71b4cb0a89ull

static const u8 shifts[64] = {
	0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,  62, 55, 59, 36, 53, 51,
	43, 22, 45, 39, 33, 30, 24, 18, 12, 5,  63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21,
	44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6,
};

static __always_inline u32 lowest_bit(u64 bits)
{
	return shifts[(bits & -bits) * DE_BRUIJN >> 58];
}

/* The first word of a set of descriptors that may be left out. */
static __always_inline u64 first_descriptors(u64 user_set)
{
	u64 word = 0;

	if (user_set)
		bpf_probe_read_user(&word, sizeof(word), (void *)user_set);
	return word;
}

/* The same for select: its descriptors below 64, in any of the three sets. */
static __always_inline u64 select_object(struct task_struct *task, struct thread *thread, struct pt_regs *regs)
{
	u64 limit = regs->di, fds;
	struct fd_set *set;

	if (!limit) /* without descriptors it is a sleep */
		return 0;
	set = begin_set(task);
	if (!set)
		return 0;
	fds = first_descriptors(regs->si) | first_descriptors(regs->dx) | first_descriptors(regs->r10);
	if (limit < 64)
		fds &= (1ull << limit) - 1;
#pragma unroll
	for (u32 i = 0; i < DWELL_MAX_MEMBERS; i++) {
		set->fds[i] = lowest_bit(fds);
		set->count += !!fds;
		fds &= fds - 1;
	}
	return set_object(set, thread);
}

static __always_inline u64 read_duration(u64 user_timespec)
{
	u64 time[2] = {};

	bpf_probe_read_user(time, sizeof(time), (void *)user_timespec);
	return time[0] * 1000000000ull + time[1];
}

/* What `task`, blocked in system call `number`, waits on. `current` says that its memory can be read. */
static __always_inline void find_wait_target(struct task_struct *task, struct thread *thread, s32 number, bool current,
					     struct wait_target *target)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct futex_waitv first = {};
	u32 fd;

	target->class = syscall_class(number);
	switch (target->class) {
	case CALL_FD:
		fd = regs->di;
		target->object = fd_object(task, thread, fd);
		break;
	case CALL_FUTEX:
		target->object = regs->di;
		target->detail = (u32)regs->si | regs->dx << 32;
		break;
	case CALL_FUTEX_VECTOR:
		if (current)
			bpf_probe_read_user(&first, sizeof(first), (void *)regs->di);
		target->object = first.uaddr;
		target->detail = first.val << 32 | (u16)regs->si << 16;
		break;
	case CALL_POLL:
		if (current)
			target->object = poll_object(task, thread, regs->di, regs->si);
		else
			target->detail = (u32)regs->si;
		break;
	case CALL_SELECT:
		if (current)
			target->object = select_object(task, thread, regs);
		else
			target->detail = (u32)regs->di;
		break;
	case CALL_SLEEP:
		if (current)
			target->detail = read_duration(regs->di);
		break;
	case CALL_CLOCK_SLEEP:
		if (current)
			target->detail = read_duration(regs->dx);
		break;
	case CALL_CHILD:
		target->detail = regs->di;
		break;
	case CALL_PATH:
		if (current)
			target->object = path_target(task, AT_FDCWD, regs->di);
		break;
	case CALL_PATH_AT:
		if (current)
			target->object = path_target(task, regs->di, regs->si);
		break;
	}
}

#endif
