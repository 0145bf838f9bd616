/*
 * A quota of reads: a program reads one file past the page cache, in a control group that may read
 * 3 MB each second. The disk itself is much faster.
 */
#include "sample.h"

#define BLOCK  65536
#define BLOCKS 120

static NOINLINE void read_block(int file, void *block, int number)
{
	if (pread(file, block, BLOCK, (off_t)number * BLOCK) != BLOCK)
		die("pread");
}

int main(void)
{
	int file = open("data", O_RDONLY | O_DIRECT);
	void *block = aligned_alloc(4096, BLOCK);
	uint64_t begun = now_ns();

	if (file < 0)
		die("data");
	for (int i = 0; i < BLOCKS; i++)
		read_block(file, block, i);
	truth("reading_ns", now_ns() - begun);
	return finish();
}
