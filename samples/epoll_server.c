/* An epoll loop that serves three clients over loopback TCP. */
#include "loopback.h"

#include <sys/epoll.h>

static NOINLINE void serve(const int *connections, struct meter *waiting)
{
	int set = epoll_create1(EPOLL_CLOEXEC), open = CLIENTS;
	struct epoll_event event;

	for (int i = 0; i < CLIENTS; i++) {
		event = (struct epoll_event){.events = EPOLLIN, .data.fd = connections[i]};
		if (epoll_ctl(set, EPOLL_CTL_ADD, connections[i], &event) != 0)
			die("epoll_ctl");
	}
	while (open > 0) {
		meter_start(waiting);
		if (epoll_wait(set, &event, 1, -1) != 1)
			die("epoll_wait");
		meter_stop(waiting);
		if (!handle_request(event.data.fd)) {
			epoll_ctl(set, EPOLL_CTL_DEL, event.data.fd, NULL);
			open--;
		}
	}
}

int main(void)
{
	return run_server(serve);
}
