/* A tree of processes with threads: two children by fork alone, each with a grandchild; two threads
 * in each. */
#include "sample.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#define BRANCHES 2
#define THREADS  2

static void *nap(void *argument)
{
	sleep_ns(*(uint64_t *)argument);
	return NULL;
}

static void run_threads(const char *name)
{
	uint64_t sleeps[THREADS] = {40 * MS, 50 * MS};
	pthread_t threads[THREADS];

	prctl(PR_SET_NAME, name);
	start_all(threads, THREADS, nap, sleeps, sizeof(*sleeps), name);
	join_all(threads, THREADS);
}

static pid_t branch(int depth)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	run_threads(depth == 1 ? "child" : "grandchild");
	if (depth == 1)
		waitpid(branch(2), NULL, 0);
	_exit(0);
}

int main(void)
{
	pid_t children[BRANCHES];

	for (int i = 0; i < BRANCHES; i++)
		children[i] = branch(1);
	for (int i = 0; i < BRANCHES; i++)
		waitpid(children[i], NULL, 0);
	return finish();
}
