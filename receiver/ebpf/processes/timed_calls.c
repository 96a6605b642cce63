// SPDX-License-Identifier: Apache-2.0
#include "timed_calls.h"

#include "prompt.h"

#include "base/base.h"

#include <pthread.h>

enum {
	/* Four threads make calls, each at most one at a time; the rest may be left behind. */
	THREADS_MOST = 36,
	LEFT_BEHIND_MOST = THREADS_MOST - 4,
	/* When so many are, whoever has not answered yet may be another of that kind: anybody can
	 * mount file systems that never do. */
	LEFT_BEHIND_MANY = 8,
	/* Of whom it is remembered that they have answered. */
	ANSWERED = 64,
};

/* For a thread, which says nothing about the call: only that the machine is busy. */
static const uint64_t longest_wait_ns = 2000000000;

struct timed_calls {
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t work, done;
	struct timed_call *first; /* not begun yet */
	struct timed_call *stuck; /* left behind */
	unsigned int threads, idle, stuck_count;
	unsigned int references; /* threads, and the owner's */
	struct timed_calls_counts counts;
	uint64_t answered[ANSWERED]; /* keys of calls that have returned, by their hash; or 0 */
	bool ending;
};

struct timed_calls *timed_calls_create(void)
{
	struct timed_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->references = 1;
	pthread_mutex_init(&calls->lock, NULL);
	pthread_cond_init(&calls->work, NULL);
	pthread_cond_init(&calls->done, NULL);
	return calls;
}

/* With the lock held, which is given back. */
static void unref(struct timed_calls *calls)
{
	bool last = !--calls->references;

	pthread_mutex_unlock(&calls->lock);
	if (!last)
		return;
	pthread_cond_destroy(&calls->work);
	pthread_cond_destroy(&calls->done);
	pthread_mutex_destroy(&calls->lock);
	free(calls);
}

void timed_calls_destroy(struct timed_calls *calls)
{
	if (!calls)
		return;
	pthread_mutex_lock(&calls->lock);
	calls->ending = true;
	pthread_cond_broadcast(&calls->work);
	while (calls->threads > calls->stuck_count)
		pthread_cond_wait(&calls->done, &calls->lock);
	unref(calls);
}

static bool list_remove(struct timed_call **list, const struct timed_call *call)
{
	for (; *list; list = &(*list)->next)
		if (*list == call) {
			*list = call->next;
			return true;
		}
	return false;
}

static uint64_t *answered_place(struct timed_calls *calls, uint64_t key)
{
	return &calls->answered[(key * 0x9e3779b97f4a7c15ull >> 32) % ANSWERED];
}

/* The thread is back from @call. With the lock held. */
static void end_call(struct timed_calls *calls, struct timed_call *call)
{
	call->done = true;
	if (!call->left_behind) {
		*answered_place(calls, call->key) = call->key;
		pthread_cond_broadcast(&calls->done);
		return;
	}
	list_remove(&calls->stuck, call);
	// What it has brought may have to be closed, which may wait as well.
	pthread_mutex_unlock(&calls->lock);
	call->destroy(call);
	pthread_mutex_lock(&calls->lock);
	calls->stuck_count--;
}

static void *make_calls(void *context)
{
	struct timed_calls *calls = context;
	struct timed_call *call;

	pthread_setname_np(pthread_self(), "files");
	prompt_thread();
	pthread_mutex_lock(&calls->lock);
	for (;;) {
		calls->idle++;
		while (!calls->first && !calls->ending)
			pthread_cond_wait(&calls->work, &calls->lock);
		calls->idle--;
		call = calls->first;
		if (!call)
			break;
		calls->first = call->next;
		call->begun_ns = clock_monotonic_ns();
		pthread_mutex_unlock(&calls->lock);
		call->run(call);
		pthread_mutex_lock(&calls->lock);
		end_call(calls, call);
	}
	calls->threads--;
	pthread_cond_broadcast(&calls->done);
	unref(calls);
	return NULL;
}

/* Have a thread for what is to be done. False: there is none. With the lock held. */
static bool have_thread(struct timed_calls *calls)
{
	unsigned int queued = 0;
	pthread_t thread;

	// Those that are idle may be on their way to an earlier call.
	for (const struct timed_call *call = calls->first; call; call = call->next)
		queued++;
	if (queued < calls->idle)
		return true;
	if (calls->threads >= THREADS_MOST || pthread_create(&thread, NULL, make_calls, calls))
		return calls->threads > calls->stuck_count;
	pthread_detach(thread);
	calls->threads++;
	calls->references++;
	return true;
}

static bool may_begin(struct timed_calls *calls, const struct timed_call *call)
{
	bool has_answered = *answered_place(calls, call->key) == call->key;

	for (const struct timed_call *stuck = calls->stuck; stuck; stuck = stuck->next)
		if (stuck->key == call->key)
			return false;
	return calls->stuck_count < (has_answered ? LEFT_BEHIND_MOST : LEFT_BEHIND_MANY) &&
	       have_thread(calls);
}

static void leave_behind(struct timed_calls *calls, struct timed_call *call)
{
	// No thread has come to it.
	if (list_remove(&calls->first, call)) {
		call->destroy(call);
		return;
	}
	call->left_behind = true;
	call->next = calls->stuck;
	calls->stuck = call;
	calls->stuck_count++;
	calls->counts.left_behind++;
}

/* With the lock held. True: it is done. */
static bool wait_for(struct timed_calls *calls, const struct timed_call *call, uint64_t limit_ns)
{
	uint64_t asked_ns = clock_monotonic_ns();

	while (!call->done) {
		uint64_t until_ns =
			call->begun_ns ? call->begun_ns + limit_ns : asked_ns + longest_wait_ns;
		struct timespec wake = clock_timespec(clock_monotonic_ns() + limit_ns);

		if (clock_monotonic_ns() >= until_ns)
			break;
		pthread_cond_clockwait(&calls->done, &calls->lock, CLOCK_MONOTONIC, &wake);
	}
	return call->done;
}

bool timed_calls_make(struct timed_calls *calls, struct timed_call *call, uint64_t limit_ns)
{
	struct timed_call **last = &calls->first;
	bool done;

	call->next = NULL;
	call->done = call->left_behind = false;
	call->begun_ns = 0;
	pthread_mutex_lock(&calls->lock);
	if (!may_begin(calls, call)) {
		calls->counts.refused++;
		pthread_mutex_unlock(&calls->lock);
		call->destroy(call);
		return false;
	}
	while (*last)
		last = &(*last)->next;
	*last = call;
	pthread_cond_signal(&calls->work);
	done = wait_for(calls, call, limit_ns);
	if (!done)
		leave_behind(calls, call);
	pthread_mutex_unlock(&calls->lock);
	return done;
}

struct timed_calls_counts timed_calls_counts(struct timed_calls *calls)
{
	struct timed_calls_counts counts;

	pthread_mutex_lock(&calls->lock);
	counts = calls->counts;
	pthread_mutex_unlock(&calls->lock);
	return counts;
}
