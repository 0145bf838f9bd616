// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/*
 * Sockets: counts what profiled threads send and receive, tells which socket a wait was on or was ended by and how it
 * stood then, and what TCP does to hold data back: Nagle's algorithm, delayed ACKs, retransmissions.
 *
 * Calls are frequent and cheap, so that what they cost counts: no look-up by hash, no record and no clock.
 */
#include "socket_call.bpf.h"
#include "stand_in.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Bytes up to which a receive is a small one. */
#define SHORT_BYTES 256

static __always_inline int sent(struct sock *sk, int ret, int flags)
{
	struct record_socket *record;
	struct socket_call call;
	struct tcp_sock *tcp;

	if (!take_call(&call, sk, ret, true))
		return 0;
	record = &call.entry->record;
	if (ret <= 0) {
		if (ret == -EAGAIN) {
			__sync_fetch_and_add(&record->sends_refused, 1);
			note_refusal(call.task, record->cookie);
		}
		return 0;
	}
	if (!record->sends && !record->receives)
		record->flags |= SOCKET_SENT_FIRST;
	count_call(&record->bytes_sent, &record->sends, record->sizes_sent, ret);
	record->bytes_before += ret;
	if (!record->sends_before)
		record->first_send_bytes = ret;
	record->last_send_bytes = ret;
	record->sends_before += 1;
	if (record->sends_before > record->largest_pipeline)
		record->largest_pipeline = record->sends_before;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (tcp)
		look_for_hold(call.entry, tcp, ret, call.task, call.thread);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int ret, int flags)
{
	return sent(sk, ret, flags);
}

STAND_IN_FOR_SENDS(on_send, sent)

/* Whether there was more to receive than a call took. */
static __always_inline bool left_some(struct sock *sk, struct tcp_sock *tcp)
{
	return tcp ? tcp->rcv_nxt != tcp->copied_seq : sk->sk_receive_queue.qlen != 0;
}

static __always_inline int received(struct sock *sk, int ret, int flags)
{
	struct record_socket *record;
	struct socket_call call;
	struct tcp_sock *tcp;

	if (!take_call(&call, sk, ret, false))
		return 0;
	record = &call.entry->record;
	if (ret == -EAGAIN)
		__sync_fetch_and_add(&record->receives_empty, 1);
	if (ret < 0 || (flags & MSG_PEEK))
		return 0;
	count_call(&record->bytes_received, &record->receives, record->sizes_received, ret);
	if (record->sends_before)
		record->turns += 1;
	record->sends_before = 0;
	record->bytes_before = 0;
	tcp = bpf_skc_to_tcp_sock(sk);
	if (ret && ret <= SHORT_BYTES && left_some(sk, tcp))
		record->receives_short += 1;
	if (tcp)
		look_for_release(call.entry, tcp, 0);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int ret, int flags)
{
	return received(sk, ret, flags);
}

STAND_IN_FOR_RECEIVES(on_receive, received)

/*
 * So many connections wait to be accepted, beside one that may have come this moment. There were no fewer since the last
 * look: those that come are seen, and others can only have gone.
 */
static __always_inline void note_queue(struct socket_entry *entry, struct sock *listener, u32 queued, u64 now)
{
	if (queued && entry->queue_ns)
		__sync_fetch_and_add(&entry->record.queued_ns, queued * (now - entry->queue_ns));
	entry->queue_ns = now;
	entry->record.tcp.backlog_limit = FIELD(listener, sk_max_ack_backlog);
	entry->record.drops = FIELD(listener, sk_drops.counter);
}

/* A connection has come to a listener; it is among the waiting already. */
static __always_inline void note_arrival(struct sock *listener, u64 now)
{
	struct socket_entry *entry = entry_of(listener);
	u32 queued = listener->sk_ack_backlog;

	if (!entry || !queued)
		return;
	__sync_fetch_and_add(&entry->record.arrivals, 1);
	if (queued > entry->record.most_queued)
		entry->record.most_queued = queued;
	note_queue(entry, listener, queued - 1, now);
}

static __always_inline int has_data(struct sock *sk)
{
	struct ready *ready = this_ready();

	if (!ready)
		return 0;
	ready->sk = (u64)sk;
	ready->time_ns = bpf_ktime_get_ns();
	if (sk->__sk_common.skc_state == TCP_LISTEN)
		note_arrival(sk, ready->time_ns);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_data_ready, struct sock *sk)
{
	return has_data(sk);
}

/* Before Linux 6.3; what most sockets have for sk_data_ready. */
SEC("fentry/sock_def_readable")
int BPF_PROG(on_data_ready__readable, struct sock *sk)
{
	return has_data(sk);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_socket_switch, bool preempt, struct task_struct *prev)
{
	u32 state = preempt ? 0 : left_state(ctx, prev);
	struct thread *out;
	s32 call;
	u8 class;

	if (!state)
		return 0;
	out = recorded(prev);
	if (!out || is_paused())
		return 0;
	if (state & STATE_DEAD) {
		write_last_wait(prev, out);
		return 0;
	}
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
	struct thread *thread = recorded(task);
	struct socket_entry *entry, *peer;
	struct socket_wait *wait;
	struct ready *ready;
	u64 now;

	if (!thread || thread->socket_wait != WAIT_BLOCKED)
		return 0;
	wait = bpf_task_storage_get(&socket_waits, task, 0, 0);
	if (!wait)
		return 0;
	now = bpf_ktime_get_ns();
	thread->socket_wait = WAIT_OVER;
	wait->record.h.time_ns = now;
	if (!wait->sk) {
		ready = this_ready();
		if (!ready || !ready->sk || now - ready->time_ns > READY_NS)
			return 0;
		wait->sk = ready->sk;
		ready->sk = 0;
		read_tcp_state(wait->sk, &wait->record.state);
	}
	if (!wait->record.cookie)
		set_socket(wait);
	entry = waited_entry(wait);
	if (!entry) {
		note_unknown(wait->sk, task);
		return 0;
	}
	if (wait->record.direction == SOCKET_POLL)
		set_sent_before(&wait->record, entry);
	peer = peer_of(entry);
	if (peer)
		wait->record.peer_tid = peer->last_tid;
	return 0;
}

/* Connections begin and end. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old, int state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct socket_entry *entry;
	u64 now;

	if (state == TCP_SYN_SENT || state == TCP_LISTEN) {
		if (!recorded(task) || is_paused())
			return 0;
		entry = used_entry(sk, task);
		if (entry && state == TCP_SYN_SENT)
			entry->record.flags |= SOCKET_CONNECTED;
		return 0;
	}
	if (state != TCP_ESTABLISHED && state != TCP_CLOSE)
		return 0;
	entry = entry_of_cookie(cookie_of(sk));
	if (!entry)
		return 0;
	if (state == TCP_ESTABLISHED) {
		describe(entry);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (entry->record.hold_ns)
		end_hold(entry, now, TCP_HOLD_END_UNKNOWN);
	refresh(entry);
	entry->record.closed_ns = now; /* last: user space takes it for done */
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
	entry = entry_of(sk);
	if (!entry || !entry->record.hold_ns || entry->record.hold_kind != TCP_HOLD_NAGLE)
		return 0;
	acked = BPF_CORE_READ((struct tcp_skb_cb *)skb->cb, ack_seq);
	tcp = (struct tcp_sock *)sk;
	if ((s32)(acked - BPF_CORE_READ(tcp, snd_una)) > 0)
		end_hold(entry, bpf_ktime_get_ns(), TCP_HOLD_END_ACK);
	return 0;
}

/* The cookie of the end that has a socket's addresses the other way round, NULL when no profiled thread used it. */
static __always_inline u64 *cookie_of_other_end(struct sock *sk)
{
	struct ends ends = {};
	u64 key;

	read_ends(&ends, sk);
	key = answer_key(&ends);
	return bpf_map_lookup_elem(&connections, &key);
}

static __always_inline void write_event(struct sock *sk, u8 kind, u32 bytes)
{
	struct socket_entry *entry = entry_of_cookie(cookie_of(sk));
	u64 *peer = cookie_of_other_end(sk);
	struct record_tcp_event event = {};

	if (!entry) {
		TEST_ALONE(peer);
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
	write_record(&event, sizeof(event), SOCKET_WAITS_LOST);
}

/* The timer also runs out after the ACK has gone with data: then nothing is left to acknowledge. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_timer, struct timer_list *timer)
{
	struct tcp_sock *tcp;
	u32 bytes;
	u8 pending;

	if (!delayed_ack_function || (u64)timer->function != delayed_ack_function || is_paused())
		return 0;
	tcp = (void *)timer - bpf_core_field_offset(struct inet_connection_sock, icsk_delack_timer);
	pending = BPF_CORE_READ(tcp, inet_conn.icsk_ack.pending);
	bytes = BPF_CORE_READ(tcp, rcv_nxt) - BPF_CORE_READ(tcp, rcv_wup);
	write_event((struct sock *)tcp, pending & ACK_SCHEDULED && bytes ? TCP_DELAYED_ACK : TCP_IDLE_TIMER, bytes);
	return 0;
}

/* What a segment that is sent again tells: an end on this host is asked whether it had it. */
static __always_inline u8 retransmission_kind(struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk, *other;
	u64 *cookie = cookie_of_other_end(sk);
	struct socket_entry *peer = cookie ? entry_of_cookie(*cookie) : NULL;

	if (sk->__sk_common.skc_state != TCP_ESTABLISHED)
		return TCP_RETRANSMISSION;
	if (!peer)
		return FIELD_BITS(&tcp->inet_conn, icsk_ca_state) < TCP_CA_RECOVERY ? TCP_PROBE : TCP_RETRANSMISSION;
	other = (struct tcp_sock *)peer->sk;
	return (s32)(FIELD(other, rcv_nxt) - FIELD(tcp, snd_nxt)) >= 0 ? TCP_SPURIOUS : TCP_RETRANSMISSION;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock *sk)
{
	struct tcp_sock *tcp = (struct tcp_sock *)sk;

	if (!is_paused())
		write_event(sk, retransmission_kind(sk), FIELD(tcp, snd_nxt) - FIELD(tcp, snd_una));
	return 0;
}

/* Run by user space when processes are attached to: the sockets that they have open. */
SEC("iter/task_file")
int seed_sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = open_socket(ctx);

	if (sk && task)
		first_use(sk, task, SOCKET_WAS_OPEN);
	return 0;
}

/* Run by user space after waits on sockets that no call has told of, as when everything is received by splice. */
SEC("iter/task_file")
int find_sockets(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = open_socket(ctx);
	u64 address = (u64)sk;
	u32 *tgid;

	if (!sk || !task)
		return 0;
	tgid = bpf_map_lookup_elem(&unknown_sockets, &address);
	if (tgid && *tgid == task->tgid)
		first_use(sk, task, 0);
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

	if (!task || !file || task->pid != task->tgid || !is_in_scope(task))
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
	record.pid = tgid_of(task);
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	write_record(&record, sizeof(record), SOCKETS_LOST);
	return 0;
}

/* Looks at the socket of one place. It may have gone without an event; then its memory is another socket's, with another
 * cookie, or nobody's, with no reference. */
static long look_at_place(u32 number, u32 *first)
{
	u32 place = *first + number;
	struct socket_entry *entry = bpf_map_lookup_elem(&sockets, &place);
	struct sock *sk;

	if (!entry || !entry->record.cookie || entry->record.closed_ns)
		return 0;
	sk = (struct sock *)entry->sk;
	if (cookie_of(sk) != entry->record.cookie || !FIELD(sk, __sk_common.skc_refcnt.refs.counter))
		return 0;
	entry->seen_ns = bpf_ktime_get_ns();
	refresh(entry);
	if (FIELD(sk, __sk_common.skc_state) == TCP_LISTEN)
		note_queue(entry, sk, FIELD(sk, sk_ack_backlog), entry->seen_ns);
	return 0;
}

/*
 * Run by user space now and then: which sockets are still there, since of UDP and Unix no event tells the end, how they
 * stand, and how many connections wait at listeners. An iterator over `own_place` would meet those that are still there,
 * but some kernels refuse iterators over maps.
 */
SEC("syscall")
int look_at_sockets(struct socket_places *places)
{
	u32 first = places->first;

	REPEAT(SOCKETS_AT_ONCE, SOCKETS_AT_ONCE, look_at_place, &first);
	return 0;
}
