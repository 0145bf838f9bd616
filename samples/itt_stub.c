#include "itt_stub.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define ITT_DEFINE(group, type, name, arguments) type(*itt_##name##_ptr) arguments;
ITT_FUNCTIONS(ITT_DEFINE)

struct itt_api {
	const char *name;
	void **function;
	void *init;
	void *null;
	int group;
};

#define ITT_ENTRY(group, type, name, arguments) {"__itt_" #name, (void **)&itt_##name##_ptr, NULL, NULL, group},
static struct itt_api functions[] = {ITT_FUNCTIONS(ITT_ENTRY){NULL, NULL, NULL, NULL, 0}};

static struct {
	unsigned char magic[8];
	unsigned long version[3];
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **library_path;
	struct itt_api *functions;
	void *next, *threads, *domains, *strings;
	int state;
	void *counters;
	unsigned ipt_collect_events;
#ifndef ITT_OLD_GLOBAL /* an old one ends here, at 184 bytes */
	void *histograms, *counter_metadata;
#endif
} global = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30}, .version = {3, 25, 0}, .functions = functions};

#ifdef ITT_OLD_GLOBAL
_Static_assert(sizeof(global) == 184, "the layout of older static parts");
#else
_Static_assert(sizeof(global) == 200, "the layout of the contract");
#endif

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	global.library = path ? dlopen(path, RTLD_LAZY) : NULL;
	if (!global.library)
		return;
	void (*init)(void *, int) = (void (*)(void *, int))dlsym(global.library, "__itt_api_init");
	if (init)
		init(&global, -1);
	global.api_initialized = 1;
}
