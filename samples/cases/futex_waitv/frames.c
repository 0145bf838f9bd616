/*
 * One of three events: the frame thread waits for any of them with futex_waitv. Input comes seldom,
 * audio never; the GPU is done 14 ms after each frame, and ends nearly all the waits.
 */
#include "sample.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define FRAMES 200

enum { INPUT, AUDIO, GPU_DONE, EVENTS };

static _Atomic uint32_t events[EVENTS], submitted;
static atomic_int stopped;

static void set_event(_Atomic uint32_t *event)
{
	atomic_fetch_add(event, 1);
	syscall(SYS_futex, event, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static NOINLINE void wait_for_any(const uint32_t *seen)
{
	struct futex_waitv wanted[EVENTS] = {0};

	for (int i = 0; i < EVENTS; i++)
		wanted[i] = (struct futex_waitv){seen[i], (uintptr_t)&events[i], FUTEX_32 | FUTEX_PRIVATE_FLAG, 0};
	syscall(SYS_futex_waitv, wanted, EVENTS, 0, NULL, 0);
}

static NOINLINE void render_frame(void)
{
	usleep(14000);
}

static void *gpu(void *argument)
{
	(void)argument;
	for (uint32_t done = 0; done < FRAMES; done++) {
		while (atomic_load(&submitted) == done)
			syscall(SYS_futex, &submitted, FUTEX_WAIT_PRIVATE, done, NULL, NULL, 0);
		render_frame();
		set_event(&events[GPU_DONE]);
	}
	return NULL;
}

static void *input(void *argument)
{
	(void)argument;
	while (!atomic_load(&stopped)) {
		usleep(500000);
		set_event(&events[INPUT]);
	}
	return NULL;
}

int main(void)
{
	pthread_t others[] = {start(gpu, NULL, "gpu"), start(input, NULL, "input")};
	uint32_t seen[EVENTS] = {0};
	uint64_t waited = 0, begun;

	pthread_setname_np(pthread_self(), "frame");
	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		set_event(&submitted);
		while (seen[GPU_DONE] == frame) {
			begun = now_ns();
			wait_for_any(seen);
			waited += now_ns() - begun;
			for (int i = 0; i < EVENTS; i++)
				seen[i] = atomic_load(&events[i]);
		}
	}
	atomic_store(&stopped, 1);
	truth("frame_wait_ns", waited);
	join_all(others, 2);
	return finish();
}
