/* A program looks again and again whether a file's lock is free, and sleeps in between: a child has it, which sleeps. */
#include "sample.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#define HOLD  (700 * MS)
#define PAUSE (300 * MS)

static const char path[] = "/tmp/dwell_vain_lock";

static int open_lock(void)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		die(path);
	return fd;
}

static void hold(int told)
{
	if (flock(open_lock(), LOCK_EX) || write(told, "", 1) != 1)
		die("hold");
	usleep(HOLD / 1000);
	_exit(0);
}

NOINLINE static void poll_lock(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			die("flock");
		usleep(PAUSE / 1000);
	}
}

int main(void)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		die("pipe");
	if (!fork())
		hold(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die("read");
	poll_lock(open_lock());
	wait(NULL);
	unlink(path);
	return 0;
}
