/*
 * Many workers process events in parallel, but every event has to go through the one output module,
 * whose instance a lock protects: the parallel part waits for the serial one.
 */
#include "sample.h"

#define WORKERS 6
#define EVENTS  8

static pthread_mutex_t output_module_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static NOINLINE void compress_buffers(void)
{
	burn_ns(3 * MS);
}

static NOINLINE void write_file(void)
{
	sleep_ns(4 * MS);
}

static NOINLINE void run_output_module(struct meter *waiting)
{
	meter_start(waiting);
	pthread_mutex_lock(&output_module_lock);
	meter_stop(waiting);
	compress_buffers();
	write_file();
	pthread_mutex_unlock(&output_module_lock);
}

static NOINLINE void process_event(void)
{
	burn_ns(MS);
	sleep_ns(2 * MS);
}

static void *worker(void *argument)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < EVENTS; i++) {
		process_event();
		run_output_module(argument);
	}
	return NULL;
}

int main(void)
{
	struct meter waiting[WORKERS] = {0}, all = {0};
	pthread_t threads[WORKERS];

	pthread_barrier_init(&ready, NULL, WORKERS);
	start_all(threads, WORKERS, worker, waiting, sizeof(*waiting), "stream");
	join_all(threads, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		meter_add(&all, &waiting[i]);
	truth_meter("output_module_lock", &all);
	return finish();
}
