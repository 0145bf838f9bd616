/*
 * Context switches, so many a second for so many seconds: on each CPU two threads that wake each other in turn, a burst each
 * millisecond. What it is late by it makes up for while there is time.
 *   switches PER_SECOND SECONDS
 */
#include "sample.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MOST_CPUS 64

struct pair {
	sem_t ping, pong;
	uint64_t rounds_per_ms, milliseconds;
	int cpu;
	atomic_bool over;
};

static void stay_on(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only) != 0)
		die("sched_setaffinity");
}

static void *answer(void *argument)
{
	struct pair *pair = argument;

	stay_on(pair->cpu);
	for (;;) {
		sem_wait(&pair->ping);
		if (pair->over)
			return NULL;
		sem_post(&pair->pong);
	}
}

static void *ask(void *argument)
{
	struct pair *pair = argument;
	uint64_t begin;

	stay_on(pair->cpu);
	begin = now_ns();
	for (uint64_t at = 1; now_ns() < begin + pair->milliseconds * MS; at++) {
		for (uint64_t i = 0; i < pair->rounds_per_ms; i++) {
			sem_post(&pair->ping);
			sem_wait(&pair->pong);
		}
		sleep_until(begin + at * MS);
	}
	pair->over = true;
	sem_post(&pair->ping);
	return NULL;
}

int main(int argc, char **argv)
{
	struct pair pairs[MOST_CPUS];
	pthread_t asking[MOST_CPUS], answering[MOST_CPUS];
	struct rusage usage;
	uint64_t begin;
	cpu_set_t may;
	int count = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: %s PER_SECOND SECONDS\n", argv[0]);
		return 2;
	}
	if (sched_getaffinity(0, sizeof(may), &may) != 0)
		die("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE && count < MOST_CPUS; cpu++)
		if (CPU_ISSET(cpu, &may))
			pairs[count++].cpu = cpu;
	begin = now_ns();
	for (int i = 0; i < count; i++) {
		/* A round is two switches. */
		pairs[i].rounds_per_ms = strtoull(argv[1], NULL, 10) / 2000 / (uint64_t)count;
		pairs[i].over = false;
		pairs[i].milliseconds = strtoull(argv[2], NULL, 10) * 1000;
		sem_init(&pairs[i].ping, 0, 0);
		sem_init(&pairs[i].pong, 0, 0);
		answering[i] = start(answer, &pairs[i], "answer");
		asking[i] = start(ask, &pairs[i], "ask");
	}
	join_all(asking, count);
	join_all(answering, count);
	getrusage(RUSAGE_SELF, &usage);
	truth("switches", (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
	truth("elapsed_ns", now_ns() - begin);
	return finish();
}
