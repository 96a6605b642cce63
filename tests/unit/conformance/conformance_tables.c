// SPDX-License-Identifier: Apache-2.0
// The seven tables of the dictionary.
#include "checker.h"

#include <inttypes.h>
#include <string.h>

/* A row without any field, known or not. */
static bool is_zero(const ProtobufCMessage *row)
{
	return !protobuf_c_message_get_packed_size(row);
}

/* The first row of a table is there and empty. */
#define CHECK_ZERO(checker, rule, table)                                                           \
	do {                                                                                       \
		if (!(checker)->dictionary->n_##table ||                                           \
		    !is_zero(&(checker)->dictionary->table[0]->base))                              \
			checker_tell(checker, rule, "it is missing or is not");                    \
	} while (0)

static void check_string_index(struct checker *checker, enum conformance_rule rule,
			       const char *what, size_t row, int32_t index)
{
	if (!index_is_in(index, checker->dictionary->n_string_table))
		checker_tell(checker, rule, "%s %zu: string %d is not there", what, row, index);
}

/* Equal rows, as they are on the wire. */
static void check_twice(struct checker *checker, const char *what, void *const *rows, size_t count)
{
	struct checker_keys keys = { 0 };

	for (size_t i = 0; i < count; i++) {
		const ProtobufCMessage *row = rows[i];
		uint8_t *key = checker_keys_add(&keys, i, protobuf_c_message_get_packed_size(row));

		protobuf_c_message_pack(row, key);
	}
	checker_keys_tell(checker, &keys, RULE_ROW_TWICE, what);
}

/* ---- mappings ---- */

static int compare_indices(const void *left, const void *right)
{
	int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

	return (a > b) - (a < b);
}

static void check_mappings_twice(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	struct checker_keys keys = { 0 };

	for (size_t i = 1; i < dictionary->n_mapping_table; i++) {
		const Otlp__Mapping *mapping = dictionary->mapping_table[i];
		const uint64_t numbers[] = { mapping->memory_start, mapping->memory_limit,
					     mapping->file_offset,
					     (uint64_t)mapping->filename_strindex };
		size_t bytes = mapping->n_attribute_indices * sizeof(int32_t);
		uint8_t *key = checker_keys_add(&keys, i, sizeof(numbers) + bytes);

		memcpy(key, numbers, sizeof(numbers));
		if (!bytes)
			continue;
		memcpy(key + sizeof(numbers), mapping->attribute_indices, bytes);
		qsort(key + sizeof(numbers), mapping->n_attribute_indices, sizeof(int32_t),
		      compare_indices);
	}
	checker_keys_tell(checker, &keys, RULE_MAPPING_TWICE, "mappings");
}

static bool mapping_has_build_id(const struct checker *checker, const Otlp__Mapping *mapping)
{
	static const char prefix[] = "process.executable.build_id.";

	for (size_t i = 0; i < mapping->n_attribute_indices; i++) {
		const char *key = checker_key(checker, mapping->attribute_indices[i]);

		if (key && !strncmp(key, prefix, sizeof(prefix) - 1))
			return true;
	}
	return false;
}

static void check_mappings(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;

	CHECK_ZERO(checker, RULE_MAPPING_ZERO, mapping_table);
	for (size_t i = 1; i < dictionary->n_mapping_table; i++) {
		const Otlp__Mapping *mapping = dictionary->mapping_table[i];

		check_string_index(checker, RULE_MAPPING_FILENAME, "mapping", i,
				   mapping->filename_strindex);
		check_attribute_indices(checker, RULE_MAPPING_ATTRIBUTES, "mapping", i,
					mapping->attribute_indices, mapping->n_attribute_indices);
		if ((mapping->memory_start || mapping->memory_limit) &&
		    mapping->memory_start >= mapping->memory_limit)
			checker_tell(checker, RULE_MAPPING_RANGE,
				     "mapping %zu: %" PRIx64 " to %" PRIx64, i,
				     mapping->memory_start, mapping->memory_limit);
		if (!mapping_has_build_id(checker, mapping))
			checker_tell(checker, RULE_MAPPING_BUILD_ID, "mapping %zu has none", i);
	}
	check_mappings_twice(checker);
}

/* ---- locations and functions ---- */

static void check_address(struct checker *checker, size_t row, const Otlp__Location *location)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	const Otlp__Mapping *mapping;

	if (location->mapping_index <= 0 ||
	    !index_is_in(location->mapping_index, dictionary->n_mapping_table))
		return;
	mapping = dictionary->mapping_table[location->mapping_index];
	if (mapping->memory_limit && (location->address < mapping->memory_start ||
				      location->address >= mapping->memory_limit))
		checker_tell(checker, RULE_ADDRESS_IN_MAPPING,
			     "location %zu: %" PRIx64 " is not in mapping %d", row,
			     location->address, location->mapping_index);
}

static void check_locations(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;

	CHECK_ZERO(checker, RULE_LOCATION_ZERO, location_table);
	for (size_t i = 0; i < dictionary->n_location_table; i++) {
		const Otlp__Location *location = dictionary->location_table[i];

		if (!index_is_in(location->mapping_index, dictionary->n_mapping_table))
			checker_tell(checker, RULE_LOCATION_MAPPING,
				     "location %zu: mapping %d is not there", i,
				     location->mapping_index);
		check_attribute_indices(checker, RULE_LOCATION_ATTRIBUTES, "location", i,
					location->attribute_indices, location->n_attribute_indices);
		check_address(checker, i, location);
		for (size_t j = 0; j < location->n_lines; j++) {
			const Otlp__Line *line = location->lines[j];

			if (!index_is_in(line->function_index, dictionary->n_function_table))
				checker_tell(checker, RULE_LINE_FUNCTION,
					     "location %zu: function %d is not there", i,
					     line->function_index);
			if (line->line < 0 || line->column < 0)
				checker_tell(checker, RULE_LINE_NUMBERS,
					     "location %zu: %" PRId64 ":%" PRId64, i, line->line,
					     line->column);
		}
	}
	check_twice(checker, "locations", (void *const *)dictionary->location_table,
		    dictionary->n_location_table);
}

static void check_functions(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;

	CHECK_ZERO(checker, RULE_FUNCTION_ZERO, function_table);
	for (size_t i = 0; i < dictionary->n_function_table; i++) {
		const Otlp__Function *function = dictionary->function_table[i];

		check_string_index(checker, RULE_FUNCTION_STRINGS, "function", i,
				   function->name_strindex);
		check_string_index(checker, RULE_FUNCTION_STRINGS, "function", i,
				   function->system_name_strindex);
		check_string_index(checker, RULE_FUNCTION_STRINGS, "function", i,
				   function->filename_strindex);
		if (function->start_line < 0)
			checker_tell(checker, RULE_FUNCTION_START, "function %zu: %" PRId64, i,
				     function->start_line);
		if (i && !function->name_strindex && !function->system_name_strindex &&
		    !function->filename_strindex)
			checker_tell(checker, RULE_FUNCTION_NAME, "function %zu has neither", i);
	}
	check_twice(checker, "functions", (void *const *)dictionary->function_table,
		    dictionary->n_function_table);
}

/* ---- the others ---- */

static void check_links(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;

	CHECK_ZERO(checker, RULE_LINK_ZERO, link_table);
	for (size_t i = 1; i < dictionary->n_link_table; i++) {
		const Otlp__Link *link = dictionary->link_table[i];

		if (link->trace_id.len != 16 || link->span_id.len != 8)
			checker_tell(checker, RULE_LINK_LENGTHS, "link %zu: %zu and %zu", i,
				     link->trace_id.len, link->span_id.len);
	}
	check_twice(checker, "links", (void *const *)dictionary->link_table,
		    dictionary->n_link_table);
}

static void check_strings(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	struct checker_keys keys = { 0 };

	if (!dictionary->n_string_table || *dictionary->string_table[0])
		checker_tell(checker, RULE_STRING_ZERO, "it is missing or is not");
	for (size_t i = 0; i < dictionary->n_string_table; i++) {
		size_t length = strlen(dictionary->string_table[i]);

		memcpy(checker_keys_add(&keys, i, length), dictionary->string_table[i], length);
	}
	checker_keys_tell(checker, &keys, RULE_STRING_TWICE, "strings");
}

static void check_attributes(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	const Otlp__KeyValueAndUnit *first =
		dictionary->n_attribute_table ? dictionary->attribute_table[0] : NULL;

	// An empty value is as good as none there.
	if (!first || first->key_strindex || first->unit_strindex ||
	    (first->value && first->value->value_case))
		checker_tell(checker, RULE_ATTRIBUTE_ZERO, "it is missing or is not");
	for (size_t i = 0; i < dictionary->n_attribute_table; i++) {
		const Otlp__KeyValueAndUnit *attribute = dictionary->attribute_table[i];

		check_string_index(checker, RULE_ATTRIBUTE_STRINGS, "attribute", i,
				   attribute->key_strindex);
		check_string_index(checker, RULE_ATTRIBUTE_STRINGS, "attribute", i,
				   attribute->unit_strindex);
		check_any_value(checker, "attribute", i, attribute->value);
	}
	check_twice(checker, "attributes", (void *const *)dictionary->attribute_table,
		    dictionary->n_attribute_table);
}

static void check_stacks(struct checker *checker)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;

	CHECK_ZERO(checker, RULE_STACK_ZERO, stack_table);
	for (size_t i = 0; i < dictionary->n_stack_table; i++) {
		const Otlp__Stack *stack = dictionary->stack_table[i];

		for (size_t j = 0; j < stack->n_location_indices; j++)
			if (!index_is_in(stack->location_indices[j], dictionary->n_location_table))
				checker_tell(checker, RULE_STACK_LOCATIONS,
					     "stack %zu: location %d is not there", i,
					     stack->location_indices[j]);
	}
	check_twice(checker, "stacks", (void *const *)dictionary->stack_table,
		    dictionary->n_stack_table);
}

void check_dictionary(struct checker *checker)
{
	check_mappings(checker);
	check_locations(checker);
	check_functions(checker);
	check_links(checker);
	check_strings(checker);
	check_attributes(checker);
	check_stacks(checker);
}
