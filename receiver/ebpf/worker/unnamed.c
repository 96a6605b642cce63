// SPDX-License-Identifier: Apache-2.0
#include "unnamed.h"

#include "base/base.h"

#include <errno.h>

enum { MAX_ENTRIES = 4 << 20 };

struct entry {
	uint64_t start, position;
};

/* Ranges as they are being merged. */
struct merging {
	const struct function_ranges *named;
	size_t at; /* the first one that ends behind what has been merged */
	VECTOR(struct function_range) merged;
};

static bool is_named(const struct function_ranges *ranges, uint64_t address)
{
	size_t at = function_ranges_seek(ranges, address);

	return at < ranges->count && ranges->ranges[at].start <= address;
}

/* Entries that begin where no name is, by address. The caller frees *@ret. */
static int collect_entries(const struct function_ranges *ranges, const struct unwind_source *source,
			   struct entry **ret, size_t *count_ret)
{
	size_t count = unwind_entries_count(source);
	VECTOR(struct entry) found = { 0 };
	int result;

	for (size_t i = 0; i < count && found.count < MAX_ENTRIES; i++) {
		struct entry entry = { unwind_entries_start(source, i), i };

		if (!is_named(ranges, entry.start) && !VECTOR_PUSH(&found, entry)) {
			VECTOR_DEINIT(&found);
			return -ENOMEM;
		}
	}
	result = radix_sort(found.items, found.count, sizeof(*found.items),
			    offsetof(struct entry, start));
	*ret = found.items;
	*count_ret = found.count;
	return result;
}

static bool put_unnamed(struct merging *merging, uint64_t start, uint64_t limit, uint64_t entry)
{
	struct function_range range = {
		.start = start,
		.size = limit - start < UINT32_MAX ? (uint32_t)(limit - start) : UINT32_MAX,
		.name = FUNCTION_UNNAMED | (uint32_t)(start - entry),
	};

	// What lies so far behind the begin of its entry is no function.
	if (start >= limit || start - entry >= FUNCTION_UNNAMED)
		return true;
	return VECTOR_PUSH(&merging->merged, range);
}

/* Put the named ranges that begin before @limit; of [start, limit) what lies between them is of the
 * entry at @start. */
static bool merge_entry(struct merging *merging, uint64_t start, uint64_t limit)
{
	const struct function_ranges *named = merging->named;
	uint64_t at = start;

	for (; merging->at < named->count && named->ranges[merging->at].start < limit;
	     merging->at++) {
		const struct function_range *range = &named->ranges[merging->at];

		if (range->start > at && !put_unnamed(merging, at, range->start, start))
			return false;
		if (range->start + range->size > at)
			at = range->start + range->size;
		if (!VECTOR_PUSH(&merging->merged, *range))
			return false;
	}
	return put_unnamed(merging, at, limit, start);
}

static bool merge_all(struct merging *merging, const struct unwind_source *source,
		      const struct elf_facts *facts, const struct entry *entries, size_t count)
{
	const struct function_ranges *named = merging->named;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = entries[i].start, code = elf_facts_code_limit(facts, start);
		uint64_t limit = unwind_entries_limit(source, entries[i].position);

		if (limit > code)
			limit = code;
		if (i + 1 < count && limit > entries[i + 1].start)
			limit = entries[i + 1].start;
		if (limit > start && !merge_entry(merging, start, limit))
			return false;
	}
	for (; merging->at < named->count; merging->at++)
		if (!VECTOR_PUSH(&merging->merged, named->ranges[merging->at]))
			return false;
	return true;
}

int unnamed_add(struct function_ranges *ranges, const struct unwind_source *source,
		const struct elf_facts *facts)
{
	struct merging merging = { .named = ranges };
	CLEANUP_FREE struct entry *entries = NULL;
	size_t count = 0;
	int result = collect_entries(ranges, source, &entries, &count);

	if (result)
		return result;
	if (!merge_all(&merging, source, facts, entries, count)) {
		VECTOR_DEINIT(&merging.merged);
		return -ENOMEM;
	}
	free(ranges->ranges);
	ranges->ranges = merging.merged.items;
	ranges->count = merging.merged.count;
	return 0;
}
