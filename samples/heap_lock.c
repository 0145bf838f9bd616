/* A lock inside a heap object: it has no symbol, and an address that differs from run to run. */
#include "sample.h"

#define ROUNDS 5

struct pool {
	char pad[24];
	pthread_mutex_t lock;
};

static struct pool *pool;
static pthread_barrier_t held, over;

static NOINLINE void take_from_pool(struct meter *waiting)
{
	meter_start(waiting);
	pthread_mutex_lock(&pool->lock);
	meter_stop(waiting);
	pthread_mutex_unlock(&pool->lock);
}

static void *worker(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&held);
		take_from_pool(argument);
		pthread_barrier_wait(&over);
	}
	return NULL;
}

int main(void)
{
	struct meter waiting = {0};
	pthread_t thread;

	/* A different place in every run, even without address space randomization. */
	if (!malloc((size_t)getpid() % 4096 + 1))
		die("malloc");
	pool = calloc(1, sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_barrier_init(&held, NULL, 2);
	pthread_barrier_init(&over, NULL, 2);
	thread = start(worker, &waiting, "worker");
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&pool->lock);
		pthread_barrier_wait(&held);
		sleep_ns(20 * MS);
		pthread_mutex_unlock(&pool->lock);
		pthread_barrier_wait(&over);
	}
	pthread_join(thread, NULL);
	truth_meter("pool", &waiting);
	return finish();
}
