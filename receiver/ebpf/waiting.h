/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of samples that wait, for a decision whether they are wanted or for what is missing of
 * their stacks, in their order. One thread at a time.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed but for max_bytes. */
struct waiting {
	size_t max_bytes;
	VECTOR(uint64_t) words; /* of each record its length in bytes, then the record */
	size_t count;           /* records */
};

/* Keep a copy of the record. False when there is no room, or no memory. */
bool waiting_add(struct waiting *waiting, const void *record, size_t length);

/* Show every record to @is_done; those it says so of go, the others go on waiting. */
void waiting_review(struct waiting *waiting,
		    bool (*is_done)(void *context, const void *record, size_t length),
		    void *context);

/* The record that has waited longest; NULL when none waits. */
const void *waiting_first(const struct waiting *waiting);

void waiting_deinit(struct waiting *waiting);
