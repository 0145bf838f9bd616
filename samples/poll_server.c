/* A poll(2) loop that serves three clients over loopback TCP. */
#include "loopback.h"

#include <poll.h>

static NOINLINE void serve(const int *connections, struct meter *waiting)
{
	struct pollfd set[CLIENTS];
	int open = CLIENTS;

	for (int i = 0; i < CLIENTS; i++)
		set[i] = (struct pollfd){.fd = connections[i], .events = POLLIN};
	while (open > 0) {
		meter_start(waiting);
		if (poll(set, CLIENTS, -1) < 0)
			die("poll");
		meter_stop(waiting);
		for (int i = 0; i < CLIENTS; i++)
			if (set[i].revents && !handle_request(set[i].fd)) {
				set[i].fd = -1;
				open--;
			}
	}
}

int main(void)
{
	return run_server(serve);
}
