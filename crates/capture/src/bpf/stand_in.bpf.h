/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Before Linux 6.3, which has tracepoints for what sockets send and receive, the protocols' functions stand in. A program
 * NAME__FUNCTION is loaded where the kernel lacks what NAME is attached to: see loading.rs. ACT is what NAME does, with the
 * socket, the call's result and its flags.
 */
#ifndef DWELL_STAND_IN_H
#define DWELL_STAND_IN_H

#define STAND_IN_FOR_SEND(NAME, ACT, function)                                                                 \
	SEC("fexit/" #function)                                                                                \
	int BPF_PROG(NAME##__##function, struct socket *socket, struct msghdr *message, u64 bytes, int result) \
	{                                                                                                      \
		return ACT(socket->sk, result, 0);                                                             \
	}

/* Until Linux 6.5 sendfile(2) and splice(2) send pages by functions of their own. */
#define STAND_IN_FOR_SEND_OF_PAGES(NAME, ACT, function)                                                       \
	SEC("fexit/" #function)                                                                               \
	int BPF_PROG(NAME##__##function, struct socket *socket, void *page, int offset, u64 bytes, int flags, \
		     long result)                                                                             \
	{                                                                                                     \
		return ACT(socket->sk, result, 0);                                                            \
	}

#define STAND_IN_FOR_RECEIVE(NAME, ACT, function)                                                             \
	SEC("fexit/" #function)                                                                               \
	int BPF_PROG(NAME##__##function, struct socket *socket, struct msghdr *message, u64 bytes, int flags, \
		     int result)                                                                              \
	{                                                                                                     \
		return ACT(socket->sk, result, flags);                                                        \
	}

#define STAND_IN_FOR_SENDS(NAME, ACT)                        \
	STAND_IN_FOR_SEND(NAME, ACT, inet_sendmsg)           \
	STAND_IN_FOR_SEND(NAME, ACT, inet6_sendmsg)          \
	STAND_IN_FOR_SEND(NAME, ACT, unix_stream_sendmsg)    \
	STAND_IN_FOR_SEND(NAME, ACT, unix_dgram_sendmsg)     \
	STAND_IN_FOR_SEND_OF_PAGES(NAME, ACT, inet_sendpage) \
	STAND_IN_FOR_SEND_OF_PAGES(NAME, ACT, unix_stream_sendpage)

#define STAND_IN_FOR_RECEIVES(NAME, ACT)                     \
	STAND_IN_FOR_RECEIVE(NAME, ACT, inet_recvmsg)        \
	STAND_IN_FOR_RECEIVE(NAME, ACT, inet6_recvmsg)       \
	STAND_IN_FOR_RECEIVE(NAME, ACT, unix_stream_recvmsg) \
	STAND_IN_FOR_RECEIVE(NAME, ACT, unix_dgram_recvmsg)

#endif
