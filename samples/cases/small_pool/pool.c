/*
 * A pool that is too small: 16 request threads hand their work to two pool workers and wait for the
 * answers. Each answer takes 20 ms of a back end; the workers are never without work, not even when they
 * begin: nobody is ever seen to give them any.
 */
#include "sample.h"

#define REQUESTS 16
#define WORKERS  2

struct request {
	pthread_cond_t done;
	int finished;
	struct request *next;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct request *head, **tail = &head;
static uint64_t end_ns;

static NOINLINE void call_backend(void)
{
	usleep(20000);
}

static struct request *take_request(void)
{
	struct request *taken;

	pthread_mutex_lock(&queue_lock);
	while (!head)
		pthread_cond_wait(&more, &queue_lock);
	taken = head;
	head = taken->next;
	if (!head)
		tail = &head;
	pthread_mutex_unlock(&queue_lock);
	return taken;
}

static void *pool_worker(void *argument)
{
	for (;;) {
		struct request *taken = take_request();

		call_backend();
		pthread_mutex_lock(&queue_lock);
		taken->finished = 1;
		pthread_cond_signal(&taken->done);
		pthread_mutex_unlock(&queue_lock);
	}
	return argument;
}

static NOINLINE void ask_pool(struct request *request)
{
	pthread_mutex_lock(&queue_lock);
	request->finished = 0;
	request->next = NULL;
	*tail = request;
	tail = &request->next;
	pthread_cond_signal(&more);
	while (!request->finished)
		pthread_cond_wait(&request->done, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
}

static void *serve(void *waited_ns)
{
	struct request request = {.done = PTHREAD_COND_INITIALIZER};
	uint64_t begun = now_ns();

	while (now_ns() < end_ns)
		ask_pool(&request);
	*(uint64_t *)waited_ns = now_ns() - begun;
	return NULL;
}

int main(void)
{
	pthread_t requests[REQUESTS], workers[WORKERS];
	uint64_t waited[REQUESTS], all = 0;
	int numbers[WORKERS];

	end_ns = now_ns() + 3000 * MS;
	start_all(requests, REQUESTS, serve, waited, sizeof(*waited), "request");
	usleep(10000);
	start_all(workers, WORKERS, pool_worker, numbers, sizeof(*numbers), "pool");
	join_all(requests, REQUESTS);
	for (int i = 0; i < REQUESTS; i++)
		all += waited[i];
	truth("answers_ns", all);
	return finish();
}
