/*
 * A slow reader: three threads log through spdlog's console, whose mutex is kept while the pipe is full.
 */
#include "sample.h"
#include <atomic>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#define THREADS 3

static std::atomic<bool> stopped;
static std::shared_ptr<spdlog::logger> console;

static NOINLINE void handle_request(int number, uint64_t *waited_ns)
{
	static const std::string body(400, '.');
	uint64_t begun = now_ns();

	console->info("request {} handled {}", number, body);
	*waited_ns += now_ns() - begun;
}

static void *request(void *waited_ns)
{
	for (int i = 0; !stopped; i++) {
		handle_request(i, (uint64_t *)waited_ns);
		usleep(1000);
	}
	return NULL;
}

int main()
{
	uint64_t waited[THREADS] = {}, all = 0;
	pthread_t threads[THREADS];

	console = spdlog::stdout_logger_mt("console");
	start_all(threads, THREADS, request, waited, sizeof(*waited), "request");
	usleep(3000000);
	stopped = true;
	join_all(threads, THREADS);
	for (uint64_t ns : waited)
		all += ns;
	fprintf(stderr, "truth log_ns %llu\n", (unsigned long long)all);
	return 0;
}
