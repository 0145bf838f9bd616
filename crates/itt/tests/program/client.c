/* An instrumented program: each way of its life that the library has to stand. */
#define _GNU_SOURCE
#include "itt_stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static __itt_domain *domain;
static __itt_string_handle *work;
static __itt_counter counter;
static const __itt_id id = {7, 8, 0}, parent = {9, 0, 0};

static void task(__itt_string_handle *name)
{
	ITT_IN(task_begin, domain, __itt_null, __itt_null, name);
	ITT_IN(task_end, domain);
}

static void *pointer(unsigned long number)
{
	return (void *)number;
}

static void tasks(void)
{
	__itt_id own = id;
	ITT_IN(task_begin, domain, id, parent, work);
	task(work);
	ITT_IN(task_end, domain);
	ITT_IN(task_begin_fn, domain, __itt_null, __itt_null, pointer(0x1000));
	ITT_IN(task_end, domain);
	unsigned long long now = ITT_GET(get_timestamp);
	ITT_IN(task_begin_ex, domain, NULL, now - 1000, __itt_null, __itt_null, work);
	ITT_IN(task_end_ex, domain, NULL, now - 500);
	ITT_IN(task_begin_overlapped, domain, id, __itt_null, work);
	ITT_IN(task_end_overlapped, domain, id);
	ITT_IN(region_begin, domain, id, __itt_null, work);
	ITT_IN(region_end, domain, id);
	ITT_IN(frame_begin_v3, domain, &own);
	ITT_IN(frame_end_v3, domain, &own);
	ITT_IN(frame_submit_v3, domain, NULL, now - 300, now - 200);
	ITT_IN(marker, domain, id, work, 2);
	int event = ITT_GET(event_create, "an event, and more", 8);
	if (itt_event_start_ptr)
		itt_event_start_ptr(event), itt_event_end_ptr(event);
	ITT_IN(relation_add, domain, id, 1, parent);
}

static void set(const char *name, int type, void *value)
{
	__itt_counter made = ITT_GET(counter_create_typed, name, "numbers", type);
	ITT(counter_set_value, made, value);
}

static void counters(void)
{
	set("u64", __itt_metadata_u64, &(uint64_t){UINT64_MAX});
	set("s64", __itt_metadata_s64, &(int64_t){-5});
	set("u32", __itt_metadata_u32, &(uint32_t){UINT32_MAX});
	set("s32", __itt_metadata_s32, &(int32_t){-6});
	set("u16", __itt_metadata_u16, &(uint16_t){65535});
	set("s16", __itt_metadata_s16, &(int16_t){-7});
	set("float", __itt_metadata_float, &(float){0.5f});
	set("double", __itt_metadata_double, &(double){0.25});
	ITT(counter_inc, counter);
	ITT(counter_dec, counter);
	ITT(counter_inc_delta, counter, 10);
	ITT(counter_dec_delta, counter, 3);
	ITT_IN(counter_inc_delta_v3, domain, work, 4);
}

static void metadata(void)
{
	__itt_string_handle *key = ITT_GET(string_handle_create, "key");
	__itt_string_handle *format = ITT_GET(string_handle_create, "%d %s %.2f %d %d %d %ld %.1f");
	ITT_IN(metadata_add, domain, id, key, __itt_metadata_s16, 3, (int16_t[]){1, -2, 3});
	ITT_IN(metadata_add, domain, __itt_null, key, __itt_metadata_double, 1, &(double){1.5});
	ITT_IN(metadata_str_add, domain, id, key, "a text", 0);
	ITT_IN(metadata_str_add, domain, id, key, "a text that is cut", 6);
	ITT_IN(formatted_metadata_add, domain, format, 1, "two", 3.0, 4, 5, 6, 7L, 8.5);
	ITT_IN(formatted_metadata_add_overlapped, domain, id, format, 1, "two", 3.0, 4, 5, 6, 7L, 8.5);
}

static void sync_objects(void)
{
	static int lock;
	ITT(sync_create, &lock, "Mutex", "first_lock", 2);
	ITT(sync_prepare, &lock);
	ITT(sync_acquired, &lock);
	ITT(sync_releasing, &lock);
	ITT(sync_rename, &lock, "second_lock");
	ITT(sync_prepare, &lock);
	ITT(sync_cancel, &lock);
	ITT(sync_destroy, &lock);
}

static void threads_and_modules(void)
{
	ITT(thread_set_name, "main thread");
	ITT(thread_ignore);
	void *caller = ITT_GET(stack_caller_create);
	ITT(stack_callee_enter, caller);
	ITT(stack_callee_leave, caller);
	ITT(module_load, pointer(0x2000), pointer(0x3000), "/lib/loaded.so");
	static char object[70000] = "\177ELF";
	__itt_section_info section = {".text", 3, 1, pointer(0x4000), 64, 128};
	__itt_module_object module = {1, {77, 0, 0}, 1, "jitted", object, sizeof(object), &section, 1};
	ITT(module_load_with_sections, &module);
	ITT(module_unload_with_sections, &module);
}

static void *counting(void *number)
{
	int value = (int)(long)number;
	for (int i = 0; i < 100; i++)
		ITT(counter_set_value, counter, &value);
	return NULL;
}

static void many_threads(int count)
{
	for (int i = 0; i < count; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, counting, (void *)(long)i);
		pthread_join(thread, NULL);
	}
}

static long flood_events;

static void *flooding(void *unused)
{
	(void)unused;
	for (long i = 0; i < flood_events; i += 2)
		task(work);
	return NULL;
}

static void flood(long events)
{
	pthread_t threads[2];
	flood_events = events;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, flooding, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static volatile long in_handler;

static void handler(int number)
{
	(void)number;
	in_handler++;
	ITT_IN(task_end, domain);
	/* A name in a handler is answered, recorded or not. */
	__itt_domain *made = ITT_GET(domain_create, "from a handler");
	made->flags = 1;
}

static void interrupted(void)
{
	signal(SIGALRM, handler);
	struct itimerval often = {{0, 50}, {0, 50}};
	setitimer(ITIMER_REAL, &often, NULL);
	long events = 0;
	for (; in_handler < 2000; events += 2)
		task(work);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	printf("%ld\n", events + in_handler);
}

static void forked(void)
{
	task(work);
	pid_t child = fork();
	if (child == 0) {
		task(work);
		task(ITT_GET(string_handle_create, "only in the child"));
		pid_t grandchild = fork();
		if (grandchild == 0) {
			task(ITT_GET(string_handle_create, "only in the grandchild"));
			_exit(0);
		}
		waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	task(ITT_GET(string_handle_create, "only in the parent"));
}

static void *forking(void *unused)
{
	(void)unused;
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		if (child == 0) {
			task(work);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return NULL;
}

/* Others name and announce all the time while one thread forks. */
static void busy_forks(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, forking, NULL);
	for (int i = 0; i < 20000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "string %d", i);
		task(ITT_GET(string_handle_create, name));
	}
	pthread_join(thread, NULL);
}

static void at_exit(void)
{
	task(ITT_GET(string_handle_create, "in an exit handler"));
}

static void at_thread_end(void *unused)
{
	(void)unused;
	task(ITT_GET(string_handle_create, "in a thread's destructor"));
}

static void *ending(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, key);
	task(work);
	return NULL;
}

static void late_calls(void)
{
	pthread_key_t key;
	pthread_key_create(&key, at_thread_end);
	pthread_t thread;
	pthread_create(&thread, NULL, ending, &key);
	pthread_join(thread, NULL);
	atexit(at_exit);
}

static void paused(void)
{
	task(work);
	ITT(pause);
	task(ITT_GET(string_handle_create, "while paused"));
	ITT(resume);
	task(work);
	ITT(pause_scoped, 2); /* an accelerator, which is not collected */
	task(work);
	ITT(detach);
	task(work);
	ITT(resume);
	task(work);
}

static void second_copy(const char *library)
{
	void *copy = dlopen(library, RTLD_NOW);
	void (*run)(void) = (void (*)(void))dlsym(copy, "run_copy");
	task(work);
	run();
	dlclose(copy);
	task(work);
}

static void compiled(void)
{
	struct {
		unsigned id;
		const char *name;
		void *address;
		unsigned size, line_count;
		unsigned (*lines)[2];
		const char *class, *source, *module;
		int architecture;
	} method = {5,       "a_method", pointer(0x5000), 100, 2, (unsigned[][2]){{0, 10}, {50, 11}},
		    "Class", "a.js",     "engine",        0};
	struct {
		unsigned id, parent;
		const char *name;
		void *address;
		unsigned size, line_count;
		unsigned (*lines)[2];
		const char *class, *source;
	} inlined = {6, 5, "inlined", pointer(0x5010), 10, 0, NULL, NULL, NULL};
	void *library = dlopen(getenv("INTEL_JIT_PROFILER64"), RTLD_LAZY);
	unsigned (*initialize)(void) = (unsigned (*)(void))dlsym(library, "Initialize");
	int (*notify)(unsigned, void *) = (int (*)(unsigned, void *))dlsym(library, "NotifyEvent");
	if (initialize() != 1)
		exit(9);
	notify(21, &method);
	notify(16, &inlined);
	notify(14, &method);
	notify(2, NULL);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	domain = ITT_GET(domain_create, "test.domain");
	work = ITT_GET(string_handle_create, "work");
	counter = ITT_GET(counter_create_typed, "counted", "test.domain", __itt_metadata_s32);
	if (!strcmp(way, "all")) {
		tasks();
		counters();
		metadata();
		sync_objects();
		threads_and_modules();
	} else if (!strcmp(way, "threads")) {
		many_threads(atoi(argv[2]));
	} else if (!strcmp(way, "flood")) {
		flood(atol(argv[2]));
	} else if (!strcmp(way, "signals")) {
		interrupted();
	} else if (!strcmp(way, "fork")) {
		forked();
	} else if (!strcmp(way, "busy-forks")) {
		busy_forks();
	} else if (!strcmp(way, "exec")) {
		task(work);
		execl(argv[0], argv[0], "one", NULL);
	} else if (!strcmp(way, "one")) {
		task(work);
	} else if (!strcmp(way, "kill")) {
		task(work);
		raise(SIGKILL);
	} else if (!strcmp(way, "late")) {
		late_calls();
	} else if (!strcmp(way, "pause")) {
		paused();
	} else if (!strcmp(way, "copies")) {
		second_copy(argv[2]);
	} else if (!strcmp(way, "jit")) {
		compiled();
	} else if (!strcmp(way, "wait")) {
		/* Announces until it is told to end. */
		puts("ready");
		fflush(stdout);
		for (char c = 0; c != 'q'; task(work))
			if (read(0, &c, 1) <= 0)
				break;
	}
	return 0;
}
