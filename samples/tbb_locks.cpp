/* TBB's own mutexes, which announce themselves and the waits for them through ITT: TBB is told so when it is compiled in. */
#define TBB_USE_PROFILING_TOOLS 1

#include "sample.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/profiling.h>
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>

static constexpr int ROUNDS = 100;
static constexpr int WORKERS = 4;

static tbb::queuing_mutex queue_lock;
static tbb::spin_mutex counter_lock;
static volatile uint64_t counter;

static void work(int)
{
	burn_ns(MS / 4);
	{
		tbb::queuing_mutex::scoped_lock hold(queue_lock);
		burn_ns(MS);
	}
	tbb::spin_mutex::scoped_lock hold(counter_lock);
	counter = counter + 1;
}

int main()
{
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, WORKERS);

	tbb::profiling::set_name(queue_lock, "queue_lock");
	tbb::profiling::set_name(counter_lock, "counter_lock");
	tbb::parallel_for(0, ROUNDS, work);
	return finish();
}
