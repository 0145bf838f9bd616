/*
 * Two ends of a connection, in one of several situations, each of which makes one of them wait for a
 * reason of its own. The first argument names it; the second is the address of `serve` and `ask`, which
 * are one end each.
 */
#include "ends.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/un.h>
#include <sys/wait.h>

#define ROUNDS  20
#define REQUEST 32
#define ANSWER  8
#define BULK    (4 << 20)

/* Answers until the stream ends, after `work` of each request. */
struct server {
	int connection;
	void (*work)(void);
};

static void no_work(void)
{
}

static void busy_work(void)
{
	burn_ns(5 * MS);
}

static void sleepy_work(void)
{
	sleep_ns(5 * MS);
}

static void *serve(void *argument)
{
	struct server *self = argument;
	char request[REQUEST];

	while (receive_all(self->connection, request, sizeof(request))) {
		self->work();
		send_all(self->connection, request, ANSWER);
	}
	close(self->connection);
	return NULL;
}

static NOINLINE void ask_in_two_pieces(int server)
{
	char bytes[REQUEST] = {0};

	send_all(server, bytes, 8);
	send_all(server, bytes + 8, REQUEST - 8);
	receive_all(server, bytes, ANSWER);
}

static NOINLINE void ask_at_once(int server)
{
	char bytes[REQUEST] = {0};

	send_all(server, bytes, REQUEST);
	receive_all(server, bytes, ANSWER);
}

static NOINLINE void ask_corked(int server)
{
	char bytes[REQUEST] = {0};
	int on = 1, off = 0;

	setsockopt(server, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	send_all(server, bytes, REQUEST);
	sleep_ns(5 * MS);
	setsockopt(server, IPPROTO_TCP, TCP_CORK, &off, sizeof(off));
	receive_all(server, bytes, ANSWER);
}

static NOINLINE void ask_by_epoll(int server)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = server};
	int set = epoll_create1(EPOLL_CLOEXEC);
	char bytes[REQUEST] = {0};

	epoll_ctl(set, EPOLL_CTL_ADD, server, &event);
	send_all(server, bytes, REQUEST);
	if (epoll_wait(set, &event, 1, -1) != 1)
		die("epoll_wait");
	receive_all(server, bytes, ANSWER);
	close(set);
}

static NOINLINE void ask_by_poll(int server)
{
	struct pollfd entry = {.fd = server, .events = POLLIN};
	char bytes[REQUEST] = {0};

	send_all(server, bytes, REQUEST);
	if (poll(&entry, 1, -1) != 1)
		die("poll");
	receive_all(server, bytes, ANSWER);
}

static void converse(struct ends ends, void (*work)(void), void (*ask)(int))
{
	struct server server = {.connection = ends.far, .work = work};
	pthread_t thread;

	pthread_create(&thread, NULL, serve, &server);
	pthread_setname_np(thread, "server");
	for (int i = 0; i < ROUNDS; i++)
		ask(ends.near);
	close(ends.near);
	pthread_join(thread, NULL);
}

/* Reads everything, a piece every now and then. */
static void *read_slowly(void *argument)
{
	int from = *(int *)argument;
	char bytes[65536];

	for (;;) {
		sleep_ns(2 * MS);
		if (recv(from, bytes, sizeof(bytes), 0) <= 0)
			return NULL;
	}
}

static NOINLINE void send_bulk(int to)
{
	char *bytes = calloc(1, BULK);

	send_all(to, bytes, BULK);
	free(bytes);
}

static void pour(struct ends ends)
{
	pthread_t thread;

	pthread_create(&thread, NULL, read_slowly, &ends.far);
	pthread_setname_np(thread, "reader");
	send_bulk(ends.near);
	close(ends.near);
	pthread_join(thread, NULL);
	close(ends.far);
}

static void *connect_later(void *argument)
{
	sleep_ns(500 * MS);
	close(connect_to("127.0.0.1", *(int *)argument));
	return NULL;
}

static void accept_late(void)
{
	int listener = listener_at("127.0.0.1", 0, 0), port = port_of(listener);
	pthread_t thread;

	pthread_create(&thread, NULL, connect_later, &port);
	close(accept(listener, NULL, NULL));
	pthread_join(thread, NULL);
	close(listener);
}

/* Every way to send and receive, `BULK` bytes by each, of which Dwell has to count every byte. */
static void *drain(void *argument)
{
	static char bytes[2][1 << 16];
	struct iovec pieces[2] = {{bytes[0], sizeof(bytes[0])}, {bytes[1], sizeof(bytes[1])}};
	struct mmsghdr messages[2] = {0};

	for (int i = 0; i < 2; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
	while (recvmmsg(*(int *)argument, messages, 2, MSG_WAITFORONE, NULL) > 0 && messages[0].msg_len > 0)
		;
	return NULL;
}

static NOINLINE void send_file(int to)
{
	FILE *file = tmpfile();
	off_t at = 0;

	if (ftruncate(fileno(file), BULK) != 0)
		die("ftruncate");
	while (at < BULK)
		if (sendfile(to, fileno(file), &at, BULK - at) <= 0)
			die("sendfile");
	fclose(file);
}

static NOINLINE void splice_file(int to)
{
	FILE *file = tmpfile();
	int pipes[2];
	loff_t at = 0;

	if (ftruncate(fileno(file), BULK) != 0 || pipe(pipes) != 0)
		die("pipe");
	while (at < BULK) {
		ssize_t moved = splice(fileno(file), &at, pipes[1], NULL, 1 << 16, 0);

		if (moved <= 0 || splice(pipes[0], NULL, to, NULL, moved, 0) != moved)
			die("splice");
	}
	fclose(file);
	close(pipes[0]);
	close(pipes[1]);
}

static NOINLINE void send_many(int to)
{
	static char bytes[1 << 15];
	struct iovec piece = {.iov_base = bytes, .iov_len = sizeof(bytes)};
	struct mmsghdr messages[8] = {0};

	for (int i = 0; i < 8; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &piece, .msg_iovlen = 1};
	for (size_t sent = 0; sent < BULK;) {
		int count = sendmmsg(to, messages, 8, 0);

		if (count <= 0)
			die("sendmmsg");
		for (int i = 0; i < count; i++)
			sent += messages[i].msg_len;
	}
}

static void in_every_way(void)
{
	struct ends ends = tcp_pair(0);
	pthread_t thread;

	pthread_create(&thread, NULL, drain, &ends.far);
	send_file(ends.near);
	splice_file(ends.near);
	send_many(ends.near);
	send_bulk(ends.near);
	close(ends.near);
	pthread_join(thread, NULL);
	close(ends.far);
}

/* `serve`, which receives as many requests as have come. */
static void *serve_many(void *argument)
{
	char requests[2][REQUEST];
	struct iovec pieces[2] = {{requests[0], REQUEST}, {requests[1], REQUEST}};
	struct mmsghdr messages[2] = {0};
	struct server *self = argument;
	int count;

	for (int i = 0; i < 2; i++)
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
	while ((count = recvmmsg(self->connection, messages, 2, MSG_WAITFORONE, NULL)) > 0 && messages[0].msg_len)
		for (int i = 0; i < count && messages[i].msg_len; i++)
			send_all(self->connection, requests[i], ANSWER);
	close(self->connection);
	return NULL;
}

/* The server's end is passed to another process, and its number is used again for another connection. */
static void pass_on(void *(*serve_passed)(void *))
{
	struct ends over = unix_pair(SOCK_STREAM), first = tcp_pair(0), second;
	pid_t child = fork();

	if (child == 0) {
		struct server server = {.connection = take(over.far), .work = no_work};

		close(first.near);
		close(first.far);
		serve_passed(&server);
		_exit(0);
	}
	pass(over.near, first.far);
	close(first.far);
	second = tcp_pair(0);
	converse(second, no_work, ask_at_once);
	for (int i = 0; i < ROUNDS; i++)
		ask_at_once(first.near);
	close(first.near);
	waitpid(child, NULL, 0);
}

static struct ends ipv6_pair(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(at);
	struct ends ends = {.near = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listener, 1) != 0)
		die("listen");
	getsockname(listener, (struct sockaddr *)&at, &length);
	if (connect(ends.near, (struct sockaddr *)&at, sizeof(at)) != 0)
		die("connect");
	ends.far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	close(listener);
	return ends;
}

static struct ends udp_pair(void)
{
	struct sockaddr_in at[2];
	socklen_t length = sizeof(at[0]);
	int both[2];

	for (int i = 0; i < 2; i++) {
		at[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		both[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (bind(both[i], (struct sockaddr *)&at[i], length) != 0)
			die("bind");
		getsockname(both[i], (struct sockaddr *)&at[i], &length);
	}
	connect(both[0], (struct sockaddr *)&at[1], length);
	connect(both[1], (struct sockaddr *)&at[0], length);
	return (struct ends){both[0], both[1]};
}

/* The stream of datagrams has no end: an empty one says it. */
static void converse_by_datagrams(void)
{
	struct ends ends = udp_pair();
	pid_t child = fork();
	char bytes[REQUEST] = {0};

	if (child == 0) {
		for (ssize_t got; (got = recv(ends.far, bytes, sizeof(bytes), 0)) > 0;) {
			sleepy_work();
			send_all(ends.far, bytes, ANSWER);
		}
		_exit(0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		send_all(ends.near, bytes, REQUEST);
		recv(ends.near, bytes, sizeof(bytes), 0);
	}
	send(ends.near, bytes, 0, 0);
	waitpid(child, NULL, 0);
}

/* The two ends over a network: the server until its client has gone, the client in the named way. */
static void serve_at(const char *address)
{
	int listener = listener_at(address, 7700, 0);
	struct server server = {.connection = accept(listener, NULL, NULL), .work = no_work};

	set_nodelay(server.connection);
	serve(&server);
}

static void ask_at(const char *address, void (*ask)(int))
{
	int server = connect_to(address, 7700);

	for (int i = 0; i < ROUNDS; i++)
		ask(server);
	close(server);
}

/* `BULK` bytes over a network. */
static void drain_at(const char *address)
{
	int listener = listener_at(address, 7700, 0), from = accept(listener, NULL, NULL);

	drain(&from);
}

static void pour_to(const char *address)
{
	int to = connect_to(address, 7700);

	send_bulk(to);
	close(to);
}

/* Behind the first bytes everything goes from the connection into a pipe: past the place where calls are counted. */
static void *splice_all(void *argument)
{
	int pipes[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ssize_t moved;

	if (pipe(pipes) != 0)
		die("pipe");
	while ((moved = splice(*(int *)argument, NULL, pipes[1], NULL, 1 << 16, 0)) > 0)
		if (splice(pipes[0], NULL, nowhere, NULL, moved, 0) != moved)
			die("splice");
	close(pipes[0]);
	close(pipes[1]);
	close(nowhere);
	return NULL;
}

static void *splice_away(void *argument)
{
	char first[REQUEST];

	if (!receive_all(*(int *)argument, first, sizeof(first)))
		die("recv");
	return splice_all(argument);
}

/* One end is used by sendfile alone, the other by splice alone. */
static void send_by_file_only(void)
{
	struct ends ends = tcp_pair(0);
	pthread_t thread;

	pthread_create(&thread, NULL, splice_all, &ends.far);
	sleep_ns(1000 * MS);
	send_file(ends.near);
	close(ends.near);
	pthread_join(thread, NULL);
	close(ends.far);
}

static void send_into_splice(void)
{
	struct ends ends = tcp_pair(0);
	pthread_t thread;

	pthread_create(&thread, NULL, splice_away, &ends.far);
	send_bulk(ends.near);
	close(ends.near);
	pthread_join(thread, NULL);
	close(ends.far);
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	const char *address = count > 2 ? arguments[2] : "127.0.0.1";
	struct ends ends;

	if (strcmp(what, "nagle") == 0)
		converse(tcp_pair(0), no_work, ask_in_two_pieces);
	else if (strcmp(what, "at-once") == 0)
		converse(tcp_pair(0), no_work, ask_at_once);
	else if (strcmp(what, "nodelay") == 0)
		ends = tcp_pair(0), set_nodelay(ends.near), converse(ends, no_work, ask_in_two_pieces);
	else if (strcmp(what, "cork") == 0)
		converse(tcp_pair(0), no_work, ask_corked);
	else if (strcmp(what, "busy-peer") == 0)
		converse(tcp_pair(0), busy_work, ask_at_once);
	else if (strcmp(what, "waiting-peer") == 0)
		converse(tcp_pair(0), sleepy_work, ask_at_once);
	else if (strcmp(what, "epoll") == 0)
		converse(tcp_pair(0), sleepy_work, ask_by_epoll);
	else if (strcmp(what, "poll") == 0)
		converse(tcp_pair(0), sleepy_work, ask_by_poll);
	else if (strcmp(what, "unix") == 0)
		converse(unix_pair(SOCK_STREAM), sleepy_work, ask_at_once);
	else if (strcmp(what, "ipv6") == 0)
		converse(ipv6_pair(), sleepy_work, ask_at_once);
	else if (strcmp(what, "udp") == 0)
		converse_by_datagrams();
	else if (strcmp(what, "full-window") == 0)
		pour(tcp_pair(16384));
	else if (strcmp(what, "unix-pour") == 0)
		pour(unix_pair(SOCK_STREAM));
	else if (strcmp(what, "accept") == 0)
		accept_late();
	else if (strcmp(what, "every-way") == 0)
		in_every_way();
	else if (strcmp(what, "pass") == 0)
		pass_on(serve);
	else if (strcmp(what, "pass-many") == 0)
		pass_on(serve_many);
	else if (strcmp(what, "splice-away") == 0)
		send_into_splice();
	else if (strcmp(what, "file-only") == 0)
		send_by_file_only();
	else if (strcmp(what, "drain") == 0)
		drain_at(address);
	else if (strcmp(what, "pour") == 0)
		pour_to(address);
	else if (strcmp(what, "serve") == 0)
		serve_at(address);
	else if (strcmp(what, "ask") == 0)
		ask_at(address, ask_at_once);
	else if (strcmp(what, "ask-in-pieces") == 0)
		ask_at(address, ask_in_two_pieces);
	else
		return 2;
	return 0;
}
