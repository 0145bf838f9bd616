/* A log writer that makes every record durable before the next one. */
#include "sample.h"

#define RECORDS 20

static NOINLINE void flush_log(int file, struct meter *waiting)
{
	meter_start(waiting);
	if (fsync(file) != 0)
		die("fsync");
	meter_stop(waiting);
}

int main(void)
{
	static char record[256 * 1024];
	struct meter waiting = {0};
	const char *folder = getenv("TMPDIR");
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/journal-XXXXXX", folder ? folder : "/tmp");
	file = mkstemp(path);
	if (file < 0)
		die(path);
	for (int i = 0; i < RECORDS; i++) {
		memset(record, i, sizeof(record));
		if (write(file, record, sizeof(record)) != sizeof(record))
			die("write");
		flush_log(file, &waiting);
	}
	unlink(path);
	truth_meter("fsync", &waiting);
	return finish();
}
