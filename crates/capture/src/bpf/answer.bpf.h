/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Whether a thread that is not recorded answers the one that it wakes: it sends over a connection that it had accepted, and was asked
 * since it last sent. Who sends again and again without being asked publishes. An event loop waits for many things at once: this tells
 * the answers of those whom it asked from the questions of those who ask it.
 */
#ifndef DWELL_ANSWER_BPF_H
#define DWELL_ANSWER_BPF_H

#include "connection.bpf.h"
#include "loopback.bpf.h"

#define HEARD_SOCKETS 4096
#define FUSE_DEVICE   (10 << 20 | 229) /* /dev/fuse: major and minor number (include/linux/miscdevice.h) */

/* By an accepted socket, as socket_key() tells it: the bytes that had come over it when its owner sent last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HEARD_SOCKETS);
	__type(key, u64);
	__type(value, u64);
} heard SEC(".maps");

/* What `current`, which is in a system call, is to the thread that it wakes: an enum waker_context. */
static __always_inline u8 sender_context(struct task_struct *current, s32 syscall)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct file *file;
	u64 key, bytes, *before;
	struct sock *sk;
	u16 family;

	if (syscall < 0 || !current->mm || syscall_class(syscall) != CALL_FD)
		return WAKER_TASK;
	file = file_of(current, regs->di);
	/* A file system in user space answers by its device. */
	if (file && file_type(file) == S_IFCHR && BPF_CORE_READ(file, f_inode, i_rdev) == FUSE_DEVICE)
		return WAKER_ANSWER;
	if (!file || file_type(file) != S_IFSOCK)
		return WAKER_TASK;
	sk = sock_of(file);
	family = FIELD(sk, __sk_common.skc_family);
	/* The accepted end of a Unix socket has the name of the socket that listens, the other one mostly none. */
	if (family == AF_UNIX)
		return BPF_CORE_READ((struct unix_sock *)sk, addr) ? WAKER_ANSWER : WAKER_TASK;
	if ((family != AF_INET && family != AF_INET6) || FIELD(sk, sk_protocol) != IPPROTO_TCP || !is_accepted(sk))
		return WAKER_TASK;
	key = socket_key(sk);
	bytes = BPF_CORE_READ((struct tcp_sock *)sk, bytes_received);
	before = bpf_map_lookup_elem(&heard, &key);
	if (before && *before == bytes)
		return WAKER_PUBLISHER;
	bpf_map_update_elem(&heard, &key, &bytes, BPF_ANY);
	return WAKER_ANSWER;
}

#endif
