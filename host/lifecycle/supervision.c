// SPDX-License-Identifier: Apache-2.0
#include "supervision.h"

#include "base/base.h"

#include <time.h>

/* A watch that comes this late did not run, and nor did whom it watches. */
static const uint64_t late_ns = 100000000;

/* When the current one has had its time. Under the lock. */
static uint64_t end_ns(const struct supervision *supervision)
{
	uint64_t grace_ns = supervision->patience->grace_ns;
	uint64_t common_ns = supervision->deadline_ns + grace_ns;
	uint64_t own_ns = supervision->since_ns + grace_ns;

	return own_ns > common_ns ? own_ns : common_ns;
}

/*
 * Has the machine stood still since, as a virtual one may? Then whoever was about to return had no
 * time either: the grace begins anew, once. Under the lock.
 */
static bool stood_still(struct supervision *supervision)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (supervision->was_late || now_ns < end_ns(supervision) + late_ns)
		return false;
	supervision->was_late = true;
	supervision->since_ns = now_ns;
	return true;
}

static void *supervision_thread(void *argument)
{
	struct supervision *supervision = argument;

	pthread_mutex_lock(&supervision->lock);
	while (!supervision->over) {
		struct timespec end = clock_timespec(end_ns(supervision));

		if (!supervision->current) {
			pthread_cond_wait(&supervision->changed, &supervision->lock);
		} else if (clock_monotonic_ns() < end_ns(supervision)) {
			pthread_cond_clockwait(&supervision->changed, &supervision->lock,
					       CLOCK_MONOTONIC, &end);
		} else if (!stood_still(supervision)) {
			supervision->patience->give_up(supervision->current,
						       supervision->patience->context);
			break;
		}
	}
	pthread_mutex_unlock(&supervision->lock);
	return NULL;
}

void supervision_begin(struct supervision *supervision, const struct lifecycle_patience *patience)
{
	*supervision = (struct supervision){
		.patience = patience,
		.deadline_ns = clock_monotonic_ns() + patience->drain_ns,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	// Without a thread a component that hangs holds the process until the second signal.
	supervision->running =
		pthread_create(&supervision->thread, NULL, supervision_thread, supervision) == 0;
}

static void set_current(struct supervision *supervision, const struct instance *instance)
{
	pthread_mutex_lock(&supervision->lock);
	supervision->current = instance;
	supervision->since_ns = clock_monotonic_ns();
	supervision->was_late = false;
	pthread_cond_signal(&supervision->changed);
	pthread_mutex_unlock(&supervision->lock);
}

struct profcol_error *supervision_shutdown(struct supervision *supervision,
					   struct instance *instance)
{
	struct profcol_error *error;

	set_current(supervision, instance);
	error = instance_shutdown(instance, supervision->deadline_ns);
	set_current(supervision, NULL);
	return profcol_error_prefix(error, "%s '%s'", instance_kind(instance), instance->id);
}

void supervision_end(struct supervision *supervision)
{
	pthread_mutex_lock(&supervision->lock);
	supervision->over = true;
	pthread_cond_signal(&supervision->changed);
	pthread_mutex_unlock(&supervision->lock);
	if (supervision->running)
		pthread_join(supervision->thread, NULL);
	pthread_cond_destroy(&supervision->changed);
	pthread_mutex_destroy(&supervision->lock);
}
