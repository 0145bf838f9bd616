/* Locks of each kind whose memory says who has them: their holders sleep while one thread waits for each.
 */
#include "sample.h"

#define ROUNDS 5

static pthread_mutex_t normal_lock, recursive_lock, checked_lock, robust_lock, inherit_lock;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

/* A holder and the thread that waits for it. */
struct pair {
	pthread_mutex_t *mutex; /* NULL: table_lock */
	const char *name;
	pthread_barrier_t held, over;
	struct meter waiting;
};

static void take(struct pair *pair)
{
	if (pair->mutex)
		pthread_mutex_lock(pair->mutex);
	else
		pthread_rwlock_wrlock(&table_lock);
}

static void give(struct pair *pair)
{
	if (pair->mutex)
		pthread_mutex_unlock(pair->mutex);
	else
		pthread_rwlock_unlock(&table_lock);
}

static NOINLINE void sleep_with_lock(void)
{
	sleep_ns(20 * MS);
}

static NOINLINE void sleep_without(void)
{
	sleep_ns(10 * MS);
}

static void *holder(void *argument)
{
	struct pair *pair = argument;

	for (int i = 0; i < ROUNDS; i++) {
		take(pair);
		pthread_barrier_wait(&pair->held);
		sleep_with_lock();
		give(pair);
		sleep_without();
		pthread_barrier_wait(&pair->over);
	}
	return NULL;
}

static NOINLINE void wait_for_lock(struct pair *pair)
{
	meter_start(&pair->waiting);
	take(pair);
	meter_stop(&pair->waiting);
}

static void *waiter(void *argument)
{
	struct pair *pair = argument;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&pair->held);
		wait_for_lock(pair);
		give(pair);
		pthread_barrier_wait(&pair->over);
	}
	return NULL;
}

static void make(pthread_mutex_t *mutex, int type, int protocol, int robust)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutex_init(mutex, &attributes);
}

int main(void)
{
	struct pair pairs[] = {
		{.mutex = &normal_lock, .name = "normal_lock"},   {.mutex = &recursive_lock, .name = "recursive_lock"},
		{.mutex = &checked_lock, .name = "checked_lock"}, {.mutex = &robust_lock, .name = "robust_lock"},
		{.mutex = &inherit_lock, .name = "inherit_lock"}, {.name = "table_lock"},
	};
	const int count = sizeof(pairs) / sizeof(*pairs);
	pthread_t holders[count], waiters[count];
	char name[32];

	make(&normal_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	make(&recursive_lock, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	make(&checked_lock, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
	make(&robust_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
	make(&inherit_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
	for (int i = 0; i < count; i++) {
		pthread_barrier_init(&pairs[i].held, NULL, 2);
		pthread_barrier_init(&pairs[i].over, NULL, 2);
		snprintf(name, sizeof(name), "has-%.10s", pairs[i].name);
		holders[i] = start(holder, &pairs[i], name);
		snprintf(name, sizeof(name), "waits-%d", i);
		waiters[i] = start(waiter, &pairs[i], name);
	}
	join_all(holders, count);
	join_all(waiters, count);
	for (int i = 0; i < count; i++)
		truth_meter(pairs[i].name, &pairs[i].waiting);
	return finish();
}
