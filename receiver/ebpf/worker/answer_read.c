// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "base/base.h"
#include "pages.h"

#include <string.h>

/* C0, DEL and C1 (in UTF-8: 0xc2 0x80 to 0x9f) would move the cursor of whoever prints a name. */
static void text_strip_controls(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte == 0x7f) {
			text[i] = '?';
		} else if (byte == 0xc2 && i + 1 < length && (unsigned char)text[i + 1] < 0xa0) {
			text[i] = '?';
			text[++i] = '?';
		}
	}
}

/* Make each string of @text printable. False when one is too long, or the ends are not NUL. */
static bool text_check(char *text, size_t bytes)
{
	if (!bytes || bytes > PROTOCOL_MAX_TEXT || text[0] || text[bytes - 1])
		return false;
	for (size_t at = 0; at < bytes;) {
		size_t length = strlen(text + at);

		if (length >= WORKER_MAX_NAME)
			return false;
		strings_sanitize_utf8(text + at, text + at, length);
		text_strip_controls(text + at, length);
		at += length + 1;
	}
	return true;
}

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

/* @at is 0 or where a string begins: not its middle, where a cut UTF-8 sequence could come first.
 */
static bool text_begins_at(const char *text, size_t bytes, uint32_t at)
{
	return !at || (at < bytes && !text[at - 1]);
}

static bool ranges_check(const struct worker_range *ranges, size_t count, const char *text,
			 size_t text_bytes)
{
	uint64_t done = 0;

	for (size_t i = 0; i < count; i++) {
		const struct worker_range *range = &ranges[i];

		if (range->start < done || !range->size ||
		    range->start > UINT64_MAX - range->size ||
		    !text_begins_at(text, text_bytes, range->name) ||
		    !text_begins_at(text, text_bytes, range->system_name) ||
		    (range->name && !text[range->name]) || (range->system_name && !range->name))
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
	if (!text_check(text, facts->text_bytes) ||
	    !segments_check(ret->segments, ret->segment_count) ||
	    !text_begins_at(text, facts->text_bytes, facts->build_id_gnu) ||
	    !text_begins_at(text, facts->text_bytes, facts->build_id_go) || facts->htlhash[32] ||
	    !is_hex(facts->htlhash, 32))
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

bool worker_read_answer(void *body, size_t bytes, const uint64_t *asked, size_t asked_count,
			struct worker_page pages[WORKER_MAX_PAGES], struct worker_answer *ret)
{
	return answer_read_pages(body, bytes, asked, asked_count, pages, ret);
}

uint32_t worker_machine(void)
{
	return IMAGE_MACHINE;
}
