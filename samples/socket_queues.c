/*
 * What waits in a queue of the network, each slow by itself and with `--fixed` without the queue:
 *
 *   socket_queues accept   connections wait until the one thread that accepts them has served those before
 *   socket_queues line     answers wait behind a slow one on the same connection
 *   socket_queues pieces   eight bytes are received at a time, although many are there
 */
#include "ends.h"

#define CLIENTS    40
#define ROUNDS     25
#define QUESTIONS  8
#define MESSAGE    sizeof(uint64_t)
#define MESSAGES   (1 << 20)
#define QUICK_WORK (MS / 10)
#define SLOW_WORK  (50 * MS)
#define SOME_WORK  (20 * MS)

static int is_fixed;

/* What is asked: to work so long. */
static NOINLINE void ask(int server, uint64_t work_ns)
{
	send_all(server, (char *)&work_ns, MESSAGE);
}

static NOINLINE void take_answer(int server)
{
	char bytes[MESSAGE];

	if (!receive_all(server, bytes, sizeof(bytes)))
		die("no answer");
}

/* Answers until the stream ends. */
static void *serve(void *argument)
{
	int client = (int)(intptr_t)argument;
	uint64_t work_ns;

	set_nodelay(client);
	while (receive_all(client, (char *)&work_ns, MESSAGE)) {
		sleep_ns(work_ns);
		send_all(client, (char *)&work_ns, MESSAGE);
	}
	close(client);
	return NULL;
}

static pthread_t in_a_thread(void *(*run)(void *), int of)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(intptr_t)of) != 0)
		die("pthread_create");
	return thread;
}

/* One question on a connection of its own. */
static void *ask_once(void *argument)
{
	int server = connect_to("127.0.0.1", (int)(intptr_t)argument);

	ask(server, SOME_WORK);
	take_answer(server);
	close(server);
	return NULL;
}

static NOINLINE void serve_each(int listener)
{
	for (int i = 0; i < CLIENTS; i++) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0)
			die("accept");
		if (is_fixed)
			pthread_detach(in_a_thread(serve, client));
		else
			serve((void *)(intptr_t)client);
	}
}

static void *accept_all(void *argument)
{
	serve_each((int)(intptr_t)argument);
	return NULL;
}

static void connections(void)
{
	int listener = listener_at("127.0.0.1", 0, 0);
	pthread_t server, clients[CLIENTS];

	listen(listener, CLIENTS);
	server = in_a_thread(accept_all, listener);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = in_a_thread(ask_once, port_of(listener));
		sleep_ns(2 * MS);
	}
	join_all(clients, CLIENTS);
	pthread_join(server, NULL);
	close(listener);
}

/* Several questions at once, the first of them slow; when fixed the slow one goes over another connection. */
static NOINLINE void ask_several(int server, int slow)
{
	ask(slow, SLOW_WORK);
	for (int i = 1; i < QUESTIONS; i++)
		ask(server, QUICK_WORK);
	for (int i = 1; i < QUESTIONS; i++)
		take_answer(server);
	take_answer(slow);
}

static void answers(void)
{
	struct ends ends = tcp_pair(0), slow = tcp_pair(0);
	pthread_t server = in_a_thread(serve, ends.far), other = in_a_thread(serve, slow.far);

	set_nodelay(ends.near);
	for (int i = 0; i < ROUNDS; i++)
		ask_several(ends.near, is_fixed ? slow.near : ends.near);
	close(ends.near);
	close(slow.near);
	pthread_join(server, NULL);
	pthread_join(other, NULL);
}

static void *pour(void *argument)
{
	static char bytes[1 << 16];

	for (size_t sent = 0; sent < MESSAGE * MESSAGES; sent += sizeof(bytes))
		send_all((int)(intptr_t)argument, bytes, sizeof(bytes));
	return NULL;
}

static NOINLINE void receive_pieces(int from)
{
	static char bytes[1 << 16];
	size_t piece = is_fixed ? sizeof(bytes) : MESSAGE;

	for (int left = (int)(MESSAGE * MESSAGES); left > 0; left -= (int)piece)
		if (!receive_all(from, bytes, piece))
			die("the end");
}

static void messages(void)
{
	struct ends ends = tcp_pair(0);
	pthread_t sender = in_a_thread(pour, ends.near);

	receive_pieces(ends.far);
	pthread_join(sender, NULL);
	close(ends.near);
	close(ends.far);
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";

	is_fixed = count > 2 && strcmp(arguments[2], "--fixed") == 0;
	if (strcmp(what, "accept") == 0)
		connections();
	else if (strcmp(what, "line") == 0)
		answers();
	else if (strcmp(what, "pieces") == 0)
		messages();
	else
		return 2;
	return 0;
}
