/*
 * Two threads on one CPU hand a token back and forth 100,000 times: 200,000 waits that are all
 * real, and far too short. SCHED_BATCH keeps a post from preempting the poster, so that every
 * sem_wait blocks.
 */
#include "sample.h"

#include <sched.h>
#include <semaphore.h>

#define ROUND_TRIPS 100000

static sem_t ping, pong;
static pthread_barrier_t ready;

static void settle(void)
{
	struct sched_param none = {0};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_BATCH, &none);
}

static void *answer(void *argument)
{
	struct meter *waiting = argument;

	pthread_barrier_wait(&ready);
	meter_start(waiting);
	for (int i = 0; i < ROUND_TRIPS; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	meter_stop(waiting);
	return NULL;
}

int main(void)
{
	struct meter asking = {0}, answering = {0};
	pthread_t other;

	settle();
	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	pthread_barrier_init(&ready, NULL, 2);
	other = start(answer, &answering, "answer");
	pthread_barrier_wait(&ready);
	meter_start(&asking);
	for (int i = 0; i < ROUND_TRIPS; i++) {
		sem_post(&ping);
		sem_wait(&pong);
	}
	meter_stop(&asking);
	pthread_join(other, NULL);
	truth("ping_waits", answering.waits);
	truth("pong_waits", asking.waits);
	return finish();
}
