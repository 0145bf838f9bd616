/* One lock, reached by two callers: their waits have to be told apart although libc has no frame
 * pointers. */
#include "sample.h"

#define ROUNDS 6

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held, over;

static void lock_and_wait(struct meter *waiting)
{
	meter_start(waiting);
	pthread_mutex_lock(&shared_lock);
	meter_stop(waiting);
	pthread_mutex_unlock(&shared_lock);
}

static NOINLINE void read_settings(struct meter *waiting)
{
	lock_and_wait(waiting);
	__asm__ volatile("");
}

static NOINLINE void write_settings(struct meter *waiting)
{
	lock_and_wait(waiting);
	__asm__ volatile("" ::: "memory");
}

static void *worker(void *argument)
{
	struct meter *meters = argument;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&held);
		if (i % 3 == 0)
			read_settings(&meters[0]);
		else
			write_settings(&meters[1]);
		pthread_barrier_wait(&over);
	}
	return NULL;
}

static NOINLINE void hold_settings(void)
{
	pthread_mutex_lock(&shared_lock);
	pthread_barrier_wait(&held);
	sleep_ns(25 * MS);
	pthread_mutex_unlock(&shared_lock);
	pthread_barrier_wait(&over);
}

int main(void)
{
	struct meter meters[2] = {0}, all = {0};
	pthread_t thread;

	pthread_barrier_init(&held, NULL, 2);
	pthread_barrier_init(&over, NULL, 2);
	thread = start(worker, meters, "worker");
	for (int i = 0; i < ROUNDS; i++)
		hold_settings();
	pthread_join(thread, NULL);
	meter_add(&all, &meters[0]);
	meter_add(&all, &meters[1]);
	truth_meter("read_settings", &meters[0]);
	truth_meter("write_settings", &meters[1]);
	truth_meter("shared_lock", &all);
	return finish();
}
