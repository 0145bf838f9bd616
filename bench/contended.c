/*
 * A contended lock: four threads pass a token through one mutex and condition variable; every hand-over wakes three
 * threads that then contend for the mutex.
 *   contended ROUNDS [DEPTH]      DEPTH calls around each, for longer stacks
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed_over = PTHREAD_COND_INITIALIZER;
static long rounds;
static int depth;
static int turn;

static __attribute__((noinline)) void work(int amount)
{
	for (volatile int i = 0; i < amount; i++)
		;
}

static __attribute__((noinline)) void critical(int id)
{
	pthread_mutex_lock(&mutex);
	while (turn != id)
		pthread_cond_wait(&handed_over, &mutex);
	work(500);
	turn = (id + 1) % THREADS;
	pthread_cond_broadcast(&handed_over);
	work(1000);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void call(int id, int deeper)
{
	if (deeper)
		call(id, deeper - 1);
	else
		critical(id);
	__asm__ volatile(""); /* no jump in place of the call */
}

static void *worker(void *argument)
{
	for (long i = 0; i < rounds; i++) {
		call(*(int *)argument, depth);
		work(200);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage usage;
	pthread_t threads[THREADS];
	int ids[THREADS];

	rounds = argc > 1 ? atol(argv[1]) : 8000;
	depth = argc > 2 ? atoi(argv[2]) : 0;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, worker, &ids[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &usage);
	printf("seconds %.6f\n", (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
	printf("switches %ld\n", usage.ru_nvcsw + usage.ru_nivcsw);
	return 0;
}
