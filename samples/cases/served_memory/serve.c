/* Pages of memory that the program fetches itself: live migration of guests, garbage collectors and snapshots do so. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 100 };

static int served;
static char page[PAGE] __attribute__((aligned(PAGE)));

static void *serve_pages(void *unused)
{
	struct timespec fetch = {.tv_nsec = 20 * 1000 * 1000};
	struct uffd_msg message;

	while (read(served, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = {
			.dst = message.arg.pagefault.address & ~(PAGE - 1ull), .src = (unsigned long)page, .len = PAGE};

		nanosleep(&fetch, NULL);
		ioctl(served, UFFDIO_COPY, &copy);
	}
	return unused;
}

int main(void)
{
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(unsigned long)memory, PAGES * PAGE},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_api api = {.api = UFFD_API};
	pthread_t server;
	int sum = 0;

	served = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (served < 0 || ioctl(served, UFFDIO_API, &api) || ioctl(served, UFFDIO_REGISTER, &range))
		return 77; /* this kernel or these rights have none */
	pthread_create(&server, NULL, serve_pages, NULL);
	for (int i = 0; i < PAGES; i++)
		sum += memory[i * PAGE];
	printf("%d\n", sum);
	return 0;
}
