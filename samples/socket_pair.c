/* A pair of Unix sockets: the reader waits for a slow sender. */
#include "sample.h"

#include <sys/socket.h>

#define MESSAGES 20

static int ends[2];

static NOINLINE void receive_message(struct meter *waiting)
{
	char byte;

	meter_start(waiting);
	if (read(ends[0], &byte, 1) != 1)
		die("read");
	meter_stop(waiting);
}

static void *reader(void *argument)
{
	for (int i = 0; i < MESSAGES; i++)
		receive_message(argument);
	return NULL;
}

static NOINLINE void send_message(void)
{
	if (write(ends[1], "", 1) != 1)
		die("write");
}

int main(void)
{
	struct meter receiving = {0};
	uint64_t next = now_ns();
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		die("socketpair");
	thread = start(reader, &receiving, "reader");
	for (int i = 0; i < MESSAGES; i++) {
		sleep_until(next += 10 * MS);
		send_message();
	}
	pthread_join(thread, NULL);
	truth_meter("socket", &receiving);
	return finish();
}
