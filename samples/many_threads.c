/* 10,000 threads that each live for a moment: none may be missing in the report. */
#include "sample.h"

#define THREADS 10000
#define WAVE    50

static void *moment(void *argument)
{
	return argument;
}

int main(void)
{
	pthread_attr_t small;
	pthread_t wave[WAVE];

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (int i = 0; i < THREADS; i += WAVE) {
		for (int j = 0; j < WAVE; j++)
			if (pthread_create(&wave[j], &small, moment, NULL) != 0)
				die("pthread_create");
		join_all(wave, WAVE);
	}
	return finish();
}
