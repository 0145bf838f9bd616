/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * What a blocked thread waits on, from the system call that it is in and that call's arguments. A file descriptor
 * becomes the key of the file, pipe or socket behind it, which is described once.
 */
#ifndef DWELL_OBJECT_BPF_H
#define DWELL_OBJECT_BPF_H

#include "record.bpf.h"

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

	bpf_loop(24, walk_path, &walk, 0);
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
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

/* What tells a socket from every other one: the kernel uses a closed one's memory again. */
static __always_inline u64 socket_key(struct sock *sk)
{
	u64 ports = (u64)BPF_CORE_READ(sk, __sk_common.skc_num) << 32 | BPF_CORE_READ(sk, __sk_common.skc_dport);

	return mix((u64)sk, ports);
}

/* What tells a file from every other one. Asked at every wait, so it reads no more than that. */
static __always_inline u64 file_key(struct file *file, struct inode *inode, u16 mode)
{
	switch (mode) {
	case S_IFSOCK:
		return socket_key(sock_of(file));
	case 0: /* all anonymous inodes share one: tell the files apart */
		return mix((u64)BPF_CORE_READ(file, private_data), (u64)file);
	default:
		return mix(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_sb, s_dev));
	}
}

static __always_inline void read_socket(struct record_object *record, struct file *file)
{
	struct sock *sk = sock_of(file);
	struct unix_address *address;

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
		address = BPF_CORE_READ((struct unix_sock *)sk, addr);
		if (!address) { /* the accepting side has none of its own: the peer's */
			struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ((struct unix_sock *)sk, peer);

			address = BPF_CORE_READ(peer, addr);
		}
		if (address) {
			bpf_probe_read_kernel(record->text, 108,
					      (void *)address + bpf_core_field_offset(struct unix_address, name) + 2);
			record->text_bytes = 108;
		}
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
 * The key of the file at address `file_address`, which thread `tid` has as `fd`; describes it when it is new. A global
 * function of plain numbers, so that the verifier looks at it once and not at every call.
 */
__noinline u64 file_object(u64 file_address, u32 fd, u32 tid, u32 tgid)
{
	u32 zero = 0;
	struct file *file = (struct file *)file_address;
	struct record_object *record;
	struct inode *inode;
	u16 mode;
	u64 key;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	mode = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	key = file_key(file, inode, mode);
	if (key == 0)
		key = 1;
	if (is_seen(key))
		return key;
	record = bpf_map_lookup_elem(&object_buffer, &zero);
	if (!record)
		return 0;
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
	if (write_record(record, sizeof(*record), LOSS_OBJECT))
		set_seen(key);
	return key;
}

static __always_inline u64 fd_object(struct task_struct *task, u32 fd)
{
	return file_object((u64)file_of(task, fd), fd, BPF_CORE_READ(task, pid), BPF_CORE_READ(task, tgid));
}

/* An empty record of a poll or select set. */
static __always_inline struct record_object *new_set(struct task_struct *task, u32 count)
{
	u32 one = 1;
	struct record_object *set = bpf_map_lookup_elem(&object_buffer, &one);

	if (!set)
		return NULL;
	__builtin_memset(set, 0, sizeof(*set));
	set_header(&set->h, RECORD_OBJECT, sizeof(*set), BPF_CORE_READ(task, pid), bpf_ktime_get_ns());
	set->key = mix(count, 0x706f6c6c);
	set->tgid = BPF_CORE_READ(task, tgid);
	set->kind = OBJECT_POLL_SET;
	set->member_count = count;
	return set;
}

static __always_inline void add_member(struct record_object *set, struct task_struct *task, u32 index, u32 fd)
{
	u64 member = fd_object(task, fd);

	set->members[index & (DWELL_MAX_MEMBERS - 1)] = member;
	set->key = mix(set->key, member);
}

static __always_inline u64 publish_set(struct record_object *set)
{
	if (!is_seen(set->key) && write_record(set, sizeof(*set), LOSS_OBJECT))
		set_seen(set->key);
	return set->key;
}

/* Loops over the members are bpf_loop's, so that the verifier looks at one member and not at every combination. */
struct set_walk {
	struct record_object *set;
	struct task_struct *task;
	u64 fds; /* poll: address of the array; select: the descriptors left, a bit each */
};

static long walk_poll(u64 index, struct set_walk *walk)
{
	struct pollfd entry;

	if (bpf_probe_read_user(&entry, sizeof(entry), (void *)(walk->fds + index * sizeof(entry))))
		return 1;
	if (entry.fd >= 0)
		add_member(walk->set, walk->task, index, entry.fd);
	return 0;
}

/* The key of a poll set, from its first members. */
static __noinline u64 poll_object(struct task_struct *task, u64 user_fds, u32 count)
{
	struct set_walk walk = {.set = new_set(task, count), .task = task, .fds = user_fds};

	if (!walk.set)
		return 0;
	bpf_loop(count < DWELL_MAX_MEMBERS ? count : DWELL_MAX_MEMBERS, walk_poll, &walk, 0);
	return publish_set(walk.set);
}

/* The number of the lowest bit that is set; BPF has no instruction for it. */
static __always_inline u32 lowest_bit(u64 bits)
{
	u32 number = 0;

	bits &= -bits;
	number |= (bits & 0xffffffff00000000ull ? 32 : 0) | (bits & 0xffff0000ffff0000ull ? 16 : 0);
	number |= (bits & 0xff00ff00ff00ff00ull ? 8 : 0) | (bits & 0xf0f0f0f0f0f0f0f0ull ? 4 : 0);
	return number | (bits & 0xccccccccccccccccull ? 2 : 0) | (bits & 0xaaaaaaaaaaaaaaaaull ? 1 : 0);
}

static long walk_select(u64 index, struct set_walk *walk)
{
	if (!walk->fds)
		return 1;
	add_member(walk->set, walk->task, index, lowest_bit(walk->fds));
	walk->fds &= walk->fds - 1;
	walk->set->member_count = index + 1;
	return 0;
}

/* The same for select: its descriptors below 64, in any of the three sets. */
static __noinline u64 select_object(struct task_struct *task, struct pt_regs *regs)
{
	u64 readable = 0, writable = 0, exceptional = 0, limit = regs->di;
	struct set_walk walk = {.set = new_set(task, 0), .task = task};

	if (!walk.set || !limit) /* without descriptors it is a sleep */
		return 0;
	bpf_probe_read_user(&readable, sizeof(u64), (void *)regs->si);
	bpf_probe_read_user(&writable, sizeof(u64), (void *)regs->dx);
	bpf_probe_read_user(&exceptional, sizeof(u64), (void *)regs->r10);
	walk.fds = readable | writable | exceptional;
	if (limit < 64)
		walk.fds &= (1ull << limit) - 1;
	bpf_loop(DWELL_MAX_MEMBERS, walk_select, &walk, 0);
	return publish_set(walk.set);
}

static __always_inline u64 read_duration(u64 user_timespec)
{
	u64 time[2] = {};

	bpf_probe_read_user(time, sizeof(time), (void *)user_timespec);
	return time[0] * 1000000000ull + time[1];
}

/* What `task`, blocked in system call `number`, waits on. `current` says that its memory can be read. */
static __always_inline void find_wait_target(struct task_struct *task, s32 number, bool current,
					     struct wait_target *target)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct futex_waitv first = {};
	u32 fd;

	target->class = syscall_class(number);
	switch (target->class) {
	case CALL_FD:
		fd = regs->di;
		target->object = fd_object(task, fd);
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
			target->object = poll_object(task, regs->di, regs->si);
		break;
	case CALL_SELECT:
		if (current)
			target->object = select_object(task, regs);
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
