/*
 * Delays a task by one known cause at known times: delays CAUSE TASKS EVERY. Each task of `work` does the same work; every
 * EVERYth one is delayed besides, for about 300 microseconds, and says so in its metadata (`delayed` = 1). Causes: none,
 * preemption, fault, mprotect, signal, timers, migration, lock, stop, throttling, packets, reclaim, idle, block.
 */
#define _GNU_SOURCE
#include "itt_stub.h"
#include "sample.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#define DELAY_NS     300000ull
#define WORK_NS      100000ull
#define PAGE         4096
#define FRESH_PAGES  400
#define TIMERS       3000
#define MAPPED_BYTES (256ul << 20)
#define PACKETS      5
#define RECEIVERS    40
#define FILTER_STEPS 1000
#define FILE_BYTES   (64ul << 20)
#define DISK_BYTES   (8ul << 20)
#define MOVES        20
#define MOVE_NS      5000
#define IDLE_NS      1000000ull

static __itt_domain *domain;
static __itt_string_handle *task, *delayed;
static uint64_t steps;
static int main_tid;
static uint64_t began_ns;    /* the delayed task */
static int is_missed;        /* the delay fell outside of it */
static int cpus[2] = {0, 0}; /* that the program may use: the main thread's, and another one if there is one */

/* What another thread does when it is told to. */
static int told = -1;
static void (*helper_work)(void);
static volatile int helper_began;
static volatile uint64_t helped_ns; /* when it was done, 0 = not yet */

static void burn(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		__asm__ volatile("" ::"r"(i));
}

static void spin_ns(uint64_t ns)
{
	uint64_t until = now_ns() + ns;

	while (now_ns() < until)
		;
}

static void calibrate(void)
{
	uint64_t best = ~0ull;

	for (int round = 0; round < 20; round++) {
		uint64_t begin = now_ns();

		burn(1000000);
		if (now_ns() - begin < best)
			best = now_ns() - begin;
	}
	steps = 1000000 * WORK_NS / best;
}

static void pin(int tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		die("sched_setaffinity");
}

static void find_cpus(void)
{
	cpu_set_t set;
	int found = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
		if (CPU_ISSET(cpu, &set))
			cpus[found++] = cpu;
	}
	if (found == 1)
		cpus[1] = cpus[0];
}

static void *help(void *unused)
{
	char byte;

	(void)unused;
	while (read(told, &byte, 1) == 1)
		helper_work();
	return NULL;
}

static int tell;

static void start_helper(void (*work)(void), int cpu, int priority)
{
	struct sched_param param = {.sched_priority = priority};
	cpu_set_t set;
	pthread_attr_t attributes;
	pthread_t thread;
	int ends[2];

	if (pipe(ends))
		die("pipe");
	told = ends[0];
	tell = ends[1];
	helper_work = work;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
	if (priority) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
		pthread_attr_setschedparam(&attributes, &param);
	}
	errno = pthread_create(&thread, &attributes, help, NULL);
	if (errno)
		die("pthread_create");
}

static void tell_helper(void)
{
	if (write(tell, "x", 1) != 1)
		die("write");
}

/* Until the helper is at it. */
static void start_help(void)
{
	helper_began = 0;
	helped_ns = 0;
	tell_helper();
	while (!helper_began)
		;
}

/* A thread of higher priority on the same CPU. */

static void burn_delay(void)
{
	spin_ns(DELAY_NS);
}

static void begin_preemption(void)
{
	start_helper(burn_delay, cpus[0], 10);
}

/* Fresh pages. */

static char *fresh;

static void fault(void)
{
	if (fresh)
		munmap(fresh, FRESH_PAGES * PAGE);
	fresh = mmap(NULL, FRESH_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		die("mmap");
	madvise(fresh, FRESH_PAGES * PAGE, MADV_NOHUGEPAGE);
	for (int page = 0; page < FRESH_PAGES; page++)
		fresh[page * PAGE] = 1;
}

/* A call that goes over much memory. */

static char *mapped;

static void begin_mprotect(void)
{
	mapped = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		die("mmap");
	madvise(mapped, MAPPED_BYTES, MADV_NOHUGEPAGE);
	memset(mapped, 1, MAPPED_BYTES);
}

static void protect(void)
{
	static int round;

	if (mprotect(mapped, MAPPED_BYTES, round++ % 2 ? PROT_READ | PROT_WRITE : PROT_READ))
		die("mprotect");
}

/* A signal with a slow handler. */

static void on_signal(int number)
{
	(void)number;
	spin_ns(DELAY_NS);
}

static void begin_signal(void)
{
	signal(SIGUSR1, on_signal);
}

static void send_signal(void)
{
	raise(SIGUSR1);
}

/* Timers that all run out at once. */

static int timers[TIMERS];

static void begin_timers(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int timer = 0; timer < TIMERS; timer++) {
		timers[timer] = timerfd_create(CLOCK_MONOTONIC, 0);
		if (timers[timer] < 0)
			die("timerfd_create");
	}
}

static uint64_t timers_end;

/* Before the task, so that only their end falls into it. On a busy machine that takes more than one attempt. */
static void arm_timers(void)
{
	do {
		struct itimerspec when = {};

		timers_end = now_ns() + TIMERS * 1500ull;
		when.it_value.tv_sec = (time_t)(timers_end / 1000000000);
		when.it_value.tv_nsec = (long)(timers_end % 1000000000);
		for (int timer = 0; timer < TIMERS; timer++)
			timerfd_settime(timers[timer], TFD_TIMER_ABSTIME, &when, NULL);
		while (now_ns() < timers_end - WORK_NS / 2)
			;
	} while (now_ns() > timers_end - WORK_NS / 4);
}

static void await_timers(void)
{
	if (timers_end < began_ns)
		is_missed = 1;
	while (now_ns() < timers_end)
		;
}

/* Another CPU, and back, again and again while the task lasts: one move takes hardly more than tasks differ by. */

static volatile int is_in_task;

static void migrate(void)
{
	const struct timespec pause = {.tv_nsec = MOVE_NS};
	static int round;

	for (int move = 0; move < MOVES && is_in_task; move++) {
		pin(main_tid, cpus[++round % 2]);
		nanosleep(&pause, NULL);
	}
}

static void begin_migration(void)
{
	start_helper(migrate, cpus[1], 10);
}

/* A lock that another thread holds. */

static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_wanted;

static void hold(void)
{
	pthread_mutex_lock(&slow_lock);
	is_wanted = 0;
	helper_began = 1;
	while (!is_wanted)
		;
	spin_ns(DELAY_NS);
	pthread_mutex_unlock(&slow_lock);
}

static void begin_lock(void)
{
	start_helper(hold, cpus[1], 10);
}

static void take_lock(void)
{
	is_wanted = 1;
	pthread_mutex_lock(&slow_lock);
	pthread_mutex_unlock(&slow_lock);
}

/* A stop: a child stops the whole program and lets it go on. */

static int ask_child;
static volatile uint64_t *stops; /* how many are over */

static void begin_stop(void)
{
	struct timespec pause = {.tv_nsec = 10 * DELAY_NS};
	pid_t parent = getpid();
	int ends[2];
	char byte;

	stops = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stops == MAP_FAILED || pipe(ends))
		die("pipe");
	if (fork() == 0) {
		const struct sched_param first = {.sched_priority = 10};

		sched_setscheduler(0, SCHED_FIFO, &first); /* as far as it may */
		close(ends[1]);
		while (read(ends[0], &byte, 1) == 1) {
			kill(parent, SIGSTOP);
			nanosleep(&pause, NULL);
			*stops += 1;
			kill(parent, SIGCONT);
		}
		_exit(0);
	}
	close(ends[0]);
	ask_child = ends[1];
}

static void stop(void)
{
	uint64_t before = *stops;

	if (write(ask_child, "x", 1) != 1)
		die("write");
	while (*stops == before)
		;
}

/* Packets that another CPU sends: the soft interrupt that takes them comes to this one (receive packet steering). Each goes
 * to several sockets, whose filters take their time. */

static int sender;
static struct sockaddr_in group = {.sin_family = AF_INET};

static void filter_slowly(int receiver)
{
	static struct sock_filter steps[FILTER_STEPS];
	struct sock_fprog filter = {.len = FILTER_STEPS, .filter = steps};

	for (int step = 0; step < FILTER_STEPS; step++)
		steps[step] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0);
	steps[0] = (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 3);
	steps[FILTER_STEPS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	if (setsockopt(receiver, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		die("SO_ATTACH_FILTER");
}

static void join_group(void)
{
	struct ip_mreqn join = {.imr_multiaddr = group.sin_addr, .imr_address.s_addr = htonl(INADDR_LOOPBACK)};
	int receiver = socket(AF_INET, SOCK_DGRAM, 0), one = 1;

	setsockopt(receiver, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(receiver, (struct sockaddr *)&group, sizeof(group)) ||
	    setsockopt(receiver, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)))
		die("joining a group");
	filter_slowly(receiver);
}

static void begin_packets(void)
{
	const char *path = "/sys/class/net/lo/queues/rx-0/rps_cpus";
	struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
	int steering = open(path, O_WRONLY);
	char mask[16];

	snprintf(mask, sizeof(mask), "%x", 1u << cpus[0]);
	if (steering < 0 || write(steering, mask, strlen(mask)) < 0)
		die(path);
	group.sin_addr.s_addr = htonl(0xefff0101); /* 239.255.1.1 */
	group.sin_port = htons(5001);
	for (int receiver = 0; receiver < RECEIVERS; receiver++)
		join_group();
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback)))
		die("IP_MULTICAST_IF");
}

static void flood(void)
{
	char packet[64] = {0};

	helper_began = 1;
	for (int i = 0; i < PACKETS; i++) {
		sendto(sender, packet, sizeof(packet), 0, (struct sockaddr *)&group, sizeof(group));
		spin_ns(DELAY_NS / PACKETS);
	}
	helped_ns = now_ns();
}

static void await_flood(void)
{
	while (!helped_ns)
		;
	if (helped_ns < began_ns)
		is_missed = 1;
}

static void begin_flood(void)
{
	begin_packets();
	start_helper(flood, cpus[1], 10);
}

/* A memory limit: what is read pushes out what was read. The program runs in a cgroup with less than the file takes. */

static char *file;

static void begin_reclaim(void)
{
	char path[] = "/var/tmp/dwell-delays-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || ftruncate(fd, FILE_BYTES))
		die(path);
	unlink(path);
	file = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED || madvise(file, FILE_BYTES, MADV_RANDOM))
		die("mmap");
}

static void reclaim(void)
{
	static size_t at;
	static volatile char sum;

	for (int page = 0; page < FRESH_PAGES; page++, at = (at + PAGE) % FILE_BYTES)
		sum += file[at];
}

/* A wake-up of an idle CPU: in all other tasks a thread of the lowest priority keeps it from being idle. */

static int wake; /* the end that wakes the task */
static int woken;
static volatile int may_idle;

static void *keep_busy(void *unused)
{
	const struct timespec pause = {.tv_nsec = (long)IDLE_NS / 4};
	const struct sched_param last = {.sched_priority = 0};

	(void)unused;
	if (sched_setscheduler(0, SCHED_IDLE, &last))
		die("SCHED_IDLE");
	for (;;) {
		if (may_idle)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void wake_task(void)
{
	spin_ns(IDLE_NS);
	if (write(wake, "x", 1) != 1)
		die("write");
}

static void begin_idle(void)
{
	pthread_t thread;
	int ends[2];

	if (pipe(ends))
		die("pipe");
	woken = ends[0];
	wake = ends[1];
	start_helper(wake_task, cpus[1], 10);
	errno = pthread_create(&thread, NULL, keep_busy, NULL);
	if (errno)
		die("pthread_create");
}

static void await_wake(void)
{
	char byte;

	tell_helper();
	if (read(woken, &byte, 1) != 1)
		die("read");
}

static void await_wake_idle(void)
{
	may_idle = 1;
	await_wake();
	may_idle = 0;
}

/* A read from a disk. */

static int on_disk;

static void begin_block(void)
{
	static _Alignas(PAGE) char block[1 << 20];
	char path[] = "/var/tmp/dwell-delays-XXXXXX";

	on_disk = mkostemp(path, O_DIRECT);
	if (on_disk < 0)
		die(path);
	unlink(path);
	for (size_t bytes = 0; bytes < DISK_BYTES; bytes += sizeof(block)) {
		if (write(on_disk, block, sizeof(block)) != sizeof(block))
			die(path);
	}
	fsync(on_disk);
}

static void read_block(void)
{
	static _Alignas(PAGE) char page[PAGE];
	static off_t at;

	at = (at + 331 * PAGE) % (off_t)DISK_BYTES;
	if (pread(on_disk, page, PAGE, at) != PAGE)
		die("pread");
}

static const struct {
	const char *name;
	void (*begin)(void);
	void (*prepare)(void); /* before a delayed task */
	void (*delay)(void);   /* within it */
	void (*usual)(void);   /* within the others */
} causes[] = {
	{.name = "none"},
	{.name = "throttling"},
	{"preemption", begin_preemption, NULL, tell_helper, NULL},
	{"fault", NULL, NULL, fault, NULL},
	{"mprotect", begin_mprotect, NULL, protect, NULL},
	{"signal", begin_signal, NULL, send_signal, NULL},
	{"timers", begin_timers, arm_timers, await_timers, NULL},
	{"migration", begin_migration, NULL, tell_helper, NULL},
	{"lock", begin_lock, start_help, take_lock, NULL},
	{"stop", begin_stop, NULL, stop, NULL},
	{"packets", begin_flood, start_help, await_flood, NULL},
	{"reclaim", begin_reclaim, NULL, reclaim, NULL},
	{"idle", begin_idle, NULL, await_wake_idle, await_wake},
	{"block", begin_block, NULL, read_block, NULL},
};

static void say_delayed(void)
{
	uint64_t one = 1;

	ITT_IN(metadata_add, domain, __itt_null, delayed, __itt_metadata_u64, 1, &one);
}

static void run(size_t cause, long tasks, long every)
{
	for (long i = 1; i <= tasks; i++) {
		int is_delayed = i % every == 0;
		void (*within)(void) = is_delayed ? causes[cause].delay : causes[cause].usual;

		if (is_delayed && causes[cause].prepare)
			causes[cause].prepare();
		is_missed = 0;
		ITT_IN(task_begin, domain, __itt_null, __itt_null, task);
		began_ns = now_ns();
		is_in_task = 1;
		burn(steps / 2);
		if (within)
			within();
		burn(steps - steps / 2);
		is_in_task = 0;
		if (is_delayed && !is_missed)
			say_delayed();
		ITT_IN(task_end, domain);
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "none";
	long tasks = argc > 2 ? atol(argv[2]) : 1000, every = argc > 3 ? atol(argv[3]) : 25;
	uint64_t begin_ns;
	size_t cause = 0;

	while (cause < sizeof(causes) / sizeof(causes[0]) && strcmp(causes[cause].name, name))
		cause++;
	if (cause == sizeof(causes) / sizeof(causes[0]) || tasks < 1 || every < 1) {
		fprintf(stderr, "usage: delays CAUSE TASKS EVERY\n");
		return 2;
	}
	domain = ITT_GET(domain_create, "delays");
	task = ITT_GET(string_handle_create, "work");
	delayed = ITT_GET(string_handle_create, "delayed");
	main_tid = (int)syscall(SYS_gettid);
	find_cpus();
	pin(0, cpus[0]);
	calibrate();
	if (causes[cause].begin)
		causes[cause].begin();
	begin_ns = now_ns();
	run(cause, tasks, every);
	printf("truth tasks_ns %llu\n", (unsigned long long)(now_ns() - begin_ns));
	return 0;
}
