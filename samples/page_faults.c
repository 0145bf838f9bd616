/*
 * Threads fault1, fault2, … that fault on fresh pages, each on PAGES more than the one before, and say how many faults, switches
 * and calls of write the kernel and they themselves counted until the end of their work.
 *   page_faults PAGES THREADS
 */
#include "sample.h"

#include <sys/mman.h>

#define MOST_THREADS 16
#define PAGE         4096
#define PAUSE_EACH   500 /* pages: so that a thread has many times on the CPU */

static size_t pages_a_thread;
static int null_file;

struct faulting {
	size_t pages;
	uint64_t minor_faults, switches, writes;
	int number;
};

static void touch(size_t pages)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	for (size_t page = 0; page < pages; page++) {
		memory[page * PAGE] = 1;
		if (page % PAUSE_EACH == PAUSE_EACH - 1)
			sleep_ns(MS / 10);
	}
}

static void *fault(void *argument)
{
	struct faulting *self = argument;
	struct rusage usage;

	touch(self->pages);
	for (self->writes = 0; self->writes < 10 * (uint64_t)self->number; self->writes++)
		if (write(null_file, "", 1) != 1)
			die("write");
	getrusage(RUSAGE_THREAD, &usage);
	self->minor_faults = (uint64_t)usage.ru_minflt;
	self->switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
	return NULL;
}

static void tell(const struct faulting *thread)
{
	char key[32];

	snprintf(key, sizeof(key), "fault%d_minor_faults", thread->number);
	truth(key, thread->minor_faults);
	snprintf(key, sizeof(key), "fault%d_switches", thread->number);
	truth(key, thread->switches);
	snprintf(key, sizeof(key), "fault%d_writes", thread->number);
	truth(key, thread->writes);
}

int main(int argc, char **argv)
{
	struct faulting threads[MOST_THREADS];
	pthread_t ids[MOST_THREADS];
	char name[16];
	int count;

	if (argc < 3 || (count = atoi(argv[2])) < 1 || count > MOST_THREADS) {
		fprintf(stderr, "usage: %s PAGES THREADS\n", argv[0]);
		return 2;
	}
	pages_a_thread = strtoull(argv[1], NULL, 10);
	null_file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < count; i++) {
		threads[i] = (struct faulting){.number = i + 1, .pages = pages_a_thread * (size_t)(i + 1)};
		snprintf(name, sizeof(name), "fault%d", i + 1);
		ids[i] = start(fault, &threads[i], name);
	}
	join_all(ids, count);
	for (int i = 0; i < count; i++)
		tell(&threads[i]);
	return finish();
}
