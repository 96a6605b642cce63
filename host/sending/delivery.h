/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From requests to an outcome for each sample: attempts, waits between them, cutting of
 * what is too large for the peer. Private to the folder.
 */
#pragma once

#include "ledger.h"
#include "notices.h"
#include "queue.h"

/* What all deliveries of one exporter share. Any thread. */
struct delivery_route {
	struct sending_target target;        /* borrowed pointers */
	const struct sending_config *config; /* borrowed */
	struct queue queue;
	struct ledger ledger;
	struct notices notices;
	_Atomic uint64_t attempts_end_ns; /* no attempt lasts longer; UINT64_MAX = no end */
	_Atomic size_t limit_bytes;       /* of a request: what the peer is known to take */
	/* Samples that are in the storage although the peer has them. */
	_Atomic uint64_t stored_twice;
};

struct delivery {
	struct delivery_route *route;  /* borrowed */
	enum queue_phase last_attempt; /* from this phase on there is no waiting */
	struct parcels pending;        /* owned; a stack: the last one is next */
	struct profcol_error *error;   /* owned: of the first that was given up */
	size_t refused_bytes;          /* the peer finds such a length too large; SIZE_MAX */
	unsigned int refusals;         /* of that kind */
	bool settled;                  /* something was delivered or given up */
};

void delivery_init(struct delivery *delivery, struct delivery_route *route,
		   enum queue_phase last_attempt);
void delivery_deinit(struct delivery *delivery);

/*
 * Deliver `pending` and book what becomes of it. False when the shutdown came first: what
 * is then left in `pending` is not booked.
 */
bool delivery_run(struct delivery *delivery);

/* The limits for parcels of this exporter, by what is known of the peer. */
struct parcel_limits delivery_limits(struct delivery_route *route);

/* Book as lost what the storage has found damaged. */
void delivery_book_damage(struct delivery_route *route, const struct queue_load *damage);

/* Show what the queue holds, damage included. */
void delivery_show_queue(struct delivery_route *route);
