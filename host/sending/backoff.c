// SPDX-License-Identifier: Apache-2.0
#include "backoff.h"

static const double longest_ns = 0x1p62; // some 146 years: sums with a clock do not overflow

void backoff_init(struct backoff *backoff, const struct sending_retry_config *config, uint64_t seed)
{
	*backoff = (struct backoff){
		.config = config,
		.interval_ns = (double)config->initial_interval_ns,
		.random = seed ? seed : 1,
	};
}

/* xorshift64: from 0 to below 1. Only keeps peers from being called in step. */
static double random_fraction(struct backoff *backoff)
{
	backoff->random ^= backoff->random << 13;
	backoff->random ^= backoff->random >> 7;
	backoff->random ^= backoff->random << 17;
	return (double)(backoff->random >> 11) * 0x1p-53;
}

uint64_t backoff_next(struct backoff *backoff)
{
	const struct sending_retry_config *config = backoff->config;
	double spread = config->randomization_factor * (2 * random_fraction(backoff) - 1);
	double wait_ns = backoff->interval_ns * (1 + spread);
	double most = (double)config->max_interval_ns;

	backoff->interval_ns *= config->multiplier;
	if (!(backoff->interval_ns < most))
		backoff->interval_ns = most;
	if (wait_ns > longest_ns)
		wait_ns = longest_ns;
	return wait_ns < BACKOFF_LEAST_NS ? BACKOFF_LEAST_NS : (uint64_t)wait_ns;
}
