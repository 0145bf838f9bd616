/*
 * A program that its child stops for a tenth of a second.
 */
#include "sample.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STOP (100 * MS)

int main(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_NAME, "stopper");
		kill(getppid(), SIGSTOP);
		usleep(STOP / 1000);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}
