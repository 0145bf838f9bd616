/* A program that hangs: every thread waits for something that does not come, each of another kind.
 * It stands so for a while (the first argument, in seconds), to be attached to. */
#include "sample.h"

#include <semaphore.h>
#include <sys/epoll.h>

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER, queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_ready = PTHREAD_COND_INITIALIZER;
static sem_t no_tokens;
static int empty_pipe[2];

static NOINLINE void wait_for_lock(void)
{
	pthread_mutex_lock(&kept_lock);
}

static NOINLINE void wait_for_condition(void)
{
	pthread_mutex_lock(&queue_mutex);
	for (;;)
		pthread_cond_wait(&never_ready, &queue_mutex);
}

static NOINLINE void wait_for_token(void)
{
	sem_wait(&no_tokens);
}

static NOINLINE void wait_for_data(void)
{
	volatile char large_frame[100000];
	char data;

	large_frame[0] = 0;
	if (read(empty_pipe[0], &data, 1) < 0)
		die("read");
	(void)large_frame[0];
}

static NOINLINE void wait_for_event(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(set, EPOLL_CTL_ADD, empty_pipe[0], &event);
	epoll_wait(set, &event, 1, -1);
}

static void *waiter(void *argument)
{
	void (*wait)(void) = *(void (**)(void))argument;

	wait();
	return NULL;
}

int main(int argc, char **argv)
{
	void (*waits[])(void) = {wait_for_lock, wait_for_condition, wait_for_token, wait_for_data, wait_for_event};
	pthread_t threads[sizeof(waits) / sizeof(*waits)];

	sem_init(&no_tokens, 0, 0);
	if (pipe(empty_pipe) != 0)
		die("pipe");
	pthread_mutex_lock(&kept_lock);
	start_all(threads, sizeof(waits) / sizeof(*waits), waiter, waits, sizeof(*waits), "waiter");
	sleep_ns((argc > 1 ? (uint64_t)atoi(argv[1]) * 1000 : 100) * MS);
	return finish();
}
