/*
 * Prints when its first instructions ran, by CLOCK_MONOTONIC.
 *   first
 */
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("first_ns %lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
	return 0;
}
