// SPDX-License-Identifier: Apache-2.0
#include "close_later.h"

#include "clock.h"
#include "vector.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum {
	/* One closes all while another one stands by, which helps when the first is held up, and so
	 * on. */
	THREADS_MOST = 68,
	/* Of one payer. The machine's own files may lie on many file systems. */
	PAYER_MOST = 4,
	MACHINE_MOST = 32,
	/* A payer with so many files that wait to be closed should open no more. */
	WAITING_MOST = 256,
};

static const uint64_t patience_ns = 100000000; /* with a close, before another thread helps */
static const uint64_t linger_ns = 1000000000;  /* since those to close come in bursts */
static const uint64_t held_up_ns = 1000000000; /* no longer slow */
static const uint64_t hanging_ns = 5000000000; /* worth telling */

struct waiting {
	int fd;
	uint64_t payer;
};

struct closing {
	uint64_t payer, begun_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over all below */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static VECTOR(struct waiting) waiting;
static struct closing closing[THREADS_MOST]; /* begun_ns 0: a free place */
static unsigned int threads;
static unsigned int closing_count; /* of these; the others are idle */
static uint64_t begun_ns;          /* when the last one of those that are closing began */
static uint64_t refused;           /* calls of close_later_hangs() that returned true */

unsigned int close_later_most(uint64_t payer)
{
	return payer ? PAYER_MOST : MACHINE_MOST;
}

/* How many closes of @payer are under way that began before @before_ns. With the lock held. */
static unsigned int count_closing(uint64_t payer, uint64_t before_ns)
{
	unsigned int count = 0;

	for (size_t i = 0; closing_count && i < THREADS_MOST; i++)
		count += closing[i].begun_ns && closing[i].begun_ns < before_ns &&
			 closing[i].payer == payer;
	return count;
}

/* May another close of @payer begin? With the lock held. */
static bool may_begin(uint64_t payer)
{
	unsigned int machine = count_closing(0, UINT64_MAX);
	unsigned int own = payer ? count_closing(payer, UINT64_MAX) : machine;

	// However many there are who hang, the machine's own have their threads.
	return own < close_later_most(payer) &&
	       (!payer || closing_count - machine < THREADS_MOST - MACHINE_MOST);
}

/* The next to close: the last one whose payer may. NULL: none. With the lock held. */
static struct waiting *find_next(void)
{
	for (size_t i = waiting.count; i--;)
		if (may_begin(waiting.items[i].payer))
			return &waiting.items[i];
	return NULL;
}

/* When an idle thread has something to do: 0 = now, what waits; else then, to look again or to end.
 * With the lock held. */
static uint64_t next_ns(bool anything, uint64_t idle_since_ns)
{
	uint64_t help_ns = begun_ns + patience_ns;

	if (!anything)
		return idle_since_ns + linger_ns;
	return !closing_count || clock_monotonic_ns() >= help_ns ? 0 : help_ns;
}

/* Wait for something to close. NULL: it is time to end. With the lock held. */
static struct waiting *wait_for_more(void)
{
	uint64_t since_ns = clock_monotonic_ns(), until_ns;
	struct waiting *next;

	while ((next = find_next(), until_ns = next_ns(next, since_ns))) {
		struct timespec until = clock_timespec(until_ns);

		// What waits for closes of its payer is for the threads that make them.
		if (!next && clock_monotonic_ns() >= until_ns)
			return NULL;
		pthread_cond_clockwait(&more, &lock, CLOCK_MONOTONIC, &until);
	}
	return next;
}

static void *close_all(void *context);

/* Start one if all are closing. False: there is no thread at all. With the lock held. */
static bool have_idle_thread(void)
{
	pthread_t thread;

	if (threads > closing_count || threads == THREADS_MOST)
		return true;
	if (pthread_create(&thread, NULL, close_all, NULL))
		return threads;
	pthread_detach(thread);
	threads++;
	return true;
}

static struct closing *begin_closing(uint64_t payer)
{
	struct closing *place = closing;

	while (place->begun_ns)
		place++;
	begun_ns = clock_monotonic_ns();
	*place = (struct closing){ .payer = payer, .begun_ns = begun_ns };
	closing_count++;
	return place;
}

static void close_one(struct waiting *next)
{
	uint64_t before_ns = begun_ns;
	struct waiting taken = *next;
	struct closing *place;

	*next = waiting.items[--waiting.count];
	place = begin_closing(taken.payer);
	// This one may not come back.
	if (waiting.count && have_idle_thread())
		pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	close(taken.fd);
	pthread_mutex_lock(&lock);
	place->begun_ns = 0;
	closing_count--;
	begun_ns = before_ns;
}

static void *close_all(void *context)
{
	struct waiting *next;

	(void)context;
	pthread_setname_np(pthread_self(), "close");
	pthread_mutex_lock(&lock);
	while ((next = wait_for_more()))
		close_one(next);
	threads--;
	if (!threads)
		VECTOR_DEINIT(&waiting);
	pthread_mutex_unlock(&lock);
	return NULL;
}

void close_later(int fd, uint64_t payer)
{
	struct waiting one = { .fd = fd, .payer = payer };
	bool taken;

	pthread_mutex_lock(&lock);
	taken = have_idle_thread() && VECTOR_PUSH(&waiting, one);
	if (taken)
		pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	// Without a thread or memory it may have to wait after all.
	if (!taken)
		close(fd);
}

bool close_later_hangs(uint64_t payer)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t count = 0;
	bool hangs;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < waiting.count; i++)
		count += waiting.items[i].payer == payer;
	hangs = count >= WAITING_MOST ||
		count_closing(payer, now_ns - held_up_ns) >= close_later_most(payer);
	refused += hangs;
	pthread_mutex_unlock(&lock);
	return hangs;
}

struct close_later_counts close_later_counts(void)
{
	uint64_t before_ns = clock_monotonic_ns() - hanging_ns;
	struct close_later_counts counts = { 0 };

	pthread_mutex_lock(&lock);
	counts.refused = refused;
	for (size_t i = 0; closing_count && i < THREADS_MOST; i++)
		if (closing[i].begun_ns && closing[i].begun_ns < before_ns) {
			counts.hanging++;
			counts.payer = closing[i].payer;
		}
	pthread_mutex_unlock(&lock);
	return counts;
}
