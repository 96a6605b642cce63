// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "base/base.h"
#include "cut_names.h"
#include "demangle.h"
#include "pages.h"

#include <errno.h>
#include <string.h>

struct probe {
	uint64_t address;
	const struct worker_segment *segment;
};

struct draft {
	const struct elf_facts *known;
	bool partial;
	VECTOR(struct worker_range) ranges;
	VECTOR(char) text;
	void *tables; /* owned; of an answer about pages */
	size_t tables_bytes;
};

static void draft_cleanup(struct draft *draft)
{
	VECTOR_DEINIT(&draft->ranges);
	VECTOR_DEINIT(&draft->text);
	free(draft->tables);
}

/* Where in the text the @length bytes with a NUL behind them are; 0 without memory. */
static uint32_t draft_add_text(struct draft *draft, const char *bytes, size_t length)
{
	uint32_t at = (uint32_t)draft->text.count;

	if (!VECTOR_RESERVE(&draft->text, length + 1))
		return 0;
	memcpy(draft->text.items + at, bytes, length);
	draft->text.items[at + length] = '\0';
	draft->text.count += length + 1;
	return at;
}

/* As above, cut to what a name may have. */
static uint32_t draft_add_name(struct draft *draft, const char *name, size_t length)
{
	uint32_t at = draft_add_text(draft, name,
				     length < WORKER_MAX_NAME ? length : WORKER_MAX_NAME - 1);

	if (at && length >= WORKER_MAX_NAME)
		cut_name_mark(draft->text.items + at, WORKER_MAX_NAME - 1, name, length);
	return at;
}

static bool draft_add_function(struct draft *draft, struct worker_range *range, const char *symbol)
{
	size_t length = strlen(symbol);
	char bare[FUNCTION_INDEX_NAME], readable[WORKER_MAX_NAME];
	size_t bare_length = length < sizeof(bare) ? length : sizeof(bare) - 1;
	const char *version;

	// ".symtab" has the version of a symbol in its name: "memcpy@@GLIBC_2.14".
	memcpy(bare, symbol, bare_length);
	bare[bare_length] = '\0';
	version = strchr(bare, '@');
	if (version && version != bare)
		bare_length = (size_t)(version - bare);
	bare[bare_length] = '\0';
	range->kind = WORKER_FUNCTION;
	if (demangle_symbol(bare, readable))
		range->name = draft_add_name(draft, readable, strlen(readable));
	else
		range->name = draft_add_name(draft, bare, bare_length);
	if (!range->name)
		return false;
	if (strcmp(draft->text.items + range->name, symbol) != 0) {
		range->system_name = draft_add_name(draft, symbol, length);
		return range->system_name;
	}
	return true;
}

/* What row @at of @index says, into @range. */
static bool draft_add_row(struct draft *draft, struct function_index *index, size_t at,
			  struct worker_range *range)
{
	uint32_t name = index->rows[at].name;
	const char *symbol;

	if (name & FUNCTION_UNNAMED) {
		range->kind = WORKER_UNNAMED;
		range->before = name & ~FUNCTION_UNNAMED;
		return true;
	}
	symbol = function_index_name(index, name);
	return !symbol || draft_add_function(draft, range, symbol);
}

/* The range around @probe: a function, or the gap between two. */
static bool draft_add_range(struct draft *draft, struct function_index *index,
			    const struct probe *probe)
{
	size_t at = function_index_seek(index, probe->address), count = index->head->row_count;
	uint64_t start = probe->segment->address;
	uint64_t limit = start + probe->segment->memory_bytes;
	const struct worker_range *last =
		draft->ranges.count ? &draft->ranges.items[draft->ranges.count - 1] : NULL;
	struct worker_range range = { 0 };

	if (at < count && function_index_start(index, at) <= probe->address) {
		start = function_index_start(index, at);
		limit = function_index_limit(index, at);
		if (!draft_add_row(draft, index, at, &range))
			return false;
	} else {
		if (at < count && function_index_start(index, at) < limit)
			limit = function_index_start(index, at);
		if (at && function_index_limit(index, at - 1) > start)
			start = function_index_limit(index, at - 1);
	}
	// Segments of a broken file may overlap, and gaps in them with them.
	if (last && start < last->start + last->size) {
		range.before += (uint32_t)(last->start + last->size - start);
		start = last->start + last->size;
	}
	if (range.kind != WORKER_UNNAMED)
		range.before = 0;
	range.start = start;
	range.size = limit - start;
	return VECTOR_PUSH(&draft->ranges, range);
}

/* Addresses of @offsets, by address. Offsets come sorted and segments nearly always are. */
static size_t probes_collect(const struct elf_facts *facts, const uint64_t *offsets, size_t count,
			     struct probe *probes)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct worker_segment *segment =
			worker_find_segment(facts->segments, facts->segment_count, offsets[i]);
		struct probe probe;
		size_t at = kept;

		if (!segment)
			continue;
		probe.address = segment->address + (offsets[i] - segment->file_offset);
		probe.segment = segment;
		for (; at && probes[at - 1].address > probe.address; at--)
			probes[at] = probes[at - 1];
		probes[at] = probe;
		kept++;
	}
	return kept;
}

static bool draft_add_probes(struct draft *draft, struct function_index *index,
			     const struct probe *probes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct worker_range *last =
			draft->ranges.count ? &draft->ranges.items[draft->ranges.count - 1] : NULL;

		if (last && probes[i].address < last->start + last->size)
			continue;
		if (draft->text.count + 2ul * WORKER_MAX_NAME > PROTOCOL_MAX_TEXT) {
			draft->partial = true;
			return true;
		}
		if (!draft_add_range(draft, index, &probes[i]))
			return false;
	}
	return true;
}

static void *append(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
	return (char *)to + bytes;
}

/* The facts, and their text as the first of all. */
static int draft_begin(struct draft *draft, struct protocol_facts *facts)
{
	const struct elf_facts *known = draft->known;

	if (!VECTOR_PUSH(&draft->text, '\0'))
		return -ENOMEM;
	memcpy(facts->htlhash, known->htlhash, sizeof(facts->htlhash));
	facts->segment_count = (uint16_t)known->segment_count;
	facts->build_id_gnu =
		draft_add_text(draft, known->build_id_gnu, strlen(known->build_id_gnu));
	facts->build_id_go = draft_add_text(draft, known->build_id_go, strlen(known->build_id_go));
	return facts->build_id_gnu && facts->build_id_go ? 0 : -ENOMEM;
}

static int draft_finish(const struct draft *draft, struct protocol_facts *facts, void **body_ret,
			size_t *bytes_ret)
{
	const struct elf_facts *known = draft->known;
	size_t segments = known->segment_count * sizeof(*known->segments);
	size_t ranges = draft->ranges.count * sizeof(*draft->ranges.items);
	size_t bytes = sizeof(*facts) + segments + ranges + draft->tables_bytes + draft->text.count;
	void *body = malloc(bytes), *to = body;

	if (!body)
		return -ENOMEM;
	facts->partial = draft->partial;
	facts->tables_bytes = (uint32_t)draft->tables_bytes;
	facts->range_count = (uint32_t)draft->ranges.count;
	facts->text_bytes = (uint32_t)draft->text.count;
	to = append(to, facts, sizeof(*facts));
	to = append(to, known->segments, segments);
	to = append(to, draft->ranges.items, ranges);
	to = append(to, draft->tables, draft->tables_bytes);
	append(to, draft->text.items, draft->text.count);
	*body_ret = body;
	*bytes_ret = bytes;
	return 0;
}

int answer_write(struct function_index *index, const uint64_t *offsets, size_t offset_count,
		 void **body_ret, size_t *bytes_ret)
{
	CLEANUP(draft_cleanup) struct draft draft = { .known = &index->facts };
	struct protocol_facts facts = { 0 };
	CLEANUP_FREE struct probe *probes = NULL;
	size_t probe_count;

	probes = malloc((offset_count ? offset_count : 1) * sizeof(*probes));
	if (!probes || draft_begin(&draft, &facts))
		return -ENOMEM;
	probe_count = probes_collect(&index->facts, offsets, offset_count, probes);
	if (!draft_add_probes(&draft, index, probes, probe_count))
		return -ENOMEM;
	return draft_finish(&draft, &facts, body_ret, bytes_ret);
}

int answer_write_index(const struct functions_made *made, void **body_ret, size_t *bytes_ret)
{
	CLEANUP(draft_cleanup) struct draft draft = { .known = &made->facts };
	struct protocol_facts facts = { 0 };
	struct protocol_index *index;
	int result = draft_begin(&draft, &facts);

	if (result)
		return result;
	draft.tables = index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	draft.tables_bytes = sizeof(*index);
	index->bytes = made->index.bytes;
	index->source = made->index.source;
	index->debug_refused = made->index.debug_refused;
	index->has_tables = made->index.has_tables;
	index->lines_by = made->index.lines_by;
	if (made->index.link[0]) {
		index->link = draft_add_text(&draft, made->index.link, strlen(made->index.link));
		if (!index->link)
			return -ENOMEM;
	}
	return draft_finish(&draft, &facts, body_ret, bytes_ret);
}

int answer_write_pages(const struct image *image, const uint64_t *pages, size_t page_count,
		       void **body_ret, size_t *bytes_ret)
{
	CLEANUP(draft_cleanup) struct draft draft = { .known = &image->facts };
	struct protocol_facts facts = { 0 };
	int result = draft_begin(&draft, &facts);

	if (!result)
		result = pages_write(image, pages, page_count, &draft.tables, &draft.tables_bytes);
	if (!result)
		result = draft_finish(&draft, &facts, body_ret, bytes_ret);
	return result;
}
