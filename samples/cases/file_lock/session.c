/*
 * One session at a time: eight processes take a file's lock by turns and sleep for 20 ms under it.
 */
#include "sample.h"
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PROCESSES 8

static NOINLINE void lock_session(int file, uint64_t *waited_ns)
{
	uint64_t begun = now_ns();

	flock(file, LOCK_EX);
	*waited_ns += now_ns() - begun;
}

static NOINLINE void use_session(void)
{
	usleep(20000);
}

static void serve(uint64_t end, uint64_t *waited_ns)
{
	int file = open("session.lock", O_RDWR | O_CREAT, 0600);

	while (now_ns() < end) {
		lock_session(file, waited_ns);
		use_session();
		flock(file, LOCK_UN);
	}
}

int main(void)
{
	uint64_t *waited = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t end = now_ns() + 3000 * MS, all = 0;

	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0) {
			serve(end, &waited[i]);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < PROCESSES; i++)
		all += waited[i];
	truth("lock_ns", all);
	return finish();
}
