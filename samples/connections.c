/* A thread opens a connection for each request, as requests.get() and Go's http do whose answers are not read to their end; another one
 * keeps its connection. Each serves itself: the ends of a connection are in one thread, which waits for neither.
 *
 *     connections [--keep]     with --keep both keep it */
#include "loopback.h"

#define REQUESTS_OF_EACH 600

static int keeps_all;

/* Both ends of a connection. */
struct connection {
	int client;
	int server;
};

static NOINLINE struct connection open_connection(int listener, const struct sockaddr_in *where)
{
	struct connection opened = {.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	if (opened.client < 0 || connect(opened.client, (const struct sockaddr *)where, sizeof(*where)) != 0)
		die("connect");
	opened.server = accept(listener, NULL, NULL);
	if (opened.server < 0)
		die("accept");
	return opened;
}

static void close_connection(struct connection *opened)
{
	close(opened->client);
	close(opened->server);
}

static void move_byte(int from, int to)
{
	char byte = 'q';

	if (send(from, &byte, 1, 0) != 1 || recv(to, &byte, 1, 0) != 1)
		die("send");
}

static NOINLINE void run_requests(int keeps)
{
	struct sockaddr_in where;
	int listener = listen_on_loopback(&where);
	struct connection opened = open_connection(listener, &where);

	for (int i = 0; i < REQUESTS_OF_EACH; i++) {
		move_byte(opened.client, opened.server);
		move_byte(opened.server, opened.client);
		if (!keeps && i < REQUESTS_OF_EACH - 1) {
			close_connection(&opened);
			opened = open_connection(listener, &where);
		}
		if (i % 4 == 0)
			sleep_ns(2 * MS);
	}
	close_connection(&opened);
	close(listener);
}

static void *churning(void *argument)
{
	(void)argument;
	run_requests(keeps_all);
	return NULL;
}

static void *keeping(void *argument)
{
	(void)argument;
	run_requests(1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	keeps_all = argc > 1 && strcmp(argv[1], "--keep") == 0;
	threads[0] = start(churning, NULL, "churning");
	threads[1] = start(keeping, NULL, "keeping");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return finish();
}
