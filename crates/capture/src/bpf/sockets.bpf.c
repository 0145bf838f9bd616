// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * Sockets: counts what profiled threads send and receive, tells which socket a wait was on or was ended by and how it
 * stood then, and what TCP does to hold data back: Nagle's algorithm, delayed ACKs, retransmissions.
 */
#include "sockets.bpf.h"
#include "stack.bpf.h"
#include "switch.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* When TCP last held data back, in ticks of the clock: long after that, incoming segments need not be looked at. */
u64 last_hold = 0;

#define HOLD_TICKS 2500

enum wait_stage {
	WAIT_NONE = 0,
	WAIT_BLOCKED = 1, /* off the CPU */
	WAIT_OVER = 2,    /* woken: the record waits for the first call on the socket */
};

/* The wait of a thread on a socket or on a set of files. */
struct socket_wait {
	struct record_socket_wait record;
	u64 sk;             /* its address */
	u64 refused_cookie; /* socket that the thread's last call found no room in, 0 = none */
	u32 stage;          /* enum wait_stage */
	u32 reserved;
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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ready);
} ready_buffer SEC(".maps");

/* The readers are woken in the same breath. */
#define READY_NS 20000

static __always_inline struct ready *this_ready(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ready_buffer, &zero);
}

static __always_inline bool is_paused(void)
{
	struct control *control = controls();

	return !control || control->paused;
}

/* Writes the wait that is over. */
static __always_inline void write_wait(struct socket_wait *wait)
{
	if (wait->record.direction != SOCKET_POLL || wait->record.cookie)
		write_record(&wait->record, sizeof(wait->record), LOSS_SOCKET_WAIT);
	wait->stage = WAIT_NONE;
}

static __always_inline void set_sent_before(struct record_socket_wait *wait, struct socket_entry *entry)
{
	wait->sends_before = entry->record.sends_before;
	wait->bytes_before = entry->record.bytes_before;
	wait->first_send_bytes = entry->record.first_send_bytes;
	wait->last_send_bytes = entry->record.last_send_bytes;
	wait->last_send_ns = entry->record.last_send_ns;
	wait->received = entry->record.last_receive_ns != 0;
}

static __always_inline void end_hold(struct socket_entry *entry, u64 now, u8 end_kind)
{
	struct record_tcp_hold hold = {};
	u64 since = entry->record.hold_ns;

	if (!since) /* another CPU was faster */
		return;
	entry->record.hold_ns = 0;
	set_header(&hold.h, RECORD_TCP_HOLD, sizeof(hold), entry->record.hold_tid, since);
	hold.end_ns = now;
	hold.cookie = entry->record.cookie;
	hold.user_stack = entry->record.hold_stack;
	hold.bytes = entry->record.hold_bytes;
	hold.kind = entry->record.hold_kind;
	hold.end_kind = end_kind;
	write_record(&hold, sizeof(hold), LOSS_SOCKET_WAIT);
}

/* Why TCP holds the rest of what was just sent, 0 when it does not or something else is in the way. */
static __always_inline u8 hold_kind(struct tcp_sock *tcp, u32 unsent)
{
	u8 nonagle = BPF_CORE_READ_BITFIELD(tcp, nonagle);

	if (!unsent || unsent >= tcp->mss_cache)
		return 0;
	if (nonagle & TCP_NAGLE_CORK)
		return TCP_HOLD_CORK;
	if (!tcp->packets_out) /* MSG_MORE, or it is on its way */
		return TCP_HOLD_CORK;
	if ((s32)(tcp->snd_una + tcp->snd_wnd - tcp->snd_nxt) < (s32)unsent || tcp->packets_out >= tcp->snd_cwnd)
		return 0;
	return nonagle & TCP_NAGLE_OFF ? 0 : TCP_HOLD_NAGLE;
}

/* Ends the hold of data that has gone, as a call finds: of which no more than `later` bytes were sent since. */
static __always_inline void look_for_release(struct socket_entry *entry, struct tcp_sock *tcp, u32 later, u64 now)
{
	if (entry->record.hold_ns && tcp->write_seq - tcp->snd_nxt <= later)
		end_hold(entry, now, TCP_HOLD_CALLED);
}

/* A call sent `bytes`: are some of them held back? */
static __always_inline void look_for_hold(struct socket_entry *entry, struct tcp_sock *tcp, u32 bytes, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 unsent = tcp->write_seq - tcp->snd_nxt;
	struct thread *thread;
	u8 kind;

	look_for_release(entry, tcp, bytes, now);
	if (!unsent && !entry->record.hold_ns)
		return;
	kind = hold_kind(tcp, unsent);
	if (entry->record.hold_ns) {
		entry->record.hold_bytes = unsent;
		if (!kind)
			end_hold(entry, now, TCP_HOLD_CALLED);
		return;
	}
	thread = recorded(task);
	if (!kind || !thread || bytes >= tcp->mss_cache) /* the end of a large piece holds nobody up */
		return;
	entry->record.hold_kind = kind;
	entry->record.hold_bytes = unsent;
	entry->record.hold_tid = task->pid;
	entry->record.hold_stack = take_user_stack(task, thread, &thread->sending);
	entry->record.hold_ns = now;
	last_hold = bpf_jiffies64();
}

/* The entry of a socket that profiled thread `task` uses now. */
static __always_inline struct socket_entry *used_entry(struct sock *sk, struct task_struct *task)
{
	u64 cookie = bpf_get_socket_cookie(sk);
	struct socket_entry *entry = entry_of_cookie(cookie);

	return entry ? entry : new_entry(sk, cookie, task, 0);
}

static __always_inline void note_use(struct socket_entry *entry, struct task_struct *task, u64 now)
{
	entry->last_tid = task->pid;
	entry->record.h.time_ns = now;
	if (now - entry->tcp_ns > STATE_REFRESH_NS) {
		if (!entry->record.remote_port && (entry->record.family != AF_UNIX || !entry->record.peer))
			describe(entry);
		entry->tcp_ns = now;
		read_tcp_state(entry->sk, &entry->record.tcp);
	}
}

/* The first call after a wait tells what came of it. */
static __always_inline void end_wait(struct task_struct *task, u64 cookie, int bytes, bool send)
{
	struct socket_wait *wait = bpf_task_storage_get(&socket_waits, task, 0, 0);

	if (!wait || wait->stage == WAIT_NONE)
		return;
	if (!wait->record.cookie && wait->record.direction == SOCKET_POLL) {
		if (!send || wait->refused_cookie != cookie)
			return; /* woken by something else */
		wait->record.poll_send = 1;
	}
	if (wait->record.cookie && wait->record.cookie != cookie)
		return;
	if (wait->stage == WAIT_BLOCKED) /* its wake-up was hidden from the hooks */
		wait->record.h.time_ns = bpf_ktime_get_ns();
	wait->record.cookie = cookie;
	wait->record.bytes_after = bytes > 0 ? bytes : 0;
	wait->refused_cookie = 0;
	write_wait(wait);
}

static __always_inline void note_refusal(struct task_struct *task, u64 cookie)
{
	struct socket_wait *wait = bpf_task_storage_get(&socket_waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (wait)
		wait->refused_cookie = cookie;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret, int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct socket_entry *entry;
	struct record_socket *record;
	struct tcp_sock *tcp;
	u64 now;

	if (!recorded(task) || is_paused())
		return 0;
	entry = used_entry(sk, task);
	if (!entry)
		return 0;
	record = &entry->record;
	end_wait(task, record->cookie, ret, true);
	now = bpf_ktime_get_ns();
	if (ret <= 0) {
		if (ret == -EAGAIN) {
			__sync_fetch_and_add(&record->sends_refused, 1);
			note_refusal(task, record->cookie);
		}
		return 0;
	}
	__sync_fetch_and_add(&record->bytes_sent, ret);
	__sync_fetch_and_add(&record->sends, 1);
	__sync_fetch_and_add(&record->sizes_sent[size_class(ret)], 1);
	if (!record->last_send_ns && !record->last_receive_ns)
		record->flags |= SOCKET_SENT_FIRST;
	record->bytes_before += ret;
	if (!record->sends_before)
		record->first_send_bytes = ret;
	record->last_send_bytes = ret;
	record->last_send_ns = now;
	record->sends_before += 1;
	if (record->sends_before > record->largest_pipeline)
		record->largest_pipeline = record->sends_before;
	note_use(entry, task, now);
	tcp = bpf_skc_to_tcp_sock(sk);
	if (tcp)
		look_for_hold(entry, tcp, ret, now);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int ret, int flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct socket_entry *entry;
	struct record_socket *record;
	struct tcp_sock *tcp;
	u64 now;

	if (!recorded(task) || is_paused())
		return 0;
	entry = used_entry(sk, task);
	if (!entry)
		return 0;
	record = &entry->record;
	if (ret == -EAGAIN)
		__sync_fetch_and_add(&record->receives_empty, 1);
	if (ret == -EAGAIN || ret < 0)
		return 0;
	end_wait(task, record->cookie, ret, false);
	if (flags & MSG_PEEK)
		return 0;
	now = bpf_ktime_get_ns();
	__sync_fetch_and_add(&record->bytes_received, ret);
	__sync_fetch_and_add(&record->receives, 1);
	__sync_fetch_and_add(&record->sizes_received[size_class(ret)], 1);
	if (record->sends_before)
		record->turns += 1;
	record->sends_before = 0;
	record->bytes_before = 0;
	record->last_receive_ns = now;
	if (record->hold_ns) {
		tcp = bpf_skc_to_tcp_sock(sk);
		if (tcp)
			look_for_release(entry, tcp, 0, now);
	}
	note_use(entry, task, now);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_data_ready, struct sock *sk)
{
	struct ready *ready = this_ready();

	if (!ready)
		return 0;
	ready->sk = (u64)sk;
	ready->time_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline u8 wait_direction(s32 call)
{
	switch (call) {
	case 42: /* connect */
		return SOCKET_CONNECT;
	case 43: /* accept, accept4 */
	case 288:
		return SOCKET_ACCEPT;
	case 1: /* write, writev, sendfile, sendto, sendmsg, pwritev, sendmmsg, pwritev2 */
	case 20:
	case 40:
	case 44:
	case 46:
	case 296:
	case 307:
	case 328:
		return SOCKET_SEND;
	default:
		return SOCKET_RECEIVE;
	}
}

#define SYSCALL_SPLICE 275

/* The file that a call waits on: of splice the socket at either end. */
static __always_inline struct file *waited_file(struct task_struct *task, s32 call, u8 *direction)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file *file = file_of(task, regs->di), *out;

	*direction = wait_direction(call);
	if (call != SYSCALL_SPLICE)
		return file;
	out = file_of(task, regs->dx);
	if (!out || (BPF_CORE_READ(out, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return file;
	*direction = SOCKET_SEND;
	return out;
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
	u16 mode = 0;

	if (class == CALL_FD) {
		file = waited_file(task, call, &direction);
		if (!file)
			return;
		mode = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
		if (mode == S_IFSOCK)
			sk = sock_of(file);
		else if (mode)
			return;
		else
			direction = SOCKET_POLL; /* epoll, io_uring */
	}
	wait = bpf_task_storage_get(&socket_waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!wait)
		return;
	if (wait->stage == WAIT_OVER)
		write_wait(wait);
	record = &wait->record;
	__builtin_memset(record, 0, sizeof(*record));
	set_header(&record->h, RECORD_SOCKET_WAIT, sizeof(*record), task->pid, thread->out_time_ns);
	record->start_ns = thread->out_time_ns;
	record->direction = direction;
	wait->sk = (u64)sk;
	wait->stage = WAIT_BLOCKED;
	if (!sk)
		return;
	record->object = socket_object(sk);
	record->cookie = cookie_of(sk);
	read_tcp_state((u64)sk, &record->begin);
	entry = entry_of_cookie(record->cookie);
	if (!entry)
		return;
	set_sent_before(record, entry);
	if (entry->record.hold_ns && !record->begin.unsent) /* let go by setsockopt */
		end_hold(entry, record->start_ns, TCP_HOLD_CALLED);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_socket_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct thread *out;
	s32 call;
	u8 class;

	if (preempt || !(prev_state & STATE_MASK) || (prev_state & STATE_DEAD))
		return 0;
	out = recorded(prev);
	if (!out || is_paused())
		return 0;
	call = current_syscall(prev);
	if (call < 0)
		return 0;
	class = syscall_class(call);
	if (class == CALL_FD || class == CALL_POLL || class == CALL_SELECT)
		begin_wait(prev, out, call, class);
	return 0;
}

/* The thread is woken: by data for this socket, when it waits on a set. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_socket_waking, struct task_struct *task)
{
	struct socket_wait *wait = bpf_task_storage_get(&socket_waits, task, 0, 0);
	struct socket_entry *entry, *peer;
	struct ready *ready;
	u64 now;

	if (!wait || wait->stage != WAIT_BLOCKED)
		return 0;
	now = bpf_ktime_get_ns();
	wait->stage = WAIT_OVER;
	wait->record.h.time_ns = now;
	if (!wait->sk) {
		ready = this_ready();
		if (!ready || !ready->sk || now - ready->time_ns > READY_NS)
			return 0;
		wait->sk = ready->sk;
		ready->sk = 0;
		wait->record.object = socket_object((struct sock *)wait->sk);
	}
	if (!wait->record.cookie)
		wait->record.cookie = cookie_of((struct sock *)wait->sk);
	read_tcp_state(wait->sk, &wait->record.end);
	entry = entry_of_cookie(wait->record.cookie);
	if (!entry)
		return 0;
	if (wait->record.direction == SOCKET_POLL)
		set_sent_before(&wait->record, entry);
	peer = entry_of_cookie(peer_cookie(entry));
	if (peer)
		wait->record.peer_tid = peer->last_tid;
	return 0;
}

/* Connections begin and end. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old, int new)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct socket_entry *entry;

	if (new == TCP_SYN_SENT || new == TCP_LISTEN) {
		if (!recorded(task) || is_paused())
			return 0;
		entry = used_entry(sk, task);
		if (entry && new == TCP_SYN_SENT)
			entry->record.flags |= SOCKET_CONNECTED;
		return 0;
	}
	if (new != TCP_ESTABLISHED &&new != TCP_CLOSE)
		return 0;
	entry = entry_of_cookie(cookie_of(sk));
	if (!entry)
		return 0;
	if (new == TCP_ESTABLISHED) {
		describe(entry);
		return 0;
	}
	entry->record.closed_ns = bpf_ktime_get_ns();
	if (entry->record.hold_ns)
		end_hold(entry, entry->record.closed_ns, TCP_HOLD_OPEN);
	read_tcp_state(entry->sk, &entry->record.tcp);
	entry->record.h.time_ns = entry->record.closed_ns;
	return 0;
}

/* An ACK of what was in flight ends Nagle's hold. */
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk, struct sk_buff *skb)
{
	struct socket_entry *entry;
	struct tcp_sock *tcp;
	u32 acked;

	if (!last_hold || bpf_jiffies64() - last_hold > HOLD_TICKS)
		return 0;
	entry = entry_of_cookie(cookie_of(sk));
	if (!entry || !entry->record.hold_ns || entry->record.hold_kind != TCP_HOLD_NAGLE)
		return 0;
	acked = BPF_CORE_READ((struct tcp_skb_cb *)skb->cb, ack_seq);
	tcp = (struct tcp_sock *)sk;
	if ((s32)(acked - BPF_CORE_READ(tcp, snd_una)) > 0)
		end_hold(entry, bpf_ktime_get_ns(), TCP_HOLD_ACKED);
	return 0;
}

static __always_inline void write_event(struct sock *sk, u8 kind, u32 bytes)
{
	struct socket_entry *entry = entry_of_cookie(cookie_of(sk));
	struct record_tcp_event event = {};
	struct ends ends = {};
	u64 key, *peer;

	read_ends(&ends, sk);
	key = answer_key(&ends);
	peer = bpf_map_lookup_elem(&connections, &key);
	if (!entry) {
		barrier_var(peer); /* or the compiler tests the two pointers as one, which the verifier refuses */
		if (!peer)
			return;
	}
	set_header(&event.h, RECORD_TCP_EVENT, sizeof(event), 0, bpf_ktime_get_ns());
	event.cookie = entry ? entry->record.cookie : 0;
	event.peer = peer ? *peer : 0;
	event.kind = kind;
	event.bytes = bytes;
	if (entry && kind == TCP_DELAYED_ACK)
		entry->record.delayed_acks += 1;
	write_record(&event, sizeof(event), LOSS_SOCKET_WAIT);
}

/* The timer also runs out after the ACK has gone with data: then nothing is left to acknowledge. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_timer, struct timer_list *timer)
{
	struct control *control = controls();
	struct tcp_sock *tcp;
	u32 bytes;
	u8 pending;

	if (!control || (u64)timer->function != control->delayed_ack_timer || control->paused)
		return 0;
	tcp = (void *)timer - bpf_core_field_offset(struct inet_connection_sock, icsk_delack_timer);
	pending = BPF_CORE_READ(tcp, inet_conn.icsk_ack.pending);
	bytes = BPF_CORE_READ(tcp, rcv_nxt) - BPF_CORE_READ(tcp, rcv_wup);
	write_event((struct sock *)tcp, pending & ACK_SCHEDULED && bytes ? TCP_DELAYED_ACK : TCP_IDLE_TIMER, bytes);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;

	if (!is_paused())
		write_event(sk, TCP_RETRANSMISSION, BPF_CORE_READ(tcp, snd_nxt) - BPF_CORE_READ(tcp, snd_una));
	return 0;
}

/* Run by user space when processes are attached to: the sockets that they have open. */
SEC("iter/task_file")
int seed_sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;
	struct sock *sk;
	u64 cookie;

	if (!task || !file || !recorded(task))
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : NULL;
	if (!sk)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	if (!entry_of_cookie(cookie))
		new_entry(sk, cookie, task, SOCKET_WAS_OPEN);
	return 0;
}

/* Run by user space now and then: who on this host has the other end of sockets whose peer is not profiled. */
SEC("iter/task_file")
int find_peers(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct record_socket_peer record = {};
	struct ends ends = {};
	struct socket *socket;
	struct sock *sk;
	u64 key, *cookie;
	u16 family;

	if (!task || !file || task->pid != task->tgid)
		return 0;
	socket = bpf_sock_from_file(file);
	sk = socket ? socket->sk : NULL;
	if (!sk)
		return 0;
	family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (family == AF_UNIX) {
		struct sock *other = BPF_CORE_READ((struct unix_sock *)sk, peer);

		record.cookie = other ? cookie_of(other) : 0;
		if (!entry_of_cookie(record.cookie))
			return 0;
	} else if (family == AF_INET || family == AF_INET6) {
		read_ends(&ends, sk);
		key = answer_key(&ends);
		cookie = ends.remote_port ? bpf_map_lookup_elem(&connections, &key) : NULL;
		if (!cookie)
			return 0;
		record.cookie = *cookie;
	} else {
		return 0;
	}
	set_header(&record.h, RECORD_SOCKET_PEER, sizeof(record), 0, bpf_ktime_get_ns());
	record.peer = cookie_of(sk);
	record.pid = task->tgid;
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	write_record(&record, sizeof(record), LOSS_SOCKET);
	return 0;
}
