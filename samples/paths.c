/*
 * Calls that wait before there is a file: a thread opens a FIFO, by a relative path, until somebody writes to it; another one
 * opens a file on which the main thread has a lease.
 */
#include "sample.h"
#include <signal.h>
#include <sys/stat.h>

#define HOLD (100 * MS)

static char leased[64];

NOINLINE static void open_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		die(path);
	close(fd);
}

static void *reader(void *unused)
{
	(void)unused;
	open_file("queue");
	return NULL;
}

static void *guest(void *unused)
{
	(void)unused;
	open_file(leased);
	return NULL;
}

int main(void)
{
	char folder[] = "/tmp/dwell_paths_XXXXXX";
	pthread_t threads[2];
	int fd, fifo;

	signal(SIGIO, SIG_IGN);
	if (!mkdtemp(folder) || chdir(folder) || mkfifo("queue", 0600))
		die(folder);
	snprintf(leased, sizeof(leased), "%s/leased", folder);
	fd = open("leased", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK))
		die("leased");
	pthread_create(&threads[0], NULL, reader, NULL);
	pthread_create(&threads[1], NULL, guest, NULL);
	usleep(HOLD / 1000);
	fifo = open("queue", O_WRONLY);
	fcntl(fd, F_SETLEASE, F_UNLCK);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	close(fifo);
	unlink("queue");
	unlink("leased");
	rmdir(folder);
	return 0;
}
