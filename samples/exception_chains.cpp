// Waits while a C++ exception is in flight: in a destructor that runs because of it, and where it is caught.
#include <stdexcept>

#include "sample.h"

#define KEEP __asm__ volatile("" ::: "memory")

static NOINLINE int leaf(int pause_ms)
{
	timespec pause = {0, pause_ms * 1000000L};

	nanosleep(&pause, nullptr);
	burn_ns(5000000);
	KEEP;
	return pause_ms;
}

struct Guard {
	NOINLINE ~Guard()
	{
		leaf(5);
		KEEP;
	}
};

static NOINLINE void throws(int value)
{
	if (value > 0)
		throw std::runtime_error("thrown");
	KEEP;
}

static NOINLINE void is_unwound()
{
	Guard guard;

	throws(1);
	KEEP;
}

static NOINLINE void waits_in_destructor()
{
	try {
		is_unwound();
	} catch (const std::exception &) {
		KEEP;
	}
	KEEP;
}

static NOINLINE void waits_in_catch()
{
	try {
		throws(1);
	} catch (const std::exception &) {
		leaf(5);
		KEEP;
	}
	KEEP;
}

int main()
{
	waits_in_destructor();
	waits_in_catch();
	KEEP;
	return 0;
}
