// SPDX-License-Identifier: Apache-2.0
#include "function_ranges.h"

#include "base/base.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARED_BYTES = 1024 }; /* of two aliases: bounds the time a hostile table can take */

static unsigned int leading_underscores(const char *name)
{
	unsigned int count = 0;

	while (name[count] == '_' && count < COMPARED_BYTES)
		count++;
	return count;
}

/* Of two names for one address: what a person would call it, and the same one on every run. */
static bool candidate_is_better(const struct function_candidate *a,
				const struct function_candidate *b, const char *strings,
				size_t strings_bytes)
{
	const char *a_name = strings + a->name, *b_name = strings + b->name;
	size_t a_most = strings_bytes - a->name, b_most = strings_bytes - b->name;
	unsigned int a_underscores, b_underscores;
	size_t a_length, b_length;

	if (a->rank != b->rank)
		return a->rank < b->rank;
	a_underscores = leading_underscores(a_name);
	b_underscores = leading_underscores(b_name);
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores;
	a_length = strnlen(a_name, a_most < COMPARED_BYTES ? a_most : COMPARED_BYTES);
	b_length = strnlen(b_name, b_most < COMPARED_BYTES ? b_most : COMPARED_BYTES);
	if (a_length != b_length)
		return a_length < b_length;
	return memcmp(a_name, b_name, a_length) < 0;
}

/* One candidate per start: the best name, the widest size. Returns how many are left. */
static size_t candidates_merge_aliases(struct function_candidate *items, size_t count,
				       const char *strings, size_t strings_bytes)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct function_candidate *last = kept ? &items[kept - 1] : NULL;
		struct function_candidate item = items[i], merged;

		if (!last || last->start != item.start) {
			items[kept++] = item;
			continue;
		}
		merged = candidate_is_better(&item, last, strings, strings_bytes) ? item : *last;
		if (item.unsized == last->unsized)
			merged.limit = item.limit > last->limit ? item.limit : last->limit;
		*last = merged;
	}
	return kept;
}

/*
 * An unsized function ends where the next one begins. One in the middle of a sized function is a
 * label inside it (a loop of hand-written assembly) and goes. Returns how many are left.
 */
static size_t candidates_close(struct function_candidate *items, size_t count)
{
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct function_candidate item = items[i];

		if (item.unsized) {
			if (item.start < covered)
				continue;
			if (i + 1 < count && items[i + 1].start < item.limit)
				item.limit = items[i + 1].start;
		} else if (item.limit > covered) {
			covered = item.limit;
		}
		items[kept++] = item;
	}
	return kept;
}

static void ranges_append(struct function_ranges *ranges, uint64_t start, uint64_t limit,
			  uint32_t name)
{
	if (start >= limit)
		return;
	ranges->ranges[ranges->count++] = (struct function_range){
		.start = start,
		.size = limit - start < UINT32_MAX ? (uint32_t)(limit - start) : UINT32_MAX,
		.name = name,
	};
}

/*
 * Sweep by start with a stack of the functions that are open: each piece of the address space goes
 * to the one that opened last. @ranges has room for two pieces per candidate, @open for all.
 */
static void ranges_flatten(const struct function_candidate *items, size_t count, uint32_t *open,
			   struct function_ranges *ranges)
{
	uint64_t done = 0; /* pieces below are out */
	size_t depth = 0;

	for (size_t i = 0; i <= count; i++) {
		uint64_t start = i < count ? items[i].start : UINT64_MAX;

		while (depth && items[open[depth - 1]].limit <= start) {
			const struct function_candidate *top = &items[open[--depth]];

			ranges_append(ranges, done, top->limit, top->name);
			if (top->limit > done)
				done = top->limit;
		}
		if (i == count)
			break;
		if (depth)
			ranges_append(ranges, done, start, items[open[depth - 1]].name);
		done = start;
		open[depth++] = (uint32_t)i;
	}
}

int function_ranges_build(struct function_candidate *candidates, size_t count, const char *strings,
			  size_t strings_bytes, struct function_ranges *ret)
{
	struct function_ranges ranges = { 0 };
	CLEANUP_FREE uint32_t *open = NULL;
	struct function_range *shrunk;
	int result;

	*ret = ranges;
	if (!count)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (candidates[i].unsized)
			candidates[i].rank |= FUNCTION_RANK_UNSIZED;
	result = radix_sort(candidates, count, sizeof(*candidates),
			    offsetof(struct function_candidate, start));
	if (result < 0)
		return result;
	count = candidates_merge_aliases(candidates, count, strings, strings_bytes);
	count = candidates_close(candidates, count);
	open = malloc(count * sizeof(*open));
	ranges.ranges = malloc(2 * count * sizeof(*ranges.ranges));
	if (!open || !ranges.ranges) {
		free(ranges.ranges);
		return -ENOMEM;
	}
	ranges_flatten(candidates, count, open, &ranges);
	shrunk = ranges.count ? realloc(ranges.ranges, ranges.count * sizeof(*shrunk)) : NULL;
	if (shrunk)
		ranges.ranges = shrunk;
	*ret = ranges;
	return 0;
}

void function_ranges_deinit(struct function_ranges *ranges)
{
	free(ranges->ranges);
	*ranges = (struct function_ranges){ 0 };
}

size_t function_ranges_seek(const struct function_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct function_range *range = &ranges->ranges[middle];

		if (range->start + range->size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
