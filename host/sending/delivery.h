/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From requests to an outcome for each sample: attempts, waits between them, cutting of
 * what is too large for the peer. Private to the folder.
 */
#pragma once

#include "ledger.h"
#include "notices.h"
#include "peer_limit.h"
#include "queue.h"

/* What all deliveries of one exporter share. Any thread. */
struct delivery_route {
	struct sending_target target;        /* borrowed pointers */
	const struct sending_config *config; /* borrowed */
	struct queue queue;
	struct ledger ledger;
	pthread_mutex_t showing; /* who shows the queue has seen it last */
	struct notices notices;
	_Atomic uint64_t attempts_end_ns; /* no attempt lasts longer; UINT64_MAX = no end */
	struct peer_limit limit;
	/* Samples that are in the storage although the peer has them. */
	_Atomic uint64_t stored_twice;
};

struct delivery {
	struct delivery_route *route;  /* borrowed */
	enum queue_phase last_attempt; /* from this phase on there is no waiting */
	struct parcels pending;        /* owned; a stack: the last one is next */
	struct profcol_error *error;   /* owned: of the first that was given up */
	size_t refused_bytes;          /* the peer finds such a length too large; SIZE_MAX */
	unsigned int refusals;         /* of that kind, since the last success */
	bool taken;                    /* the peer has taken something */
	bool settled;                  /* something was delivered or given up */
	bool hopeless;                 /* cutting does not help: give up what is pending */
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

/* What the queue holds and the peer does not have. */
struct queue_load delivery_load(struct delivery_route *route);

/* Show what the queue holds, damage included. */
void delivery_show_queue(struct delivery_route *route);
