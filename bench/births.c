/*
 * Threads that are created and joined, one after the other: each takes over everything by which its creator is watched.
 *   births THREADS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *nothing(void *unused)
{
	return unused;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 0;
	struct timespec begin, end;

	if (threads <= 0) {
		fprintf(stderr, "usage: %s THREADS\n", argv[0]);
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) {
			fprintf(stderr, "births: thread %ld cannot be created\n", i);
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("seconds %.6f\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	return 0;
}
