/* Two threads read one word under a read-write lock for each item: nobody waits, and most of the CPU time goes into the lock. */
#include "sample.h"

#define THREADS 2
#define ITEMS   4000000

static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile unsigned config = 3;

static NOINLINE unsigned read_config(void)
{
	unsigned value;

	pthread_rwlock_rdlock(&config_lock);
	value = config;
	pthread_rwlock_unlock(&config_lock);
	return value;
}

static void *reader(void *argument)
{
	volatile unsigned sum = 0;

	meter_start(argument);
	for (int i = 0; i < ITEMS; i++)
		sum += read_config();
	meter_stop(argument);
	return NULL;
}

int main(void)
{
	struct meter reading[THREADS] = {0}, all = {0};
	pthread_t readers[THREADS];

	start_all(readers, THREADS, reader, reading, sizeof(*reading), "reader");
	join_all(readers, THREADS);
	for (int i = 0; i < THREADS; i++)
		meter_add(&all, &reading[i]);
	truth("cpu_ns", all.cpu_ns);
	return finish();
}
