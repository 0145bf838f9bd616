/*
 * Too little memory: random look-ups in a mapped index of 64 MB, in a control group of 32 MB. Each
 * second look-up reads the disk again.
 */
#include "sample.h"
#include <sys/mman.h>

#define SIZE (64 << 20)

static NOINLINE unsigned look_up(const volatile uint8_t *index, size_t key)
{
	return index[key];
}

int main(void)
{
	int file = open("index", O_RDONLY);
	uint8_t *index = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	uint64_t end, state = 88172645463325252ull, slow = 0;
	unsigned sum = 0;

	if (index == MAP_FAILED)
		die("index");
	/* Once all of it, as a check of the index would. */
	for (size_t key = 0; key < SIZE; key += 4096)
		sum += look_up(index, key);
	madvise(index, SIZE, MADV_RANDOM);
	end = now_ns() + 2500 * MS;
	for (uint64_t begun = now_ns(), ended; begun < end; begun = ended) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		sum += look_up(index, state % SIZE);
		ended = now_ns();
		slow += ended - begun > 20000 ? ended - begun : 0;
	}
	truth("slow_look_ups_ns", slow);
	truth("sum", sum);
	return finish();
}
