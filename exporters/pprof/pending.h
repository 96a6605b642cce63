/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that wait to be written, oldest first. Each belongs to a window; a
 * window becomes one file. One thread at a time: the exporter's lock.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct profcol_batch;

struct pending_batch {
	struct profcol_batch *batch; /* owned */
	uint64_t bytes;              /* of memory that it keeps alive */
	uint64_t events;
	uint64_t window;
};

struct pending {
	VECTOR(struct pending_batch) batches;
	uint64_t bytes; /* of all */
};

/* Drops what is left. */
void pending_deinit(struct pending *pending);

/* Append @batch, taken on success. False without memory. */
bool pending_push(struct pending *pending, struct profcol_batch *batch, uint64_t window);

/* Drop the oldest batch; there must be one. Returns its events. */
uint64_t pending_drop_oldest(struct pending *pending);

/* Drop all. Returns their events. */
uint64_t pending_drop_all(struct pending *pending);

/*
 * Move the oldest window to @ret (empty), provided that it is older than
 * @window. False when there is none, or without memory.
 */
bool pending_take_window(struct pending *pending, uint64_t window, struct pending *ret);

/* Move all of @front back before what is there. False without memory; @front is then unchanged. */
bool pending_put_back(struct pending *pending, struct pending *front);

uint64_t pending_events(const struct pending *pending);
