/*
 * Two programs at the ends of a wire that is slow or drops packets: each in a network namespace of its
 * own, the near one at 10.77.0.1, the far one at 10.77.0.2. A kernel with netem can do the
 * same; this needs only TUN devices. Needs root.
 *
 *   wire DELAY_MS[:BACK_MS] DROP FAR_PROGRAM -- NEAR_PROGRAM ARGUMENTS…
 *
 * BACK_MS: the delay from the far end to the near one, when it is another. DROP: every so many packets of the near end is lost, 0 for none; -N loses the first N instead. The far
 * program is a line for the shell. Ends with the near program, and with its status.
 */
#include "sample.h"

#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define PACKETS 1024
#define BYTES   2048

/* One way of the wire: packets in the order of their coming. */
struct way {
	int from, to;
	int drop;
	long seen;
	uint64_t delay_ns;
	unsigned first, count;
	struct packet {
		uint64_t due_ns;
		ssize_t bytes;
		char data[BYTES];
	} packets[PACKETS];
};

static struct way there, back;

static void run_or_die(const char *command)
{
	if (system(command) != 0)
		die(command);
}

/* A namespace of its own for the caller, with a TUN device of this address; its descriptor. */
static int enter_namespace(const char *address)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "wire0"};
	char command[128];
	int tun;

	if (unshare(CLONE_NEWNET) != 0)
		die("unshare");
	tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0)
		die("tun");
	snprintf(command, sizeof(command), "ip addr add %s/24 dev wire0 && ip link set lo up && ip link set wire0 up",
		 address);
	run_or_die(command);
	return tun;
}

static int is_dropped(struct way *way)
{
	way->seen++;
	return way->drop > 0 ? way->seen % way->drop == 0 : way->seen <= -way->drop;
}

static void take(struct way *way)
{
	while (way->count < PACKETS) {
		struct packet *packet = &way->packets[(way->first + way->count) % PACKETS];

		packet->bytes = read(way->from, packet->data, BYTES);
		if (packet->bytes <= 0)
			return;
		/* IPv4 only: what IPv6 says of itself is not counted. */
		if (packet->data[0] >> 4 != 4 || is_dropped(way))
			continue;
		packet->due_ns = clock_ns(CLOCK_MONOTONIC) + way->delay_ns;
		way->count++;
	}
}

/* Hands on what is due; when the next one is, 0 for none. */
static uint64_t hand_on(struct way *way)
{
	while (way->count > 0) {
		struct packet *packet = &way->packets[way->first];

		if (packet->due_ns > clock_ns(CLOCK_MONOTONIC))
			return packet->due_ns;
		if (write(way->to, packet->data, packet->bytes) < 0 && errno == EAGAIN)
			return packet->due_ns + MS;
		way->first = (way->first + 1) % PACKETS;
		way->count--;
	}
	return 0;
}

static void carry(void)
{
	for (;;) {
		struct pollfd both[] = {{.fd = there.from, .events = POLLIN}, {.fd = back.from, .events = POLLIN}};
		uint64_t a = hand_on(&there), b = hand_on(&back), now = clock_ns(CLOCK_MONOTONIC);
		uint64_t next = a && b ? (a < b ? a : b) : a + b;
		uint64_t left = next > now ? next - now : 0;
		struct timespec limit = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};

		ppoll(both, 2, next ? &limit : NULL, NULL);
		take(&there);
		take(&back);
	}
}

int main(int count, char **arguments)
{
	const char *lopsided;
	pid_t far, near, wire;
	int status = 0;

	if (count < 6)
		return 2;
	lopsided = strchr(arguments[1], ':');
	there.delay_ns = strtoull(arguments[1], NULL, 10) * MS;
	back.delay_ns = lopsided ? strtoull(lopsided + 1, NULL, 10) * MS : there.delay_ns;
	there.drop = atoi(arguments[2]);
	there.to = back.from = enter_namespace("10.77.0.2");
	if ((far = fork()) == 0) {
		execl("/bin/sh", "sh", "-c", arguments[3], NULL);
		die("sh");
	}
	there.from = back.to = enter_namespace("10.77.0.1");
	if ((wire = fork()) == 0)
		carry();
	sleep_ns(200 * MS); /* the far program listens by now */
	if ((near = fork()) == 0) {
		execvp(arguments[5], arguments + 5);
		die(arguments[5]);
	}
	waitpid(near, &status, 0);
	sleep_ns(50 * MS + there.delay_ns + back.delay_ns); /* the end of the stream gets through */
	kill(wire, SIGKILL);
	kill(far, SIGTERM);
	waitpid(wire, NULL, 0);
	waitpid(far, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
