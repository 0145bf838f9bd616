/* One thread loads the model, 200 ms, before all of them have work. */
#include "sample.h"

#define THREADS 4

static NOINLINE void load_model(void)
{
	burn_ns(200 * MS);
}

static NOINLINE void evaluate(void)
{
	burn_ns(30 * MS);
}

static void *worker(void *argument)
{
	(void)argument;
	evaluate();
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char unused[THREADS] = {0};

	load_model();
	start_all(threads, THREADS, worker, unused, 1, "worker");
	join_all(threads, THREADS);
	return finish();
}
