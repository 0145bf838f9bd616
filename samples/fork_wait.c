/* A parent runs three children by fork and exec, one after the other, and waits for each. */
#include "sample.h"

#include <sys/wait.h>

#define CHILDREN 3

static NOINLINE void wait_for_child(pid_t child, struct meter *waiting)
{
	int status;

	meter_start(waiting);
	if (waitpid(child, &status, 0) != child)
		die("waitpid");
	meter_stop(waiting);
}

static pid_t run_child(char *program)
{
	pid_t child = fork();

	if (child == 0) {
		execl(program, program, "child", (char *)NULL);
		_exit(127);
	}
	return child;
}

int main(int argc, char **argv)
{
	struct meter waiting = {0};

	if (argc > 1) {
		burn_ns(10 * MS);
		sleep_ns(60 * MS);
		return 0;
	}
	for (int i = 0; i < CHILDREN; i++)
		wait_for_child(run_child(argv[0]), &waiting);
	truth_meter("child", &waiting);
	return finish();
}
