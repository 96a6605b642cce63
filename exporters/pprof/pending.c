// SPDX-License-Identifier: Apache-2.0
#include "pending.h"

#include "profile/profile.h"

#include <string.h>

void pending_deinit(struct pending *pending)
{
	pending_drop_all(pending);
	VECTOR_DEINIT(&pending->batches);
}

bool pending_push(struct pending *pending, struct profcol_batch *batch, uint64_t window)
{
	struct pending_batch entry = {
		.batch = batch,
		.bytes = profile_memory(batch),
		.events = profcol_batch_events(batch),
		.window = window,
	};

	if (!VECTOR_PUSH(&pending->batches, entry))
		return false;
	pending->bytes += entry.bytes;
	return true;
}

/* Forget the first @count entries, which somebody else owns by now. */
static void pending_shift(struct pending *pending, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pending->bytes -= pending->batches.items[i].bytes;
	pending->batches.count -= count;
	memmove(pending->batches.items, pending->batches.items + count,
		pending->batches.count * sizeof(*pending->batches.items));
}

uint64_t pending_drop_oldest(struct pending *pending)
{
	struct pending_batch oldest = pending->batches.items[0];

	pending_shift(pending, 1);
	profcol_batch_unref(oldest.batch);
	return oldest.events;
}

uint64_t pending_drop_all(struct pending *pending)
{
	uint64_t events = pending_events(pending);

	for (size_t i = 0; i < pending->batches.count; i++)
		profcol_batch_unref(pending->batches.items[i].batch);
	pending->batches.count = 0;
	pending->bytes = 0;
	return events;
}

bool pending_take_window(struct pending *pending, uint64_t window, struct pending *ret)
{
	const struct pending_batch *items = pending->batches.items;
	size_t count = 0;

	if (!pending->batches.count || items[0].window >= window)
		return false;
	while (count < pending->batches.count && items[count].window == items[0].window)
		count++;
	if (!VECTOR_RESERVE(&ret->batches, count))
		return false;
	memcpy(ret->batches.items, items, count * sizeof(*items));
	ret->batches.count = count;
	for (size_t i = 0; i < count; i++)
		ret->bytes += items[i].bytes;
	pending_shift(pending, count);
	return true;
}

bool pending_put_back(struct pending *pending, struct pending *front)
{
	size_t count = front->batches.count;

	if (!VECTOR_RESERVE(&pending->batches, count))
		return false;
	memmove(pending->batches.items + count, pending->batches.items,
		pending->batches.count * sizeof(*pending->batches.items));
	memcpy(pending->batches.items, front->batches.items, count * sizeof(*front->batches.items));
	pending->batches.count += count;
	pending->bytes += front->bytes;
	front->batches.count = 0;
	front->bytes = 0;
	return true;
}

uint64_t pending_events(const struct pending *pending)
{
	uint64_t events = 0;

	for (size_t i = 0; i < pending->batches.count; i++)
		events += pending->batches.items[i].events;
	return events;
}
