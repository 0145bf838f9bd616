// OpenMP: one thread of two has eight times the work of the other; or nested regions start four threads each.
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void compute(double seconds)
{
	struct timespec now;
	double end = 0;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if (!end)
			end = now.tv_sec + now.tv_nsec / 1e9 + seconds;
	} while (now.tv_sec + now.tv_nsec / 1e9 < end);
}

int main(int, char **arguments)
{
	if (!strcmp(arguments[1], "imbalance")) {
		double waited = 0;
		for (int step = 0; step < 20; step++) {
#pragma omp parallel num_threads(2) reduction(+ : waited)
			{
				compute(omp_get_thread_num() ? 0.005 : 0.04);
				double begun = omp_get_wtime();
#pragma omp barrier
				waited += omp_get_wtime() - begun;
			}
		}
		printf("truth waited_ns %.0f\n", waited * 1e9);
	} else {
		omp_set_max_active_levels(2);
		for (int step = 0; step < 5; step++) {
#pragma omp parallel num_threads(2)
			{
#pragma omp parallel num_threads(4)
				compute(0.04);
			}
		}
	}
	return 0;
}
