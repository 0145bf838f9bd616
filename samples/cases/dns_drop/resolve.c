/*
 * Lost answers: a client looks up six names one after the other. The server loses a question about
 * three of them, and libc waits for its time-out of a second in each.
 */
#include "sample.h"
#include <netdb.h>
#include <sys/socket.h>

#define NAMES 6

static NOINLINE void look_up_backend(const char *name)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;

	if (getaddrinfo(name, "5432", &hints, &found) != 0)
		die(name);
	freeaddrinfo(found);
}

int main(void)
{
	uint64_t begun = now_ns();
	char name[32];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "shard-%d.db.example", i);
		look_up_backend(name);
	}
	truth("looking_up_ns", now_ns() - begun);
	return finish();
}
