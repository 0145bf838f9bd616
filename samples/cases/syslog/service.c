/*
 * A slow log daemon: three threads log each request with syslog(3), and libc keeps its lock while it
 * waits until the daemon has room. A fourth logs only ten times a second, and waits behind them.
 */
#include "sample.h"
#include <stdatomic.h>
#include <syslog.h>

#define SERVERS 3

static atomic_int stopped;

static NOINLINE void log_request(int number, uint64_t *waited_ns)
{
	uint64_t begun = now_ns();

	syslog(LOG_INFO, "request %d done", number);
	*waited_ns += now_ns() - begun;
}

static void *serve(void *waited_ns)
{
	for (int i = 0; !atomic_load(&stopped); i++) {
		usleep(1000);
		log_request(i, waited_ns);
	}
	return NULL;
}

static void *beat(void *waited_ns)
{
	for (int i = 0; !atomic_load(&stopped); i++) {
		usleep(100000);
		log_request(i, waited_ns);
	}
	return NULL;
}

int main(void)
{
	uint64_t waited[SERVERS + 1] = {0}, all = 0;
	pthread_t threads[SERVERS + 1];

	openlog("service", LOG_PID | LOG_NDELAY, LOG_USER);
	start_all(threads, SERVERS, serve, waited, sizeof(*waited), "serve");
	threads[SERVERS] = start(beat, &waited[SERVERS], "heartbeat");
	usleep(3000000);
	atomic_store(&stopped, 1);
	join_all(threads, SERVERS + 1);
	for (int i = 0; i <= SERVERS; i++)
		all += waited[i];
	truth("syslog_ns", all);
	return finish();
}
