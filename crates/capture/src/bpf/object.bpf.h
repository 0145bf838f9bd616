/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What a blocked thread waits on, from the system call that it is in and that call's arguments. A file descriptor
 * becomes the key of the file, pipe or socket behind it, which is described once.
 */
#ifndef DWELL_OBJECT_BPF_H
#define DWELL_OBJECT_BPF_H

#include "ids.bpf.h"
#include "unix_name.bpf.h"

/* How the arguments of a system call name what it waits on. The table is filled from the model crate's. */
enum syscall_class {
	CALL_OTHER = 0, /* they do not: the kernel stack has to tell */
	CALL_FD = 1,    /* the first argument is a file descriptor */
	CALL_FUTEX = 2,
	CALL_FUTEX_VECTOR = 3,
	CALL_POLL = 4,
	CALL_SELECT = 5,
	CALL_SLEEP = 6,       /* nanosleep(request) */
	CALL_CLOCK_SLEEP = 7, /* clock_nanosleep(clock, flags, request) */
	CALL_CHILD = 8,
	CALL_NAMED = 9, /* the call alone says it: signals, yield */
};

#define DWELL_SYSCALLS 512

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DWELL_SYSCALLS);
	__type(key, u32);
	__type(value, u8);
} syscall_classes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct record_object);
} object_buffer SEC(".maps");

#define S_IFMT   0170000
#define S_IFIFO  0010000
#define S_IFCHR  0020000
#define S_IFSOCK 0140000
#define AF_UNIX  1
#define AF_INET  2
#define AF_INET6 10

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

static __always_inline struct file *file_of(struct task_struct *task, u32 fd)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

#define NAME_BYTES 64
#define PATH_PARTS 24 /* components of a path, and mounts that it passes */

struct path_walk {
	struct record_object *record;
	struct dentry *dentry;
	struct mount *mount;
};

/* One component towards the root of the file system; crosses mount points. Returns 1 at the end. */
static long walk_path(u64 index, struct path_walk *walk)
{
	struct dentry *dentry = walk->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct mount *mount = walk->mount, *above;
	u32 at = walk->record->text_bytes;
	long bytes;

	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
		above = BPF_CORE_READ(mount, mnt_parent);
		if (above == mount || !above)
			return 1;
		walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = above;
		return 0;
	}
	if (at > DWELL_TEXT_BYTES - NAME_BYTES)
		return 1;
	bytes = bpf_probe_read_kernel_str(&walk->record->text[at], NAME_BYTES, BPF_CORE_READ(dentry, d_name.name));
	if (bytes <= 0)
		return 1;
	walk->record->text_bytes = at + bytes;
	walk->dentry = parent;
	return 0;
}

/* The path's components, leaf first, each ended by a zero byte. */
static __always_inline void read_path(struct record_object *record, struct file *file)
{
	struct vfsmount *mount = BPF_CORE_READ(file, f_path.mnt);
	struct path_walk walk = {
		.record = record,
		.dentry = BPF_CORE_READ(file, f_path.dentry),
		.mount = (void *)mount - bpf_core_field_offset(struct mount, mnt),
	};

	REPEAT(PATH_PARTS, PATH_PARTS, walk_path, &walk);
}

/* The kernel's own name for a file that is in no file system: [eventfd], [eventpoll] … */
static __always_inline void read_name(struct record_object *record, struct file *file)
{
	long bytes =
		bpf_probe_read_kernel_str(record->text, NAME_BYTES, BPF_CORE_READ(file, f_path.dentry, d_name.name));

	record->text_bytes = bytes > 0 ? bytes : 0;
}

static __always_inline struct sock *sock_of(struct file *file)
{
	struct socket *socket = FIELD(file, private_data);

	/* Its address becomes part of a key, which the verifier refuses of what FIELD gives. */
	return BPF_CORE_READ(socket, sk);
}

/* What tells a socket from every other one: the kernel uses a closed one's memory again. */
static __always_inline u64 socket_key(struct sock *sk)
{
	u64 ports = (u64)FIELD(sk, __sk_common.skc_num) << 32 | FIELD(sk, __sk_common.skc_dport);

	return mix((u64)sk, ports);
}

static __always_inline u16 file_type(struct file *file)
{
	struct inode *inode = FIELD(file, f_inode);

	return FIELD(inode, i_mode) & S_IFMT;
}

/*
 * What tells the file at `address` from every other one; 0 = there is none. Asked for every descriptor at every wait, so it
 * reads no more than that. A global function of plain numbers, so that the verifier looks at it once and not at every call.
 */
__noinline u64 file_key(u64 address)
{
	struct file *file = (struct file *)address;
	struct super_block *device;
	struct inode *inode;
	u64 key;

	if (!file)
		return 0;
	switch (file_type(file)) {
	case S_IFSOCK:
		key = socket_key(sock_of(file));
		break;
	case 0: /* all anonymous inodes share one: tell the files apart */
		key = mix((u64)BPF_CORE_READ(file, private_data), address);
		break;
	default:
		inode = FIELD(file, f_inode);
		device = FIELD(inode, i_sb);
		key = mix(FIELD(inode, i_ino), FIELD(device, s_dev));
	}
	return key ? key : 1;
}

static __always_inline void read_socket(struct record_object *record, struct file *file)
{
	struct sock *sk = sock_of(file);

	record->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	record->protocol = BPF_CORE_READ(sk, sk_protocol);
	record->socket_state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (record->family == AF_INET || record->family == AF_INET6) {
		record->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
		record->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	}
	if (record->family == AF_INET) {
		BPF_CORE_READ_INTO((u32 *)record->local_address, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((u32 *)record->remote_address, sk, __sk_common.skc_daddr);
	} else if (record->family == AF_INET6 && bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO((struct in6_addr *)record->local_address, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)record->remote_address, sk, __sk_common.skc_v6_daddr);
	} else if (record->family == AF_UNIX) {
		record->text_bytes = read_unix_name(record->text, sk);
	}
}

static __always_inline u8 object_kind(u16 mode)
{
	switch (mode) {
	case S_IFSOCK:
		return OBJECT_SOCKET;
	case S_IFIFO:
		return OBJECT_PIPE;
	case S_IFCHR:
		return OBJECT_CHARACTER_DEVICE;
	default:
		return mode ? OBJECT_FILE : OBJECT_ANONYMOUS;
	}
}

/*
 * The key of the file at `address`, which thread `tid` has as `fd`; describes it when it is new. Global for the same reason.
 */
__noinline u64 file_object(u64 address, u32 fd, u32 tid, u32 tgid)
{
	u32 zero = 0;
	struct file *file = (struct file *)address;
	struct record_object *record;
	struct inode *inode;
	u64 key = file_key(address);
	u16 mode;

	if (!key || is_seen(key))
		return key;
	record = bpf_map_lookup_elem(&object_buffer, &zero);
	if (!record)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	mode = file_type(file);
	__builtin_memset(record, 0, sizeof(*record));
	record->kind = object_kind(mode);
	record->inode = BPF_CORE_READ(inode, i_ino);
	record->device = BPF_CORE_READ(inode, i_sb, s_dev);
	if (mode == S_IFSOCK)
		read_socket(record, file);
	else if (mode == 0)
		read_name(record, file);
	else
		read_path(record, file);
	set_header(&record->h, RECORD_OBJECT, sizeof(*record), tid, bpf_ktime_get_ns());
	record->key = key;
	record->tgid = tgid;
	record->fd = fd;
	if (write_record(record, sizeof(*record), OBJECTS_LOST))
		set_seen(key);
	return key;
}

/* The same for a descriptor of `task`, whose thread waits mostly for what it waited for before. */
static __always_inline u64 fd_object(struct task_struct *task, struct thread *thread, u32 fd)
{
	u64 file = (u64)file_of(task, fd), key = file_key(file), written = key + generation();

	if (key && written != thread->last_object && file_object(file, fd, tid_of(task), tgid_of(task)) == key &&
	    is_seen(key))
		thread->last_object = written;
	return key;
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
		target->detail = first.val << 32;
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
	}
}

#endif
