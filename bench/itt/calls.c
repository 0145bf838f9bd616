/* What an ITT call costs, in ns, and what two threads that announce as fast as they are told to lose. Without arguments:
 * each call in a loop. `flood SECONDS RATE`: two threads that announce RATE events per second together, 0 for as many as
 * they can; prints how many it was, and in how long. */
#define _GNU_SOURCE
#include "itt_stub.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static __itt_domain *domain;
static __itt_string_handle *name;
static __itt_counter counter;
static int lock;

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void task_pair(void)
{
	ITT_IN(task_begin, domain, __itt_null, __itt_null, name);
	ITT_IN(task_end, domain);
}

static void task_pair_with_id(void)
{
	static __itt_id id = {1, 2, 0};
	ITT_IN(task_begin, domain, id, __itt_null, name);
	ITT_IN(task_end, domain);
}

static void counter_set(void)
{
	int value = 8;
	ITT(counter_set_value, counter, &value);
}

static void counter_inc(void)
{
	ITT(counter_inc, counter);
}

static void sync_pair(void)
{
	ITT(sync_prepare, &lock);
	ITT(sync_acquired, &lock);
}

static void frame_pair(void)
{
	ITT_IN(frame_begin_v3, domain, NULL);
	ITT_IN(frame_end_v3, domain, NULL);
}

static void text(void)
{
	ITT_IN(metadata_str_add, domain, __itt_null, name, "sixteen bytes...", 16);
}

/* Calls each thing in blocks, with pauses in which the ring is drained: the shortest block is what a call costs. */
static void measure(const char *what, void (*call)(void))
{
	double best = 1e9, sum = 0;
	for (int block = 0; block < 200; block++) {
		double start = now_ns();
		for (int i = 0; i < 1000; i++)
			call();
		double ns = (now_ns() - start) / 1000;
		sum += ns;
		if (ns < best)
			best = ns;
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	}
	printf("%-32s %6.1f %6.1f\n", what, best, sum / 200);
}

static volatile int stop;
static double ns_per_event;

/* In blocks of 200 events, each when it is due. */
static void *flooding(void *count)
{
	long events = 0;
	double start = now_ns();
	for (; !stop; events += 200) {
		while (ns_per_event > 0 && now_ns() - start < events * ns_per_event && !stop)
			nanosleep(&(struct timespec){0, 20000}, NULL);
		for (int i = 0; i < 100; i++)
			task_pair();
	}
	*(long *)count = events;
	return NULL;
}

static void flood(int seconds)
{
	pthread_t threads[2];
	long counts[2];
	double start = now_ns();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, flooding, &counts[i]);
	nanosleep(&(struct timespec){seconds, 0}, NULL);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %.3f\n", counts[0] + counts[1], (now_ns() - start) / 1e9);
}

int main(int argc, char **argv)
{
	domain = ITT_GET(domain_create, "bench");
	name = ITT_GET(string_handle_create, "work");
	counter = ITT_GET(counter_create_typed, "bytes", "bench", __itt_metadata_s32);
	if (argc > 3 && !strcmp(argv[1], "flood")) {
		ns_per_event = atof(argv[3]) > 0 ? 2e9 / atof(argv[3]) : 0;
		flood(atoi(argv[2]));
		return 0;
	}
	measure("task begin and end", task_pair);
	measure("task begin with an id, and end", task_pair_with_id);
	measure("counter set", counter_set);
	measure("counter inc", counter_inc);
	measure("sync prepare and acquired", sync_pair);
	measure("frame begin and end", frame_pair);
	measure("metadata of 16 bytes", text);
	return 0;
}
