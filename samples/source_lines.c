/* Time at lines that are known: a loop, a loop inlined from another function, and a sleep. The words in capitals are what
 * the test looks for. */
#include "sample.h"

#define SLEEPS 40
#define FACTOR 0x9e3779b97f4a7c15ull

static inline __attribute__((always_inline)) uint64_t mix(uint64_t sum, uint64_t rounds)
{
	for (uint64_t i = 0; i < rounds; i++)
		sum = (sum ^ i) * FACTOR % 1000003; /* INLINED */
	return sum;
}

static NOINLINE uint64_t hot_function(uint64_t sum, uint64_t rounds)
{
	uint64_t small = sum & 7;
	for (uint64_t i = 0; i < rounds; i++)
		sum = (sum + i) * FACTOR % 1000033; /* HOT */
	return sum + small;
}

static NOINLINE uint64_t caller_of_inlined(uint64_t sum, uint64_t rounds)
{
	uint64_t small = sum & 7;
	sum = mix(sum, rounds); /* CALL-INLINED */
	return sum + small;
}

static NOINLINE void sleeper(void)
{
	const struct timespec length = {.tv_nsec = MS};
	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&length, NULL); /* SLEEP */
}

int main(void)
{
	uint64_t sum = (uint64_t)getpid(), until = now_ns() + 400 * MS;
	while (now_ns() < until) {
		sum = hot_function(sum, 200000); /* CALL-HOT */
		sum = caller_of_inlined(sum, 200000);
	}
	sleeper();
	truth("sleeps", SLEEPS);
	return (int)(sum >> 60) + finish();
}
