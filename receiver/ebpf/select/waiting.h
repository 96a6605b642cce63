/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of samples that wait until it is decided whether they are wanted, in their order. One
 * thread at a time.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WAITING_MAX_BYTES = 8 << 20 };

struct waiting {
	VECTOR(uint64_t) words; /* of each record its length in bytes, then the record */
	size_t count;           /* records */
};

/* Keep a copy of the record. False when there is no room, or no memory. */
bool waiting_add(struct waiting *waiting, const void *record, size_t length);

/* Show every record to @is_done; those it says so of go, the others go on waiting. */
void waiting_review(struct waiting *waiting,
		    bool (*is_done)(void *context, const void *record, size_t length),
		    void *context);

size_t waiting_bytes(const struct waiting *waiting); /* that are taken */

void waiting_deinit(struct waiting *waiting);
