/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window keeps the batches of the last seconds, for one who looks at them again and again.
 * Any thread.
 */
#pragma once

#include "flame/flame.h"

#include <profcol/batch.h>

struct top_window;

/* A window keeps batches for @span_ns after they have come, at most TOP_WINDOW_BATCHES of them.
 * NULL without memory. */
struct top_window *top_window_create(uint64_t span_ns);
void top_window_destroy(struct top_window *window); /* accepts NULL */

enum { TOP_WINDOW_BATCHES = 32 };

/* Add @batch, which it takes, at @now_ns (CLOCK_MONOTONIC). */
void top_window_add(struct top_window *window, struct profcol_batch *batch, uint64_t now_ns);

/* Add all that is in the window at @now_ns to @flame. Errors are flame_add's. */
PROFCOL_MUST_CHECK struct profcol_error *top_window_sum(struct top_window *window, uint64_t now_ns,
							struct flame *flame);
