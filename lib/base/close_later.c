// SPDX-License-Identifier: Apache-2.0
#include "close_later.h"

#include "clock.h"
#include "vector.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* One closes all while another one stands by, which helps when the first is held up, and so on. */
enum { THREADS_MOST = 4 };

static const uint64_t patience_ns = 100000000; /* with a close, before another thread helps */
static const uint64_t linger_ns = 1000000000;  /* since those to close come in bursts */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over all below */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static VECTOR(int) waiting;
static unsigned int threads;
static unsigned int closing; /* of these; the others are idle */
static uint64_t begun_ns;    /* when the last one of those that are closing began */

/* When an idle thread has something to do: 0 = now, what waits; else then, to look again or to end.
 * With the lock held. */
static uint64_t next_ns(uint64_t idle_since_ns)
{
	uint64_t held_up_ns = begun_ns + patience_ns;

	if (!waiting.count)
		return idle_since_ns + linger_ns;
	return !closing || clock_monotonic_ns() >= held_up_ns ? 0 : held_up_ns;
}

/* Wait for something to close. False: it is time to end. With the lock held. */
static bool wait_for_more(void)
{
	uint64_t since_ns = clock_monotonic_ns(), until_ns;

	while ((until_ns = next_ns(since_ns))) {
		struct timespec until = clock_timespec(until_ns);

		if (!waiting.count && clock_monotonic_ns() >= until_ns)
			return false;
		pthread_cond_clockwait(&more, &lock, CLOCK_MONOTONIC, &until);
	}
	return true;
}

static void *close_all(void *context);

/* Start one if all are closing. False: there is no thread at all. With the lock held. */
static bool have_idle_thread(void)
{
	pthread_t thread;

	if (threads > closing || threads == THREADS_MOST)
		return true;
	if (pthread_create(&thread, NULL, close_all, NULL))
		return threads;
	pthread_detach(thread);
	threads++;
	return true;
}

static void close_one(void)
{
	int fd = waiting.items[--waiting.count];
	uint64_t before_ns = begun_ns;

	closing++;
	begun_ns = clock_monotonic_ns();
	// This one may not come back.
	if (waiting.count && have_idle_thread())
		pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	close(fd);
	pthread_mutex_lock(&lock);
	closing--;
	begun_ns = before_ns;
}

static void *close_all(void *context)
{
	(void)context;
	pthread_setname_np(pthread_self(), "close");
	pthread_mutex_lock(&lock);
	while (wait_for_more())
		close_one();
	threads--;
	if (!threads)
		VECTOR_DEINIT(&waiting);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void close_later(int fd)
{
	bool taken;

	pthread_mutex_lock(&lock);
	taken = have_idle_thread() && VECTOR_PUSH(&waiting, fd);
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
