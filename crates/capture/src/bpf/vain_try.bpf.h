/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What profiled threads try in vain, and mostly try again after a sleep: to lock a file that another one has locked, and to connect to
 * where nobody listens. A record for each such try, so many at most.
 */
#ifndef DWELL_VAIN_TRY_BPF_H
#define DWELL_VAIN_TRY_BPF_H

#include "connection.bpf.h"
#include "file.bpf.h"
#include "file_lock.bpf.h"

/* include/uapi/asm-generic/errno-base.h, errno.h; include/net/tcp_states.h */
#define EAGAIN       11
#define ECONNREFUSED 111
#define TCP_SYN_SENT 2
#define TCP_CLOSE    7

#define F_WRLCK    1
#define MOST_LOCKS 32 /* of a file that are looked at */

/* Records at most on a CPU in so long. */
#define MOST_TRIES 100
#define TRIES_NS   100000000ull

enum lock_list {
	FLOCK_LOCKS,
	POSIX_LOCKS,
};

struct list_head___link {
	struct list_head___link *next;
} __attribute__((preserve_access_index));

struct file_lock_context___lists {
	struct list_head___link flc_flock;
	struct list_head___link flc_posix;
} __attribute__((preserve_access_index));

struct inode___locked {
	struct file_lock_context___lists *i_flctx;
} __attribute__((preserve_access_index));

struct file_lock_core___listed {
	struct list_head___link flc_list;
	struct file *flc_file;
} __attribute__((preserve_access_index));

/* Until Linux 6.8 all of it. */
struct file_lock___listed {
	struct list_head___link fl_list;
	struct file *fl_file;
	s64 fl_end;
} __attribute__((preserve_access_index));

struct sock___error {
	int sk_err;
} __attribute__((preserve_access_index));

/* How many tries were written on a CPU since when. */
struct try_count {
	u64 since_ns;
	u64 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct try_count);
} try_counts SEC(".maps");

/* Who asked for a connection that is not there yet, by the socket. An answer comes in any thread's context, or in none's. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u32);
} connecting SEC(".maps");

static __always_inline bool is_recording(struct task_struct *task)
{
	struct control *control = controls();

	return control && !control->paused && recorded(task);
}

static __always_inline void write_try(struct record_vain_try *record, u32 tid)
{
	u64 now = bpf_ktime_get_ns();
	u32 zero = 0;
	struct try_count *tries = bpf_map_lookup_elem(&try_counts, &zero);

	if (!tries)
		return;
	if (now - tries->since_ns > TRIES_NS) {
		tries->since_ns = now;
		tries->count = 0;
	}
	tries->count++;
	if (tries->count > MOST_TRIES) {
		count_loss(VAIN_TRIES_LEFT_OUT);
		return;
	}
	set_header(&record->h, RECORD_VAIN_TRY, sizeof(*record), tid, now);
	write_record(record, sizeof(*record), VAIN_TRIES_LEFT_OUT);
}

/* The lock whose links are at `node` in the list of its file. */
static __always_inline u64 lock_of_node(u64 node)
{
	struct file_lock *lock = NULL;

	if (bpf_core_field_exists(lock->c))
		return node - bpf_core_field_offset(struct file_lock_core___listed, flc_list) -
		       bpf_core_field_offset(struct file_lock, c);
	return node - bpf_core_field_offset(struct file_lock___listed, fl_list);
}

static __always_inline struct file *locked_file(struct file_lock *lock)
{
	struct file_lock_core___listed *core;

	if (!bpf_core_field_exists(lock->c))
		return BPF_CORE_READ((struct file_lock___listed *)lock, fl_file);
	core = (void *)lock + bpf_core_field_offset(struct file_lock, c);
	return BPF_CORE_READ(core, flc_file);
}

static __always_inline s64 lock_end(u64 lock)
{
	return BPF_CORE_READ((struct file_lock___listed *)lock, fl_end);
}

/* The process that has the lock which stands in the way of `request`, in the kernel's numbers; 0 = none is found. */
static __always_inline u32 locking_process(struct inode *inode, struct file_lock *request, enum lock_list of)
{
	struct file_lock_context___lists *lists = BPF_CORE_READ((struct inode___locked *)inode, i_flctx);
	struct held_lock asked = {}, held = {};
	s64 end = lock_end((u64)request);
	u64 head, node, lock;

	if (!lists)
		return 0;
	head = (u64)lists + (of == FLOCK_LOCKS ? bpf_core_field_offset(struct file_lock_context___lists, flc_flock)
					       : bpf_core_field_offset(struct file_lock_context___lists, flc_posix));
	look_at_lock(request, &asked);
	node = (u64)BPF_CORE_READ((struct list_head___link *)head, next);
	for (u32 i = 0; i < MOST_LOCKS && node && node != head; i++) {
		lock = lock_of_node(node);
		look_at_lock((struct file_lock *)lock, &held);
		if (held.owner != asked.owner && (held.type == F_WRLCK || asked.type == F_WRLCK) &&
		    (s64)held.start <= end && (s64)asked.start <= lock_end(lock))
			return held.tgid;
		node = (u64)BPF_CORE_READ((struct list_head___link *)node, next);
	}
	return 0;
}

/* The current thread asked for a lock that it does not wait for, and did not get it. */
static __always_inline void note_vain_lock(struct inode *inode, struct file_lock *request, enum lock_list of)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct record_vain_try record = {.kind = VAIN_TRY_FILE_LOCK};
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	u32 tid = tid_of(current);

	if (!is_recording(current) || !inode || !request)
		return;
	record.object = file_object((u64)locked_file(request), regs->di, tid, tgid_of(current));
	if (!scope.pid_level)
		record.holder_tgid = locking_process(inode, request, of);
	write_try(&record, tid);
}

/* The current thread asks for a connection. */
static __always_inline void note_connect(struct sock *sk)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 tid = tid_of(current);
	u64 key = (u64)sk;

	if (is_recording(current))
		bpf_map_update_elem(&connecting, &key, &tid, BPF_ANY);
}

/* The connection is there, or it failed. */
static __always_inline void note_connected(struct sock *sk, int state)
{
	struct record_vain_try record = {.kind = VAIN_TRY_CONNECTION};
	struct ends ends = {};
	u64 key = (u64)sk;
	u32 *found = bpf_map_lookup_elem(&connecting, &key), tid;

	if (!found)
		return;
	tid = *found;
	bpf_map_delete_elem(&connecting, &key);
	if (state != TCP_CLOSE || BPF_CORE_READ((struct sock___error *)sk, sk_err) != ECONNREFUSED)
		return;
	read_ends(&ends, sk);
	__builtin_memcpy(record.remote_address, ends.remote, sizeof(record.remote_address));
	record.remote_port = ends.remote_port;
	write_try(&record, tid);
}

#endif
