/*
 * A lock that is no object: its waiters queue, each on a condition variable of its own, as in databases.
 * One thread keeps the lock and sleeps for 2.5 s; eight wait for it.
 */
#include "sample.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#define READERS 8

struct ticket {
	std::condition_variable granted;
	bool is_granted = false;
};

class metadata_lock
{
	std::mutex guard;
	bool is_held = false;
	std::deque<ticket *> queue;

      public:
	NOINLINE void acquire()
	{
		std::unique_lock<std::mutex> guarded(guard);
		ticket own;

		if (!is_held) {
			is_held = true;
			return;
		}
		queue.push_back(&own);
		while (!own.is_granted)
			own.granted.wait_for(guarded, std::chrono::seconds(1));
	}

	void release()
	{
		std::lock_guard<std::mutex> guarded(guard);

		is_held = !queue.empty();
		if (!is_held)
			return;
		queue.front()->is_granted = true;
		queue.front()->granted.notify_one();
		queue.pop_front();
	}
};

static metadata_lock table;
static std::atomic<uint64_t> waited_ns;

static NOINLINE void alter_table()
{
	usleep(2500000);
}

static void *writer(void *)
{
	table.acquire();
	alter_table();
	table.release();
	return NULL;
}

static void *reader(void *)
{
	uint64_t begun = now_ns();

	table.acquire();
	waited_ns += now_ns() - begun;
	usleep(1000);
	table.release();
	return NULL;
}

int main()
{
	pthread_t writing = start(writer, NULL, "writer"), readers[READERS];
	int numbers[READERS];

	usleep(50000);
	start_all(readers, READERS, reader, numbers, sizeof(*numbers), "reader");
	join_all(readers, READERS);
	pthread_join(writing, NULL);
	truth("lock_ns", waited_ns);
	return finish();
}
