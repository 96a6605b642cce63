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

/* Of all runtimes, with their layouts. */
static size_t runtimes_bytes(const struct image *image)
{
	size_t bytes = 0;

	for (size_t i = 0; i < image->runtime_count; i++)
		bytes += sizeof(struct protocol_runtime) + image->runtimes[i].runtime->layout_bytes;
	return bytes;
}

static void *append_runtimes(void *to, const struct image *image)
{
	for (size_t i = 0; i < image->runtime_count; i++) {
		const struct runtime *runtime = image->runtimes[i].runtime;
		const struct protocol_runtime head = {
			.number = runtime->number,
			.bytes = (uint32_t)runtime->layout_bytes,
		};

		to = append(to, &head, sizeof(head));
		to = append(to, image->runtimes[i].layout, runtime->layout_bytes);
	}
	return to;
}

static int draft_finish(struct pages_draft *draft, void **ret, size_t *bytes_ret)
{
	size_t pages = draft->head.page_count * sizeof(*draft->pages);
	size_t rules = draft->list.rules.count * sizeof(*draft->list.rules.items);
	size_t bytes = sizeof(draft->head) + runtimes_bytes(draft->image) + pages + rules +
		       draft->contents.count;
	void *to = malloc(bytes);

	if (!to)
		return -ENOMEM;
	*ret = to;
	*bytes_ret = bytes;
	draft->head.rule_count = (uint32_t)draft->list.rules.count;
	to = append(to, &draft->head, sizeof(draft->head));
	to = append_runtimes(to, draft->image);
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
	draft.head.runtime_count = (uint16_t)image->runtime_count;
	for (size_t i = 0; image->has_tables && i < wanted; i++) {
		uint64_t number = asked_count ? asked[i] : image->text.first + i;
		int result = draft_add_page(&draft, number);

		if (result)
			return result;
	}
	return draft_finish(&draft, ret, bytes_ret);
}
