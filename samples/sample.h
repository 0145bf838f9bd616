/*
 * What the sample programs share: absolute-clock sleeping, burning a known CPU time, ordered
 * starts, and measuring, from inside and without Dwell, what Dwell has to report.
 *
 * A sample prints its measurements as lines `truth KEY VALUE`; NAME.truth.toml says which report
 * they are compared with. Blocked time is wall time less CPU time less run-queue delay (all three
 * from the kernel's own books), so that a busy machine changes the measurement and the report
 * alike.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull
/* A function that is there under its own name in every stack. */
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* What one thread measured around the calls that it made between meter_start and meter_stop. */
struct meter {
	uint64_t blocked_ns;   /* blocked: neither on a CPU nor waiting for one */
	uint64_t cpu_ns;       /* on a CPU */
	uint64_t run_delay_ns; /* woken or preempted, waiting for a CPU */
	uint64_t waits;        /* voluntary context switches */
	uint64_t wall_at, cpu_at, delay_at, waits_at;
};

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline void sleep_until(uint64_t when_ns)
{
	struct timespec t = {(time_t)(when_ns / 1000000000ull), (long)(when_ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static inline void sleep_ns(uint64_t ns)
{
	sleep_until(now_ns() + ns);
}

/* Uses `ns` of CPU time, however often the thread is preempted meanwhile. */
static NOINLINE void burn_ns(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	volatile unsigned work = 0;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 2000; i++)
			work += (unsigned)i;
}

/* Time that the calling thread has spent in the run queue without running, since it began. */
static inline uint64_t run_delay_ns(void)
{
	static __thread int file = -1;
	unsigned long long cpu = 0, delay = 0;
	char text[96];
	ssize_t n;

	if (file < 0)
		file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	n = pread(file, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = 0;
	sscanf(text, "%llu %llu", &cpu, &delay);
	return delay;
}

static inline uint64_t voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nvcsw;
}

static inline void meter_start(struct meter *m)
{
	m->waits_at = voluntary_switches();
	m->delay_at = run_delay_ns();
	m->cpu_at = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	m->wall_at = now_ns();
}

static inline void meter_stop(struct meter *m)
{
	uint64_t wall = now_ns() - m->wall_at;
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - m->cpu_at;
	uint64_t delay = run_delay_ns() - m->delay_at;

	m->waits += voluntary_switches() - m->waits_at;
	m->cpu_ns += cpu;
	m->run_delay_ns += delay;
	m->blocked_ns += wall > cpu + delay ? wall - cpu - delay : 0;
}

/* Adds what `part` measured to `whole`; for one thread's totals after that thread was joined. */
static inline void meter_add(struct meter *whole, const struct meter *part)
{
	whole->blocked_ns += part->blocked_ns;
	whole->cpu_ns += part->cpu_ns;
	whole->run_delay_ns += part->run_delay_ns;
	whole->waits += part->waits;
}

static inline void truth(const char *key, uint64_t value)
{
	printf("truth %s %llu\n", key, (unsigned long long)value);
}

/* Prints a meter as NAME_wait_ns, NAME_delay_ns and NAME_waits. */
static inline void truth_meter(const char *name, const struct meter *m)
{
	printf("truth %s_wait_ns %llu\n", name, (unsigned long long)m->blocked_ns);
	printf("truth %s_delay_ns %llu\n", name, (unsigned long long)m->run_delay_ns);
	printf("truth %s_waits %llu\n", name, (unsigned long long)m->waits);
}

static inline uint64_t rusage_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ull +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ull;
}

/* The last line of every sample: the kernel's account of the CPU time of the process and its
 * children. */
static inline int finish(void)
{
	truth("rusage_ns", rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN));
	fflush(stdout);
	return 0;
}

typedef void *thread_main(void *);

/* Starts a named thread. */
static inline pthread_t start(thread_main *body, void *argument, const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument) != 0)
		die("pthread_create");
	if (name)
		pthread_setname_np(thread, name);
	return thread;
}

/* Starts `count` threads NAME-0, NAME-1, ... with the consecutive `size`-byte elements of
 * `arguments`. */
static inline void start_all(pthread_t *threads, int count, thread_main *body, void *arguments, size_t size,
			     const char *name)
{
	char text[24];

	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%.10s-%d", name, i % 1000);
		threads[i] = start(body, (char *)arguments + size * (size_t)i, text);
	}
}

static inline void join_all(const pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}
