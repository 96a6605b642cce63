/* SPDX-License-Identifier: Apache-2.0 */
/* Hands rules for a range on, in order and without gaps. One thread at a time. */
#pragma once

#include "rule.h"

struct unwind_window {
	uint64_t at, limit; /* given up to here, wanted up to there */
	unwind_take_function take;
	void *context;
};

/* @rule holds from where the last one ended up to @limit; what is given already stays. */
void unwind_window_give(struct unwind_window *window, uint64_t limit,
			const struct unwind_rule *rule);

/* The same with UNKNOWN. */
void unwind_window_skip(struct unwind_window *window, uint64_t limit);
