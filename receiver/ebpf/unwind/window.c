// SPDX-License-Identifier: Apache-2.0
#include "window.h"

void unwind_window_give(struct unwind_window *window, uint64_t limit,
			const struct unwind_rule *rule)
{
	if (limit > window->limit)
		limit = window->limit;
	if (limit <= window->at)
		return;
	window->take(window->context, window->at, limit, rule);
	window->at = limit;
}

void unwind_window_skip(struct unwind_window *window, uint64_t limit)
{
	static const struct unwind_rule unknown = { .cfa = UNWIND_CFA_UNKNOWN };

	unwind_window_give(window, limit, &unknown);
}
