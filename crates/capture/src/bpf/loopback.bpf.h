/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Connections within the machine: what one end sends reaches the other one in a soft interrupt that the kernel runs at once,
 * still within the sender's call (loopback_xmit and __local_bh_enable_ip in the kernel's sources).
 */
#ifndef DWELL_LOOPBACK_BPF_H
#define DWELL_LOOPBACK_BPF_H

#include "object.bpf.h"

#define LOOPBACK_NET 127

/* Whether both ends have IPv4 addresses of this machine, as they lie in the kernel's memory: 127.x.x.x, or one twice. */
static __always_inline bool are_own(u32 local, u32 remote)
{
	return (local & 0xff) == LOOPBACK_NET || (remote & 0xff) == LOOPBACK_NET || (remote && local == remote);
}

static __always_inline bool is_loopback(struct sock *sk)
{
	u32 near[4] = {}, far[4] = {}, mapped = __builtin_bswap32(0xffff), one = __builtin_bswap32(1);
	u16 family = FIELD(sk, __sk_common.skc_family);

	if (family == AF_INET)
		return are_own(FIELD(sk, __sk_common.skc_rcv_saddr), FIELD(sk, __sk_common.skc_daddr));
	if (family != AF_INET6 || !bpf_core_field_exists(sk->__sk_common.skc_v6_daddr))
		return false;
	BPF_CORE_READ_INTO((struct in6_addr *)near, sk, __sk_common.skc_v6_rcv_saddr);
	BPF_CORE_READ_INTO((struct in6_addr *)far, sk, __sk_common.skc_v6_daddr);
	if (far[0] || far[1])
		return near[0] == far[0] && near[1] == far[1] && near[2] == far[2] && near[3] == far[3];
	if (far[2] == mapped)
		return are_own(near[3], far[3]);
	return !far[2] && far[3] == one;
}

/* Whether the running thread is in a call on a connection within the machine. */
static __always_inline bool in_call_on_loopback(struct task_struct *current, s32 syscall)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct file *file;

	if (syscall < 0 || !current->mm || syscall_class(syscall) != CALL_FD)
		return false;
	file = file_of(current, regs->di);
	return file && file_type(file) == S_IFSOCK && is_loopback(sock_of(file));
}

#endif
