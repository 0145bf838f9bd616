/* A channel of commands over TCP. A command is a header and its arguments, the answer a header and control data, each sent
 * by itself. Small ones wait 40 ms on either side: the sender holds the second piece back until the first one is
 * acknowledged (Nagle), and the receiver, which waits for the second piece, acknowledges late. Big ones fill a segment and go
 * at once. Every send and receive is counted through ITT: small values meet the long waits.
 *
 *     tcp_commands [--fixed]                 client and server, which is its child
 *     tcp_commands [--fixed] --server PORT
 *     tcp_commands [--fixed] --client PORT
 *
 * --fixed sets TCP_NODELAY on both sides. */
#include "loopback.h"

#include "itt_stub.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define SMALL_COMMANDS 20
#define BIG_COMMANDS   60
#define SMALL_BYTES    8
#define BIG_BYTES      1460
/* A segment holds BIG_BYTES beside its timestamps. */
#define SEGMENT_BYTES (BIG_BYTES + 12)

struct header {
	uint32_t bytes;
	uint32_t last;
};

static int is_fixed;
static __itt_domain *domain;
static __itt_counter send_header, send_args, receive_header, receive_ctrl, in_flight;

static void announce(void)
{
	const char *name = "com.example.tcp_commands";

	domain = ITT_GET(domain_create, name);
	send_header = ITT_GET(counter_create_typed, "send_header", name, __itt_metadata_s32);
	send_args = ITT_GET(counter_create_typed, "send_args", name, __itt_metadata_s32);
	receive_header = ITT_GET(counter_create_typed, "receive_header", name, __itt_metadata_s32);
	receive_ctrl = ITT_GET(counter_create_typed, "receive_ctrl", name, __itt_metadata_s32);
	in_flight = ITT_GET(counter_create, "inc_dec_counter", name);
}

static void send_all(int to, const void *data, int bytes, __itt_counter counter)
{
	int sent_bytes = (int)send(to, data, bytes, 0);

	if (sent_bytes != bytes)
		die("send");
	ITT(counter_set_value, counter, &sent_bytes);
}

static NOINLINE void receive_all(int from, void *data, int bytes, struct meter *waiting, __itt_counter counter)
{
	int data_transferred = 0;

	meter_start(waiting);
	while (data_transferred < bytes) {
		int received = (int)recv(from, (char *)data + data_transferred, bytes - data_transferred, 0);
		if (received <= 0)
			die("recv");
		data_transferred += received;
	}
	meter_stop(waiting);
	ITT(counter_set_value, counter, &data_transferred);
}

static int tcp_socket(void)
{
	int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), segment = SEGMENT_BYTES;

	if (made < 0 || setsockopt(made, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment)) != 0)
		die("socket");
	setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &is_fixed, sizeof(is_fixed));
	return made;
}

static NOINLINE void run_command(int server, int bytes, int is_last, struct meter *waiting)
{
	static char data[BIG_BYTES];
	struct header header = {(uint32_t)bytes, (uint32_t)is_last};

	ITT(counter_inc, in_flight);
	send_all(server, &header, sizeof(header), send_header);
	send_all(server, data, bytes, send_args);
	receive_all(server, &header, sizeof(header), waiting, receive_header);
	receive_all(server, data, (int)header.bytes, waiting, receive_ctrl);
	ITT(counter_dec, in_flight);
}

static void run_client(struct sockaddr_in *where, struct meter *waiting)
{
	__itt_string_handle *small = ITT_GET(string_handle_create, "small command");
	__itt_string_handle *big = ITT_GET(string_handle_create, "big command");
	int server = tcp_socket(), commands = SMALL_COMMANDS + BIG_COMMANDS;

	if (connect(server, (struct sockaddr *)where, sizeof(*where)) != 0)
		die("connect");
	for (int i = 0; i < commands; i++) {
		int is_small = i % (commands / SMALL_COMMANDS) == 0;
		ITT_IN(task_begin, domain, __itt_null, __itt_null, is_small ? small : big);
		run_command(server, is_small ? SMALL_BYTES : BIG_BYTES, i == commands - 1, waiting);
		ITT_IN(task_end, domain);
		sleep_ns(2 * MS);
	}
	close(server);
}

static NOINLINE void serve(int listener, struct meter *waiting)
{
	static char data[BIG_BYTES];
	struct header header = {0, 0};
	int client = accept(listener, NULL, NULL);

	if (client < 0)
		die("accept");
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &is_fixed, sizeof(is_fixed));
	while (!header.last) {
		receive_all(client, &header, sizeof(header), waiting, receive_header);
		if (header.bytes > BIG_BYTES)
			die("header");
		receive_all(client, data, (int)header.bytes, waiting, receive_ctrl);
		send_all(client, &header, sizeof(header), send_header);
		send_all(client, data, (int)header.bytes, send_args);
	}
	close(client);
}

static int listen_at(struct sockaddr_in *where)
{
	socklen_t length = sizeof(*where);
	int listener = tcp_socket(), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)where, length) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)where, &length) != 0)
		die("listen");
	return listener;
}

int main(int argc, char **argv)
{
	struct meter *waiting =
		mmap(NULL, 2 * sizeof(*waiting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int mode = 1;

	if (waiting == MAP_FAILED)
		die("mmap");
	if (argc > 1 && strcmp(argv[1], "--fixed") == 0)
		is_fixed = mode++ == 1;
	announce();
	if (argc > mode + 1) {
		where.sin_port = htons((uint16_t)atoi(argv[mode + 1]));
		if (strcmp(argv[mode], "--server") == 0)
			serve(listen_at(&where), waiting);
		else
			run_client(&where, waiting);
	} else {
		int listener = listen_at(&where);
		pid_t server = fork();
		if (server == 0) {
			serve(listener, &waiting[1]);
			_exit(0);
		}
		uint64_t start = now_ns();
		run_client(&where, waiting);
		waitpid(server, NULL, 0);
		printf("%d commands in %.3f s\n", SMALL_COMMANDS + BIG_COMMANDS, (double)(now_ns() - start) / 1e9);
	}
	meter_add(&waiting[0], &waiting[1]);
	truth_meter("socket", waiting);
	return finish();
}
