// SPDX-License-Identifier: Apache-2.0
#include "importer.h"

#include <inttypes.h>

/* A label with its key resolved. */
struct label {
	uint32_t key; /* string id of the batch */
	uint32_t position;
	bool is_string;
	uint32_t string, unit; /* string ids of the batch */
	int64_t number;
};

static struct profcol_error *import_label(struct importer *importer, const Perftools__Label *label,
					  size_t sample, struct label *ret)
{
	struct profcol_error *error;

	error = importer_string(importer, label->key, "label of sample", sample, &ret->key);
	if (!error)
		error = importer_string(importer, label->str, "label of sample", sample,
					&ret->string);
	if (!error)
		error = importer_string(importer, label->num_unit, "label of sample", sample,
					&ret->unit);
	if (error)
		return error;
	// pprof decides by the index: another one than 0 may be an empty string too.
	ret->is_string = label->str != 0;
	ret->number = label->num;
	// So a writer saves the number 0 from being taken for no label: no unit is meant.
	if (ret->is_string || (!ret->number && ret->unit == ret->key))
		ret->unit = 0;
	return NULL;
}

static int label_compare(const void *left, const void *right)
{
	const struct label *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->position < b->position ? -1 : 1;
}

static struct any_item label_item(const struct importer *importer, const struct label *label)
{
	struct any_item unit;

	if (label->is_string)
		return importer_item(importer, label->string);
	unit = importer_item(importer, label->unit);
	return (struct any_item){
		.number = label->number,
		.unit = label->unit ? unit.bytes : NULL,
		.unit_length = unit.length,
	};
}

/* The attribute of @count labels of one key. */
static struct profcol_error *import_labels_of_key(struct importer *importer,
						  const struct label *labels, size_t count,
						  uint32_t *ret)
{
	struct profcol_attribute attribute = { .key = labels->key, .unit = labels->unit };
	struct any_item *items;

	if (count == 1) {
		if (labels->is_string)
			attribute.value = (struct profcol_value){ .type = PROFCOL_VALUE_STRING,
								  .string = labels->string };
		else
			attribute.value = (struct profcol_value){ .type = PROFCOL_VALUE_INT,
								  .integer = labels->number };
		*ret = profcol_builder_attribute(importer->builder, &attribute);
		return NULL;
	}
	items = importer_alloc(importer, count, sizeof(*items));
	if (!items)
		return budget_error(importer->budget);
	for (size_t i = 0; i < count; i++)
		items[i] = label_item(importer, &labels[i]);
	return importer_attribute_array(importer, labels->key, items, count, ret);
}

static struct profcol_error *import_labels(struct importer *importer, size_t number)
{
	const Perftools__Sample *sample = importer->file->sample[number];
	uint32_t *attributes, count = 0;
	struct label *labels;
	struct profcol_error *error = NULL;

	if (!sample->n_label)
		return NULL;
	labels = importer_alloc(importer, sample->n_label, sizeof(*labels));
	attributes = importer_alloc(importer, sample->n_label, sizeof(*attributes));
	if (!labels || !attributes)
		return budget_error(importer->budget);
	for (size_t i = 0; i < sample->n_label && !error; i++) {
		error = import_label(importer, sample->label[i], number, &labels[i]);
		labels[i].position = (uint32_t)i;
	}
	if (error)
		return error;
	qsort(labels, sample->n_label, sizeof(*labels), label_compare);
	for (size_t begin = 0, end; begin < sample->n_label && !error; begin = end) {
		for (end = begin + 1; end < sample->n_label; end++)
			if (labels[end].key != labels[begin].key)
				break;
		error = import_labels_of_key(importer, labels + begin, end - begin,
					     &attributes[count++]);
	}
	if (error)
		return error;
	importer->attributes[number] =
		profcol_builder_attribute_list(importer->builder, attributes, count);
	return NULL;
}

static struct profcol_error *import_stack(struct importer *importer, size_t number)
{
	const Perftools__Sample *sample = importer->file->sample[number];
	uint32_t *locations;

	if (sample->n_value != importer->file->n_sample_type)
		return PPROF_MALFORMED("sample %zu has %zu values, but there are %zu sample types",
				       number, sample->n_value, importer->file->n_sample_type);
	if (sample->n_location_id > INT32_MAX)
		return PPROF_MALFORMED("sample %zu has %zu locations", number,
				       sample->n_location_id);
	locations = importer_alloc(importer, sample->n_location_id, sizeof(*locations));
	if (!locations)
		return budget_error(importer->budget);
	for (size_t i = 0; i < sample->n_location_id; i++)
		if (!id_map_find(&importer->locations, sample->location_id[i], &locations[i]))
			return PPROF_MALFORMED("sample %zu refers to location id %" PRIu64
					       ", which does not exist",
					       number, sample->location_id[i]);
	importer->stacks[number] = profcol_builder_stack(importer->builder, locations,
							 (uint32_t)sample->n_location_id);
	return NULL;
}

struct profcol_error *importer_add_stacks(struct importer *importer)
{
	size_t count = importer->file->n_sample;
	struct profcol_error *error = NULL;

	if (count && !importer->file->n_sample_type)
		return PPROF_MALFORMED("there are samples, but no sample type");
	importer->stacks = importer_alloc(importer, count, sizeof(*importer->stacks));
	importer->attributes = importer_alloc(importer, count, sizeof(*importer->attributes));
	if (!importer->stacks || !importer->attributes)
		return budget_error(importer->budget);
	for (size_t i = 0; i < count && !error; i++) {
		error = import_stack(importer, i);
		if (!error)
			error = import_labels(importer, i);
		if (!error && i % SAMPLES_BETWEEN_MEMORY_CHECKS == 0)
			error = importer_check_memory(importer);
	}
	return error;
}
