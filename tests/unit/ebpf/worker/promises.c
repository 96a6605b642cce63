// SPDX-License-Identifier: Apache-2.0
#include "promises.h"

#include "base/base.h"
#include "runtimes/runtime.h"
#include "unwind/unwind.h"

#include <ctype.h>
#include <string.h>

static bool is_inside(const struct promised *promised, const void *at, uint64_t bytes)
{
	const char *body = promised->body, *begin = at;

	return begin >= body && bytes <= promised->bytes &&
	       (size_t)(begin - body) <= promised->bytes - bytes;
}

/* ---- facts ---- */

static bool is_text(const struct promised *promised, const char *text)
{
	size_t length;

	if (!is_inside(promised, text, 1))
		return false;
	length = strnlen(text, promised->bytes - (size_t)(text - (const char *)promised->body));
	if (!is_inside(promised, text, length + 1) || length >= WORKER_MAX_NAME ||
	    !strings_is_utf8(text, length))
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i], next = (unsigned char)text[i + 1];

		if (iscntrl(byte) || (byte == 0xc2 && next >= 0x80 && next < 0xa0))
			return false;
	}
	return true;
}

static bool is_hex_text(const char *text)
{
	for (; *text; text++)
		if (!strchr("0123456789abcdef", *text))
			return false;
	return true;
}

static const char *promises_of_facts(const struct promised *promised)
{
	const struct worker_answer *answer = promised->answer;

	if (answer->outcome != WORKER_ANSWERED)
		return "it is an answer";
	if (!is_text(promised, answer->build_id_gnu) || !is_text(promised, answer->build_id_go) ||
	    !is_text(promised, answer->htlhash))
		return "text is printable";
	if (!is_hex_text(answer->build_id_gnu) || !is_hex_text(answer->htlhash) ||
	    strlen(answer->htlhash) != 32)
		return "build id and hash are hexadecimal";
	if (answer->segment_count > WORKER_MAX_SEGMENTS ||
	    !is_inside(promised, answer->segments,
		       answer->segment_count * sizeof(*answer->segments)))
		return "segments are bounded";
	for (size_t i = 0; i < answer->segment_count; i++) {
		const struct worker_segment *segment = &answer->segments[i];
		uint64_t sum;

		if (__builtin_add_overflow(segment->address, segment->memory_bytes, &sum) ||
		    __builtin_add_overflow(segment->file_offset, segment->file_bytes, &sum) ||
		    segment->file_bytes > segment->memory_bytes)
			return "segments do not wrap";
	}
	return NULL;
}

/* ---- functions ---- */

static const char *promises_of_range(const struct promised *promised, size_t index)
{
	const struct worker_answer *answer = promised->answer;
	const struct worker_range *range = &answer->ranges[index], *last = range - 1;
	uint64_t limit;

	if (!range->size || __builtin_add_overflow(range->start, range->size, &limit))
		return "a range has bytes, and does not wrap";
	if (index && last->start + last->size > range->start)
		return "ranges ascend without overlap";
	if (!is_text(promised, answer->text + range->name) ||
	    !is_text(promised, answer->text + range->system_name))
		return "names are printable";
	if ((range->kind == WORKER_FUNCTION) != (*(answer->text + range->name) != 0))
		return "functions have a name, and nothing else has";
	if (range->before > range->start)
		return "an entry begins at an address";
	return NULL;
}

const char *promises_of_index(const struct promised *promised)
{
	const struct worker_index *index = &promised->answer->index;
	const char *broken = promises_of_facts(promised);

	if (broken)
		return broken;
	if (!index->bytes || index->bytes > WORKER_INDEX_BYTES || index->source >= WORKER_SOURCES)
		return "an index has a source, and bytes within the bound";
	if (strnlen(index->link, sizeof(index->link)) == sizeof(index->link) ||
	    strchr(index->link, '/') || !strcmp(index->link, ".."))
		return "a link is a file name";
	if (index->lines_by &&
	    (!runtime_find(index->lines_by) || !runtime_find(index->lines_by)->lines))
		return "lines are by a runtime that has some";
	return NULL;
}

const char *promises_of_lines(const struct promised *promised)
{
	const struct worker_answer *answer = promised->answer;
	size_t lines = 0;

	if (answer->named_count != promised->asked_count ||
	    !is_inside(promised, answer->named, answer->named_count * sizeof(*answer->named)) ||
	    !is_inside(promised, answer->lines, answer->line_count * sizeof(*answer->lines)))
		return "every place is answered, and lines are inside";
	for (size_t i = 0; i < answer->named_count; i++) {
		if (answer->named[i].trace >= RUNTIME_TRACES)
			return "a trace is one that is known";
		lines += answer->named[i].line_count;
	}
	if (lines != answer->line_count)
		return "each line belongs to one place";
	for (size_t i = 0; i < answer->line_count; i++)
		if (!answer->lines[i].function ||
		    !is_text(promised, answer->text + answer->lines[i].function) ||
		    !is_text(promised, answer->text + answer->lines[i].file))
			return "a line has a function, and text is printable";
	return NULL;
}

static bool is_answered(const struct worker_answer *answer, uint64_t offset)
{
	const struct worker_segment *segment =
		worker_find_segment(answer->segments, answer->segment_count, offset);
	uint64_t address;

	if (!segment)
		return true;
	address = segment->address + (offset - segment->file_offset);
	for (size_t i = 0; i < answer->range_count; i++)
		if (address >= answer->ranges[i].start &&
		    address < answer->ranges[i].start + answer->ranges[i].size)
			return true;
	return false;
}

const char *promises_of_functions(const struct promised *promised)
{
	const struct worker_answer *answer = promised->answer;
	const char *broken = promises_of_facts(promised);

	if (!broken &&
	    !is_inside(promised, answer->ranges, answer->range_count * sizeof(*answer->ranges)))
		broken = "ranges are inside";
	for (size_t i = 0; i < answer->range_count && !broken; i++)
		broken = promises_of_range(promised, i);
	for (size_t i = 0; i < promised->asked_count && !broken && !answer->partial; i++)
		if (!is_answered(answer, promised->asked[i]))
			broken = "every offset is answered";
	return broken;
}

/* ---- pages ---- */

static const char *promises_of_rule(const struct unwind_rule *rule)
{
	switch ((enum unwind_cfa)rule->cfa) {
	case UNWIND_CFA_REGISTER:
	case UNWIND_CFA_DEREFERENCED:
	case UNWIND_CFA_PLT:
	case UNWIND_CFA_UNSUPPORTED:
		break;
	default:
		return "a rule in the list says something";
	}
	if (rule->ra >= 6 || rule->fp >= 6 || rule->signal >= 3 || rule->stack_switch >= 2 ||
	    rule->unsupported >= UNWIND_UNSUPPORTED_COUNT || rule->new_thread > 1)
		return "fields of a rule are in range";
	return NULL;
}

static const char *promises_of_row(uint32_t row, size_t rule_count)
{
	uint32_t rule = row >> 16;

	if (row & 0xff00 & ~(uint32_t)PAGE_ROW_NO_CALL)
		return "bits of a row that mean nothing are 0";
	if (rule >= 0x4000) {
#if defined(__x86_64__)
		uint32_t depth = rule >= 0x8000 ? (rule - 0x8000) / 32 : (rule - 0x4000) / 32;

		return depth ? NULL : "a packed rule leads up the stack";
#else
		return "only amd64 packs rules";
#endif
	}
	if (rule == UNWIND_RULE_UNKNOWN || rule == UNWIND_RULE_END || rule - 2 < rule_count)
		return NULL;
	return "a rule's number exists";
}

/* Every byte of the page has exactly one row. */
static const char *promises_of_page(const struct promised *promised, const struct worker_page *page)
{
	uint32_t at = 0;

	if (!is_inside(promised, page->first, (UNWIND_BLOCKS + 1) * sizeof(uint16_t)) ||
	    !is_inside(promised, page->rows, (uint64_t)page->row_count * sizeof(uint32_t)) ||
	    PAGE_HEAD_BYTES + 4ull * page->row_count > PAGE_MAX_BYTES)
		return "a page is inside, and not too large";
	for (uint32_t block = 0; block < UNWIND_BLOCKS; block++) {
		int last = -1;

		if (page->first[block] != at)
			return "blocks follow each other";
		for (; at < page->first[block + 1]; at++) {
			const char *broken;
			int byte;

			if (at >= page->row_count)
				return "rows are inside";
			byte = page->rows[at] & 0xff;
			if (last < 0 ? byte : byte <= last)
				return "rows ascend from byte 0";
			last = byte;
			broken = promises_of_row(page->rows[at], promised->answer->rule_count);
			if (broken)
				return broken;
		}
		if (last < 0)
			return "each block has a row";
	}
	return at == page->row_count ? NULL : "there are no other rows";
}

/* The pages between the first and the last byte of code. */
static void text_of(const struct worker_answer *answer, uint64_t *first, uint64_t *limit)
{
	*first = UINT64_MAX;
	*limit = 0;
	for (size_t i = 0; i < answer->segment_count; i++) {
		const struct worker_segment *segment = &answer->segments[i];
		uint64_t end = segment->address + segment->file_bytes;

		if (!segment->executable || !segment->file_bytes)
			continue;
		if (segment->address / 65536 < *first)
			*first = segment->address / 65536;
		if ((end - 1) / 65536 + 1 > *limit)
			*limit = (end - 1) / 65536 + 1;
	}
}

static bool was_asked(const struct promised *promised, uint32_t number)
{
	for (size_t i = 0; i < promised->asked_count; i++)
		if (promised->asked[i] == number)
			return true;
	return !promised->asked_count;
}

static const char *promises_of_counts(const struct promised *promised, uint64_t first,
				      uint64_t limit)
{
	const struct worker_answer *answer = promised->answer;
	size_t wanted = promised->asked_count;

	if (!answer->has_tables)
		return answer->page_count || answer->pages_failed || answer->rule_count
			       ? "without tables there is nothing"
			       : NULL;
	if (limit > UINT32_MAX || answer->page_first != first || answer->page_limit != limit)
		return "the text's pages are those of the segments";
	if (!wanted && limit - first <= WORKER_SMALL_PAGES)
		wanted = limit - first;
	if (answer->page_count + answer->pages_failed != wanted)
		return "all that was asked for is there or has failed";
	if (answer->rule_count > UNWIND_RULES - 2 ||
	    !is_inside(promised, answer->rules, answer->rule_count * sizeof(*answer->rules)))
		return "rules are inside";
	return NULL;
}

/* Runtimes that there are, each once, with layouts that they take for theirs. */
static const char *promises_of_runtimes(const struct promised *promised)
{
	const struct worker_answer *answer = promised->answer;

	if (answer->runtime_count > WORKER_MAX_RUNTIMES)
		return "there are few runtimes";
	for (size_t i = 0; i < answer->runtime_count; i++) {
		const struct worker_runtime *one = &answer->runtimes[i];

		if (!one->runtime || runtime_find(one->runtime->number) != one->runtime)
			return "runtimes are known";
		if (i && one->runtime->number <= answer->runtimes[i - 1].runtime->number)
			return "runtimes ascend";
		if (!is_inside(promised, one->layout, one->runtime->layout_bytes))
			return "what is known of a runtime is inside";
		if (!one->runtime->check(one->layout))
			return "a runtime's layout is one";
	}
	return NULL;
}

const char *promises_of_pages(const struct promised *promised)
{
	const struct worker_answer *answer = promised->answer;
	const char *broken = promises_of_facts(promised);
	uint64_t first, limit;

	if (broken)
		return broken;
	if (answer->range_count || answer->partial)
		return "there are no functions";
	text_of(answer, &first, &limit);
	broken = promises_of_counts(promised, first, limit);
	if (!broken)
		broken = promises_of_runtimes(promised);
	for (size_t i = 0; i < answer->rule_count && !broken; i++)
		broken = promises_of_rule(&answer->rules[i]);
	for (size_t i = 0; i < answer->page_count && !broken; i++) {
		uint32_t number = answer->pages[i].number;

		if (number < first || number >= limit || !was_asked(promised, number) ||
		    (i && number <= answer->pages[i - 1].number))
			broken = "pages were asked for, and ascend";
		else
			broken = promises_of_page(promised, &answer->pages[i]);
	}
	return broken;
}
