// oneTBB: many pieces of equal work.
#include <chrono>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

using namespace std::chrono;

static void compute(microseconds time)
{
	for (auto end = steady_clock::now() + time; steady_clock::now() < end;)
		;
}

int main()
{
	tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
	for (int step = 0; step < 20; step++)
		tbb::parallel_for(0, 100, [](int) { compute(microseconds(800)); });
}
