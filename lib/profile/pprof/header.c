// SPDX-License-Identifier: Apache-2.0
#include "header.h"

#include "any_value.h"
#include "keys.h"

#include <string.h>

struct window {
	uint64_t begin, end;
};

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Profiles without a start say nothing about when. */
static void collect_window(struct pprof_header *header, const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES);
	struct window all = { .begin = UINT64_MAX };
	uint64_t longest = 0;
	bool is_one = true; /* a single window is passed on as it is, odd ones too */

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);
		uint64_t end = saturating_add(profile.time_unix_ns, profile.duration_ns);

		if (i == 0) {
			header->time_ns = (int64_t)profile.time_unix_ns;
			header->duration_ns = (int64_t)profile.duration_ns;
		}
		is_one &= (uint64_t)header->time_ns == profile.time_unix_ns &&
			  (uint64_t)header->duration_ns == profile.duration_ns;
		longest = profile.duration_ns > longest ? profile.duration_ns : longest;
		if (!profile.time_unix_ns)
			continue;
		all.begin = profile.time_unix_ns < all.begin ? profile.time_unix_ns : all.begin;
		all.end = end > all.end ? end : all.end;
	}
	if (is_one)
		return;
	if (all.end)
		longest = all.end - all.begin;
	header->time_ns = all.end ? (int64_t)all.begin : 0;
	header->duration_ns = longest > INT64_MAX ? INT64_MAX : (int64_t)longest;
}

static void collect_period(struct pprof_header *header, const struct profcol_batch *batch,
			   struct string_numbers *strings)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES);
	struct profcol_profile first = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);

		if (!first.period_type && !first.period_unit && !first.period)
			first = profile;
		else if (profile.period_type == first.period_type &&
			 profile.period_unit == first.period_unit && profile.period > first.period)
			first.period = profile.period;
	}
	header->period_type = string_numbers_get(strings, first.period_type);
	header->period_unit = string_numbers_get(strings, first.period_unit);
	header->period = first.period;
}

static void take_string(uint32_t *number, const struct profcol_batch *batch, uint32_t list,
			const char *key, struct string_numbers *strings)
{
	struct profcol_value value;

	if (!*number && attribute_find(batch, list, key, PROFCOL_VALUE_STRING, &value))
		*number = string_numbers_get(strings, value.string);
}

/* Remember the comments from @first on as seen. */
static void mark_comments(struct pprof_header *header, size_t first)
{
	for (size_t i = first; i < header->comments.count; i++) {
		while (header->seen_comments.count <= header->comments.items[i])
			if (!VECTOR_PUSH(&header->seen_comments, false)) {
				header->failed = true;
				return;
			}
		header->seen_comments.items[header->comments.items[i]] = true;
	}
}

/* Add a profile's comments. Those of the first profile as they are, of others the new ones. */
static void take_comments(struct pprof_header *header, const struct profcol_batch *batch,
			  uint32_t list, struct string_numbers *strings)
{
	size_t before = header->comments.count;
	struct any_value any, item;
	struct profcol_value value;
	struct profcol_text blob;
	struct reader reader;

	if (!attribute_find(batch, list, KEY_COMMENT, PROFCOL_VALUE_ARRAY, &value))
		return;
	blob = profcol_batch_blob(batch, value.blob);
	if (!any_value_parse(blob.bytes, blob.length, &any) || any.type != PROFCOL_VALUE_ARRAY)
		return;
	reader = reader_over(any.bytes, any.length);
	while (any_value_next_item(&reader, &item)) {
		uint32_t number;

		if (item.type != PROFCOL_VALUE_STRING)
			continue;
		number = string_numbers_add(strings, item.bytes, item.length);
		if (number < header->seen_comments.count && header->seen_comments.items[number])
			continue;
		if (!VECTOR_PUSH(&header->comments, number))
			header->failed = true;
	}
	mark_comments(header, before);
}

static void collect_texts(struct pprof_header *header, const struct profcol_batch *batch,
			  struct string_numbers *strings)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES), last_list = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range samples;
		uint32_t list = profcol_batch_profile(batch, i, &samples).attributes;

		// The columns of one file, and most files of one writer, share the list.
		if (!list || list == last_list)
			continue;
		last_list = list;
		take_string(&header->drop_frames, batch, list, KEY_DROP_FRAMES, strings);
		take_string(&header->keep_frames, batch, list, KEY_KEEP_FRAMES, strings);
		take_string(&header->doc_url, batch, list, KEY_DOC_URL, strings);
		take_comments(header, batch, list, strings);
	}
}

static void collect_default(struct pprof_header *header, const struct profcol_batch *batch,
			    const struct value_columns *columns, struct string_numbers *strings)
{
	uint32_t scopes = profcol_batch_count(batch, PROFCOL_SCOPES);
	const struct value_column *preferred;

	for (uint32_t i = 0; i < scopes; i++) {
		struct profcol_range profiles;
		uint32_t list = profcol_batch_scope(batch, i, &profiles).attributes;

		take_string(&header->default_sample_type, batch, list, KEY_DEFAULT_SAMPLE_TYPE,
			    strings);
	}
	// A pprof file that named none is left without; elsewhere the first kind is the main one.
	if (header->default_sample_type || columns->is_from_pprof || !columns->columns.count)
		return;
	preferred = &columns->columns
			     .items[columns->first_derived == NO_COLUMN ? columns->first_seen
									: columns->first_derived];
	header->default_sample_type = string_numbers_get(strings, preferred->type);
}

void header_init(struct pprof_header *header, const struct profcol_batch *batch,
		 const struct value_columns *columns, struct string_numbers *strings)
{
	*header = (struct pprof_header){ 0 };
	collect_window(header, batch);
	collect_period(header, batch, strings);
	collect_texts(header, batch, strings);
	collect_default(header, batch, columns, strings);
}

void header_deinit(struct pprof_header *header)
{
	VECTOR_DEINIT(&header->comments);
	VECTOR_DEINIT(&header->seen_comments);
}
