// SPDX-License-Identifier: Apache-2.0
#include "labels.h"

#include "any_value.h"

#include <string.h>

enum rank { RANK_SAMPLE, RANK_LINK, RANK_PROFILE, RANK_RESOURCE };

void labels_init(struct labels *labels, const struct profcol_batch *batch,
		 struct string_numbers *strings)
{
	*labels = (struct labels){ .batch = batch, .strings = strings };
}

void labels_deinit(struct labels *labels)
{
	VECTOR_DEINIT(&labels->labels);
	VECTOR_DEINIT(&labels->ends);
	intern_deinit(&labels->sets);
	VECTOR_DEINIT(&labels->sources);
	intern_deinit(&labels->source_index);
	VECTOR_DEINIT(&labels->drafts);
}

static void draft_push(struct labels *labels, enum rank rank, struct pprof_label label)
{
	struct draft_label draft = {
		.label = label,
		.rank = rank,
		.position = (uint32_t)labels->drafts.count,
	};

	if (!VECTOR_PUSH(&labels->drafts, draft))
		labels->failed = true;
}

static void draft_string(struct labels *labels, enum rank rank, uint32_t key, uint32_t string)
{
	if (!string)
		string = string_numbers_empty_value(labels->strings);
	draft_push(labels, rank, (struct pprof_label){ .key = key, .str = string });
}

static void draft_number(struct labels *labels, enum rank rank, uint32_t key, int64_t number,
			 uint32_t unit)
{
	// Readers drop a label whose string, number and unit are all 0; a unit that repeats
	// the key is what they assume without one, and our reader takes it for none.
	if (!number && !unit)
		unit = key;
	draft_push(labels, rank, (struct pprof_label){ .key = key, .num = number, .unit = unit });
}

/* Several labels from an array. False, and none, when it holds other than strings and integers. */
static bool draft_items(struct labels *labels, enum rank rank, uint32_t key,
			const struct any_value *array, uint32_t unit)
{
	struct reader reader = reader_over(array->bytes, array->length);
	size_t before = labels->drafts.count;
	struct any_value value;
	struct any_item item;

	while (any_value_next_item(&reader, &value)) {
		if (!any_item_parse(&value, &item)) {
			labels->drafts.count = before;
			return false;
		}
		if (item.bytes)
			draft_string(labels, rank, key,
				     string_numbers_add(labels->strings, item.bytes, item.length));
		else
			draft_number(labels, rank, key, item.number,
				     item.unit ? string_numbers_add(labels->strings, item.unit,
								    item.unit_length)
					       : unit);
	}
	if (reader.failed)
		labels->drafts.count = before;
	return labels->drafts.count > before;
}

/* What pprof has no type for, as text. False when an array or a list of pairs is malformed. */
static bool print_value(const struct profcol_batch *batch, const struct profcol_value *value,
			FILE *stream)
{
	struct profcol_text blob;
	struct any_value any;

	switch (value->type) {
	case PROFCOL_VALUE_BOOL:
		fputs(value->boolean ? "true" : "false", stream);
		return true;
	case PROFCOL_VALUE_DOUBLE:
		any_value_print_double(value->real, stream);
		return true;
	case PROFCOL_VALUE_BYTES:
		blob = profcol_batch_blob(batch, value->blob);
		any_value_print_hex(blob.bytes, blob.length, stream);
		return true;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		blob = profcol_batch_blob(batch, value->blob);
		return any_value_parse(blob.bytes, blob.length, &any) &&
		       any_value_print(&any, stream);
	default:
		return true;
	}
}

/* The text, to be freed, or NULL: without memory, or (*@is_malformed_ret) without sense. */
static char *value_text(const struct profcol_batch *batch, const struct profcol_value *value,
			size_t *length_ret, bool *is_malformed_ret)
{
	CLEANUP_FREE char *text = NULL;
	FILE *stream = open_memstream(&text, length_ret);

	*is_malformed_ret = false;
	if (!stream)
		return NULL;
	*is_malformed_ret = !print_value(batch, value, stream);
	if (fclose(stream) != 0 || *is_malformed_ret)
		return NULL;
	return TAKE(text);
}

static void draft_text(struct labels *labels, enum rank rank, uint32_t key,
		       const struct profcol_value *value)
{
	struct profcol_value bytes = { .type = PROFCOL_VALUE_BYTES };
	size_t length = 0;
	bool is_malformed;
	CLEANUP_FREE char *text = value_text(labels->batch, value, &length, &is_malformed);

	if (is_malformed) {
		// Better the bytes than nothing.
		bytes.blob = value->blob;
		text = value_text(labels->batch, &bytes, &length, &is_malformed);
	}
	if (text)
		draft_string(labels, rank, key, string_numbers_add(labels->strings, text, length));
	else
		labels->failed = true;
}

/* The label's name: people type `-tagfocus pid=...`, so the usual ones are short. */
static uint32_t key_number(struct labels *labels, uint32_t string)
{
	static const struct {
		const char *attribute, *label;
	} names[] = {
		{ "process.pid", "pid" },
		{ "thread.id", "tid" },
		{ "thread.name", "comm" },
	};
	struct profcol_text text = profcol_batch_string(labels->batch, string);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text.length == strlen(names[i].attribute) &&
		    memcmp(text.bytes, names[i].attribute, text.length) == 0)
			return string_numbers_add(labels->strings, names[i].label,
						  strlen(names[i].label));
	return string_numbers_get(labels->strings, string);
}

static void draft_attribute(struct labels *labels, enum rank rank,
			    const struct profcol_attribute *attribute)
{
	uint32_t key = key_number(labels, attribute->key);
	uint32_t unit = string_numbers_get(labels->strings, attribute->unit);
	struct profcol_text blob;
	struct any_value any;

	switch (attribute->value.type) {
	case PROFCOL_VALUE_STRING:
		draft_string(labels, rank, key,
			     string_numbers_get(labels->strings, attribute->value.string));
		return;
	case PROFCOL_VALUE_INT:
		draft_number(labels, rank, key, attribute->value.integer, unit);
		return;
	case PROFCOL_VALUE_ARRAY:
		blob = profcol_batch_blob(labels->batch, attribute->value.blob);
		if (any_value_parse(blob.bytes, blob.length, &any) &&
		    any.type == PROFCOL_VALUE_ARRAY && draft_items(labels, rank, key, &any, unit))
			return;
		break;
	default:
		break;
	}
	draft_text(labels, rank, key, &attribute->value);
}

static void draft_list(struct labels *labels, enum rank rank, uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(labels->batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(labels->batch, ids[i]);

		if (ids[i])
			draft_attribute(labels, rank, &attribute);
	}
}

static void draft_id(struct labels *labels, const char *key, const uint8_t *bytes, size_t length)
{
	char text[2 * 16 + 1]; // the longer of the two ids

	strings_hex(text, bytes, length);
	draft_string(labels, RANK_LINK, string_numbers_add(labels->strings, key, strlen(key)),
		     string_numbers_add(labels->strings, text, 2 * length));
}

static void draft_link(struct labels *labels, uint32_t id)
{
	struct profcol_link link = profcol_batch_link(labels->batch, id);

	if (!id)
		return;
	draft_id(labels, "trace_id", link.trace_id, sizeof(link.trace_id));
	draft_id(labels, "span_id", link.span_id, sizeof(link.span_id));
}

static void draft_name(struct labels *labels, uint32_t name)
{
	if (name)
		draft_string(labels, RANK_PROFILE,
			     string_numbers_add(labels->strings, "profile", 7),
			     string_numbers_get(labels->strings, name));
}

static int draft_compare(const void *left, const void *right)
{
	const struct draft_label *a = left, *b = right;

	if (a->label.key != b->label.key)
		return a->label.key < b->label.key ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->position < b->position ? -1 : 1;
}

/* Append the drafts, sorted and without the outranked ones, to the labels as a candidate set. */
static void candidate_make(struct labels *labels)
{
	struct draft_label *drafts = labels->drafts.items;
	size_t first = 0; /* of the same key */

	if (labels->drafts.count)
		qsort(drafts, labels->drafts.count, sizeof(*drafts), draft_compare);
	for (size_t i = 0; i < labels->drafts.count; i++) {
		if (drafts[i].label.key != drafts[first].label.key)
			first = i;
		if (drafts[i].rank == drafts[first].rank &&
		    !VECTOR_PUSH(&labels->labels, drafts[i].label))
			labels->failed = true;
	}
}

struct candidate {
	const struct labels *labels;
	const struct pprof_label *begin;
	size_t count;
};

static bool candidate_equal(uint32_t set, const void *context)
{
	const struct candidate *candidate = context;
	size_t count;
	const struct pprof_label *labels = labels_get(candidate->labels, set, &count);

	if (count != candidate->count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (labels[i].key != candidate->begin[i].key ||
		    labels[i].str != candidate->begin[i].str ||
		    labels[i].unit != candidate->begin[i].unit ||
		    labels[i].num != candidate->begin[i].num)
			return false;
	return true;
}

static uint32_t candidate_hash(const struct candidate *candidate)
{
	uint64_t hash = candidate->count;

	for (size_t i = 0; i < candidate->count; i++) {
		const struct pprof_label *label = &candidate->begin[i];
		uint64_t words[] = { label->key, label->str, label->unit, (uint64_t)label->num };

		hash = hash << 32 ^ intern_hash_seeded(words, sizeof(words), hash);
	}
	return (uint32_t)hash;
}

/* The set that equals the labels from @begin on, which become a new set or go away. */
static uint32_t candidate_intern(struct labels *labels, size_t begin)
{
	struct candidate candidate = {
		.labels = labels,
		.begin = labels->labels.items ? labels->labels.items + begin : NULL,
		.count = labels->labels.count - begin,
	};
	uint32_t hash = candidate_hash(&candidate);
	uint32_t set = intern_find(&labels->sets, hash, candidate_equal, &candidate);

	if (set != INTERN_MISSING) {
		labels->labels.count = begin;
		return set;
	}
	set = (uint32_t)labels->ends.count;
	if (labels->labels.count > UINT32_MAX ||
	    !VECTOR_PUSH(&labels->ends, (uint32_t)labels->labels.count) ||
	    !intern_insert(&labels->sets, hash, set))
		labels->failed = true;
	return set;
}

struct source_lookup {
	const struct label_source *sources;
	struct label_source wanted;
};

static bool source_equal(uint32_t row, const void *context)
{
	const struct source_lookup *lookup = context;
	const struct label_source *source = &lookup->sources[row];

	return source->resource_attributes == lookup->wanted.resource_attributes &&
	       source->sample_attributes == lookup->wanted.sample_attributes &&
	       source->link == lookup->wanted.link &&
	       source->profile_name == lookup->wanted.profile_name;
}

uint32_t labels_number(struct labels *labels, struct label_source source)
{
	struct source_lookup lookup = { .sources = labels->sources.items, .wanted = source };
	uint32_t words[] = { source.resource_attributes, source.sample_attributes, source.link,
			     source.profile_name };
	uint32_t hash = intern_hash(words, sizeof(words));
	uint32_t row = intern_find(&labels->source_index, hash, source_equal, &lookup);
	size_t begin = labels->labels.count;

	if (row != INTERN_MISSING)
		return labels->sources.items[row].set;
	labels->drafts.count = 0;
	draft_list(labels, RANK_SAMPLE, source.sample_attributes);
	draft_link(labels, source.link);
	draft_name(labels, source.profile_name);
	draft_list(labels, RANK_RESOURCE, source.resource_attributes);
	candidate_make(labels);
	source.set = candidate_intern(labels, begin);
	if (!VECTOR_PUSH(&labels->sources, source) ||
	    !intern_insert(&labels->source_index, hash, (uint32_t)labels->sources.count - 1))
		labels->failed = true;
	return source.set;
}

const struct pprof_label *labels_get(const struct labels *labels, uint32_t set, size_t *count_ret)
{
	uint32_t begin = set ? labels->ends.items[set - 1] : 0;

	*count_ret = labels->ends.items[set] - begin;
	return *count_ret ? labels->labels.items + begin : NULL;
}
