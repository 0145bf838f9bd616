/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The file, pipe or socket behind a file descriptor: its key, and its description, which is written once.
 */
#ifndef DWELL_FILE_BPF_H
#define DWELL_FILE_BPF_H

#include "ids.bpf.h"
#include "unix_name.bpf.h"

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

static __always_inline struct file *file_of(struct task_struct *task, u32 fd)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

#define PATH_PARTS 24 /* components of a path, and mounts that it passes */

struct path_walk {
	struct record_object *record;
	struct dentry *dentry;
	struct mount *mount;
};

/* One component towards the root of the file system; crosses mount points. Returns 1 at the end: at the root without a dentry. */
static long walk_path(u64 index, struct path_walk *walk)
{
	struct dentry *dentry = walk->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct mount *mount = walk->mount, *above;
	u32 at = walk->record->text_bytes;
	long bytes;

	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
		above = BPF_CORE_READ(mount, mnt_parent);
		if (above == mount || !above) {
			walk->dentry = NULL;
			return 1;
		}
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

/* Adds the path's components, leaf first, each ended by a zero byte. Returns whether they reach the root. */
static __always_inline bool read_path(struct record_object *record, struct path *path)
{
	struct vfsmount *mount = BPF_CORE_READ(path, mnt);
	struct path_walk walk = {
		.record = record,
		.dentry = BPF_CORE_READ(path, dentry),
		.mount = (void *)mount - bpf_core_field_offset(struct mount, mnt),
	};

	REPEAT(PATH_PARTS, PATH_PARTS, walk_path, &walk);
	return !walk.dentry;
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
		read_path(record, &file->f_path);
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

#endif
