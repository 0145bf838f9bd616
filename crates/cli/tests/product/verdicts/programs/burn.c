// Threads that compute: so many, so many milliseconds of CPU time each.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long limit_ms;

static void *compute(void *unused)
{
	struct timespec now;
	volatile long sum = 0;
	do {
		for (int i = 0; i < 20000; i++)
			sum += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < limit_ms);
	return unused;
}

int main(int count, char **arguments)
{
	pthread_t threads[64];
	int number = atoi(arguments[1]);
	limit_ms = count > 2 ? atol(arguments[2]) : 300;
	for (int i = 0; i < number; i++)
		pthread_create(&threads[i], 0, compute, 0);
	for (int i = 0; i < number; i++)
		pthread_join(threads[i], 0);
	return 0;
}
