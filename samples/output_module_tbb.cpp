/* The output module again, with TBB tasks as the workers and a std::mutex in a C++ class. */
#include "sample.h"

#include <atomic>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

static constexpr int EVENTS = 40;
static constexpr int WORKERS = 4;

static std::atomic<uint64_t> blocked_ns, waits;

class OutputModule
{
      public:
	NOINLINE void run()
	{
		meter waiting = {};

		meter_start(&waiting);
		lock.lock();
		meter_stop(&waiting);
		blocked_ns += waiting.blocked_ns;
		waits += waiting.waits;
		burn_ns(2 * MS);
		sleep_ns(4 * MS);
		lock.unlock();
	}

      private:
	std::mutex lock;
};

static OutputModule output_module;

static void process_event(int)
{
	burn_ns(MS);
	output_module.run();
}

int main()
{
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, WORKERS);
	tbb::task_arena arena(WORKERS);

	arena.execute([] { tbb::parallel_for(0, EVENTS, process_event, tbb::simple_partitioner()); });
	truth("output_module_wait_ns", blocked_ns);
	truth("output_module_waits", waits);
	return finish();
}
