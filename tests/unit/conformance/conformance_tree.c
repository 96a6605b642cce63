// SPDX-License-Identifier: Apache-2.0
// Resources, scopes, profiles and samples.
#include "checker.h"

#include <inttypes.h>
#include <string.h>

/* ---- attributes by key ---- */

static const char *pair_key(const struct checker *checker, const Otlp__KeyValue *pair)
{
	if (pair->key_strindex &&
	    index_is_in(pair->key_strindex, checker->dictionary->n_string_table))
		return checker->dictionary->string_table[pair->key_strindex];
	return pair->key;
}

static void check_pairs(struct checker *checker, const char *where, size_t row,
			Otlp__KeyValue *const *pairs, size_t count)
{
	size_t strings = checker->dictionary->n_string_table;

	for (size_t i = 0; i < count; i++) {
		const Otlp__KeyValue *pair = pairs[i];

		if (pair->key_strindex && *pair->key)
			checker_tell(checker, RULE_ONE_KEY, "%s %zu: '%s' and %d", where, row,
				     pair->key, pair->key_strindex);
		if (pair->key_strindex && !index_is_in(pair->key_strindex, strings))
			checker_tell(checker, RULE_REFERENCES, "%s %zu: key %d is not there", where,
				     row, pair->key_strindex);
		for (size_t before = 0; before < i; before++)
			if (!strcmp(pair_key(checker, pairs[before]), pair_key(checker, pair)))
				checker_tell(checker, RULE_KEYS_UNIQUE, "%s %zu: '%s' twice", where,
					     row, pair_key(checker, pair));
		check_any_value(checker, where, row, pair->value);
	}
}

void check_any_value(struct checker *checker, const char *where, size_t row,
		     const Otlp__AnyValue *value)
{
	if (!value)
		return;
	if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX &&
	    !index_is_in(value->string_value_strindex, checker->dictionary->n_string_table))
		checker_tell(checker, RULE_REFERENCES, "%s %zu: value %d is not there", where, row,
			     value->string_value_strindex);
	if (value->value_case == OTLP__ANY_VALUE__VALUE_KVLIST_VALUE)
		check_pairs(checker, where, row, value->kvlist_value->values,
			    value->kvlist_value->n_values);
	if (value->value_case == OTLP__ANY_VALUE__VALUE_ARRAY_VALUE)
		for (size_t i = 0; i < value->array_value->n_values; i++)
			check_any_value(checker, where, row, value->array_value->values[i]);
}

static bool resource_has(const struct checker *checker, const Otlp__Resource *resource,
			 const char *key)
{
	for (size_t i = 0; i < resource->n_attributes; i++)
		if (!strcmp(pair_key(checker, resource->attributes[i]), key))
			return true;
	return false;
}

static void check_entities(struct checker *checker, const Otlp__Resource *resource)
{
	for (size_t i = 0; i < resource->n_entity_refs; i++) {
		const Otlp__EntityRef *entity = resource->entity_refs[i];

		if (!*entity->type || !entity->n_id_keys)
			checker_tell(checker, RULE_ENTITIES, "entity %zu lacks a type or an id", i);
		for (size_t j = 0; j < entity->n_id_keys; j++)
			if (!resource_has(checker, resource, entity->id_keys[j]))
				checker_tell(checker, RULE_ENTITIES, "entity %zu: no '%s'", i,
					     entity->id_keys[j]);
		for (size_t j = 0; j < entity->n_description_keys; j++)
			if (!resource_has(checker, resource, entity->description_keys[j]))
				checker_tell(checker, RULE_ENTITIES, "entity %zu: no '%s'", i,
					     entity->description_keys[j]);
	}
}

/* ---- samples ---- */

enum shape { SHAPE_NONE, SHAPE_VALUES, SHAPE_TIMESTAMPS, SHAPE_BOTH, SHAPE_INVALID };

static enum shape check_shape(struct checker *checker, const Otlp__Sample *sample)
{
	size_t values = sample->n_values, timestamps = sample->n_timestamps_unix_nano;

	if (values && timestamps) {
		if (values != timestamps)
			checker_tell(checker, RULE_AS_MANY_VALUES, "%zu values, %zu timestamps",
				     values, timestamps);
		return SHAPE_BOTH;
	}
	if (values) {
		if (values != 1)
			checker_tell(checker, RULE_ONE_VALUE, "%zu values", values);
		return SHAPE_VALUES;
	}
	if (timestamps)
		return SHAPE_TIMESTAMPS;
	checker_tell(checker, RULE_SAMPLE_NOT_EMPTY, "it has neither");
	return SHAPE_INVALID;
}

static void check_timestamps(struct checker *checker, const Otlp__Profile *profile,
			     const Otlp__Sample *sample)
{
	// The sum may wrap, in profcheck as well.
	uint64_t begin = profile->time_unix_nano, end = begin + profile->duration_nano;

	for (size_t i = 0; i < sample->n_timestamps_unix_nano; i++) {
		uint64_t time = sample->timestamps_unix_nano[i];

		if (time < begin || time >= end)
			checker_tell(checker, RULE_TIMESTAMPS_IN_WINDOW,
				     "%" PRIu64 " is not in [%" PRIu64 ", %" PRIu64 ")", time,
				     begin, end);
	}
}

static void check_sample(struct checker *checker, const Otlp__Profile *profile,
			 const Otlp__Sample *sample, enum shape *first)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	enum shape shape;

	if (!index_is_in(sample->stack_index, dictionary->n_stack_table))
		checker_tell(checker, RULE_SAMPLE_STACK, "%d is not there", sample->stack_index);
	if (!index_is_in(sample->link_index, dictionary->n_link_table))
		checker_tell(checker, RULE_SAMPLE_LINK, "%d is not there", sample->link_index);
	check_attribute_indices(checker, RULE_SAMPLE_ATTRIBUTES, "sample", (size_t)checker->sample,
				sample->attribute_indices, sample->n_attribute_indices);
	check_timestamps(checker, profile, sample);
	shape = check_shape(checker, sample);
	if (*first == SHAPE_NONE)
		*first = shape;
	else if (shape != *first)
		checker_tell(checker, RULE_ONE_SHAPE, "it is not like the first");
}

static int compare_indices(const void *left, const void *right)
{
	int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

	return (a > b) - (a < b);
}

/* What says which sample it is: stack, link, and the set of attributes. */
static void check_identities(struct checker *checker, const Otlp__Profile *profile)
{
	struct checker_keys keys = { 0 };

	for (size_t i = 0; i < profile->n_samples; i++) {
		const Otlp__Sample *sample = profile->samples[i];
		size_t count = sample->n_attribute_indices;
		int32_t *key = (int32_t *)(void *)checker_keys_add(&keys, i,
								   (count + 2) * sizeof(int32_t));

		key[0] = sample->stack_index;
		key[1] = sample->link_index;
		if (!count)
			continue;
		memcpy(key + 2, sample->attribute_indices, count * sizeof(int32_t));
		qsort(key + 2, count, sizeof(int32_t), compare_indices);
	}
	checker_keys_tell(checker, &keys, RULE_SAMPLE_TWICE, "samples");
}

/* ---- profiles and above ---- */

static void check_value_type(struct checker *checker, enum conformance_rule rule,
			     const Otlp__ValueType *type)
{
	size_t strings = checker->dictionary->n_string_table;
	int32_t name = type ? type->type_strindex : 0, unit = type ? type->unit_strindex : 0;

	if (!index_is_in(name, strings) || !index_is_in(unit, strings))
		checker_tell(checker, rule, "%d or %d is not there", name, unit);
}

static void check_profile_id(struct checker *checker, const ProtobufCBinaryData *id)
{
	static const uint8_t zeros[16];

	if (id->len && (id->len != sizeof(zeros) || !memcmp(id->data, zeros, sizeof(zeros))))
		checker_tell(checker, RULE_PROFILE_ID, "%zu bytes", id->len);
}

static void check_profile(struct checker *checker, const Otlp__Profile *profile)
{
	enum shape shape = SHAPE_NONE;

	check_attribute_indices(checker, RULE_PROFILE_ATTRIBUTES, "profile",
				(size_t)checker->profile, profile->attribute_indices,
				profile->n_attribute_indices);
	check_value_type(checker, RULE_SAMPLE_TYPE, profile->sample_type);
	check_value_type(checker, RULE_PERIOD_TYPE, profile->period_type);
	check_profile_id(checker, &profile->profile_id);
	if (!*profile->original_payload_format != !profile->original_payload.len)
		checker_tell(checker, RULE_PAYLOAD_FORMAT, "one of them is missing");
	if (!profile->n_samples)
		checker_tell(checker, RULE_SAMPLES, "there are none");
	for (size_t i = 0; i < profile->n_samples; i++) {
		checker->sample = (int)i;
		check_sample(checker, profile, profile->samples[i], &shape);
	}
	checker->sample = -1;
	check_identities(checker, profile);
}

static void check_scope_profiles(struct checker *checker, const Otlp__ScopeProfiles *scope)
{
	if (scope->scope)
		check_pairs(checker, "scope", (size_t)checker->scope, scope->scope->attributes,
			    scope->scope->n_attributes);
	if (!scope->n_profiles)
		checker_tell(checker, RULE_PROFILES, "there are none");
	for (size_t i = 0; i < scope->n_profiles; i++) {
		checker->profile = (int)i;
		check_profile(checker, scope->profiles[i]);
	}
	checker->profile = -1;
}

void check_resource_profiles(struct checker *checker)
{
	for (size_t i = 0; i < checker->request->n_resource_profiles; i++) {
		const Otlp__ResourceProfiles *row = checker->request->resource_profiles[i];

		checker->resource = (int)i;
		if (row->resource) {
			check_pairs(checker, "resource", i, row->resource->attributes,
				    row->resource->n_attributes);
			check_entities(checker, row->resource);
		}
		if (!row->n_scope_profiles)
			checker_tell(checker, RULE_SCOPE_PROFILES, "there are none");
		for (size_t j = 0; j < row->n_scope_profiles; j++) {
			checker->scope = (int)j;
			check_scope_profiles(checker, row->scope_profiles[j]);
		}
		checker->scope = -1;
	}
	checker->resource = -1;
}
