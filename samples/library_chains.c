/* A library that is opened, used at once, closed, and opened again at another address, where something else lay before. */

#include "sample.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>

#define KEEP __asm__ volatile("" ::: "memory")

static char library[PATH_MAX];

/* Opens the library, calls it at once and closes it; gives where it lay. */
NOINLINE static void *opens_library(void)
{
	void *handle = dlopen(library, RTLD_NOW);
	int (*function)(int) = handle ? (int (*)(int))dlsym(handle, "library_function") : NULL;

	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	function(5);
	dlclose(handle);
	return (void *)function;
}

NOINLINE static void opens_first(void)
{
	void *at = (void *)((uintptr_t)opens_library() & ~0xfffffull);

	/* so that it cannot come to the same place */
	mmap(at, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	KEEP;
}

NOINLINE static void opens_again(void)
{
	opens_library();
	KEEP;
}

int main(int argc, char **argv)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)argc, (void)argv;
	self[length > 0 ? length : 0] = 0;
	snprintf(library, sizeof(library), "%s/libchain.so", dirname(self));
	for (int i = 0; i < 3; i++) {
		opens_first();
		opens_again();
	}
	KEEP;
	return 0;
}
