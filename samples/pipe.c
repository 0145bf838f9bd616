/* A pipe: the reader waits for a slow writer, then the writer waits for a slow reader. */
#include "sample.h"

#define MESSAGES 20
#define BLOCK    65536

static int ends[2];
static char block[BLOCK];

static NOINLINE void read_message(struct meter *waiting)
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
		read_message(argument);
	sleep_ns(100 * MS);
	for (size_t n = 0; n < 2 * BLOCK;) {
		static char into[BLOCK];
		ssize_t got = read(ends[0], into, sizeof(into));

		if (got <= 0)
			die("read");
		n += (size_t)got;
	}
	return NULL;
}

static NOINLINE void write_blocks(struct meter *waiting)
{
	meter_start(waiting);
	for (int i = 0; i < 2; i++)
		if (write(ends[1], block, BLOCK) != BLOCK)
			die("write");
	meter_stop(waiting);
}

int main(void)
{
	struct meter reading = {0}, writing = {0};
	uint64_t next = now_ns();
	pthread_t thread;

	if (pipe(ends) != 0)
		die("pipe");
	thread = start(reader, &reading, "reader");
	for (int i = 0; i < MESSAGES; i++) {
		sleep_until(next += 10 * MS);
		if (write(ends[1], block, 1) != 1)
			die("write");
	}
	write_blocks(&writing);
	pthread_join(thread, NULL);
	meter_add(&reading, &writing);
	truth_meter("pipe", &reading);
	return finish();
}
