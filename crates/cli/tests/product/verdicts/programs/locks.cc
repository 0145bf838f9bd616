// Four threads take turns with one lock and sleep while they have it; how long they waited for it, they measure.
// The first argument says which lock.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <thread>
#include <vector>
#ifdef BOOST
#include <boost/thread/mutex.hpp>
#include <boost/thread/shared_mutex.hpp>
boost::mutex log_lock;
boost::shared_mutex routes_lock;
#endif
#ifdef ABSL
#include <absl/synchronization/mutex.h>
absl::Mutex cache_lock;
#endif
using namespace std::chrono;
using Clock = steady_clock;

std::mutex orders_lock;
std::shared_mutex config_lock;
std::atomic<long> waited;

struct Jobs {
	std::mutex guard;
	std::condition_variable filled;
	std::queue<int> waiting;
	bool closed = false;
} jobs;

static long since(Clock::time_point begun) { return duration_cast<nanoseconds>(Clock::now() - begun).count(); }

template <class Lock, class Unlock> static void turns(Lock lock, Unlock unlock)
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			for (int k = 0; k < 100; k++) {
				auto begun = Clock::now();
				lock();
				waited += since(begun);
				std::this_thread::sleep_for(milliseconds(1));
				unlock();
			}
		});
	for (auto &thread : threads)
		thread.join();
}

static void compute(milliseconds time)
{
	for (auto end = Clock::now() + time; Clock::now() < end;)
		;
}

/// Two workers wait for jobs, which come rarely: nothing is wrong.
static void queue()
{
	std::vector<std::thread> workers;
	for (int i = 0; i < 2; i++)
		workers.emplace_back([] {
			for (;;) {
				std::unique_lock lock(jobs.guard);
				jobs.filled.wait(lock, [] { return jobs.closed || !jobs.waiting.empty(); });
				if (jobs.waiting.empty())
					return;
				jobs.waiting.pop();
				lock.unlock();
				compute(milliseconds(3));
			}
		});
	for (int i = 0; i < 200; i++) {
		{
			std::lock_guard lock(jobs.guard);
			jobs.waiting.push(i);
		}
		jobs.filled.notify_one();
		std::this_thread::sleep_for(milliseconds(5));
	}
	{
		std::lock_guard lock(jobs.guard);
		jobs.closed = true;
	}
	jobs.filled.notify_all();
	for (auto &worker : workers)
		worker.join();
}

int main(int, char **arguments)
{
	const char *which = arguments[1];
	if (!strcmp(which, "mutex"))
		turns([] { orders_lock.lock(); }, [] { orders_lock.unlock(); });
	if (!strcmp(which, "shared_mutex"))
		turns([] { config_lock.lock(); }, [] { config_lock.unlock(); });
	if (!strcmp(which, "queue"))
		queue();
#ifdef BOOST
	if (!strcmp(which, "boost"))
		turns([] { log_lock.lock(); }, [] { log_lock.unlock(); });
	if (!strcmp(which, "boost_shared"))
		turns([] { routes_lock.lock(); }, [] { routes_lock.unlock(); });
#endif
#ifdef ABSL
	if (!strcmp(which, "absl"))
		turns([] { cache_lock.Lock(); }, [] { cache_lock.Unlock(); });
#endif
	printf("truth waited_ns %ld\n", waited.load());
}
