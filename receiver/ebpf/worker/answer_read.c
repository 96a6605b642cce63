// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "answer_text.h"
#include "base/base.h"
#include "names_read.h"
#include "pages.h"

#include <string.h>

static bool segments_check(const struct worker_segment *segments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (segments[i].executable > 1 ||
		    segments[i].file_bytes > segments[i].memory_bytes ||
		    segments[i].file_offset > UINT64_MAX - segments[i].file_bytes ||
		    segments[i].address > UINT64_MAX - segments[i].memory_bytes)
			return false;
	return true;
}

static bool ranges_check(const struct worker_range *ranges, size_t count, const char *text,
			 size_t text_bytes)
{
	uint64_t done = 0;

	for (size_t i = 0; i < count; i++) {
		const struct worker_range *range = &ranges[i];

		if (range->start < done || !range->size ||
		    range->start > UINT64_MAX - range->size ||
		    !answer_text_begins_at(text, text_bytes, range->name) ||
		    !answer_text_begins_at(text, text_bytes, range->system_name) ||
		    range->kind > WORKER_UNNAMED ||
		    !range->name != (range->kind != WORKER_FUNCTION) ||
		    (range->name && !text[range->name]) || (range->system_name && !range->name) ||
		    range->before > range->start ||
		    (range->before && range->kind != WORKER_UNNAMED))
			return false;
		done = range->start + range->size;
	}
	return true;
}

static bool ranges_cover(const struct worker_answer *answer, uint64_t address)
{
	size_t low = 0, high = answer->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct worker_range *range = &answer->ranges[middle];

		if (address >= range->start && address - range->start < range->size)
			return true;
		if (range->start > address)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* Every offset inside a segment is answered; a partial answer brings something at least. */
static bool answer_is_complete(const struct worker_answer *answer, const uint64_t *offsets,
			       size_t count)
{
	if (answer->partial)
		return answer->range_count;
	for (size_t i = 0; i < count; i++) {
		const struct worker_segment *segment =
			worker_find_segment(answer->segments, answer->segment_count, offsets[i]);

		if (segment &&
		    !ranges_cover(answer, segment->address + (offsets[i] - segment->file_offset)))
			return false;
	}
	return true;
}

static bool is_hex(const char *text, size_t length)
{
	return strspn(text, "0123456789abcdef") == length && !text[length];
}

/*
 * Check what both kinds of answers have into @ret: facts, segments and text. Between the
 * segments and the text lie ranges, not checked yet, and tables, where *@tables_ret is.
 */
static bool answer_read_facts(void *body, size_t bytes, struct worker_answer *ret,
			      const void **tables_ret)
{
	struct protocol_facts *facts = body;
	size_t segments, ranges;
	char *text;

	if (bytes < sizeof(*facts) || facts->segment_count > WORKER_MAX_SEGMENTS ||
	    facts->range_count > WORKER_MAX_OFFSETS || facts->text_bytes > PROTOCOL_MAX_TEXT ||
	    facts->tables_bytes > PROTOCOL_MAX_TABLES || facts->partial > 1)
		return false;
	segments = facts->segment_count * sizeof(*ret->segments);
	ranges = facts->range_count * sizeof(*ret->ranges);
	if (bytes != sizeof(*facts) + segments + ranges + facts->tables_bytes + facts->text_bytes)
		return false;
	*ret = (struct worker_answer){
		.outcome = WORKER_ANSWERED,
		.segments = (const void *)(facts + 1),
		.segment_count = facts->segment_count,
		.ranges = (const void *)((const char *)(facts + 1) + segments),
		.range_count = facts->range_count,
		.partial = facts->partial,
		.htlhash = facts->htlhash,
		.body = body,
		.body_bytes = bytes,
	};
	*tables_ret = (const char *)(facts + 1) + segments + ranges;
	text = (char *)(facts + 1) + segments + ranges + facts->tables_bytes;
	if (!answer_text_check(text, facts->text_bytes) ||
	    !segments_check(ret->segments, ret->segment_count) ||
	    !answer_text_begins_at(text, facts->text_bytes, facts->build_id_gnu) ||
	    !answer_text_begins_at(text, facts->text_bytes, facts->build_id_go) ||
	    facts->htlhash[32] || !is_hex(facts->htlhash, 32))
		return false;
	ret->text = text;
	ret->build_id_gnu = text + facts->build_id_gnu;
	ret->build_id_go = text + facts->build_id_go;
	return is_hex(ret->build_id_gnu, strlen(ret->build_id_gnu));
}

bool answer_read(void *body, size_t bytes, const uint64_t *offsets, size_t offset_count,
		 struct worker_answer *ret)
{
	const struct protocol_facts *facts = body;
	struct worker_answer answer;
	const void *tables;

	if (!answer_read_facts(body, bytes, &answer, &tables) || facts->tables_bytes ||
	    answer.range_count > offset_count ||
	    !ranges_check(answer.ranges, answer.range_count, answer.text, facts->text_bytes) ||
	    !answer_is_complete(&answer, offsets, offset_count))
		return false;
	*ret = answer;
	return true;
}

/* A file name that leads nowhere else, and fits. */
static bool link_check(const char *link)
{
	return strlen(link) < WORKER_LINK_BYTES && !strchr(link, '/') && strcmp(link, ".") != 0 &&
	       strcmp(link, "..") != 0;
}

static bool lines_by_check(uint32_t number)
{
	const struct runtime *runtime = runtime_find(number);

	return number == RUNTIME_NONE || (runtime && runtime->lines);
}

bool answer_read_index(void *body, size_t bytes, struct worker_answer *ret)
{
	const struct protocol_facts *facts = body;
	const struct protocol_index *index;
	struct worker_answer answer;
	const void *tables;

	if (!answer_read_facts(body, bytes, &answer, &tables) || answer.range_count ||
	    answer.partial || facts->tables_bytes != sizeof(*index))
		return false;
	index = tables;
	if (!index->bytes || index->bytes > WORKER_INDEX_BYTES || index->source >= WORKER_SOURCES ||
	    index->debug_refused > 1 || index->has_tables > 1 || index->reserved ||
	    !lines_by_check(index->lines_by) ||
	    !answer_text_begins_at(answer.text, facts->text_bytes, index->link) ||
	    !link_check(answer.text + index->link))
		return false;
	answer.index = (struct worker_index){
		.bytes = index->bytes,
		.source = index->source,
		.debug_refused = index->debug_refused,
		.has_tables = index->has_tables,
		.lines_by = index->lines_by,
	};
	memcpy(answer.index.link, answer.text + index->link, strlen(answer.text + index->link) + 1);
	*ret = answer;
	return true;
}

bool answer_read_pages(void *body, size_t bytes, const uint64_t *asked, size_t asked_count,
		       struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret)
{
	const struct protocol_facts *facts = body;
	struct worker_answer answer;
	const void *tables;

	if (!answer_read_facts(body, bytes, &answer, &tables) || answer.range_count ||
	    answer.partial ||
	    !pages_read(tables, facts->tables_bytes, asked, asked_count, pages, &answer))
		return false;
	*ret = answer;
	return true;
}

bool answer_read_lines(void *body, size_t bytes, size_t count, struct worker_answer *ret)
{
	return names_read(body, bytes, count, RUNTIME_TRACES - 1, ret);
}

bool worker_read_answer(void *body, size_t bytes, const uint64_t *asked, size_t asked_count,
			struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret)
{
	return answer_read_pages(body, bytes, asked, asked_count, pages, ret);
}

uint32_t worker_machine(void)
{
	return IMAGE_MACHINE;
}
