// SPDX-License-Identifier: Apache-2.0
#include "range_list.h"

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

/* Memory of no file, in which heaps may lie. */
static void add_heaps(struct range_list *list, const struct process_code *code,
		      const struct jvm_heaps *heaps, size_t most)
{
	for (uint64_t start = code->start; start < code->limit && list->ranges.count < most;) {
		uint64_t until = code->limit;
		const struct jvm_heap *heap = jvm_heaps_at(heaps, start, &until);
		struct unwind_range range = {
			.start = start,
			.pages = (uint32_t)((until - start) >> 12),
			.kind = UNWIND_RANGE_BARE,
		};

		if (heap)
			range.hotspot = heap->code;
		list->ranges.items[list->ranges.count++] = range;
		start = until;
	}
}

/* The vsyscall page, in the upper half, is none that walks can search for. */
size_t range_list_make(struct range_list *list, const struct code_copy *code,
		       const struct pages *pages, const struct jvm_heaps *heaps, size_t most)
{
	size_t i;

	list->ranges.count = 0;
	// Two of each mapping, and two more for each heap. Without memory nothing is told.
	if (!VECTOR_RESERVE(&list->ranges, 2 * (code->count + JVM_HEAPS)))
		return code->count;
	for (i = 0; i < code->count && list->ranges.count < most; i++) {
		const struct process_code *item = &code->items[i];

		if (item->limit > UNWIND_ADDRESS_LIMIT || item->limit - item->start > LONGEST_BYTES)
			continue;
		if (heaps && item->file == PROCESS_NO_FILE && !item->vdso)
			add_heaps(list, item, heaps, most);
		else
			add_code(list, pages, item, most);
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
