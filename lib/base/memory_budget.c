// SPDX-License-Identifier: Apache-2.0
#include "memory_budget.h"

#include "cgroup.h"

#include <stdint.h>

static const uint64_t DECODING_MOST_BYTES = 4ull << 30;

enum { UNASKED_PART = 64, UNASKED_MOST_BYTES = 2 << 20 };

void memory_budget_for_decoding(struct memory_budget *budget,
				bool (*ask)(void *context, size_t bytes), void *context)
{
	uint64_t most = cgroup_memory_bytes() / 2;

	budget->most = (size_t)(most < DECODING_MOST_BYTES ? most : DECODING_MOST_BYTES);
	budget->ask = ask;
	budget->context = context;
	budget->unasked = budget->most / UNASKED_PART;
	if (budget->unasked > UNASKED_MOST_BYTES)
		budget->unasked = UNASKED_MOST_BYTES;
}

bool memory_share_take(struct memory_share *share, size_t bytes)
{
	struct memory_budget *budget = share->budget;
	size_t used;

	share->denied = false;
	if (!budget || !bytes)
		return true;
	used = atomic_load(&budget->used);
	do {
		bool alone = used == share->taken;

		if (used + bytes < used || (!alone && used + bytes > budget->most))
			return false;
	} while (!atomic_compare_exchange_weak(&budget->used, &used, used + bytes));
	if (budget->ask && share->taken + bytes > budget->unasked &&
	    !budget->ask(budget->context, bytes)) {
		atomic_fetch_sub(&budget->used, bytes);
		share->denied = true;
		return false;
	}
	share->taken += bytes;
	return true;
}

void memory_share_give(struct memory_share *share)
{
	if (share->budget)
		atomic_fetch_sub(&share->budget->used, share->taken);
	share->taken = 0;
}

const char *memory_share_reason(const struct memory_share *share)
{
	// The Collector's words for the former: people search for them.
	return share->denied ? "data refused due to high memory usage"
			     : "other requests have what memory there is for that";
}
