/* Threads that change their names as they go; the last one counts. */
#include "sample.h"

#include <sys/prctl.h>

#define THREADS 3

static void *phases(void *argument)
{
	(void)argument;
	prctl(PR_SET_NAME, "loading");
	sleep_ns(30 * MS);
	prctl(PR_SET_NAME, "serving");
	sleep_ns(30 * MS);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		threads[i] = start(phases, NULL, NULL);
	prctl(PR_SET_NAME, "conductor");
	join_all(threads, THREADS);
	return finish();
}
