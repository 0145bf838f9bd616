/* Sleeping: ten long sleeps, and a loop that polls a flag a thousand times a second. */
#include "sample.h"

#define LONG_SLEEPS 10
#define POLLS       150

static volatile int flag;

static NOINLINE void poll_flag(struct meter *waiting)
{
	struct timespec millisecond = {0, 1000000};

	meter_start(waiting);
	for (int i = 0; i < POLLS && !flag; i++)
		nanosleep(&millisecond, NULL);
	meter_stop(waiting);
}

static NOINLINE void take_naps(struct meter *waiting)
{
	meter_start(waiting);
	for (int i = 0; i < LONG_SLEEPS; i++)
		usleep(20000);
	meter_stop(waiting);
}

int main(void)
{
	struct meter waiting = {0};

	take_naps(&waiting);
	poll_flag(&waiting);
	truth_meter("sleep", &waiting);
	return finish();
}
