/* A read/write lock: readers wait while a writer holds it, then the writer waits for a slow reader.
 */
#include "sample.h"

#define READERS 3
#define ROUNDS  5

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t writer_holds, reader_holds, round_over;

static NOINLINE void look_up(struct meter *waiting)
{
	meter_start(waiting);
	pthread_rwlock_rdlock(&table_lock);
	meter_stop(waiting);
}

static NOINLINE void rebuild_table(struct meter *waiting)
{
	meter_start(waiting);
	pthread_rwlock_wrlock(&table_lock);
	meter_stop(waiting);
}

static void *reader(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&writer_holds);
		look_up(argument);
		pthread_barrier_wait(&reader_holds);
		sleep_ns(20 * MS);
		pthread_rwlock_unlock(&table_lock);
		pthread_barrier_wait(&round_over);
	}
	return NULL;
}

static void *writer(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		rebuild_table(argument);
		pthread_barrier_wait(&writer_holds);
		sleep_ns(20 * MS);
		pthread_rwlock_unlock(&table_lock);
		pthread_barrier_wait(&reader_holds);
		rebuild_table(argument);
		pthread_rwlock_unlock(&table_lock);
		pthread_barrier_wait(&round_over);
	}
	return NULL;
}

int main(void)
{
	struct meter reading[READERS] = {0}, writing = {0}, all = {0};
	pthread_t readers[READERS], one;

	pthread_barrier_init(&writer_holds, NULL, READERS + 1);
	pthread_barrier_init(&reader_holds, NULL, READERS + 1);
	pthread_barrier_init(&round_over, NULL, READERS + 1);
	start_all(readers, READERS, reader, reading, sizeof(*reading), "reader");
	one = start(writer, &writing, "writer");
	join_all(readers, READERS);
	pthread_join(one, NULL);
	for (int i = 0; i < READERS; i++)
		meter_add(&all, &reading[i]);
	meter_add(&all, &writing);
	truth_meter("table_lock", &all);
	return finish();
}
