/* A library for library_chains: a call chain that ends in a wait. */
#include <time.h>

__attribute__((noinline, noclone)) static int library_leaf(int pause_ms)
{
	struct timespec pause = {0, pause_ms * 1000000L};

	nanosleep(&pause, NULL);
	__asm__ volatile("" ::: "memory");
	return pause_ms;
}

int library_function(int pause_ms)
{
	int result = library_leaf(pause_ms);

	__asm__ volatile("" ::: "memory");
	return result;
}
