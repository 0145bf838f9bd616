// The first and only program of the guest of `dwell anatomy system`: prepares the machine, tells Dwell the kernel's symbols,
// runs one scenario between marks, and turns the machine off. Without a C library: nothing else runs in the guest.
//
// Arguments, behind `--` on the kernel's command line: SCENARIO DATA-PORT SYMBOL-PORT RECEIVE-BUFFER GRO
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/in.h>
#include <linux/reboot.h>
#include <linux/route.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

// Marks: see crates/itrace/src/marks.rs. The number must be part of the instruction.
#define MARK(number) __asm__ volatile(".byte 0x0f, 0x1f, 0x80\n.short %c0\n.short 0x4457" ::"i"(number))
#define OPEN_GATE    1
#define CLOSE_GATE   2
#define BETWEEN      3
#define BUFFER       0x100

#define FIRST_SHIFT 6
#define LAST_SHIFT  16
// So much of each size, but no fewer and no more buffers.
#define BYTES_PER_SIZE (1 << 19)
#define LEAST_BUFFERS  8
#define MOST_BUFFERS   512
#define WARM_UP        4

static char buffer[1 << LAST_SHIFT];

static long call6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#define CALL(number, a, b, c) call6(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)

void *memset(void *to, int byte, size_t count)
{
	char *at = to;
	while (count--)
		*at++ = (char)byte;
	return to;
}

void *memcpy(void *to, const void *from, size_t count)
{
	char *at = to;
	const char *source = from;
	while (count--)
		*at++ = *source++;
	return to;
}

static size_t length(const char *text)
{
	size_t count = 0;
	while (text[count])
		count++;
	return count;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static int number(const char *text)
{
	int value = 0;
	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (*text - '0');
	return value;
}

static void say(const char *text)
{
	CALL(SYS_write, 1, text, length(text));
}

static _Noreturn void power_off(void)
{
	call6(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_POWER_OFF, 0, 0, 0);
	for (;;)
		CALL(SYS_pause, 0, 0, 0);
}

static _Noreturn void fail(const char *what)
{
	say("dwell: guest: ");
	say(what);
	say("\n");
	power_off();
}

// 10.0.2.2 is the host in QEMU's user network, 10.0.2.15 the guest.
static struct sockaddr_in address(unsigned char a, unsigned char b, unsigned char c, unsigned char d, int port)
{
	struct sockaddr_in result = {.sin_family = AF_INET,
				     .sin_port = (unsigned short)(port << 8 | (port >> 8 & 0xff))};
	unsigned char bytes[4] = {a, b, c, d};
	memcpy(&result.sin_addr, bytes, 4);
	return result;
}

static void give_address(int socket, const char *name, long request, struct sockaddr_in value)
{
	struct ifreq interface = {0};
	memcpy(interface.ifr_name, name, length(name));
	memcpy(&interface.ifr_addr, &value, sizeof value);
	CALL(SYS_ioctl, socket, request, &interface);
}

/* 50 ms. */
static void nap(void)
{
	long pause[2] = {0, 50000000};
	CALL(SYS_nanosleep, pause, 0, 0);
}

static int bring_up(int socket, const char *name)
{
	struct ifreq interface = {0};
	memcpy(interface.ifr_name, name, length(name));
	interface.ifr_flags = IFF_UP | IFF_RUNNING;
	return (int)CALL(SYS_ioctl, socket, SIOCSIFFLAGS, &interface);
}

static void load_modules(void)
{
	char path[] = "/modules/00.ko";
	for (int at = 0; at < 100; at++) {
		path[9] = (char)('0' + at / 10);
		path[10] = (char)('0' + at % 10);
		long file = CALL(SYS_open, path, O_RDONLY, 0);
		if (file < 0)
			return;
		if (CALL(SYS_finit_module, file, "", 0) < 0)
			say("dwell: guest: a module cannot be loaded\n");
		CALL(SYS_close, file, 0, 0);
	}
}

// Packets go up the stack one by one: none is joined with those behind it.
static void turn_gro_off(int socket, const char *name)
{
	struct ethtool_value off = {.cmd = ETHTOOL_SGRO};
	struct ifreq interface = {.ifr_data = (void *)&off};
	memcpy(interface.ifr_name, name, length(name));
	if (CALL(SYS_ioctl, socket, SIOCETHTOOL, &interface) < 0)
		fail("the card's GRO cannot be turned off");
}

static void prepare(int gro)
{
	CALL(SYS_mkdir, "/proc", 0755, 0);
	call6(SYS_mount, (long)"proc", (long)"/proc", (long)"proc", 0, 0, 0);
	load_modules();
	int socket = (int)CALL(SYS_socket, AF_INET, SOCK_DGRAM, 0);
	bring_up(socket, "lo");
	// Some drivers find their card a moment after they are loaded.
	for (int attempt = 0; bring_up(socket, "eth0") < 0; attempt++) {
		if (attempt == 100)
			fail("there is no network card");
		nap();
	}
	give_address(socket, "eth0", SIOCSIFADDR, address(10, 0, 2, 15, 0));
	give_address(socket, "eth0", SIOCSIFNETMASK, address(255, 255, 255, 0, 0));
	if (!gro)
		turn_gro_off(socket, "eth0");
	CALL(SYS_close, socket, 0, 0);
}

static int connected(struct sockaddr_in to, int kind, int receive_buffer)
{
	int socket = (int)CALL(SYS_socket, AF_INET, kind, 0);
	if (receive_buffer > 0)
		call6(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVBUF, (long)&receive_buffer, sizeof receive_buffer, 0);
	// The card may still be coming up.
	for (int attempt = 0; attempt < 100; attempt++) {
		if (CALL(SYS_connect, socket, &to, sizeof to) == 0)
			return socket;
		nap();
	}
	fail("the host cannot be reached");
}

static void send_all(int socket, const char *bytes, long count)
{
	while (count > 0) {
		long sent = call6(SYS_sendto, socket, (long)bytes, count, 0, 0, 0);
		if (sent <= 0)
			fail("sending failed");
		bytes += sent, count -= sent;
	}
}

// The kernel's functions: the lines of /proc/kallsyms of type t, T, w and W.
static void tell_symbols(int port)
{
	static char out[1 << 15];
	static char line[512];
	int socket = connected(address(10, 0, 2, 2, port), SOCK_STREAM, 0);
	long file = CALL(SYS_open, "/proc/kallsyms", O_RDONLY, 0), count, used = 0, written = 0;
	while ((count = CALL(SYS_read, file, buffer, sizeof buffer)) > 0) {
		for (long at = 0; at < count; at++) {
			if (used < (long)sizeof line)
				line[used++] = buffer[at];
			if (buffer[at] != '\n')
				continue;
			char kind = used > 17 ? (char)(line[17] | 0x20) : 0;
			if (kind == 't' || kind == 'w') {
				memcpy(out + written, line, (size_t)used);
				written += used;
			}
			used = 0;
			if (written > (long)(sizeof out - sizeof line))
				send_all(socket, out, written), written = 0;
		}
	}
	send_all(socket, out, written);
	// Until Dwell has read them: it names what it records at once.
	CALL(SYS_shutdown, socket, SHUT_WR, 0);
	CALL(SYS_read, socket, buffer, 1);
	CALL(SYS_close, file, 0, 0);
	CALL(SYS_close, socket, 0, 0);
}

// Fills a buffer or sends one.
typedef void (*transfer)(int socket, long bytes);

static void receive(int socket, long bytes)
{
	if (call6(SYS_recvfrom, socket, (long)buffer, bytes, MSG_WAITALL, 0, 0) != bytes)
		fail("receiving failed");
}

static void transmit(int socket, long bytes)
{
	send_all(socket, buffer, bytes);
}

// A request of four bytes, its answer of the size that it names.
static void ask(int socket, long bytes)
{
	int request = (int)bytes;
	send_all(socket, (char *)&request, sizeof request);
	if (call6(SYS_recvfrom, socket, (long)buffer, sizeof buffer, 0, 0, 0) != bytes)
		fail("receiving failed");
}

// What a scenario does with a socket: what a round begins and ends with, and how a buffer is moved. A round ends when all of
// its bytes have gone through the machine, so that each size bears the packets that bring it, and no others.
struct scenario {
	void (*begin)(int socket, long bytes);
	transfer move;
	void (*end)(int socket);
};

// Tells the other end how many bytes it is to send, or to take.
static void announce(int socket, long bytes)
{
	int round = (int)bytes;
	send_all(socket, (char *)&round, sizeof round);
}

// The other end answers when it has taken all.
static void wait_until_taken(int socket)
{
	receive(socket, 1);
}

static void nothing_to_announce(int socket, long bytes)
{
	(void)socket, (void)bytes;
}

static void nothing_left(int socket)
{
	(void)socket;
}

static const struct scenario receiving = {announce, receive, nothing_left};
static const struct scenario sending = {announce, transmit, wait_until_taken};
static const struct scenario asking = {nothing_to_announce, ask, nothing_left};

#define SIZE(shift)                                        \
	case shift:                                        \
		what->begin(socket, WARM_UP << shift);     \
		for (int at = 0; at < WARM_UP; at++)       \
			what->move(socket, 1L << shift);   \
		what->end(socket);                         \
		what->begin(socket, (long)count << shift); \
		for (int at = 0; at < count; at++) {       \
			MARK(BUFFER + shift);              \
			what->move(socket, 1L << shift);   \
		}                                          \
		what->end(socket);                         \
		MARK(BETWEEN);                             \
		break

static void one_size(int socket, const struct scenario *what, int shift)
{
	int count = BYTES_PER_SIZE >> shift;
	count = count < LEAST_BUFFERS ? LEAST_BUFFERS : count > MOST_BUFFERS ? MOST_BUFFERS : count;
	switch (shift) {
		SIZE(6);
		SIZE(7);
		SIZE(8);
		SIZE(9);
		SIZE(10);
		SIZE(11);
		SIZE(12);
		SIZE(13);
		SIZE(14);
		SIZE(15);
		SIZE(16);
	}
}

static void all_sizes(int socket, const struct scenario *what, int last_shift)
{
	MARK(OPEN_GATE);
	for (int shift = FIRST_SHIFT; shift <= last_shift; shift++)
		one_size(socket, what, shift);
	MARK(CLOSE_GATE);
}

// What the other end of a pair does: sends as many bytes as it is told.
static _Noreturn void feed(int socket)
{
	int round;

	while (call6(SYS_recvfrom, socket, (long)&round, sizeof round, MSG_WAITALL, 0, 0) == sizeof round)
		for (long left = round; left > 0; left -= 1 << 14)
			send_all(socket, buffer, left < 1 << 14 ? left : 1 << 14);
	CALL(SYS_exit_group, 0, 0, 0);
	for (;;)
		CALL(SYS_pause, 0, 0, 0);
}

static void local_pair(void)
{
	int ends[2];
	if (call6(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, (long)ends, 0, 0) < 0)
		fail("no pair of sockets");
	if (CALL(SYS_fork, 0, 0, 0) == 0)
		feed(ends[1]);
	all_sizes(ends[0], &receiving, LAST_SHIFT);
}

static void loopback(int receive_buffer)
{
	struct sockaddr_in own = address(127, 0, 0, 1, 7000);
	int listener = (int)CALL(SYS_socket, AF_INET, SOCK_STREAM, 0);
	CALL(SYS_bind, listener, &own, sizeof own);
	CALL(SYS_listen, listener, 1, 0);
	if (CALL(SYS_fork, 0, 0, 0) == 0)
		feed((int)CALL(SYS_accept, listener, 0, 0));
	all_sizes(connected(own, SOCK_STREAM, receive_buffer), &receiving, LAST_SHIFT);
}

static void script(void)
{
	char *words[] = {"/bin/busybox", "sh", "/scenario", 0};
	char *environment[] = {"PATH=/bin", 0};
	MARK(OPEN_GATE);
	if (CALL(SYS_fork, 0, 0, 0) == 0) {
		CALL(SYS_execve, words[0], words, environment);
		CALL(SYS_exit_group, 127, 0, 0);
	}
	CALL(SYS_wait4, -1, 0, 0);
	MARK(CLOSE_GATE);
}

static void run(const char *scenario, int port, int receive_buffer)
{
	struct sockaddr_in host = address(10, 0, 2, 2, port);
	if (same(scenario, "tcp-receive"))
		all_sizes(connected(host, SOCK_STREAM, receive_buffer), &receiving, LAST_SHIFT);
	else if (same(scenario, "tcp-send"))
		all_sizes(connected(host, SOCK_STREAM, receive_buffer), &sending, LAST_SHIFT);
	else if (same(scenario, "udp"))
		all_sizes(connected(host, SOCK_DGRAM, receive_buffer), &asking, LAST_SHIFT - 2);
	else if (same(scenario, "unix"))
		local_pair();
	else if (same(scenario, "loopback"))
		loopback(receive_buffer);
	else
		script();
}

__attribute__((used)) static void begin(long *stack)
{
	if (stack[0] < 6)
		fail("which scenario?");
	// The last five: before them the kernel puts what it does not know of its command line.
	char **words = (char **)(stack + 1) + stack[0] - 5;
	prepare(number(words[4]));
	tell_symbols(number(words[2]));
	run(words[0], number(words[1]), number(words[3]));
	say("dwell: guest: done\n");
	power_off();
}

__attribute__((naked, noreturn)) void _start(void)
{
	__asm__("xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall begin");
}
