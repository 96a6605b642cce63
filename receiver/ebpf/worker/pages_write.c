// SPDX-License-Identifier: Apache-2.0
#include "pages.h"

#include "rule_list.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

struct pages_draft {
	const struct image *image;
	struct protocol_tables head;
	struct protocol_page pages[WORKER_MAX_PAGES];
	struct rule_list list;
	VECTOR(uint8_t) contents;
};

static void draft_cleanup(struct pages_draft *draft)
{
	rule_list_deinit(&draft->list);
	VECTOR_DEINIT(&draft->contents);
}

static int draft_take_page(struct pages_draft *draft, uint64_t number, const struct page *page,
			   size_t bytes)
{
	if (!VECTOR_RESERVE(&draft->contents, bytes))
		return -ENOMEM;
	page_write(page, draft->contents.items + draft->contents.count);
	draft->contents.count += bytes;
	draft->pages[draft->head.page_count++] = (struct protocol_page){
		.number = (uint32_t)number,
		.row_count = (uint32_t)page->row_count,
	};
	return 0;
}

static int draft_add_page(struct pages_draft *draft, uint64_t number)
{
	const struct text_pages *text = &draft->image->text;
	size_t rules = draft->list.rules.count, bytes;
	CLEANUP(page_deinit) struct page page = { 0 };
	uint64_t start;

	if (number < text->first || number >= text->limit) {
		draft->head.pages_failed++;
		return 0;
	}
	start = number << UNWIND_PAGE_SHIFT;
	page_begin(&page, start, IMAGE_MACHINE, &draft->image->view, rule_list_number,
		   &draft->list);
	unwind_source_visit(&draft->image->source, start, start + (1 << UNWIND_PAGE_SHIFT),
			    page_take, &page);
	bytes = page_finish(&page);
	if (bytes)
		return draft_take_page(draft, number, &page, bytes);
	if (page.error == -ENOMEM)
		return -ENOMEM;
	rule_list_cut(&draft->list, rules);
	draft->head.pages_failed++;
	return 0;
}

static void *append(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return (char *)to + bytes;
}

static int draft_finish(struct pages_draft *draft, void **ret, size_t *bytes_ret)
{
	size_t pages = draft->head.page_count * sizeof(*draft->pages);
	size_t rules = draft->list.rules.count * sizeof(*draft->list.rules.items);
	size_t hotspot = draft->head.has_hotspot ? sizeof(draft->image->hotspot) : 0;
	size_t bytes = sizeof(draft->head) + hotspot + pages + rules + draft->contents.count;
	void *to = malloc(bytes);

	if (!to)
		return -ENOMEM;
	*ret = to;
	*bytes_ret = bytes;
	draft->head.rule_count = (uint32_t)draft->list.rules.count;
	to = append(to, &draft->head, sizeof(draft->head));
	to = append(to, &draft->image->hotspot, hotspot);
	to = append(to, draft->pages, pages);
	to = append(to, draft->list.rules.items, rules);
	append(to, draft->contents.items, draft->contents.count);
	return 0;
}

int pages_write(const struct image *image, const uint64_t *asked, size_t asked_count, void **ret,
		size_t *bytes_ret)
{
	CLEANUP(draft_cleanup) struct pages_draft draft = { .image = image };
	size_t wanted = text_pages_wanted(&image->text, asked_count);

	draft.head.has_tables = image->has_tables;
	draft.head.has_hotspot = image->has_hotspot;
	draft.head.has_go = image->has_tables && image->source.go.version != PCLNTAB_NONE;
	for (size_t i = 0; image->has_tables && i < wanted; i++) {
		uint64_t number = asked_count ? asked[i] : image->text.first + i;
		int result = draft_add_page(&draft, number);

		if (result)
			return result;
	}
	return draft_finish(&draft, ret, bytes_ret);
}
