/* A critical section, a lock and barriers of OpenMP, for runtimes that announce them through ITT. */
#include "sample.h"

#include <omp.h>

#define ROUNDS  20
#define THREADS 4

static omp_lock_t table_lock;

int main(void)
{
	omp_init_lock(&table_lock);
#pragma omp parallel num_threads(THREADS)
	for (int round = 0; round < ROUNDS; round++) {
#pragma omp critical(journal)
		burn_ns(MS);
		omp_set_lock(&table_lock);
		burn_ns(MS);
		omp_unset_lock(&table_lock);
#pragma omp barrier
	}
	omp_destroy_lock(&table_lock);
	return finish();
}
