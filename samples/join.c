/* The main thread waits for the ends of three threads. */
#include "sample.h"

#define THREADS 3

static void *sleeper(void *argument)
{
	sleep_ns(*(uint64_t *)argument);
	return NULL;
}

static NOINLINE void collect_results(const pthread_t *threads)
{
	join_all(threads, THREADS);
}

int main(void)
{
	uint64_t sleeps[THREADS] = {60 * MS, 120 * MS, 180 * MS};
	struct meter waiting = {0};
	pthread_t threads[THREADS];

	start_all(threads, THREADS, sleeper, sleeps, sizeof(*sleeps), "sleeper");
	meter_start(&waiting);
	collect_results(threads);
	meter_stop(&waiting);
	truth_meter("join", &waiting);
	return finish();
}
