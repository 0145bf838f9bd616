// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Who keeps a thread waiting where neither its call nor its memory tells: holders of file locks, and who stops it. */
#include "file_lock.bpf.h"
#include "stop.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(on_flock, struct inode *inode, struct file_lock *request, int result)
{
	note_file_lock(inode, request, result);
	return 0;
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(on_posix_lock, struct inode *inode, struct file_lock *request, int result)
{
	note_file_lock(inode, request, result);
	return 0;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *info, struct task_struct *task, int group, int result)
{
	if (signal >= SIGSTOP && signal <= SIGTTOU && result == TRACE_SIGNAL_DELIVERED)
		note_stop(signal, ctx[1] == SEND_SIG_PRIV, task);
	return 0;
}
