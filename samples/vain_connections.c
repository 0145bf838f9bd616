/* A program connects again and again to where nobody listens, sleeps in between, and gives up. */
#include "sample.h"
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#define TRIES 8
#define PAUSE (100 * MS)

static struct sockaddr_in address = {.sin_family = AF_INET};

/* A port of its own, at which it does not listen. */
static void take_port(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		die("bind");
}

NOINLINE static void wait_for_server(void)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0)
			die("socket");
		if (!connect(fd, (struct sockaddr *)&address, sizeof(address)) || errno != ECONNREFUSED)
			die("connect");
		close(fd);
		usleep(PAUSE / 1000);
	}
}

int main(void)
{
	take_port();
	wait_for_server();
	return 0;
}
