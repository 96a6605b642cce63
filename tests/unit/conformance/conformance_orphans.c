// SPDX-License-Identifier: Apache-2.0
/*
 * Rows that nothing refers to. One level only, as profcheck does it: a stack that no
 * sample has still uses its locations. Unlike there, references to strings in the attributes of
 * resources and scopes count.
 */
#include "checker.h"

#include <string.h>

/* A flag for each row of a table; row 0 is always used. */
struct uses {
	bool *is_used; /* owned */
	size_t count;
};

static struct uses uses_create(size_t count)
{
	struct uses uses = { .is_used = calloc(count + 1, sizeof(bool)), .count = count };

	if (!uses.is_used)
		abort();
	uses.is_used[0] = true;
	return uses;
}

static void use(struct uses *uses, int64_t index)
{
	if (index_is_in(index, uses->count))
		uses->is_used[index] = true;
}

static void use_all(struct uses *uses, const int32_t *indices, size_t count)
{
	for (size_t i = 0; i < count; i++)
		use(uses, indices[i]);
}

static void uses_tell(struct checker *checker, struct uses *uses, enum conformance_rule rule,
		      const char *what)
{
	for (size_t i = 0; i < uses->count; i++)
		if (!uses->is_used[i])
			checker_tell(checker, rule, "%s %zu is not", what, i);
	free(uses->is_used);
}

/* ---- strings ---- */

static void use_value(struct uses *strings, const Otlp__AnyValue *value);

static void use_pairs(struct uses *strings, Otlp__KeyValue *const *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		use(strings, pairs[i]->key_strindex);
		use_value(strings, pairs[i]->value);
	}
}

static void use_value(struct uses *strings, const Otlp__AnyValue *value)
{
	if (!value)
		return;
	if (value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX)
		use(strings, value->string_value_strindex);
	if (value->value_case == OTLP__ANY_VALUE__VALUE_KVLIST_VALUE)
		use_pairs(strings, value->kvlist_value->values, value->kvlist_value->n_values);
	if (value->value_case == OTLP__ANY_VALUE__VALUE_ARRAY_VALUE)
		for (size_t i = 0; i < value->array_value->n_values; i++)
			use_value(strings, value->array_value->values[i]);
}

static void use_value_type(struct uses *strings, const Otlp__ValueType *type)
{
	if (!type)
		return;
	use(strings, type->type_strindex);
	use(strings, type->unit_strindex);
}

static void use_strings_of_tables(struct uses *strings, const Otlp__ProfilesDictionary *dictionary)
{
	for (size_t i = 0; i < dictionary->n_attribute_table; i++) {
		use(strings, dictionary->attribute_table[i]->key_strindex);
		use(strings, dictionary->attribute_table[i]->unit_strindex);
		use_value(strings, dictionary->attribute_table[i]->value);
	}
	for (size_t i = 0; i < dictionary->n_mapping_table; i++)
		use(strings, dictionary->mapping_table[i]->filename_strindex);
	for (size_t i = 0; i < dictionary->n_function_table; i++) {
		use(strings, dictionary->function_table[i]->name_strindex);
		use(strings, dictionary->function_table[i]->system_name_strindex);
		use(strings, dictionary->function_table[i]->filename_strindex);
	}
}

/* ---- the tree ---- */

struct tree_uses {
	struct uses strings, attributes, stacks, links;
};

static void use_profile(struct tree_uses *uses, const Otlp__Profile *profile)
{
	use_value_type(&uses->strings, profile->sample_type);
	use_value_type(&uses->strings, profile->period_type);
	use_all(&uses->attributes, profile->attribute_indices, profile->n_attribute_indices);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const Otlp__Sample *sample = profile->samples[i];

		use(&uses->stacks, sample->stack_index);
		use(&uses->links, sample->link_index);
		use_all(&uses->attributes, sample->attribute_indices, sample->n_attribute_indices);
	}
}

static void use_tree(struct tree_uses *uses, const Otlp__ExportProfilesServiceRequest *request)
{
	for (size_t i = 0; i < request->n_resource_profiles; i++) {
		const Otlp__ResourceProfiles *resource = request->resource_profiles[i];

		if (resource->resource)
			use_pairs(&uses->strings, resource->resource->attributes,
				  resource->resource->n_attributes);
		for (size_t j = 0; j < resource->n_scope_profiles; j++) {
			const Otlp__ScopeProfiles *scope = resource->scope_profiles[j];

			if (scope->scope)
				use_pairs(&uses->strings, scope->scope->attributes,
					  scope->scope->n_attributes);
			for (size_t k = 0; k < scope->n_profiles; k++)
				use_profile(uses, scope->profiles[k]);
		}
	}
}

void check_orphans(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	struct tree_uses uses = {
		.strings = uses_create(dictionary->n_string_table),
		.attributes = uses_create(dictionary->n_attribute_table),
		.stacks = uses_create(dictionary->n_stack_table),
		.links = uses_create(dictionary->n_link_table),
	};
	struct uses mappings = uses_create(dictionary->n_mapping_table);
	struct uses functions = uses_create(dictionary->n_function_table);
	struct uses locations = uses_create(dictionary->n_location_table);

	use_tree(&uses, checker->request);
	use_strings_of_tables(&uses.strings, dictionary);
	for (size_t i = 0; i < dictionary->n_stack_table; i++)
		use_all(&locations, dictionary->stack_table[i]->location_indices,
			dictionary->stack_table[i]->n_location_indices);
	for (size_t i = 0; i < dictionary->n_location_table; i++) {
		const Otlp__Location *location = dictionary->location_table[i];

		use(&mappings, location->mapping_index);
		use_all(&uses.attributes, location->attribute_indices,
			location->n_attribute_indices);
		for (size_t j = 0; j < location->n_lines; j++)
			use(&functions, location->lines[j]->function_index);
	}
	for (size_t i = 0; i < dictionary->n_mapping_table; i++)
		use_all(&uses.attributes, dictionary->mapping_table[i]->attribute_indices,
			dictionary->mapping_table[i]->n_attribute_indices);
	uses_tell(checker, &uses.strings, RULE_STRING_ORPHAN, "string");
	uses_tell(checker, &uses.attributes, RULE_ATTRIBUTE_ORPHAN, "attribute");
	uses_tell(checker, &mappings, RULE_MAPPING_ORPHAN, "mapping");
	uses_tell(checker, &functions, RULE_FUNCTION_ORPHAN, "function");
	uses_tell(checker, &locations, RULE_LOCATION_ORPHAN, "location");
	uses_tell(checker, &uses.stacks, RULE_STACK_ORPHAN, "stack");
	uses_tell(checker, &uses.links, RULE_LINK_ORPHAN, "link");
}
