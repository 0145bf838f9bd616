/*
 * A client that asks and waits through io_uring, and a server that answers after five milliseconds; `passed`: the client is
 * another process, to which the connection is passed. Without liburing: two rings, mapped and written here.
 */
#include "ends.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ROUNDS  20
#define REQUEST 32
#define ANSWER  8

static int ring;
static struct io_uring_params params;
static struct io_uring_sqe *entries;
static char *submitted, *completed;

static unsigned *number(char *in, unsigned offset)
{
	return (unsigned *)(in + offset);
}

static void *map(size_t bytes, off_t offset)
{
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);

	if (mapped == MAP_FAILED)
		die("mmap");
	return mapped;
}

/* Says with status 77 that this kernel has no io_uring. */
static void set_up(void)
{
	ring = syscall(SYS_io_uring_setup, 8, &params);
	if (ring < 0)
		exit(77);
	submitted = map(params.sq_off.array + params.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	completed = map(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	entries = map(params.sq_entries * sizeof(*entries), IORING_OFF_SQES);
}

/* One operation, and the wait until it is done; its result. */
static NOINLINE int run(int operation, int on, char *bytes, size_t count)
{
	unsigned tail = *number(submitted, params.sq_off.tail), at = tail & *number(submitted, params.sq_off.ring_mask);
	unsigned head = *number(completed, params.cq_off.head), mask = *number(completed, params.cq_off.ring_mask);
	struct io_uring_cqe *done = (struct io_uring_cqe *)(completed + params.cq_off.cqes) + (head & mask);

	entries[at] = (struct io_uring_sqe){.opcode = operation, .fd = on, .addr = (uintptr_t)bytes, .len = count};
	number(submitted, params.sq_off.array)[at] = at;
	__atomic_store_n(number(submitted, params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter");
	__atomic_store_n(number(completed, params.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return done->res;
}

static void *serve(void *argument)
{
	int client = *(int *)argument;
	char request[REQUEST];

	while (receive_all(client, request, sizeof(request))) {
		sleep_ns(5 * MS);
		send_all(client, request, ANSWER);
	}
	return NULL;
}

static void ask(int server)
{
	char bytes[REQUEST] = {0};

	for (int i = 0; i < ROUNDS; i++)
		if (run(IORING_OP_SEND, server, bytes, REQUEST) != REQUEST ||
		    run(IORING_OP_RECV, server, bytes, ANSWER) != ANSWER)
			die("io_uring");
	close(server);
}

/* Another process, which has the connection passed to it, asks on it; its number is used again here for another one. */
static void ask_elsewhere(struct ends first)
{
	struct ends over = unix_pair(SOCK_STREAM), second;
	char bytes[REQUEST] = {0};
	pid_t child = fork();
	pthread_t server;

	if (child == 0) {
		close(first.near);
		close(first.far);
		set_up();
		ask(take(over.far));
		_exit(0);
	}
	pass(over.near, first.near);
	close(first.near);
	second = tcp_pair(0);
	pthread_create(&server, NULL, serve, &second.far);
	for (int i = 0; i < ROUNDS; i++) {
		send_all(second.near, bytes, REQUEST);
		receive_all(second.near, bytes, ANSWER);
	}
	close(second.near);
	pthread_join(server, NULL);
	waitpid(child, NULL, 0);
}

int main(int count, char **arguments)
{
	struct ends ends;
	pthread_t server;

	set_up();
	ends = tcp_pair(0);
	pthread_create(&server, NULL, serve, &ends.far);
	if (count > 1 && strcmp(arguments[1], "passed") == 0)
		ask_elsewhere(ends);
	else
		ask(ends.near);
	pthread_join(server, NULL);
	return 0;
}
