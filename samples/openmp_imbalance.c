/* An OpenMP loop whose second half is much dearer than its first, so that the first thread waits.
 */
#include "sample.h"

#include <omp.h>

#define LOOPS   10
#define THREADS 2

static NOINLINE void row(int i)
{
	burn_ns(i == 0 ? 2 * MS : 20 * MS);
}

int main(void)
{
	struct meter meters[THREADS] = {0}, all = {0};

	for (int loop = 0; loop < LOOPS; loop++) {
#pragma omp parallel num_threads(THREADS)
		{
			struct meter *m = &meters[omp_get_thread_num()];
#pragma omp for schedule(static) nowait
			for (int i = 0; i < THREADS; i++)
				row(i);
			meter_start(m);
#pragma omp barrier
			meter_stop(m);
		}
	}
	for (int i = 0; i < THREADS; i++)
		meter_add(&all, &meters[i]);
	truth_meter("barrier", &all);
	return finish();
}
