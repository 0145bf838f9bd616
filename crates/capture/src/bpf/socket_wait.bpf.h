/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Waits of profiled threads on sockets: what a wait was on, which socket ended one on a set of files, and how the socket
 * stood at both ends of it.
 */
#ifndef DWELL_SOCKET_WAIT_BPF_H
#define DWELL_SOCKET_WAIT_BPF_H

#include "switch.bpf.h"
#include "tcp_hold.bpf.h"

enum wait_stage {
	WAIT_NONE = 0,
	WAIT_BLOCKED = 1, /* off the CPU */
	WAIT_OVER = 2,    /* woken: the record waits for the first call on the socket */
};

/* The wait of a thread on a socket or on a set of files. */
struct socket_wait {
	struct record_socket_wait record;
	volatile u64 sk;    /* its address; see socket_entry */
	u64 refused_cookie; /* socket that the thread's last call found no room in, 0 = none */
	u32 place;          /* of the last wait's socket: most often of this one's */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct socket_wait);
} socket_waits SEC(".maps");

/* The socket that this CPU has just told its readers of. */
struct ready {
	u64 sk;
	u64 time_ns;
};

PER_CPU(struct ready, ready)

/* The readers are woken in the same breath. */
#define READY_NS 20000

/* The entry of the socket that a wait is on. */
static __always_inline struct socket_entry *waited_entry(struct socket_wait *wait)
{
	u64 cookie = wait->record.cookie;
	u32 at = wait->place, *place;
	struct socket_entry *entry = bpf_map_lookup_elem(&sockets, &at);

	if (!cookie || (entry && entry->record.cookie == cookie))
		return cookie ? entry : NULL;
	place = bpf_map_lookup_elem(&places, &cookie);
	if (!place)
		return NULL;
	wait->place = *place;
	return bpf_map_lookup_elem(&sockets, place);
}

/* Writes the wait that is over. */
static __always_inline void write_wait(struct socket_wait *wait, struct thread *thread)
{
	if (wait->sk || wait->record.cookie)
		write_record(&wait->record, sizeof(wait->record), SOCKET_WAITS_LOST);
	thread->socket_wait = WAIT_NONE;
}

/* A thread ends: no call will tell what came of its last wait. */
static __always_inline void write_last_wait(struct task_struct *task, struct thread *thread)
{
	struct socket_wait *wait;

	if (thread->socket_wait != WAIT_OVER)
		return;
	wait = bpf_task_storage_get(&socket_waits, task, 0, 0);
	if (wait)
		write_wait(wait, thread);
}

static __always_inline void set_sent_before(struct record_socket_wait *wait, struct socket_entry *entry)
{
	wait->sends_before = entry->record.sends_before;
	wait->bytes_before = entry->record.bytes_before;
	wait->first_send_bytes = entry->record.first_send_bytes;
	wait->last_send_bytes = entry->record.last_send_bytes;
	wait->receives = entry->record.receives;
	wait->received = entry->record.receives != 0;
}

/* The first call on the socket after a wait tells what came of it. */
static __always_inline void end_wait(struct task_struct *task, struct thread *thread, struct socket_entry *entry,
				     int bytes, bool send)
{
	u64 cookie = entry->record.cookie;
	struct socket_wait *wait;

	if (thread->socket_wait == WAIT_NONE)
		return;
	wait = bpf_task_storage_get(&socket_waits, task, 0, 0);
	if (!wait)
		return;
	if (!wait->sk) {
		if (!send || wait->refused_cookie != cookie)
			return; /* woken by something else */
		wait->record.poll_send = 1;
	} else if (wait->sk != entry->sk || (wait->record.cookie && wait->record.cookie != cookie)) {
		return;
	}
	if (thread->socket_wait == WAIT_BLOCKED) /* its wake-up was hidden from the hooks */
		wait->record.h.time_ns = bpf_ktime_get_ns();
	wait->record.cookie = cookie;
	wait->record.bytes_after = bytes > 0 ? bytes : 0;
	wait->refused_cookie = 0;
	write_wait(wait, thread);
}

static __always_inline void note_refusal(struct task_struct *task, u64 cookie)
{
	struct socket_wait *wait = bpf_task_storage_get(&socket_waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (wait)
		wait->refused_cookie = cookie;
}

static __always_inline u8 wait_direction(s32 call)
{
	switch (call) {
	case SYSCALL_CONNECT:
		return SOCKET_CONNECT;
	case SYSCALL_ACCEPT:
	case SYSCALL_ACCEPT4:
		return SOCKET_ACCEPT;
	case SYSCALL_WRITE:
	case SYSCALL_WRITEV:
	case SYSCALL_SENDFILE:
	case SYSCALL_SENDTO:
	case SYSCALL_SENDMSG:
	case SYSCALL_PWRITEV:
	case SYSCALL_SENDMMSG:
	case SYSCALL_PWRITEV2:
		return SOCKET_SEND;
	default:
		return SOCKET_RECEIVE;
	}
}

/* The file that a call waits on: of splice the socket at either end. */
static __always_inline struct file *waited_file(struct task_struct *task, s32 call, u8 *direction)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file *file = file_of(task, regs->di), *out;

	*direction = wait_direction(call);
	if (call != SYSCALL_SPLICE)
		return file;
	out = file_of(task, regs->dx);
	if (!out || file_type(out) != S_IFSOCK)
		return file;
	*direction = SOCKET_SEND;
	return out;
}

/* Tells in the record which socket it is: by its cookie, before it has one by the key of its object. */
static __always_inline void set_socket(struct socket_wait *wait)
{
	struct sock *sk = (struct sock *)wait->sk;

	wait->record.cookie = cookie_of(sk);
	if (!wait->record.cookie)
		wait->record.object = socket_object(sk);
}

/* A profiled thread blocks in a call on a socket or on a set of files. */
static __always_inline void begin_wait(struct task_struct *task, struct thread *thread, s32 call, u8 class)
{
	struct record_socket_wait *record;
	struct socket_entry *entry;
	struct socket_wait *wait;
	struct file *file = NULL;
	struct sock *sk = NULL;
	u8 direction = SOCKET_POLL;
	u16 type;

	if (class == CALL_FD) {
		file = waited_file(task, call, &direction);
		if (!file)
			return;
		type = file_type(file);
		if (type == S_IFSOCK)
			sk = sock_of(file);
		else if (type)
			return;
		else
			direction = SOCKET_POLL; /* epoll, io_uring */
	}
	wait = bpf_task_storage_get(&socket_waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!wait)
		return;
	if (thread->socket_wait == WAIT_OVER)
		write_wait(wait, thread);
	record = &wait->record;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(&record->h, RECORD_SOCKET_WAIT, sizeof(*record), tid_of(task), thread->out_time_ns);
	record->start_ns = thread->out_time_ns;
	record->direction = direction;
	wait->sk = (u64)sk;
	thread->socket_wait = WAIT_BLOCKED;
	if (!sk)
		return;
	set_socket(wait);
	if (direction == SOCKET_SEND)
		read_tcp_state(wait->sk, &record->state);
	entry = waited_entry(wait);
	if (!entry) {
		note_unknown(wait->sk, task);
		return;
	}
	set_sent_before(record, entry);
	if (entry->record.hold_ns && !unsent_bytes(wait->sk)) /* let go by setsockopt */
		end_hold(entry, record->start_ns, TCP_HOLD_END_CALL);
}

#endif
