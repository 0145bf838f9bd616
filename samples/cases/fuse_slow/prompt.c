/*
 * A far file: a prompt reads its configuration before each line, one thread a near file and one a file
 * whose file system waits for its server. Both are in the same file system.
 */
#include "sample.h"
#include <sys/stat.h>

struct reading {
	const char *path;
	uint64_t until_ns, waited_ns;
};

static NOINLINE void read_configuration(struct reading *reading)
{
	uint64_t begun = now_ns();
	struct stat found;
	char text[64];
	int file;

	stat(reading->path, &found);
	file = open(reading->path, O_RDONLY);
	if (file < 0)
		die(reading->path);
	while (read(file, text, sizeof(text)) > 0)
		;
	close(file);
	reading->waited_ns += now_ns() - begun;
}

static void *prompt(void *argument)
{
	struct reading *reading = argument;

	while (now_ns() < reading->until_ns) {
		read_configuration(reading);
		usleep(50000);
	}
	return NULL;
}

int main(void)
{
	uint64_t end = now_ns() + 2500 * MS;
	struct reading near = {"mounted/near.conf", end, 0}, remote = {"mounted/remote.conf", end, 0};
	pthread_t threads[] = {start(prompt, &near, "prompt-near"), start(prompt, &remote, "prompt-remote")};

	join_all(threads, 2);
	truth("near_ns", near.waited_ns);
	truth("remote_ns", remote.waited_ns);
	return finish();
}
