/*
 * The worst case for whoever records context switches: two threads that do nothing but wake each other.
 *   pingpong ROUND_TRIPS [PER_MS]      PER_MS paces it: so many round trips, then sleep for the rest of the millisecond
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static sem_t ping, pong;
static long round_trips;

static void *answer(void *unused)
{
	for (long i = 0; i < round_trips; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return unused;
}

static void next_millisecond(struct timespec *when)
{
	when->tv_nsec += 1000000;
	if (when->tv_nsec >= 1000000000) {
		when->tv_nsec -= 1000000000;
		when->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, when, NULL);
}

int main(int argc, char **argv)
{
	struct timespec begin, end, pace;
	struct rusage usage;
	long per_ms = argc > 2 ? atol(argv[2]) : 0;
	pthread_t thread;

	round_trips = argc > 1 ? atol(argv[1]) : 100000;
	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	pthread_create(&thread, NULL, answer, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pace = begin;
	for (long i = 0; i < round_trips; i++) {
		sem_post(&ping);
		sem_wait(&pong);
		if (per_ms && i % per_ms == per_ms - 1)
			next_millisecond(&pace);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	pthread_join(thread, NULL);
	getrusage(RUSAGE_SELF, &usage);
	printf("seconds %.6f\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	printf("switches %ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
	return 0;
}
