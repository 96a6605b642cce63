// SPDX-License-Identifier: Apache-2.0
/*
 * A whole file with all of its tables and stubs, and its first pages. Whatever the bytes are, rules
 * come in order and cover what was asked for, and pages are none or as large as they say.
 */
#include "receiver/ebpf/unwind/unwind.h"

#include <stdlib.h>

enum { SPAN = 1 << 17, SEGMENTS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct expected {
	uint64_t at, limit;
	struct page *page;
};

static void take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	struct expected *expected = context;

	if (start != expected->at || limit <= start || limit > expected->limit ||
	    rule->cfa > UNWIND_CFA_UNSUPPORTED || rule->unsupported >= UNWIND_UNSUPPORTED_COUNT)
		abort();
	expected->at = limit;
	page_take(expected->page, start, limit, rule);
}

static int number(void *context, const struct unwind_rule *rule)
{
	(void)rule;
	return 2 + (int)(++*(unsigned int *)context % 1000);
}

static void visit_segment(const struct unwind_source *source, const struct elf_view *view,
			  const struct elf_view_segment *segment)
{
	uint64_t length = segment->file_bytes < SPAN ? segment->file_bytes : SPAN;
	struct expected expected = { .at = segment->address, .limit = segment->address + length };
	unsigned int rules = 0;
	struct page page;
	size_t bytes;

	page_begin(&page, segment->address >> UNWIND_PAGE_SHIFT << UNWIND_PAGE_SHIFT, view->machine,
		   view, number, &rules);
	expected.page = &page;
	unwind_source_visit(source, segment->address, expected.limit, take, &expected);
	if (expected.at != expected.limit)
		abort();
	bytes = page_finish(&page);
	if (bytes) {
		void *copy = malloc(bytes);

		if (copy)
			page_write(&page, copy);
		free(copy);
	}
	page_deinit(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct unwind_source source;
	struct elf_view view;

	if (!elf_view_init(&view, bytes, size) || unwind_source_init(&source, &view))
		return 0;
	unwind_source_is_empty(&source);
	for (size_t i = 0; i < view.segment_count && i < SEGMENTS; i++)
		visit_segment(&source, &view, &view.segments[i]);
	unwind_source_deinit(&source);
	return 0;
}
