/*
 * A chain of locks that lend their priority: control waits for state_lock, planner holds it and waits
 * for map_lock, mapper holds that and sleeps for 30 ms in its sensor. Nobody computes.
 */
#include "sample.h"
#include <stdatomic.h>

static pthread_mutex_t state_lock, map_lock;
static atomic_int stopped;

/* Takes a lock, and adds to `waited_ns` how long that took. */
static void take(pthread_mutex_t *lock, uint64_t *waited_ns)
{
	uint64_t begun = now_ns();

	pthread_mutex_lock(lock);
	*waited_ns += now_ns() - begun;
}

static NOINLINE void read_sensor(void)
{
	usleep(30000);
}

static NOINLINE void update_map(void)
{
	pthread_mutex_lock(&map_lock);
	read_sensor();
	pthread_mutex_unlock(&map_lock);
}

static NOINLINE void plan_path(uint64_t *waited_ns)
{
	take(&state_lock, waited_ns);
	take(&map_lock, waited_ns);
	pthread_mutex_unlock(&map_lock);
	pthread_mutex_unlock(&state_lock);
}

static NOINLINE void control_motors(uint64_t *waited_ns)
{
	take(&state_lock, waited_ns);
	pthread_mutex_unlock(&state_lock);
}

static void *mapper(void *argument)
{
	(void)argument;
	while (!atomic_load(&stopped)) {
		update_map();
		usleep(10000);
	}
	return NULL;
}

static void *planner(void *waited_ns)
{
	while (!atomic_load(&stopped)) {
		plan_path(waited_ns);
		usleep(6000);
	}
	return NULL;
}

static void *control(void *waited_ns)
{
	while (!atomic_load(&stopped)) {
		control_motors(waited_ns);
		usleep(2000);
	}
	return NULL;
}

int main(void)
{
	uint64_t of_planner = 0, of_control = 0;
	pthread_mutexattr_t lending;
	pthread_t threads[3];

	pthread_mutexattr_init(&lending);
	pthread_mutexattr_setprotocol(&lending, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&state_lock, &lending);
	pthread_mutex_init(&map_lock, &lending);
	threads[0] = start(mapper, NULL, "mapper");
	threads[1] = start(planner, &of_planner, "planner");
	threads[2] = start(control, &of_control, "control");
	usleep(3000000);
	atomic_store(&stopped, 1);
	join_all(threads, 3);
	truth("lock_ns", of_planner + of_control);
	return finish();
}
