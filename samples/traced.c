/* A program that makes its parent its tracer, as programs do that hide from debuggers: each signal then stops it until the
 * parent lets it go. It ends with status 7 when all its signals came and its second image ran to the end. */
#include "sample.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static volatile sig_atomic_t came;

static void note(int signal)
{
	(void)signal;
	came = came + 1;
}

static void be_traced(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		die("PTRACE_TRACEME");
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc > 1) {
		sleep_ns(300 * MS);
		printf("truth second_image 1\n");
		return finish() == 0 ? 7 : 1;
	}
	signal(SIGUSR1, note);
	be_traced();
	child = fork(); /* its end is a signal */
	if (child == 0)
		_exit(0);
	if (waitpid(child, NULL, 0) != child)
		die("waitpid");
	be_traced();
	raise(SIGUSR1);
	printf("truth signals %d\n", (int)came);
	fflush(stdout);
	be_traced();
	execl(argv[0], argv[0], "again", (char *)NULL);
	die("execl");
}
