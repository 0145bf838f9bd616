/* Locks in memory from malloc, without a name: a mutex, a semaphore, a condition variable, a read/write lock and a barrier, each
 * made by another line. The words in capitals are what the test looks for. Then mutexes without end.
 */
#include "sample.h"

#include <semaphore.h>

#define ROUNDS 4

struct locks {
	pthread_mutex_t mutex, guard;
	sem_t semaphore;
	pthread_cond_t condition;
	pthread_rwlock_t table;
	pthread_barrier_t barrier;
	int turn;
};

static NOINLINE struct locks *make_locks(void)
{
	struct locks *locks = malloc(sizeof(*locks));

	pthread_mutex_init(&locks->mutex, NULL); /* MUTEX */
	pthread_mutex_init(&locks->guard, NULL);
	sem_init(&locks->semaphore, 0, 0);              /* SEMAPHORE */
	pthread_cond_init(&locks->condition, NULL);     /* CONDITION */
	pthread_rwlock_init(&locks->table, NULL);       /* TABLE */
	pthread_barrier_init(&locks->barrier, NULL, 2); /* BARRIER */
	locks->turn = 0;
	return locks;
}

/* The waiter waits for each lock once; the owner lets it go on each time. */
static void *waiter(void *argument)
{
	struct locks *locks = argument;

	pthread_barrier_wait(&locks->barrier);
	pthread_mutex_lock(&locks->mutex);
	pthread_mutex_unlock(&locks->mutex);
	pthread_rwlock_rdlock(&locks->table);
	pthread_rwlock_unlock(&locks->table);
	sem_wait(&locks->semaphore);
	pthread_mutex_lock(&locks->guard);
	while (!locks->turn)
		pthread_cond_wait(&locks->condition, &locks->guard);
	pthread_mutex_unlock(&locks->guard);
	return NULL;
}

static void go_through(struct locks *locks)
{
	pthread_t thread = start(waiter, locks, "waiter");

	pthread_mutex_lock(&locks->mutex);
	pthread_rwlock_wrlock(&locks->table);
	sleep_ns(5 * MS);
	pthread_barrier_wait(&locks->barrier);
	sleep_ns(5 * MS);
	pthread_mutex_unlock(&locks->mutex);
	sleep_ns(5 * MS);
	pthread_rwlock_unlock(&locks->table);
	sleep_ns(5 * MS);
	sem_post(&locks->semaphore);
	sleep_ns(5 * MS);
	pthread_mutex_lock(&locks->guard);
	locks->turn = 1;
	pthread_cond_signal(&locks->condition);
	pthread_mutex_unlock(&locks->guard);
	pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
	uint64_t most = count > 1 ? strtoull(arguments[1], NULL, 10) : 0, began_ns;
	pthread_mutex_t *many = calloc(1024, sizeof(*many));

	for (int i = 0; i < ROUNDS; i++)
		go_through(make_locks());
	began_ns = now_ns();
	for (uint64_t i = 0; i < most; i++)
		pthread_mutex_init(&many[i % 1024], NULL);
	truth("many_ns", now_ns() - began_ns);
	return finish();
}
