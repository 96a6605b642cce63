// SPDX-License-Identifier: Apache-2.0
#include "timed_calls.h"

#include "prompt.h"

#include "base/base.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	/* Four threads make calls, each at most one at a time; the rest may be left behind. */
	LEFT_BEHIND_MOST = 64,
	THREADS_MOST = LEFT_BEHIND_MOST + 4,
	/* Of one owner; of all containers of one user; of what nobody has alone, and of root
	 * outside of containers, who may have mounted many file systems of one server. */
	OWNER_MOST = 4,
	USER_MOST = 16,
	TRUSTED_MOST = 32,
	STACK_BYTES = 256 << 10,
	/* Whose calls have lately been waited for. */
	WAITED = 64,
	STAT_BYTES = 512,
};

/* For a thread, or for a CPU, which says nothing about the call: only that the machine is busy. */
static const uint64_t longest_wait_ns = 2000000000;

/* Most calls take less than patience_ns. What one owner's take beyond it is added up; after
 * waited_most_ns in a period his calls are waited for no longer than that. */
static const uint64_t patience_ns = 10000000, waited_most_ns = 500000000, period_ns = 10000000000;

/* Disks, and servers that start anew, take some seconds now and then. */
static const uint64_t hangs_ns = 5000000000;

struct waited {
	struct owner owner;
	uint64_t since_ns, ns;
};

struct timed_calls {
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t work, done;
	struct timed_call *first; /* not begun yet */
	struct timed_call *stuck; /* left behind */
	unsigned int threads, idle, stuck_count;
	unsigned int references; /* threads, and the owner's */
	struct timed_calls_counts counts;
	struct waited waited[WAITED]; /* by a hash of the owner; the last one has the place */
	bool ending;
};

void timed_call_free(struct timed_call *call)
{
	free(call);
}

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

/* The thread is back from @call. With the lock held. */
static void end_call(struct timed_calls *calls, struct timed_call *call)
{
	struct timed_call closing = { .key = call->key, .begun_ns = call->begun_ns };

	call->done = true;
	if (!call->left_behind) {
		// Who waits would wake up only to wait for the lock.
		pthread_mutex_unlock(&calls->lock);
		pthread_cond_broadcast(&calls->done);
		pthread_mutex_lock(&calls->lock);
		return;
	}
	// What it has brought may have to be closed, which may wait as well: it counts until then.
	list_remove(&calls->stuck, call);
	closing.next = calls->stuck;
	calls->stuck = &closing;
	pthread_mutex_unlock(&calls->lock);
	call->destroy(call);
	pthread_mutex_lock(&calls->lock);
	list_remove(&calls->stuck, &closing);
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
		call->thread = gettid();
		call->begun_ns = clock_monotonic_ns();
		pthread_mutex_unlock(&calls->lock);
		call->run(call);
		call->returned = true;
		pthread_mutex_lock(&calls->lock);
		end_call(calls, call);
	}
	calls->threads--;
	pthread_cond_broadcast(&calls->done);
	unref(calls);
	return NULL;
}

/* A thread that nobody joins; false without memory, or with too many of them on the machine. */
static bool begin_thread(struct timed_calls *calls)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int status;

	if (pthread_attr_init(&attributes))
		return false;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	// Up to all of them may hang for ever: what they hold is held small.
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	status = pthread_create(&thread, &attributes, make_calls, calls);
	pthread_attr_destroy(&attributes);
	return !status;
}

/* Have a thread for what is to be done. False: there is none. With the lock held. */
static bool have_thread(struct timed_calls *calls)
{
	unsigned int queued = 0;

	// Those that are idle may be on their way to an earlier call.
	for (const struct timed_call *call = calls->first; call; call = call->next)
		queued++;
	if (queued < calls->idle)
		return true;
	if (calls->threads >= THREADS_MOST || !begin_thread(calls))
		return calls->threads > calls->stuck_count;
	calls->threads++;
	calls->references++;
	return true;
}

/* ---- who may ---- */

static bool key_is(const struct timed_call_key *a, const struct timed_call_key *b)
{
	return a->kind == b->kind && a->what == b->what && owner_is(a->owner, b->owner);
}

static bool is_stuck(const struct timed_calls *calls, const struct timed_call_key *key)
{
	for (const struct timed_call *stuck = calls->stuck; stuck; stuck = stuck->next)
		if (key_is(&stuck->key, key))
			return true;
	return false;
}

static unsigned int owner_most(struct owner owner)
{
	bool trusted = owner_is(owner, OWNER_SHARED) || (!owner.uid && !owner.container);

	return trusted ? TRUSTED_MOST : OWNER_MOST;
}

/* Has the owner of @key, or have the containers of its user, as many left behind as they may? */
static bool is_at_limit(const struct timed_calls *calls, struct owner owner)
{
	unsigned int own = 0, of_user = 0;

	for (const struct timed_call *stuck = calls->stuck; stuck; stuck = stuck->next) {
		own += owner_is(stuck->key.owner, owner);
		of_user += stuck->key.owner.uid == owner.uid && stuck->key.owner.container;
	}
	return own >= owner_most(owner) || (owner.container && of_user >= USER_MOST);
}

static bool may_ask(const struct timed_calls *calls, const struct timed_call_key *key)
{
	return !is_stuck(calls, key) && !is_at_limit(calls, key->owner) &&
	       calls->stuck_count < LEFT_BEHIND_MOST;
}

/* ---- how long ---- */

static struct waited *waited_of(struct timed_calls *calls, struct owner owner)
{
	uint64_t hash = (owner.container ^ owner.uid) * 0x9e3779b97f4a7c15u;

	return &calls->waited[(hash >> 32) % WAITED];
}

static uint64_t patience_with(struct timed_calls *calls, struct owner owner, uint64_t limit_ns)
{
	const struct waited *waited = waited_of(calls, owner);

	if (!owner_is(waited->owner, owner) || waited->ns < waited_most_ns ||
	    clock_monotonic_ns() >= waited->since_ns + period_ns)
		return limit_ns;
	return limit_ns < patience_ns ? limit_ns : patience_ns;
}

static void note_waited(struct timed_calls *calls, struct owner owner, uint64_t ns)
{
	struct waited *waited = waited_of(calls, owner);
	uint64_t now = clock_monotonic_ns();

	if (ns <= patience_ns)
		return;
	if (!owner_is(waited->owner, owner) || now >= waited->since_ns + period_ns)
		*waited = (struct waited){ .owner = owner, .since_ns = now };
	waited->ns += ns - patience_ns;
}

/* Does it wait for a CPU, or have one, rather than for what it asks? */
static bool is_runnable(pid_t thread)
{
	CLEANUP_FREE char *text = NULL;
	char path[48];
	const char *end;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	if (file_read(AT_FDCWD, path, STAT_BYTES, &text, NULL))
		return false;
	end = strrchr(text, ')');
	return end && !strncmp(end, ") R", 3);
}

/* Does it wait for what it asks? Its thread sleeps, too, if `run` has returned and whoever looks
 * here has the lock: so that is asked afterwards. */
static bool is_hanging(const struct timed_call *call)
{
	return call->begun_ns && !is_runnable(call->thread) && !call->returned;
}

/* With the lock held. True: it is done. */
static bool wait_for(struct timed_calls *calls, const struct timed_call *call)
{
	uint64_t asked_ns = clock_monotonic_ns(), since_ns = asked_ns;

	while (!call->done) {
		uint64_t until_ns = since_ns + call->limit_ns, now = clock_monotonic_ns();
		struct timespec wake = clock_timespec(until_ns);

		if (now < until_ns) {
			pthread_cond_clockwait(&calls->done, &calls->lock, CLOCK_MONOTONIC, &wake);
			if (call->begun_ns > since_ns)
				since_ns = call->begun_ns;
			continue;
		}
		if (now >= asked_ns + longest_wait_ns || is_hanging(call))
			break;
		// Nobody has come to it yet, or it had no CPU for all that time.
		since_ns = now;
	}
	return call->done;
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
	calls->counts.of[call->key.kind].left_behind++;
}

bool timed_call_goes_on(struct timed_call *call, struct timed_call_key key)
{
	struct timed_calls *calls = call->calls;
	bool may;

	pthread_mutex_lock(&calls->lock);
	// Nobody waits for one that has been left behind, and what it would hang at next may be
	// what others ask.
	may = !call->left_behind && may_ask(calls, &key);
	if (may) {
		call->key = key;
		call->limit_ns = patience_with(calls, key.owner, call->limit_ns);
		// Whoever waits may have to wait for less.
		if (call->limit_ns <= patience_ns)
			pthread_cond_broadcast(&calls->done);
	} else {
		calls->counts.of[key.kind].refused += !call->left_behind;
	}
	pthread_mutex_unlock(&calls->lock);
	return may;
}

bool timed_calls_make(struct timed_calls *calls, struct timed_call *call, uint64_t limit_ns)
{
	struct timed_call **last = &calls->first;
	bool done;

	call->calls = calls;
	call->next = NULL;
	call->done = call->left_behind = call->returned = false;
	call->begun_ns = 0;
	pthread_mutex_lock(&calls->lock);
	call->limit_ns = patience_with(calls, call->key.owner, limit_ns);
	if (!may_ask(calls, &call->key) || !have_thread(calls)) {
		calls->counts.of[call->key.kind].refused++;
		pthread_mutex_unlock(&calls->lock);
		call->destroy(call);
		return false;
	}
	while (*last)
		last = &(*last)->next;
	*last = call;
	pthread_mutex_unlock(&calls->lock);
	pthread_cond_signal(&calls->work);
	pthread_mutex_lock(&calls->lock);
	done = wait_for(calls, call);
	if (call->begun_ns)
		note_waited(calls, call->key.owner, clock_monotonic_ns() - call->begun_ns);
	if (!done)
		leave_behind(calls, call);
	pthread_mutex_unlock(&calls->lock);
	return done;
}

struct timed_calls_counts timed_calls_counts(struct timed_calls *calls)
{
	uint64_t now = clock_monotonic_ns();
	struct timed_calls_counts counts;

	pthread_mutex_lock(&calls->lock);
	counts = calls->counts;
	for (const struct timed_call *stuck = calls->stuck; stuck; stuck = stuck->next) {
		if (now < stuck->begun_ns + hangs_ns)
			continue;
		counts.of[stuck->key.kind].hanging++;
		counts.of[stuck->key.kind].what = stuck->key.what;
		counts.of[stuck->key.kind].owner = stuck->key.owner;
	}
	pthread_mutex_unlock(&calls->lock);
	return counts;
}
