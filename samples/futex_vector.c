/*
 * A thread waits for any of three futexes at once: the last one ends most waits, the second one two by a wake of two futexes,
 * the first one none. Its last wait times out.
 */
#include "sample.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define ROUNDS 30

static _Atomic uint32_t input_ready, audio_ready, frame_done, other_word, ended;

static NOINLINE long wait_for_any(const uint32_t *seen, uint64_t limit_ns)
{
	_Atomic uint32_t *futexes[] = {&input_ready, &audio_ready, &frame_done};
	struct futex_waitv wanted[3] = {0};
	uint64_t end = now_ns() + limit_ns;
	struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};

	for (int i = 0; i < 3; i++)
		wanted[i] = (struct futex_waitv){seen[i], (uintptr_t)futexes[i], FUTEX_32 | FUTEX_PRIVATE_FLAG, 0};
	return syscall(SYS_futex_waitv, wanted, 3, 0, limit_ns ? &until : NULL, CLOCK_MONOTONIC);
}

static void *producer(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		usleep(5000);
		atomic_fetch_add(&ended, 1);
		if (round % 15 == 7) {
			atomic_fetch_add(&audio_ready, 1);
			syscall(SYS_futex, &other_word, FUTEX_WAKE_OP_PRIVATE, 1, 1, &audio_ready,
				FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_GE, 0));
		} else {
			atomic_fetch_add(&frame_done, 1);
			syscall(SYS_futex, &frame_done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		}
	}
	return NULL;
}

int main(void)
{
	uint64_t frame_ns = 0, audio_ns = 0, limit_ns = 50 * MS, begun;
	uint32_t seen[3] = {0};
	pthread_t thread;

	pthread_create(&thread, NULL, producer, NULL);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		begun = now_ns();
		while (atomic_load(&ended) == round)
			if (wait_for_any(seen, 0) < 0 && errno == ENOSYS)
				die("futex_waitv");
		*(atomic_load(&audio_ready) == seen[1] ? &frame_ns : &audio_ns) += now_ns() - begun;
		seen[1] = atomic_load(&audio_ready);
		seen[2] = atomic_load(&frame_done);
	}
	pthread_join(thread, NULL);
	wait_for_any(seen, limit_ns);
	printf("truth frame_ns %llu\ntruth audio_ns %llu\n", (unsigned long long)frame_ns,
	       (unsigned long long)audio_ns);
	return 0;
}
