/* Announces tasks and a counter in every way of life that a collector has to stand: announce LIFE COUNT. Each call of
 * `work` is one task with one value of the counter. */
#define _GNU_SOURCE
#include "itt_stub.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static __itt_domain *domain;
static __itt_string_handle *task;
static __itt_counter counter;

static void work(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		uint64_t value = i;
		ITT_IN(task_begin, domain, __itt_null, __itt_null, task);
		ITT(counter_set_value, counter, &value);
		ITT_IN(task_end, domain);
	}
}

static void *thread(void *count)
{
	ITT(thread_set_name, "announcing thread");
	work(*(unsigned long *)count);
	return NULL;
}

static void in_two_threads(unsigned long count)
{
	pthread_t other;

	pthread_create(&other, NULL, thread, &count);
	work(count);
	pthread_join(other, NULL);
}

static void in_children(unsigned long count)
{
	for (int child = 0; child < 3; child++) {
		if (fork() == 0) {
			work(count);
			_exit(0);
		}
	}
	work(count);
	while (wait(NULL) > 0)
		;
}

static void in_pauses(unsigned long count)
{
	work(count);
	ITT(pause, );
	usleep(150000);
	work(count);
	ITT(resume, );
	usleep(50000);
	work(count);
}

static void after_a_resume(unsigned long count)
{
	work(count);
	usleep(200000);
	ITT(resume, );
	work(count);
	usleep(200000);
}

static void until_detached(unsigned long count)
{
	work(count);
	ITT(detach, );
	usleep(100000);
	work(count);
	usleep(100000);
}

static void for_another_thread(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		void *caller = ITT_GET(stack_caller_create);
		ITT(stack_callee_enter, caller);
		ITT(stack_callee_leave, caller);
		usleep(3000);
	}
}

int main(int argc, char **argv)
{
	const char *life = argc > 2 ? argv[1] : "threads";
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;

	domain = ITT_GET(domain_create, "announce");
	task = ITT_GET(string_handle_create, "work");
	counter = ITT_GET(counter_create, "round", "announce");
	if (!strcmp(life, "threads")) {
		in_two_threads(count);
	} else if (!strcmp(life, "killed")) {
		work(count);
		raise(SIGKILL);
	} else if (!strcmp(life, "children")) {
		in_children(count);
	} else if (!strcmp(life, "exec")) {
		work(count);
		execl("/proc/self/exe", argv[0], "threads", argv[2], NULL);
	} else if (!strcmp(life, "pauses")) {
		in_pauses(count);
	} else if (!strcmp(life, "resume")) {
		after_a_resume(count);
	} else if (!strcmp(life, "detach")) {
		until_detached(count);
	} else if (!strcmp(life, "stitch")) {
		for_another_thread(count);
	} else if (!strcmp(life, "endless")) {
		for (;;) {
			work(count);
			usleep(1000);
		}
	} else {
		fprintf(stderr, "no such life: %s\n", life);
		return 2;
	}
	return 0;
}
