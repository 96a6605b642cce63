/* SPDX-License-Identifier: Apache-2.0 */
/* How many samples the batches had that came in at one place: a histogram. Any thread. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { BATCH_SIZES_BOUNDS = 12 };
extern const uint64_t batch_sizes_bounds[BATCH_SIZES_BOUNDS];

/* Zeroed: nothing yet. */
struct batch_sizes {
	_Atomic uint64_t counts[BATCH_SIZES_BOUNDS + 1]; /* the last: beyond all bounds */
	_Atomic uint64_t samples;
};

void batch_sizes_note(struct batch_sizes *sizes, uint64_t samples);
