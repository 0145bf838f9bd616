/* A lock convoy: four workers queue for one lock that its holder keeps while it computes and
 * sleeps. */
#include "sample.h"

#define WORKERS 4
#define ROUNDS  6

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static NOINLINE void update_queue(void)
{
	burn_ns(4 * MS);
	sleep_ns(6 * MS);
}

static NOINLINE void push_item(struct meter *waiting)
{
	meter_start(waiting);
	pthread_mutex_lock(&queue_lock);
	meter_stop(waiting);
	update_queue();
	pthread_mutex_unlock(&queue_lock);
}

static void *worker(void *argument)
{
	pthread_barrier_wait(&ready);
	for (int i = 0; i < ROUNDS; i++) {
		push_item(argument);
		sleep_ns(MS);
	}
	return NULL;
}

int main(void)
{
	struct meter waiting[WORKERS] = {0}, all = {0};
	pthread_t threads[WORKERS];

	pthread_barrier_init(&ready, NULL, WORKERS);
	start_all(threads, WORKERS, worker, waiting, sizeof(*waiting), "worker");
	join_all(threads, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		meter_add(&all, &waiting[i]);
	truth_meter("queue_lock", &all);
	return finish();
}
