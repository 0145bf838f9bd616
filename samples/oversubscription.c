/* Four times as many computing threads as CPUs. */
#include "sample.h"

#include <sched.h>

#define MOST 64

static pthread_barrier_t ready;

static NOINLINE void crunch(void)
{
	burn_ns(60 * MS);
}

static void *worker(void *argument)
{
	struct meter *m = argument;

	pthread_barrier_wait(&ready);
	meter_start(m);
	crunch();
	meter_stop(m);
	return NULL;
}

int main(void)
{
	struct meter meters[MOST] = {0}, all = {0};
	pthread_t threads[MOST];
	cpu_set_t cpus;
	int workers;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	workers = CPU_COUNT(&cpus) * 4 < MOST ? CPU_COUNT(&cpus) * 4 : MOST;
	pthread_barrier_init(&ready, NULL, (unsigned)workers);
	start_all(threads, workers, worker, meters, sizeof(*meters), "worker");
	join_all(threads, workers);
	for (int i = 0; i < workers; i++)
		meter_add(&all, &meters[i]);
	truth("threads", (uint64_t)workers + 1);
	truth("burnt_ns", all.cpu_ns);
	truth("run_delay_ns", all.run_delay_ns);
	return finish();
}
