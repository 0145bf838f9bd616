/*
 * A program that never settles: for so many seconds it makes, uses and drops threads, processes, mutexes, files, pipes and
 * connections, while a queue with tasks and a counter goes on beside them. A collector has to forget all that it dropped.
 *   mixed_load SECONDS
 */
#include "loopback.h"

#include "itt_stub.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ITEM_PAUSE  (5 * MS)
#define CHURN_PAUSE (50 * MS)
#define SLOW_EVERY  500 /* items */
#define SLOW        (40 * MS)

static uint64_t end_ns;
static __itt_domain *domain;
static __itt_string_handle *item_task, *slow_task;
static __itt_counter length_counter;

static int is_over(void)
{
	return now_ns() >= end_ns;
}

/* The queue that lasts. */
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_ready = PTHREAD_COND_INITIALIZER;
static uint64_t queue_length;

static void *consume(void *unused)
{
	for (uint64_t item = 0; !is_over(); item++) {
		int is_slow = item % SLOW_EVERY == SLOW_EVERY - 1;

		pthread_mutex_lock(&queue_lock);
		while (queue_length == 0)
			pthread_cond_wait(&queue_ready, &queue_lock);
		uint64_t length = --queue_length;
		pthread_mutex_unlock(&queue_lock);
		ITT_IN(task_begin, domain, __itt_null, __itt_null, is_slow ? slow_task : item_task);
		ITT(counter_set_value, length_counter, &length);
		if (is_slow)
			sleep_ns(SLOW);
		else
			burn_ns(MS / 10);
		ITT_IN(task_end, domain);
	}
	return unused;
}

static void *produce(void *unused)
{
	/* Goes on until the consumers have ended. */
	for (;;) {
		sleep_ns(ITEM_PAUSE);
		pthread_mutex_lock(&queue_lock);
		queue_length++;
		pthread_cond_signal(&queue_ready);
		pthread_mutex_unlock(&queue_lock);
	}
	return unused;
}

/* A thread waits on a mutex, a pipe and a file, all of them new. */
struct fresh {
	pthread_mutex_t lock;
	int pipe[2];
};

static void *use_fresh(void *argument)
{
	struct fresh *fresh = argument;
	char byte;

	if (read(fresh->pipe[0], &byte, 1) != 1)
		die("read");
	pthread_mutex_lock(&fresh->lock);
	pthread_mutex_unlock(&fresh->lock);
	return NULL;
}

static void write_file(uint64_t round)
{
	char name[64];
	int file;

	snprintf(name, sizeof(name), "mixed_load.%d.%llu", getpid(), (unsigned long long)round);
	file = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (file < 0)
		die(name);
	if (write(file, name, sizeof(name)) != sizeof(name))
		die("write");
	if (round % 20 == 0)
		fsync(file);
	close(file);
	unlink(name);
}

static void *drop_objects(void *unused)
{
	for (uint64_t round = 0; !is_over(); round++) {
		struct fresh *fresh = malloc(sizeof(*fresh) + round % 4096);
		pthread_t thread;

		pthread_mutex_init(&fresh->lock, NULL);
		if (pipe2(fresh->pipe, O_CLOEXEC) != 0)
			die("pipe2");
		thread = start(use_fresh, fresh, "fresh");
		pthread_mutex_lock(&fresh->lock);
		if (write(fresh->pipe[1], "", 1) != 1)
			die("write");
		sleep_ns(MS);
		pthread_mutex_unlock(&fresh->lock);
		pthread_join(thread, NULL);
		close(fresh->pipe[0]);
		close(fresh->pipe[1]);
		free(fresh);
		write_file(round);
		sleep_ns(CHURN_PAUSE);
	}
	return unused;
}

/* Each question comes on a connection of its own. */
static void *answer(void *argument)
{
	int listener = *(int *)argument, from;
	char byte;

	while ((from = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		while (recv(from, &byte, 1, 0) == 1 && send(from, &byte, 1, 0) == 1)
			;
		close(from);
	}
	return NULL;
}

static void *ask_anew(void *where)
{
	struct meter waiting = {0};

	while (!is_over()) {
		int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(server, where, sizeof(struct sockaddr_in)) != 0)
			die("connect");
		ask(server, &waiting);
		close(server);
		sleep_ns(CHURN_PAUSE);
	}
	return NULL;
}

/* A child waits a moment and ends; every eighth runs another program. */
static void child(uint64_t round)
{
	if (round % 8 == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	sleep_ns(2 * MS);
	_exit(0);
}

static void *make_children(void *unused)
{
	for (uint64_t round = 0; !is_over(); round++) {
		pid_t pid = fork();

		if (pid == 0)
			child(round);
		if (pid < 0)
			die("fork");
		waitpid(pid, NULL, 0);
		sleep_ns(CHURN_PAUSE);
	}
	return unused;
}

/* An interpreter that makes functions, waits in each once and drops it. */
static const char *const SCRIPT = "import time\n"
				  "number = 0\n"
				  "while True:\n"
				  "    name = f'made_{number}'\n"
				  "    made = {'time': time}\n"
				  "    exec(f'def {name}():\\n    time.sleep(0.001)', made)\n"
				  "    made[name]()\n"
				  "    number += 1\n"
				  "    time.sleep(0.1)\n";

static pid_t start_python(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("python3", "python3", "-c", SCRIPT, (char *)NULL);
	_exit(0); /* not installed */
}

int main(int argc, char **argv)
{
	thread_main *const parts[] = {consume, consume, drop_objects, make_children};
	enum { PARTS = sizeof(parts) / sizeof(*parts) };
	pthread_t threads[PARTS], asking;
	struct sockaddr_in where;
	int listener = listen_on_loopback(&where);
	pid_t python;

	if (argc < 2) {
		fprintf(stderr, "usage: %s SECONDS\n", argv[0]);
		return 2;
	}
	end_ns = now_ns() + strtoull(argv[1], NULL, 10) * 1000 * MS;
	domain = ITT_GET(domain_create, "mixed_load");
	item_task = ITT_GET(string_handle_create, "item");
	slow_task = ITT_GET(string_handle_create, "slow");
	length_counter = ITT_GET(counter_create, "queue length", "mixed_load");
	python = start_python();
	start(produce, NULL, "produce");
	start(answer, &listener, "answer");
	for (int i = 0; i < PARTS; i++)
		threads[i] = start(parts[i], NULL, NULL);
	asking = start(ask_anew, &where, "ask");
	pthread_join(asking, NULL);
	join_all(threads, PARTS);
	kill(python, SIGKILL);
	waitpid(python, NULL, 0);
	return 0;
}
