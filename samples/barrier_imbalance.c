/* Three threads meet at a barrier after every step; one of them has most of the work. */
#include "sample.h"

#define THREADS 3
#define STEPS   12

static pthread_barrier_t step_barrier;

struct part {
	uint64_t work_ns;
	struct meter waiting;
};

static NOINLINE void compute(uint64_t ns)
{
	burn_ns(ns);
}

static void *worker(void *argument)
{
	struct part *part = argument;

	for (int i = 0; i < STEPS; i++) {
		compute(part->work_ns);
		meter_start(&part->waiting);
		pthread_barrier_wait(&step_barrier);
		meter_stop(&part->waiting);
	}
	return NULL;
}

int main(void)
{
	struct part parts[THREADS] = {{.work_ns = 20 * MS}, {.work_ns = 2 * MS}, {.work_ns = 2 * MS}};
	struct meter all = {0};
	pthread_t threads[THREADS];

	pthread_barrier_init(&step_barrier, NULL, THREADS);
	start_all(threads, THREADS, worker, parts, sizeof(*parts), "worker");
	join_all(threads, THREADS);
	for (int i = 0; i < THREADS; i++)
		meter_add(&all, &parts[i].waiting);
	truth_meter("step_barrier", &all);
	return finish();
}
