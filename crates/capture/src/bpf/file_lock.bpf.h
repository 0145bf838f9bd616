/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Who holds a file's lock (flock, fcntl) that a thread asks for. The kernel knows the process; which of its threads took the
 * lock is remembered here, since the collection began.
 */
#ifndef DWELL_FILE_LOCK_BPF_H
#define DWELL_FILE_LOCK_BPF_H

#include "thread.bpf.h"

/* include/linux/fs.h, include/uapi/asm-generic/fcntl.h */
#define FILE_LOCK_DEFERRED 1
#define F_UNLCK            2

#define MOST_BLOCKERS 8 /* requests wait behind one another */

/* A lock or a request for one, in what all kernels tell of it. */
struct held_lock {
	u64 blocker; /* address of the lock that a request waits for */
	u64 owner;   /* the open file, or the descriptors of a process */
	u64 start;
	u32 tgid; /* the kernel's id of the process that asked */
	u32 type;
};

struct taker {
	u32 tgid;
	u32 tid;
};

/* By owner, file and start. Forgetting one only means that a holder is not named. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct taker);
} takers SEC(".maps");

/* Until Linux 6.8. */
struct file_lock___flat {
	struct file_lock *fl_blocker;
	void *fl_owner;
	unsigned char fl_type;
	unsigned int fl_pid;
} __attribute__((preserve_access_index));

static __always_inline void look_at_lock(struct file_lock *lock, struct held_lock *found)
{
	struct file_lock___flat *flat = (void *)lock;

	found->start = BPF_CORE_READ(lock, fl_start);
	if (bpf_core_field_exists(lock->c)) {
		found->blocker = (u64)BPF_CORE_READ(lock, c.flc_blocker);
		if (found->blocker)
			found->blocker -= bpf_core_field_offset(struct file_lock, c);
		found->owner = (u64)BPF_CORE_READ(lock, c.flc_owner);
		found->tgid = BPF_CORE_READ(lock, c.flc_pid);
		found->type = BPF_CORE_READ(lock, c.flc_type);
	} else {
		found->blocker = (u64)BPF_CORE_READ(flat, fl_blocker);
		found->owner = (u64)BPF_CORE_READ(flat, fl_owner);
		found->tgid = BPF_CORE_READ(flat, fl_pid);
		found->type = BPF_CORE_READ(flat, fl_type);
	}
}

static __always_inline u64 taker_key(struct inode *inode, const struct held_lock *lock)
{
	return mix(mix(lock->owner, lock->start), mix(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev)));
}

/* The thread that took the lock which `request` waits for, 0 = not known. */
static __always_inline u32 file_lock_owner(struct inode *inode, struct held_lock *request)
{
	struct taker *taker;
	u64 key;

	for (u32 i = 0; i < MOST_BLOCKERS && request->blocker; i++)
		look_at_lock((struct file_lock *)request->blocker, request);
	key = taker_key(inode, request);
	taker = bpf_map_lookup_elem(&takers, &key);
	/* An owner's memory is used again. */
	return taker && taker->tgid == request->tgid && !request->blocker ? taker->tid : 0;
}

/* The current thread asked for a lock. */
static __always_inline void note_file_lock(struct inode *inode, struct file_lock *request, int result)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = recorded(current);
	struct taker taker = {.tgid = current->tgid};
	struct held_lock lock = {};
	u64 key;

	if (!thread || !inode || !request)
		return;
	thread->file_lock_owner = 0;
	look_at_lock(request, &lock);
	if (result == FILE_LOCK_DEFERRED) {
		thread->file_lock_owner = file_lock_owner(inode, &lock);
	} else if (!result && lock.type != F_UNLCK) {
		taker.tid = tid_of(current);
		key = taker_key(inode, &lock);
		bpf_map_update_elem(&takers, &key, &taker, BPF_ANY);
	}
}

#endif
