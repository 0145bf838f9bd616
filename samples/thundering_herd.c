/* Eight waiters are all woken for every single item; one gets it, seven go back to sleep. */
#include "sample.h"

#define WAITERS 8
#define ITEMS   60

static pthread_mutex_t inbox_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t inbox_ready = PTHREAD_COND_INITIALIZER;
static int items, finished;

static void *waiter(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&inbox_mutex);
	while (!finished) {
		while (!items && !finished)
			pthread_cond_wait(&inbox_ready, &inbox_mutex);
		items = 0;
	}
	pthread_mutex_unlock(&inbox_mutex);
	return NULL;
}

static NOINLINE void announce(int *what)
{
	pthread_mutex_lock(&inbox_mutex);
	*what = 1;
	pthread_cond_broadcast(&inbox_ready);
	pthread_mutex_unlock(&inbox_mutex);
}

int main(void)
{
	pthread_t threads[WAITERS];
	char unused[WAITERS] = {0};
	uint64_t next = now_ns();

	start_all(threads, WAITERS, waiter, unused, 1, "waiter");
	for (int i = 0; i < ITEMS; i++) {
		sleep_until(next += 5 * MS);
		announce(&items);
	}
	announce(&finished);
	join_all(threads, WAITERS);
	return finish();
}
