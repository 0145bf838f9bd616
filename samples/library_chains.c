/*
 * A library that is opened, used at once, closed, and opened again at another address, where something else lay before; and
 * one that a child uses, which is forked as soon as it is open.
 */

#include "sample.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define KEEP __asm__ volatile("" ::: "memory")

static char library[PATH_MAX];

typedef int function(int);

static function *open_library(void **handle)
{
	function *found;

	*handle = dlopen(library, RTLD_NOW);
	found = *handle ? (function *)dlsym(*handle, "library_function") : NULL;
	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

/* Opens the library, calls it at once and closes it; gives where it lay. */
NOINLINE static void *opens_library(void)
{
	void *handle;
	function *found = open_library(&handle);

	found(5);
	dlclose(handle);
	return (void *)found;
}

NOINLINE static void in_child(function *found)
{
	prctl(PR_SET_NAME, "forked");
	found(5);
	_exit(0);
}

NOINLINE static void forks_opened(void)
{
	void *handle;
	function *found = open_library(&handle);
	pid_t child = fork();

	if (child == 0)
		in_child(found);
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		die("fork");
	dlclose(handle);
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
		forks_opened();
	}
	KEEP;
	return 0;
}
