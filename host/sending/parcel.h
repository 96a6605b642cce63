/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoded requests: made from batches, joined, and cut into smaller ones. Private to the
 * folder. Pure; any thread.
 */
#pragma once

#include <profcol/errors.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profcol_batch;

struct parcel {
	uint8_t *bytes; /* owned, exactly `length` allocated */
	size_t length;
	uint64_t samples;
};

struct parcels {
	struct parcel *items; /* owned */
	size_t count, capacity;
};

void parcel_deinit(struct parcel *parcel);
struct parcel parcel_take(struct parcel *from); /* leaves @from empty */
void parcels_deinit(struct parcels *parcels);
uint64_t parcels_samples(const struct parcels *parcels);

struct parcel_limits {
	size_t max_bytes;     /* a single observation may be larger */
	uint64_t max_samples; /* 0 = none */
	bool attribute_references;
	/* Of all pieces together: each repeats what it needs of the dictionary. 0 = a multiple of
	 * the batch's memory. */
	size_t max_total_bytes;
	const atomic_bool *is_stopped; /* borrowed; true ends the work with SHUTDOWN. May be NULL */
};

/* Append @batch to @ret as parcels within @limits. On error @ret is as it was. REJECTED when
 * its pieces would have more than max_total_bytes. */
PROFCOL_MUST_CHECK struct profcol_error *
parcel_encode(struct profcol_batch *batch, const struct parcel_limits *limits, struct parcels *ret);

/* Append the contents of the @count @parcels, made one, to @ret; as above. */
PROFCOL_MUST_CHECK struct profcol_error *parcel_join(const struct parcel *parcels, size_t count,
						     const struct parcel_limits *limits,
						     struct parcels *ret);

/*
 * Append @parcel to @ret in pieces within @limits. Appends nothing when there is nothing
 * to cut: it is one observation.
 */
PROFCOL_MUST_CHECK struct profcol_error *
parcel_cut(const struct parcel *parcel, const struct parcel_limits *limits, struct parcels *ret);
