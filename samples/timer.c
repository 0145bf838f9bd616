/* A periodic timer read through a file descriptor. */
#include "sample.h"

#include <sys/timerfd.h>

#define TICKS 25

static NOINLINE void wait_for_tick(int timer, struct meter *waiting)
{
	uint64_t expirations;

	meter_start(waiting);
	if (read(timer, &expirations, sizeof(expirations)) != sizeof(expirations))
		die("read");
	meter_stop(waiting);
}

int main(void)
{
	struct itimerspec every = {.it_interval = {0, 10000000}, .it_value = {0, 10000000}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct meter waiting = {0};

	if (timer < 0 || timerfd_settime(timer, 0, &every, NULL) != 0)
		die("timerfd");
	for (int i = 0; i < TICKS; i++)
		wait_for_tick(timer, &waiting);
	truth_meter("timer", &waiting);
	return finish();
}
