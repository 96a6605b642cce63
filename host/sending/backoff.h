/* SPDX-License-Identifier: Apache-2.0 */
/* Waits between attempts, as the Collector computes them. Private to the folder. */
#pragma once

#include "sending.h"

struct backoff {
	const struct sending_retry_config *config; /* borrowed */
	double interval_ns;                        /* of the next wait, before it is spread */
	uint64_t random;                           /* state; never 0 */
};

void backoff_init(struct backoff *backoff, const struct sending_retry_config *config,
		  uint64_t seed);

/*
 * The next wait: the interval times 1 - f to 1 + f, f being the randomization_factor. The
 * interval then grows by the multiplier, up to max_interval. At least BACKOFF_LEAST_NS, so
 * that intervals of 0 do not make a loop that eats a CPU.
 */
uint64_t backoff_next(struct backoff *backoff);

enum { BACKOFF_LEAST_NS = 10000000 };
