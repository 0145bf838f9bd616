/* Runs itself six times, one after another; each of these computes. */
#include "sample.h"

#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 6, CHILD_NS = 120000000 };

int main(int argc, char **argv)
{
	if (argc > 1) {
		burn_ns(CHILD_NS);
		return 0;
	}
	for (int child = 0; child < CHILDREN; child++) {
		pid_t pid = fork();
		if (pid == 0) {
			execl(argv[0], argv[0], "child", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
