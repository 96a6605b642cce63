// SPDX-License-Identifier: Apache-2.0
#include "missed.h"

enum {
	/* A sample brings one at most, they are taken many times a second, and what is missing is
	 * missed again. */
	PLACES_MAX = 4096,
	ADDRESSES_MAX = 4096,
};

static bool lists_reserve(struct missed_lists *lists)
{
	return VECTOR_RESERVE(&lists->places, PLACES_MAX) &&
	       VECTOR_RESERVE(&lists->addresses, ADDRESSES_MAX);
}

static void lists_deinit(struct missed_lists *lists)
{
	VECTOR_DEINIT(&lists->places);
	VECTOR_DEINIT(&lists->addresses);
}

bool missed_init(struct missed *missed)
{
	*missed = (struct missed){ 0 };
	pthread_mutex_init(&missed->lock, NULL);
	pthread_cond_init(&missed->changed, NULL);
	return lists_reserve(&missed->told) && lists_reserve(&missed->taken);
}

void missed_deinit(struct missed *missed)
{
	lists_deinit(&missed->told);
	lists_deinit(&missed->taken);
	pthread_cond_destroy(&missed->changed);
	pthread_mutex_destroy(&missed->lock);
}

bool missed_add_place(struct missed *missed, struct tables_place place)
{
	struct missed_lists *told = &missed->told;
	bool full;

	pthread_mutex_lock(&missed->lock);
	full = told->places.count >= PLACES_MAX;
	if (!full)
		told->places.items[told->places.count++] = place;
	if (told->places.count == 1)
		pthread_cond_signal(&missed->changed);
	pthread_mutex_unlock(&missed->lock);
	return !full;
}

bool missed_add_address(struct missed *missed, struct met_address address)
{
	struct missed_lists *told = &missed->told;
	bool full;

	pthread_mutex_lock(&missed->lock);
	full = told->addresses.count >= ADDRESSES_MAX;
	if (!full)
		told->addresses.items[told->addresses.count++] = address;
	if (told->addresses.count == 1)
		pthread_cond_signal(&missed->changed);
	pthread_mutex_unlock(&missed->lock);
	return !full;
}

static void set(struct missed *missed, bool *what)
{
	pthread_mutex_lock(&missed->lock);
	*what = true;
	pthread_cond_signal(&missed->changed);
	pthread_mutex_unlock(&missed->lock);
}

void missed_wake(struct missed *missed)
{
	set(missed, &missed->wanted);
}

void missed_stop(struct missed *missed)
{
	set(missed, &missed->stopping);
}

bool missed_take(struct missed *missed, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);
	struct missed_lists empty = missed->taken;
	bool stopping;

	empty.places.count = empty.addresses.count = 0;
	pthread_mutex_lock(&missed->lock);
	while (!missed->told.places.count && !missed->told.addresses.count && !missed->wanted &&
	       !missed->stopping &&
	       !pthread_cond_clockwait(&missed->changed, &missed->lock, CLOCK_MONOTONIC, &deadline))
		;
	missed->taken = missed->told;
	missed->told = empty;
	missed->wanted = false;
	stopping = missed->stopping;
	pthread_mutex_unlock(&missed->lock);
	return !stopping;
}
