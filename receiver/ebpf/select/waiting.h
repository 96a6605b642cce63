/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of samples that wait until it is decided whether they are wanted, in their order. One
 * thread at a time.
 */
#pragma once

#include "sample.h"

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waiting {
	VECTOR(uint64_t) words; /* of each record its length in bytes, then the record */
	size_t count;           /* records */
};

/* Keep a copy of the record of @head, all @length bytes, or without the copy of its stack when half
 * of the room is taken. False when there is none, or no memory: 8 MiB wait at most. */
bool waiting_add(struct waiting *waiting, const struct sample_head *head, size_t length);

/* Show every record to @is_done; those it says so of go, the others go on waiting. */
void waiting_review(struct waiting *waiting,
		    bool (*is_done)(void *context, const void *record, size_t length),
		    void *context);

void waiting_deinit(struct waiting *waiting);
