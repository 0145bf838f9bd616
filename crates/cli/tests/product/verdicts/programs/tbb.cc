// oneTBB: pieces of equal work, or one of them has most of it.
#include <chrono>
#include <cstring>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/spin_mutex.h>

using namespace std::chrono;
static tbb::spin_mutex totals;
static double total;

static void compute(microseconds time)
{
	for (auto end = steady_clock::now() + time; steady_clock::now() < end;)
		;
}

int main(int, char **arguments)
{
	bool spins = !strcmp(arguments[1], "spins");
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
	for (int step = 0; step < 20; step++)
		tbb::parallel_for(0, 100, [&](int) {
			if (!spins)
				return compute(microseconds(800));
			compute(microseconds(50));
			tbb::spin_mutex::scoped_lock lock(totals);
			compute(microseconds(500));
			total++;
		});
}
