// SPDX-License-Identifier: Apache-2.0
#include "top_window.h"

#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kept {
	struct profcol_batch *batch; /* owned */
	uint64_t at_ns;
};

struct top_window {
	uint64_t span_ns;
	pthread_mutex_t lock;                    /* of the next two */
	struct kept batches[TOP_WINDOW_BATCHES]; /* the oldest first */
	size_t count;
};

struct top_window *top_window_create(uint64_t span_ns)
{
	struct top_window *window = calloc(1, sizeof(*window));

	if (!window)
		return NULL;
	window->span_ns = span_ns;
	pthread_mutex_init(&window->lock, NULL);
	return window;
}

/* The @count oldest go. */
static void drop(struct top_window *window, size_t count)
{
	for (size_t i = 0; i < count; i++)
		profcol_batch_unref(window->batches[i].batch);
	window->count -= count;
	memmove(window->batches, window->batches + count, window->count * sizeof(*window->batches));
}

void top_window_destroy(struct top_window *window)
{
	if (!window)
		return;
	drop(window, window->count);
	pthread_mutex_destroy(&window->lock);
	free(window);
}

static void drop_old(struct top_window *window, uint64_t now_ns)
{
	size_t old = 0;

	while (old < window->count && now_ns - window->batches[old].at_ns > window->span_ns)
		old++;
	drop(window, old);
}

void top_window_add(struct top_window *window, struct profcol_batch *batch, uint64_t now_ns)
{
	pthread_mutex_lock(&window->lock);
	drop_old(window, now_ns);
	if (window->count == TOP_WINDOW_BATCHES)
		drop(window, 1);
	window->batches[window->count++] = (struct kept){ batch, now_ns };
	pthread_mutex_unlock(&window->lock);
}

struct profcol_error *top_window_sum(struct top_window *window, uint64_t now_ns,
				     struct flame *flame)
{
	struct profcol_batch *batches[TOP_WINDOW_BATCHES];
	struct profcol_error *error = NULL;
	size_t count;

	// The receiver does not wait while a tree is made.
	pthread_mutex_lock(&window->lock);
	drop_old(window, now_ns);
	count = window->count;
	for (size_t i = 0; i < count; i++)
		batches[i] = profcol_batch_ref(window->batches[i].batch);
	pthread_mutex_unlock(&window->lock);
	for (size_t i = 0; i < count; i++) {
		if (!error)
			error = flame_add(flame, batches[i], FLAME_NOW, UINT64_MAX);
		profcol_batch_unref(batches[i]);
	}
	return error;
}
