/* A crash while three threads wait for something that never comes: their waits end with the
 * process. */
#include "sample.h"

#define WAITERS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_ready = PTHREAD_COND_INITIALIZER;
static uint64_t since[WAITERS];
static volatile int *volatile nowhere;

static void *waiter(void *argument)
{
	pthread_mutex_lock(&mutex);
	*(uint64_t *)argument = now_ns();
	pthread_cond_wait(&never_ready, &mutex);
	return NULL;
}

int main(void)
{
	struct rlimit no_core = {0, 0};
	pthread_t threads[WAITERS];
	uint64_t waited = 0;

	setrlimit(RLIMIT_CORE, &no_core);
	start_all(threads, WAITERS, waiter, since, sizeof(*since), "waiter");
	sleep_ns(200 * MS);
	for (int i = 0; i < WAITERS; i++)
		waited += now_ns() - since[i];
	truth("never_ready_wait_ns", waited);
	finish();
	*nowhere = 1;
	return 0;
}
