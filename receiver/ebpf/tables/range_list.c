// SPDX-License-Identifier: Apache-2.0
#include "range_list.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL = 256 };

static const uint64_t LONGEST_BYTES = 1ull << 43; /* of a range; its pages are counted in 32 bits */

static void add_range(struct range_list *list, const struct pages *pages,
		      const struct process_code *code, uint64_t start)
{
	uint64_t offset = code->file_offset + (start - code->start);
	struct unwind_range range = {
		.start = start,
		.pages = (uint32_t)((code->limit - start) >> 12),
		.kind = UNWIND_RANGE_BARE,
	};

	// A frame has no room for places beyond: such code is told as addresses.
	bool has_file = code->file != PROCESS_NO_FILE &&
			offset + (code->limit - start) <= 1ull << UNWIND_FRAME_SHIFT;

	if (has_file) {
		range.file = code->file + 1;
		range.file_page = (uint32_t)(offset >> 12);
	}
	// Frames in the vDSO are told as addresses, too: it is no file that could be named.
	if (has_file && start == code->start)
		pages_place(pages, code->file, offset, &range);
	else if (code->vdso && start == code->start)
		pages_place(pages, PAGES_VDSO, offset, &range);
	list->ranges.items[list->ranges.count++] = range;
}

static void add_code(struct range_list *list, const struct pages *pages,
		     const struct process_code *code, size_t most)
{
	const struct unwind_range *last;
	uint64_t reached;

	add_range(list, pages, code, code->start);
	last = &list->ranges.items[list->ranges.count - 1];
	reached = code->start + ((uint64_t)last->pages << 12);
	// More is mapped than the file has text: what lies beyond has no table.
	if (reached < code->limit && list->ranges.count < most)
		add_range(list, pages, code, reached);
}

/* The runtime's area that begins at @start; NULL: none does. It is so up to *@until. */
static const struct runtime_area *area_at(const struct attached_list *list, uint64_t start,
					  uint64_t *until, const struct attached **attached_ret)
{
	const struct attached *attached;
	const struct runtime_area *found = NULL;

	SLIST_FOREACH(attached, list, of_process)
	{
		const struct runtime_area *area = runtime_areas_at(&attached->found, start, until);

		if (!area || found)
			continue;
		found = area;
		*attached_ret = attached;
	}
	return found;
}

/* Memory of no file, in which areas may lie. */
static void add_areas(struct range_list *list, const struct process_code *code,
		      const struct attached_list *attached, size_t most)
{
	for (uint64_t start = code->start; start < code->limit && list->ranges.count < most;) {
		uint64_t until = code->limit;
		const struct attached *of = NULL;
		const struct runtime_area *area = area_at(attached, start, &until, &of);
		struct unwind_range range = {
			.start = start,
			.pages = (uint32_t)((until - start) >> 12),
			.kind = UNWIND_RANGE_BARE,
		};

		if (area) {
			memcpy(range.area, area->area, sizeof(range.area));
			range.told = of->data;
			range.kind = (uint8_t)(UNWIND_RANGE_RUNTIME + of->runtime->number);
		}
		list->ranges.items[list->ranges.count++] = range;
		start = until;
	}
}

/* At most. */
static size_t count_areas(const struct attached_list *list)
{
	const struct attached *attached;
	size_t count = 0;

	SLIST_FOREACH(attached, list, of_process)
	count += attached->found.area_count;
	return count;
}

/* At most. */
static size_t count_loops(const struct attached_list *list)
{
	const struct attached *attached;
	size_t count = 0;

	SLIST_FOREACH(attached, list, of_process)
	count += attached->data ? RUNTIME_LOOPS : 0;
	return count;
}

/* Pages of a file in which a runtime interprets. */
struct loop_pages {
	uint64_t start, limit; /* addresses */
	const struct attached *attached;
};

enum { PAGE_BYTES = 4096, MAX_LOOPS = 4 * RUNTIME_LOOPS };

static int compare_loops(const void *left, const void *right)
{
	uint64_t a = ((const struct loop_pages *)left)->start;
	uint64_t b = ((const struct loop_pages *)right)->start;

	return a < b ? -1 : a > b;
}

/* Those of the file of @code where that maps it, by address. Returns how many there are. */
static size_t list_loops(const struct attached_list *list, const struct pages *pages,
			 const struct process_code *code, struct loop_pages loops[MAX_LOOPS])
{
	const struct attached *attached;
	size_t count = 0;
	uint64_t base;

	if (SLIST_EMPTY(list) || !pages_address(pages, code->file, code->file_offset, &base))
		return 0;
	// It may be mapped more than once.
	base = code->start - base;

	SLIST_FOREACH(attached, list, of_process)
	{
		struct runtime_loop own[RUNTIME_LOOPS];
		size_t own_count;

		if (attached->file != code->file || !attached->data || !attached->runtime->loops)
			continue;
		own_count = attached->runtime->loops(attached->layout, own);
		for (size_t i = 0; i < own_count && i < RUNTIME_LOOPS && count < MAX_LOOPS; i++)
			loops[count++] = (struct loop_pages){
				.start = (base + own[i].start) & ~(PAGE_BYTES - 1ull),
				.limit = (base + own[i].limit + PAGE_BYTES - 1) &
					 ~(PAGE_BYTES - 1ull),
				.attached = attached,
			};
	}
	if (count)
		qsort(loops, count, sizeof(*loops), compare_loops);
	return count;
}

static struct process_code part_of(const struct process_code *code, uint64_t start, uint64_t limit)
{
	struct process_code part = *code;

	part.start = start;
	part.limit = limit;
	part.file_offset += start - code->start;
	return part;
}

/* @code, in which the pages of @loop are. Those that are added for it with a table lead to it. */
static void add_loop(struct range_list *list, const struct pages *pages,
		     const struct process_code *code, const struct loop_pages *loop, size_t most)
{
	size_t first = list->ranges.count;

	add_code(list, pages, code, most);
	for (size_t i = first; i < list->ranges.count; i++) {
		struct unwind_range *range = &list->ranges.items[i];

		if (range->kind != UNWIND_RANGE_TABLE)
			continue;
		range->kind = (uint8_t)(UNWIND_RANGE_LOOP + loop->attached->runtime->number);
		range->data = loop->attached->data;
	}
}

/* Memory of a file, in pages of which runtimes may interpret. */
static void add_file(struct range_list *list, const struct pages *pages,
		     const struct process_code *code, const struct attached_list *attached,
		     size_t most)
{
	struct loop_pages loops[MAX_LOOPS];
	size_t count = list_loops(attached, pages, code, loops);
	uint64_t start = code->start;

	for (size_t i = 0; i < count && list->ranges.count < most; i++) {
		uint64_t from = loops[i].start > start ? loops[i].start : start;
		uint64_t to = loops[i].limit < code->limit ? loops[i].limit : code->limit;
		struct process_code part;

		if (from >= to)
			continue;
		if (from > start) {
			part = part_of(code, start, from);
			add_code(list, pages, &part, most);
		}
		if (list->ranges.count >= most)
			return;
		part = part_of(code, from, to);
		add_loop(list, pages, &part, &loops[i], most);
		start = to;
	}
	if (start < code->limit && list->ranges.count < most) {
		struct process_code part = part_of(code, start, code->limit);

		add_code(list, pages, &part, most);
	}
}

/* The vsyscall page, in the upper half, is none that walks can search for. */
size_t range_list_make(struct range_list *list, const struct code_copy *code,
		       const struct pages *pages, const struct attached_list *attached, size_t most)
{
	size_t i, areas = count_areas(attached);

	list->ranges.count = 0;
	// Two of each mapping, two more for each area, and four for each loop. Without memory
	// nothing is told.
	if (!VECTOR_RESERVE(&list->ranges, 2 * (code->count + areas) + 4 * count_loops(attached)))
		return code->count;
	for (i = 0; i < code->count && list->ranges.count < most; i++) {
		const struct process_code *item = &code->items[i];

		if (item->limit > UNWIND_ADDRESS_LIMIT || item->limit - item->start > LONGEST_BYTES)
			continue;
		if (areas && item->file == PROCESS_NO_FILE && !item->vdso)
			add_areas(list, item, attached, most);
		else
			add_file(list, pages, item, attached, most);
	}
	return code->count - i;
}

void range_list_clear(struct range_list *list)
{
	if (list->ranges.capacity > USUAL)
		range_list_deinit(list);
}

void range_list_deinit(struct range_list *list)
{
	VECTOR_DEINIT(&list->ranges);
}
