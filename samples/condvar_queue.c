/* A work queue: a slow producer, and three workers that wait on its condition variable most of the
 * time. */
#include "sample.h"

#define WORKERS 3
#define ITEMS   40

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_ready = PTHREAD_COND_INITIALIZER;
static int queued, finished;

static NOINLINE int take_item(struct meter *waiting)
{
	int taken;

	pthread_mutex_lock(&queue_mutex);
	meter_start(waiting);
	while (!queued && !finished)
		pthread_cond_wait(&queue_ready, &queue_mutex);
	meter_stop(waiting);
	taken = queued > 0;
	queued -= taken;
	pthread_mutex_unlock(&queue_mutex);
	return taken;
}

static void *worker(void *argument)
{
	while (take_item(argument))
		burn_ns(MS);
	return NULL;
}

static NOINLINE void produce(int items)
{
	uint64_t next = now_ns();

	for (int i = 0; i < items; i++) {
		sleep_until(next += 10 * MS);
		pthread_mutex_lock(&queue_mutex);
		queued++;
		pthread_mutex_unlock(&queue_mutex);
		pthread_cond_signal(&queue_ready);
	}
	pthread_mutex_lock(&queue_mutex);
	finished = 1;
	pthread_mutex_unlock(&queue_mutex);
	pthread_cond_broadcast(&queue_ready);
}

int main(int argc, char **argv)
{
	struct meter waiting[WORKERS] = {0}, all = {0};
	pthread_t threads[WORKERS];

	start_all(threads, WORKERS, worker, waiting, sizeof(*waiting), "worker");
	produce(argc > 1 ? atoi(argv[1]) : ITEMS);
	join_all(threads, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		meter_add(&all, &waiting[i]);
	truth_meter("queue_ready", &all);
	return finish();
}
