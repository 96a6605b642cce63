/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget of memory for work that several threads do at once. Each piece of work has a share,
 * takes before it allocates, and gives all back when it has ended.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct memory_budget {
	size_t most; /* bytes of all shares together */
	/* Asked as well, if not NULL: may the process have @bytes more? Any thread. */
	bool (*ask)(void *context, size_t bytes);
	void *context;
	size_t unasked; /* what each share may have without `ask` */
	atomic_size_t used;
};

/*
 * The budget of a receiver for what it decodes: half of what the process may have, 4 GiB at most.
 * @ask is asked before memory further on would refuse a batch that is made already. Usual pieces
 * are decoded whatever it says, so that they are in the books, and get their answer from who
 * refuses them: each may have a 64th of the budget unasked, 2 MiB at most.
 */
void memory_budget_for_decoding(struct memory_budget *budget,
				bool (*ask)(void *context, size_t bytes), void *context);

/* One thread at a time. */
struct memory_share {
	struct memory_budget *budget; /* borrowed; NULL = no bound */
	size_t taken;
	bool denied; /* `ask` has said no, last */
};

/*
 * Take @bytes for @share. False when there are too few left; never when nobody else has any, unless
 * `ask` says no: what one piece of work may have has a bound of its own.
 */
bool memory_share_take(struct memory_share *share, size_t bytes);

/* All that it has. */
void memory_share_give(struct memory_share *share);

/* Why the last memory_share_take() has failed, for who may try again. */
const char *memory_share_reason(const struct memory_share *share);
