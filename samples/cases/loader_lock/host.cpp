/*
 * The loader's lock: one thread opens a plug-in whose constructor sleeps for 1.5 s, and glibc keeps
 * its lock for that long. The threads of jobs open nothing; the first use of a thread_local with a
 * destructor takes the same lock.
 */
#include "sample.h"
#include <dlfcn.h>
#include <string>

#define JOBS 24

struct scratch {
	std::string text = std::string(100, '.');
	~scratch()
	{
		text.clear();
	}
};

static thread_local scratch scratch;
static uint64_t stalled[JOBS];

static NOINLINE void handle_job(uint64_t *stalled_ns)
{
	uint64_t begun = now_ns();

	scratch.text.push_back('a');
	*stalled_ns = now_ns() - begun;
}

static void *job(void *argument)
{
	handle_job((uint64_t *)argument);
	return NULL;
}

static NOINLINE void open_plugin(void)
{
	if (!dlopen("./plugin.so", RTLD_NOW))
		die(dlerror());
}

static void *loader(void *)
{
	open_plugin();
	return NULL;
}

int main()
{
	pthread_t jobs[JOBS], loading = {};
	uint64_t all = 0, slow = 0;
	char name[16];

	for (int i = 0; i < JOBS; i++) {
		if (i == 4)
			loading = start(loader, NULL, "plugin-loader");
		snprintf(name, sizeof(name), "job-%d", i);
		jobs[i] = start(job, &stalled[i], name);
		sleep_ns(100 * MS);
	}
	join_all(jobs, JOBS);
	pthread_join(loading, NULL);
	for (uint64_t ns : stalled) {
		all += ns;
		slow += ns > 50 * MS;
	}
	truth("stalled_ns", all);
	truth("stalled_jobs", slow);
	return finish();
}
