/* A buffer of 8 MiB is allocated, filled and freed for each piece of work: the kernel clears its pages each time. */
#include "sample.h"
#include <malloc.h>

#define BYTES  (8u << 20)
#define PIECES 120

static NOINLINE unsigned work_on_a_piece(unsigned piece)
{
	volatile unsigned char *buffer = malloc(BYTES);
	unsigned sum = 0;

	if (!buffer)
		die("malloc");
	for (size_t at = 0; at < BYTES; at += 4096)
		sum += buffer[at] = (unsigned char)(piece + at);
	free((void *)buffer);
	return sum;
}

int main(void)
{
	volatile unsigned sum = 0;

	mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* or glibc raises it at the first free */
	for (unsigned piece = 0; piece < PIECES; piece++)
		sum += work_on_a_piece(piece);
	return finish();
}
