/*
 * A thread waits for a lock on a file that another one holds while it sleeps: flock, and a lock of the open file. Then it waits
 * for a lock that another process holds.
 */
#include "sample.h"
#include <stdbool.h>
#include <sys/file.h>
#include <sys/wait.h>

#define HOLD  (100 * MS)
#define FILES 3

enum { FLOCK, OPEN_FILE, PROCESS };

static const char *const paths[FILES] = {"/tmp/dwell_flock", "/tmp/dwell_open_file_lock", "/tmp/dwell_process_lock"};
static pthread_barrier_t held;

static int open_lock(int kind)
{
	int fd = open(paths[kind], O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		die(paths[kind]);
	return fd;
}

NOINLINE static void lock_file(int fd, int kind, bool lock)
{
	struct flock whole = {.l_type = lock ? F_WRLCK : F_UNLCK};

	if (kind == FLOCK ? flock(fd, lock ? LOCK_EX : LOCK_UN)
			  : fcntl(fd, kind == OPEN_FILE ? F_OFD_SETLKW : F_SETLKW, &whole))
		die("lock");
}

static void sleep_under(int kind, int told)
{
	int fd = open_lock(kind);

	lock_file(fd, kind, true);
	if (told < 0)
		pthread_barrier_wait(&held);
	else if (write(told, "", 1) != 1)
		die("write");
	usleep(HOLD / 1000);
	lock_file(fd, kind, false);
	close(fd);
}

static void *holder(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "lock holder");
	sleep_under(FLOCK, -1);
	sleep_under(OPEN_FILE, -1);
	return NULL;
}

NOINLINE static void take(int kind)
{
	int fd = open_lock(kind);

	lock_file(fd, kind, true);
	close(fd);
}

int main(void)
{
	int ready[2], child;
	pthread_t thread;
	char byte;

	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&thread, NULL, holder, NULL);
	for (int kind = FLOCK; kind <= OPEN_FILE; kind++) {
		pthread_barrier_wait(&held);
		take(kind);
	}
	pthread_join(thread, NULL);
	if (pipe(ready))
		die("pipe");
	child = fork();
	if (!child) {
		sleep_under(PROCESS, ready[1]);
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		die("read");
	take(PROCESS);
	waitpid(child, NULL, 0);
	for (int kind = 0; kind < FILES; kind++)
		unlink(paths[kind]);
	return 0;
}
