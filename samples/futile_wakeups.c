/* Threads that are woken for a lock which another thread takes before they run: each counts its calls that blocked, how often
 * it slept in them, and how long each took. The locks differ in what their owners do between two calls.
 */
#include "sample.h"

#define WORKERS    4
#define MOST_CALLS 20000
#define PAIRED     2

struct lock {
	const char *name;
	pthread_mutex_t *mutex;
	uint64_t held_ns, apart_ns, until_ns;
	int workers;
};

struct worker {
	struct lock *lock;
	uint64_t calls, waits, lengths_ns[MOST_CALLS];
};

static pthread_mutex_t grabbed_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t paired_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t moment_lock = PTHREAD_MUTEX_INITIALIZER;

static struct lock locks[] = {
	{.name = "grabbed_lock", .mutex = &grabbed_lock, .workers = WORKERS, .held_ns = 50000},
	{.name = "shared_lock", .mutex = &shared_lock, .workers = WORKERS, .held_ns = 20000, .apart_ns = 30000},
	{.name = "paired_lock", .mutex = &paired_lock, .workers = PAIRED, .held_ns = 100000, .apart_ns = 2000},
	{.name = "moment_lock", .mutex = &moment_lock, .workers = PAIRED},
};

/* Uses `ns` of time, as short as it may be. */
static NOINLINE void spend_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (ns && now_ns() < end)
		;
}

static NOINLINE void take(struct worker *worker)
{
	struct lock *lock = worker->lock;
	uint64_t waits, began_ns, took_ns;

	if (pthread_mutex_trylock(lock->mutex) == 0)
		return;
	waits = voluntary_switches();
	began_ns = now_ns();
	pthread_mutex_lock(lock->mutex);
	took_ns = now_ns() - began_ns;
	waits = voluntary_switches() - waits;
	if (!waits || worker->calls == MOST_CALLS)
		return;
	worker->waits += waits;
	worker->lengths_ns[worker->calls++] = took_ns;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct lock *lock = worker->lock;

	while (now_ns() < lock->until_ns) {
		take(worker);
		spend_ns(lock->held_ns);
		pthread_mutex_unlock(lock->mutex);
		spend_ns(lock->apart_ns);
	}
	return NULL;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static void tell(const struct lock *lock, const char *what, uint64_t value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_%s", lock->name, what);
	truth(key, value);
}

static void compete(struct lock *lock)
{
	static struct worker workers[WORKERS];
	static uint64_t lengths_ns[WORKERS * MOST_CALLS];
	pthread_t threads[WORKERS];
	uint64_t calls = 0, waits = 0;

	memset(workers, 0, sizeof(workers));
	for (int i = 0; i < lock->workers; i++)
		workers[i].lock = lock;
	lock->until_ns = now_ns() + 600 * MS;
	start_all(threads, lock->workers, work, workers, sizeof(*workers), lock->name);
	join_all(threads, lock->workers);
	for (int i = 0; i < lock->workers; i++) {
		memcpy(lengths_ns + calls, workers[i].lengths_ns, workers[i].calls * sizeof(*lengths_ns));
		calls += workers[i].calls;
		waits += workers[i].waits;
	}
	qsort(lengths_ns, calls, sizeof(*lengths_ns), compare);
	tell(lock, "acquisitions", calls);
	tell(lock, "waits", waits);
	tell(lock, "futile", waits - calls);
	if (!calls)
		return;
	tell(lock, "acquire_p50_ns", lengths_ns[(calls + 1) / 2 - 1]);
	tell(lock, "acquire_p99_ns", lengths_ns[(calls * 99 + 99) / 100 - 1]);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++)
		compete(&locks[i]);
	return finish();
}
