/* A crowd for one lock: each of many threads holds it for a moment while it computes, and sleeps without it.
 */
#include "sample.h"

#define WORKERS 20
#define ROUNDS  40

static pthread_mutex_t crowd_lock = PTHREAD_MUTEX_INITIALIZER;

static NOINLINE void count_words(void)
{
	burn_ns(MS / 2);
}

static NOINLINE void take_turn(struct meter *waiting)
{
	meter_start(waiting);
	pthread_mutex_lock(&crowd_lock);
	meter_stop(waiting);
	count_words();
	pthread_mutex_unlock(&crowd_lock);
}

static void *worker(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		take_turn(argument);
		sleep_ns(3 * MS);
	}
	return NULL;
}

int main(void)
{
	struct meter waiting[WORKERS] = {0}, all = {0};
	pthread_t threads[WORKERS];

	start_all(threads, WORKERS, worker, waiting, sizeof(*waiting), "worker");
	join_all(threads, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		meter_add(&all, &waiting[i]);
	truth_meter("crowd_lock", &all);
	return finish();
}
