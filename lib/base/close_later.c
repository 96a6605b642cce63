// SPDX-License-Identifier: Apache-2.0
#include "close_later.h"

#include "clock.h"
#include "vector.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* One does all, unless others are held up. */
enum { THREADS_MOST = 4 };

static const uint64_t patience_ns = 100000000; /* with a close, before another thread helps */
static const uint64_t linger_ns = 1000000000;  /* since those to close come in bursts */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over all below */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static VECTOR(int) waiting;
static unsigned int threads, idle;
static uint64_t begun_ns; /* when a thread came to the last one, or was told to */

/* Wait for something to close. False: it is time to end. With the lock held. */
static bool wait_for_more(void)
{
	struct timespec limit;
	int status = 0;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += (time_t)(linger_ns / 1000000000);
	idle++;
	while (!waiting.count && !status)
		status = pthread_cond_timedwait(&more, &lock, &limit);
	idle--;
	return waiting.count > 0;
}

static void *close_all(void *context)
{
	(void)context;
	pthread_setname_np(pthread_self(), "close");
	pthread_mutex_lock(&lock);
	while (wait_for_more()) {
		int fd = waiting.items[--waiting.count];

		begun_ns = clock_monotonic_ns();
		pthread_mutex_unlock(&lock);
		close(fd);
		pthread_mutex_lock(&lock);
	}
	threads--;
	if (!threads)
		VECTOR_DEINIT(&waiting);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Is there somebody who will come to what waits? With the lock held. */
static bool have_thread(void)
{
	bool held_up = clock_monotonic_ns() > begun_ns + patience_ns;
	pthread_t thread;

	if (idle || (threads && !held_up) || threads == THREADS_MOST)
		return true;
	if (pthread_create(&thread, NULL, close_all, NULL))
		return threads;
	pthread_detach(thread);
	threads++;
	begun_ns = clock_monotonic_ns();
	return true;
}

void close_later(int fd)
{
	bool taken;

	pthread_mutex_lock(&lock);
	taken = have_thread() && VECTOR_PUSH(&waiting, fd);
	if (taken)
		pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	// Without a thread or memory it may have to wait after all.
	if (!taken)
		close(fd);
}

void cleanup_close_later(const int *fd)
{
	if (*fd >= 0)
		close_later(*fd);
}
