/* The two ends of a connection: making them, sending and receiving all of something. */
#pragma once

#include "sample.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

struct ends {
	int near, far;
};

static inline void send_all(int to, const char *from, size_t bytes)
{
	while (bytes > 0) {
		ssize_t sent = send(to, from, bytes, 0);

		if (sent <= 0)
			die("send");
		from += sent;
		bytes -= sent;
	}
}

/* 0 at the end of the stream. */
static inline int receive_all(int from, char *to, size_t bytes)
{
	while (bytes > 0) {
		ssize_t received = recv(from, to, bytes, 0);

		if (received < 0)
			die("recv");
		if (received == 0)
			return 0;
		to += received;
		bytes -= received;
	}
	return 1;
}

static inline int listener_at(const char *address, int port, int receive_buffer)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	inet_pton(AF_INET, address, &at.sin_addr);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (receive_buffer)
		setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listener, 8) != 0)
		die("listen");
	return listener;
}

static inline int port_of(int listener)
{
	struct sockaddr_in at;
	socklen_t length = sizeof(at);

	getsockname(listener, (struct sockaddr *)&at, &length);
	return ntohs(at.sin_port);
}

static inline int connect_to(const char *address, int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &at.sin_addr);
	if (connect(connection, (struct sockaddr *)&at, sizeof(at)) != 0)
		die("connect");
	return connection;
}

static inline void set_nodelay(int connection)
{
	int on = 1;

	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static inline struct ends tcp_pair(int receive_buffer)
{
	int listener = listener_at("127.0.0.1", 0, receive_buffer);
	struct ends ends = {.near = connect_to("127.0.0.1", port_of(listener))};

	ends.far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return ends;
}

static inline struct ends unix_pair(int type)
{
	int both[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, both) != 0)
		die("socketpair");
	return (struct ends){both[0], both[1]};
}

/* Passes a descriptor to another process, over a Unix socket. */
static inline void pass(int over, int descriptor)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec piece = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
	if (sendmsg(over, &message, 0) != 1)
		die("sendmsg");
}

static inline int take(int over)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec piece = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	int descriptor;

	if (recvmsg(over, &message, MSG_CMSG_CLOEXEC) != 1)
		die("recvmsg");
	memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return descriptor;
}
