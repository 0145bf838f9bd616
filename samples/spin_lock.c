/* A spin lock held for long: the other thread burns its CPU time while it logically waits. */
#include "sample.h"

#define ROUNDS 12

static pthread_spinlock_t stats_lock;
static pthread_barrier_t held, released;

static void *spinner(void *argument)
{
	struct meter *m = argument;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&held);
		meter_start(m);
		pthread_spin_lock(&stats_lock);
		meter_stop(m);
		pthread_spin_unlock(&stats_lock);
		pthread_barrier_wait(&released);
	}
	return NULL;
}

static NOINLINE void update_stats(void)
{
	pthread_spin_lock(&stats_lock);
	pthread_barrier_wait(&held);
	sleep_ns(20 * MS);
	pthread_spin_unlock(&stats_lock);
	pthread_barrier_wait(&released);
}

int main(void)
{
	struct meter spinning = {0};
	pthread_t thread;

	pthread_spin_init(&stats_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&held, NULL, 2);
	pthread_barrier_init(&released, NULL, 2);
	thread = start(spinner, &spinning, "spinner");
	for (int i = 0; i < ROUNDS; i++)
		update_stats();
	pthread_join(thread, NULL);
	truth("spin_ns", spinning.cpu_ns);
	return finish();
}
