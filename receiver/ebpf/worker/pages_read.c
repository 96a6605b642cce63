// SPDX-License-Identifier: Apache-2.0
#include "pages.h"

/* ---- rules ---- */

static bool rules_check(const struct unwind_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct unwind_rule *rule = &rules[i];

		if (rule->cfa <= UNWIND_CFA_END || rule->cfa > UNWIND_CFA_UNSUPPORTED ||
		    rule->ra > UNWIND_LOST || rule->fp > UNWIND_LOST ||
		    rule->signal > UNWIND_INTERRUPTS || rule->stack_switch > 1 ||
		    rule->unsupported >= UNWIND_UNSUPPORTED_COUNT || rule->new_thread > 1)
			return false;
	}
	return true;
}

/* The upper half of a row. */
static bool row_rule_check(uint32_t rule, size_t rule_count)
{
	enum { SLOT_BITS = 5 };
	bool is_packed = rule & (UNWIND_PACKED_SP | UNWIND_PACKED_FP);
	uint32_t depths =
		rule & UNWIND_PACKED_SP ? UNWIND_PACKED_SP_DEPTHS : UNWIND_PACKED_FP_DEPTHS;

	if (!is_packed)
		return rule < WORKER_FIRST_RULE + rule_count;
	return IMAGE_MACHINE == EM_X86_64 && (rule >> SLOT_BITS & (depths - 1));
}

/* ---- pages ---- */

/* The rows [begin, end) of one block. */
static bool block_check(const uint32_t *rows, uint32_t begin, uint32_t end, size_t rule_count)
{
	enum { BYTE_MASK = 0xff, BETWEEN_MASK = 0xff00 & ~PAGE_ROW_NO_CALL };

	for (uint32_t i = begin; i < end; i++) {
		if (i == begin ? rows[i] & BYTE_MASK
			       : (rows[i] & BYTE_MASK) <= (rows[i - 1] & BYTE_MASK))
			return false;
		if (rows[i] & BETWEEN_MASK || !row_rule_check(rows[i] >> 16, rule_count))
			return false;
	}
	return true;
}

static bool page_check(const struct worker_page *page, size_t rule_count)
{
	const uint16_t *first = page->first;

	// Behind the last comes a reserved one.
	if (first[0] || first[UNWIND_BLOCKS] != page->row_count || first[UNWIND_BLOCKS + 1])
		return false;
	for (size_t i = 0; i < UNWIND_BLOCKS; i++)
		if (first[i] >= first[i + 1] || first[i + 1] > page->row_count ||
		    !block_check(page->rows, first[i], first[i + 1], rule_count))
			return false;
	return true;
}

/* The contents of all @count pages, which must fill @bytes. */
static bool contents_check(const struct protocol_page *heads, size_t count, const char *contents,
			   size_t bytes, size_t rule_count, struct worker_page *pages)
{
	for (size_t i = 0; i < count; i++) {
		size_t length;

		if (heads[i].row_count > PAGE_MAX_ROWS)
			return false;
		length = PAGE_HEAD_BYTES + heads[i].row_count * sizeof(*pages->rows);
		if (length > bytes)
			return false;
		pages[i] = (struct worker_page){
			.number = heads[i].number,
			.row_count = heads[i].row_count,
			.first = (const void *)contents,
			.rows = (const void *)(contents + PAGE_HEAD_BYTES),
		};
		if (!page_check(&pages[i], rule_count))
			return false;
		contents += length;
		bytes -= length;
	}
	return !bytes;
}

/* Each page is one of the text, and was asked for; none comes twice. */
static bool numbers_check(const struct protocol_page *heads, size_t count,
			  const struct text_pages *text, const uint64_t *asked, size_t asked_count)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = heads[i].number;

		if (number < text->first || number >= text->limit ||
		    (i && number <= heads[i - 1].number))
			return false;
		while (at < asked_count && asked[at] < number)
			at++;
		if (asked_count && (at == asked_count || asked[at] != number))
			return false;
	}
	return true;
}

/* ---- all of it ---- */

static bool head_check(const struct protocol_tables *head, const struct text_pages *text,
		       size_t asked_count)
{
	size_t wanted = text_pages_wanted(text, asked_count);

	if (head->runtime_count > WORKER_MAX_RUNTIMES)
		return false;
	if (!head->has_tables)
		return !head->page_count && !head->pages_failed && !head->rule_count;
	return head->has_tables == 1 && text->limit && head->rule_count <= PROTOCOL_MAX_RULES &&
	       head->page_count <= wanted && head->pages_failed == wanted - head->page_count;
}

/* The runtimes that lie at @from, of which there are @bytes. Returns how many bytes are theirs; 0:
 * they are broken. */
static size_t runtimes_read(const char *from, size_t bytes, size_t count, struct worker_answer *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		const struct protocol_runtime *head = (const void *)(from + at);
		const struct runtime *runtime;

		if (sizeof(*head) > bytes - at)
			return 0;
		runtime = runtime_find(head->number);
		at += sizeof(*head);
		if (!runtime || head->bytes != runtime->layout_bytes || head->bytes > bytes - at ||
		    !runtime->check(from + at) ||
		    (i && ret->runtimes[i - 1].runtime->number >= runtime->number))
			return 0;
		ret->runtimes[i] = (struct worker_runtime){ runtime, from + at };
		at += head->bytes;
	}
	return at;
}

bool pages_read(const void *tables, size_t bytes, const uint64_t *asked, size_t asked_count,
		struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret)
{
	struct text_pages text = text_pages_find(ret->segments, ret->segment_count);
	const struct protocol_tables *head = tables;
	const struct protocol_page *heads;
	const struct unwind_rule *rules;
	size_t before, runtimes_bytes;

	if (bytes < sizeof(*head) || !head_check(head, &text, asked_count))
		return false;
	runtimes_bytes = runtimes_read((const char *)(head + 1), bytes - sizeof(*head),
				       head->runtime_count, ret);
	if (head->runtime_count && !runtimes_bytes)
		return false;
	before = sizeof(*head) + runtimes_bytes + head->page_count * sizeof(*heads) +
		 head->rule_count * sizeof(*rules);
	if (before > bytes)
		return false;
	heads = (const void *)((const char *)(head + 1) + runtimes_bytes);
	rules = (const void *)(heads + head->page_count);
	if (!rules_check(rules, head->rule_count) ||
	    !numbers_check(heads, head->page_count, &text, asked, asked_count) ||
	    !contents_check(heads, head->page_count, (const char *)tables + before, bytes - before,
			    head->rule_count, pages))
		return false;
	ret->has_tables = head->has_tables;
	ret->page_first = text.first;
	ret->page_limit = text.limit;
	ret->pages = pages;
	ret->page_count = head->page_count;
	ret->pages_failed = head->pages_failed;
	ret->rules = rules;
	ret->rule_count = head->rule_count;
	ret->runtime_count = head->runtime_count;
	return true;
}
