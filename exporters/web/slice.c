// SPDX-License-Identifier: Apache-2.0
#include "slice.h"

#include <string.h>

void slice_deinit(struct slice *slice)
{
	VECTOR_DEINIT(&slice->rows);
}

bool slice_add(struct slice *slice, const struct slice_row *row, uint64_t events)
{
	if (!VECTOR_PUSH(&slice->rows, *row))
		return false;
	slice->events += events;
	slice->is_settled = false;
	return true;
}

int64_t slice_sum(int64_t left, int64_t right)
{
	int64_t sum;

	if (__builtin_add_overflow(left, right, &sum))
		return left > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

static int compare_ids(uint32_t left, uint32_t right)
{
	return left < right ? -1 : left > right;
}

static int compare_rows(const void *left, const void *right)
{
	const struct slice_row *a = left, *b = right;
	int order = compare_ids(a->series, b->series);

	order = order ? order : compare_ids(a->stack, b->stack);
	order = order ? order : compare_ids(a->attributes, b->attributes);
	return order ? order : compare_ids(a->link, b->link);
}

void slice_settle(struct slice *slice)
{
	struct slice_row *items = slice->rows.items, *shrunk;
	size_t kept = 0, count = slice->rows.count;

	if (slice->is_settled || !count)
		return;
	qsort(items, count, sizeof(*items), compare_rows);
	for (size_t i = 1; i < count; i++) {
		if (!compare_rows(&items[kept], &items[i]))
			items[kept].value = slice_sum(items[kept].value, items[i].value);
		else
			items[++kept] = items[i];
	}
	slice->rows.count = kept + 1;
	shrunk = realloc(items, slice->rows.count * sizeof(*items));
	if (shrunk) {
		slice->rows.items = shrunk;
		slice->rows.capacity = slice->rows.count;
	}
	slice->is_settled = true;
}

bool slice_join(struct slice *to, struct slice *from)
{
	size_t count = from->rows.count;

	if (!VECTOR_RESERVE(&to->rows, count))
		return false;
	if (count)
		memcpy(to->rows.items + to->rows.count, from->rows.items,
		       count * sizeof(*from->rows.items));
	to->rows.count += count;
	to->events += from->events;
	to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
	to->is_settled = false;
	from->rows.count = 0;
	from->events = 0;
	return true;
}

size_t slice_memory(const struct slice *slice)
{
	return sizeof(*slice) + slice->rows.capacity * sizeof(*slice->rows.items);
}
