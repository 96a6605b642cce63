// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include "base/base.h"
#include "demangle.h"
#include "pages.h"

#include <errno.h>
#include <string.h>

struct probe {
	uint64_t address;
	const struct worker_segment *segment;
};

struct draft {
	const struct image *image;
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
		memcpy(draft->text.items + at + WORKER_MAX_NAME - 4, "...", 3);
	return at;
}

static bool draft_add_function(struct draft *draft, struct worker_range *range, uint32_t name)
{
	const struct elf_symbols *symbols = &draft->image->symbols;
	const char *symbol = symbols->strings + name;
	size_t length = strnlen(symbol, symbols->strings_bytes - name);
	char bare[2 * WORKER_MAX_NAME], readable[WORKER_MAX_NAME];
	size_t bare_length = length < sizeof(bare) ? length : sizeof(bare) - 1;
	const char *version;

	// ".symtab" has the version of a symbol in its name: "memcpy@@GLIBC_2.14".
	memcpy(bare, symbol, bare_length);
	bare[bare_length] = '\0';
	version = strchr(bare, '@');
	if (version && version != bare)
		bare_length = (size_t)(version - bare);
	bare[bare_length] = '\0';
	if (demangle_symbol(bare, readable))
		range->name = draft_add_name(draft, readable, strlen(readable));
	else
		range->name = draft_add_name(draft, bare, bare_length);
	if (!range->name)
		return false;
	if (strcmp(draft->text.items + range->name, symbol)) {
		range->system_name = draft_add_name(draft, symbol, length);
		return range->system_name;
	}
	return true;
}

/* The range around @probe: a function, or the gap between two. */
static bool draft_add_range(struct draft *draft, const struct probe *probe)
{
	const struct function_ranges *functions = &draft->image->symbols.functions;
	size_t at = function_ranges_seek(functions, probe->address);
	uint64_t start = probe->segment->address;
	uint64_t limit = start + probe->segment->memory_bytes;
	const struct function_range *next = at < functions->count ? &functions->ranges[at] : NULL;
	const struct worker_range *last =
		draft->ranges.count ? &draft->ranges.items[draft->ranges.count - 1] : NULL;
	struct worker_range range = { 0 };

	if (next && next->start <= probe->address) {
		start = next->start;
		limit = start + next->size;
		if (!draft_add_function(draft, &range, next->name))
			return false;
	} else {
		if (next && next->start < limit)
			limit = next->start;
		if (at && functions->ranges[at - 1].start + functions->ranges[at - 1].size > start)
			start = functions->ranges[at - 1].start + functions->ranges[at - 1].size;
	}
	// Segments of a broken file may overlap, and gaps in them with them.
	if (last && start < last->start + last->size)
		start = last->start + last->size;
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

static bool draft_add_probes(struct draft *draft, const struct probe *probes, size_t count)
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
		if (!draft_add_range(draft, &probes[i]))
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
	const struct elf_facts *known = &draft->image->facts;

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
	const struct elf_facts *known = &draft->image->facts;
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

int answer_write(const struct image *image, const uint64_t *offsets, size_t offset_count,
		 void **body_ret, size_t *bytes_ret)
{
	CLEANUP(draft_cleanup) struct draft draft = { .image = image };
	struct protocol_facts facts = { 0 };
	CLEANUP_FREE struct probe *probes = NULL;
	size_t probe_count;

	probes = malloc((offset_count ? offset_count : 1) * sizeof(*probes));
	if (!probes || draft_begin(&draft, &facts))
		return -ENOMEM;
	probe_count = probes_collect(&image->facts, offsets, offset_count, probes);
	if (!draft_add_probes(&draft, probes, probe_count))
		return -ENOMEM;
	return draft_finish(&draft, &facts, body_ret, bytes_ret);
}

int answer_write_pages(const struct image *image, const uint64_t *pages, size_t page_count,
		       void **body_ret, size_t *bytes_ret)
{
	CLEANUP(draft_cleanup) struct draft draft = { .image = image };
	struct protocol_facts facts = { 0 };
	int result = draft_begin(&draft, &facts);

	if (!result)
		result = pages_write(image, pages, page_count, &draft.tables, &draft.tables_bytes);
	if (!result)
		result = draft_finish(&draft, &facts, body_ret, bytes_ret);
	return result;
}
