// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Who keeps a thread waiting where neither its call nor its memory tells: holders of file locks, who stops it, and what it tries in vain. */
#include "file_lock.bpf.h"
#include "stop.bpf.h"
#include "vain_try.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(on_flock, struct inode *inode, struct file_lock *request, int result)
{
	note_file_lock(inode, request, result);
	if (result == -EAGAIN)
		note_vain_lock(inode, request, FLOCK_LOCKS);
	return 0;
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(on_posix_lock, struct inode *inode, struct file_lock *request, int result)
{
	note_file_lock(inode, request, result);
	if (result == -EAGAIN)
		note_vain_lock(inode, request, POSIX_LOCKS);
	return 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *task, int group, int result)
{
	if (signal >= SIGSTOP && signal <= SIGTTOU && result == TRACE_SIGNAL_DELIVERED)
		note_stop(signal, ctx[1] == SEND_SIG_PRIV, task);
	return 0;
}

/* Connections are asked for, and refused. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_connect, struct sock *sk, int old, int state)
{
	if (state == TCP_SYN_SENT)
		note_connect(sk);
	else if (old == TCP_SYN_SENT)
		note_connected(sk, state);
	return 0;
}
