/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for a worker, in their order. Who pays (owner_payer) may have as many as there
 * is room left for others: nobody fills the queue, whoever comes later. One thread at a time.
 */
#pragma once

#include "process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUESTS_MOST = 32 }; /* each holds up to three descriptors */

/* All zero but `last`, which points to `first`, is an empty one. */
struct requests {
	struct worker_request *first; /* owned */
	struct worker_request **last;
	size_t count;
};

void requests_init(struct requests *requests);
void requests_deinit(struct requests *requests);

/* Is there room for one more of @owner? */
bool requests_have_room(const struct requests *requests, struct owner owner);

/* @request (taken) waits behind all others, or before them. */
void requests_add(struct requests *requests, struct worker_request *request);
void requests_add_first(struct requests *requests, struct worker_request *request);

/* The first of @owner, the caller's from now on; NULL: it has none. */
struct worker_request *requests_take_of(struct requests *requests, struct owner owner);

/* The first of all; NULL: there is none. */
struct worker_request *requests_take(struct requests *requests);
