/* TCP over loopback for the two server samples: a listener, and clients that ask and wait for the
 * answer. */
#pragma once

#include "sample.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define CLIENTS  3
#define REQUESTS 12

/* A listening socket on a free port of the loopback device; its address goes to `where`. */
static inline int listen_on_loopback(struct sockaddr_in *where)
{
	socklen_t length = sizeof(*where);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(where, 0, sizeof(*where));
	where->sin_family = AF_INET;
	where->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)where, length) != 0 || listen(listener, CLIENTS) != 0 ||
	    getsockname(listener, (struct sockaddr *)where, &length) != 0)
		die("listen");
	return listener;
}

struct client {
	struct sockaddr_in server;
	struct meter waiting;
};

static NOINLINE void ask(int server, struct meter *waiting)
{
	char byte = 'q';

	if (send(server, &byte, 1, 0) != 1)
		die("send");
	meter_start(waiting);
	if (recv(server, &byte, 1, 0) != 1)
		die("recv");
	meter_stop(waiting);
}

static inline void *client(void *argument)
{
	struct client *self = argument;
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(server, (struct sockaddr *)&self->server, sizeof(self->server)) != 0)
		die("connect");
	for (int i = 0; i < REQUESTS; i++) {
		sleep_ns(15 * MS);
		ask(server, &self->waiting);
	}
	close(server);
	return NULL;
}

/* Reads one request from `from`, works 4 ms on it and answers; 0 at the end of the connection. */
static NOINLINE int handle_request(int from)
{
	char byte;

	if (recv(from, &byte, 1, 0) != 1)
		return 0;
	sleep_ns(4 * MS);
	if (send(from, &byte, 1, 0) != 1)
		die("send");
	return 1;
}

/* Starts the clients, serves them with `serve`, and prints what both sides waited. */
static inline int run_server(void (*serve)(const int *connections, struct meter *waiting))
{
	struct client clients[CLIENTS] = {0};
	struct meter serving = {0}, asking = {0};
	struct sockaddr_in where;
	pthread_t threads[CLIENTS];
	int connections[CLIENTS], listener = listen_on_loopback(&where);

	for (int i = 0; i < CLIENTS; i++)
		clients[i].server = where;
	start_all(threads, CLIENTS, client, clients, sizeof(*clients), "client");
	for (int i = 0; i < CLIENTS; i++)
		if ((connections[i] = accept(listener, NULL, NULL)) < 0)
			die("accept");
	serve(connections, &serving);
	join_all(threads, CLIENTS);
	for (int i = 0; i < CLIENTS; i++)
		meter_add(&asking, &clients[i].waiting);
	truth_meter("event", &serving);
	truth_meter("socket", &asking);
	return finish();
}
