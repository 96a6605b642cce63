// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <stdarg.h>
#include <string.h>

static const char *const rule_texts[RULES] = {
	[RULE_RESOURCE_PROFILES] = "a request has resource profiles",
	[RULE_SCOPE_PROFILES] = "resource profiles have scope profiles",
	[RULE_PROFILES] = "scope profiles have profiles",
	[RULE_PROFILE_ATTRIBUTES] = "attributes of profiles exist, no key twice",
	[RULE_SAMPLE_TYPE] = "strings of the sample type exist",
	[RULE_PERIOD_TYPE] = "strings of the period type exist",
	[RULE_SAMPLE_STACK] = "stacks of samples exist",
	[RULE_SAMPLE_ATTRIBUTES] = "attributes of samples exist, no key twice",
	[RULE_SAMPLE_LINK] = "links of samples exist",
	[RULE_TIMESTAMPS_IN_WINDOW] = "timestamps lie in the profile's half-open window",
	[RULE_AS_MANY_VALUES] = "there are as many values as timestamps",
	[RULE_ONE_VALUE] = "without timestamps there is one value",
	[RULE_SAMPLE_NOT_EMPTY] = "samples have values or timestamps",
	[RULE_ONE_SHAPE] = "samples of a profile have one shape",
	[RULE_MAPPING_ZERO] = "the first mapping is empty",
	[RULE_MAPPING_FILENAME] = "filenames of mappings exist",
	[RULE_MAPPING_ATTRIBUTES] = "attributes of mappings exist, no key twice",
	[RULE_MAPPING_RANGE] = "mappings start before their limit",
	[RULE_MAPPING_TWICE] = "mappings differ",
	[RULE_LOCATION_ZERO] = "the first location is empty",
	[RULE_LOCATION_MAPPING] = "mappings of locations exist",
	[RULE_LOCATION_ATTRIBUTES] = "attributes of locations exist, no key twice",
	[RULE_LINE_FUNCTION] = "functions of lines exist",
	[RULE_LINE_NUMBERS] = "lines and columns are not negative",
	[RULE_FUNCTION_ZERO] = "the first function is empty",
	[RULE_FUNCTION_STRINGS] = "strings of functions exist",
	[RULE_FUNCTION_START] = "start lines are not negative",
	[RULE_LINK_ZERO] = "the first link is empty",
	[RULE_LINK_LENGTHS] = "trace ids have 16 bytes, span ids 8",
	[RULE_STRING_ZERO] = "the first string is empty",
	[RULE_STRING_TWICE] = "strings differ",
	[RULE_ATTRIBUTE_ZERO] = "the first attribute is empty",
	[RULE_ATTRIBUTE_STRINGS] = "keys and units of attributes exist",
	[RULE_STACK_ZERO] = "the first stack is empty",
	[RULE_STACK_LOCATIONS] = "locations of stacks exist",
	[RULE_STRING_ORPHAN] = "strings are used",
	[RULE_ATTRIBUTE_ORPHAN] = "attributes are used",
	[RULE_MAPPING_ORPHAN] = "mappings are used",
	[RULE_FUNCTION_ORPHAN] = "functions are used",
	[RULE_LOCATION_ORPHAN] = "locations are used",
	[RULE_STACK_ORPHAN] = "stacks are used",
	[RULE_LINK_ORPHAN] = "links are used",
	[RULE_REFERENCES] = "strings of attribute references exist",
	[RULE_ONE_KEY] = "attributes have a key or a key_strindex, not both",
	[RULE_KEYS_UNIQUE] = "keys of resources, scopes and pair lists come once",
	[RULE_PROFILE_ID] = "profile ids have 16 bytes, not all zero",
	[RULE_PAYLOAD_FORMAT] = "a payload has a format and the reverse",
	[RULE_SAMPLE_TWICE] = "samples of a profile differ in stack, attributes or link",
	[RULE_ROW_TWICE] = "rows of the other tables differ",
	[RULE_MAPPING_BUILD_ID] = "mappings have a build id",
	[RULE_FUNCTION_NAME] = "functions have a name or a file",
	[RULE_ENTITIES] = "entities have a type and keys that the resource has",
	[RULE_UTF8] = "text is UTF-8",
	[RULE_SAMPLES] = "profiles have samples",
	[RULE_ADDRESS_IN_MAPPING] = "addresses lie in their mapping",
};

const char *otlp_conformance_rule(enum conformance_rule rule)
{
	return rule_texts[rule];
}

static void tell_place(FILE *stream, const char *name, int row)
{
	if (row >= 0)
		fprintf(stream, " %s %d:", name, row);
}

void checker_tell(struct checker *checker, enum conformance_rule rule, const char *format, ...)
{
	struct conformance *conformance = checker->conformance;
	FILE *stream = conformance->stream;
	va_list arguments;

	if (conformance->ignored & RULE_BIT(rule))
		return;
	conformance->broken |= RULE_BIT(rule);
	conformance->violations++;
	if (!stream)
		return;
	fprintf(stream, "rule %d, %s:", (int)rule, rule_texts[rule]);
	tell_place(stream, "resource", checker->resource);
	tell_place(stream, "scope", checker->scope);
	tell_place(stream, "profile", checker->profile);
	tell_place(stream, "sample", checker->sample);
	putc(' ', stream);
	va_start(arguments, format);
	vfprintf(stream, format, arguments);
	va_end(arguments);
	putc('\n', stream);
}

const char *checker_key(const struct checker *checker, int32_t index)
{
	const Otlp__ProfilesDictionary *dictionary = checker->dictionary;
	int32_t key;

	if (!index_is_in(index, dictionary->n_attribute_table))
		return NULL;
	key = dictionary->attribute_table[index]->key_strindex;
	return index_is_in(key, dictionary->n_string_table) ? dictionary->string_table[key] : NULL;
}

void check_attribute_indices(struct checker *checker, enum conformance_rule rule, const char *where,
			     size_t row, const int32_t *indices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *key = checker_key(checker, indices[i]);

		if (!key) {
			checker_tell(checker, rule, "%s %zu: attribute %d or its key is not there",
				     where, row, indices[i]);
			continue;
		}
		for (size_t before = 0; before < i; before++) {
			const char *other = checker_key(checker, indices[before]);

			if (other && !strcmp(key, other))
				checker_tell(checker, rule, "%s %zu: key '%s' twice", where, row,
					     key);
		}
	}
}

/* ---- equal rows ---- */

uint8_t *checker_keys_add(struct checker_keys *keys, size_t row, size_t length)
{
	uint8_t *bytes;

	if (!keys->arena)
		keys->arena = arena_create(0);
	bytes = keys->arena ? arena_alloc(keys->arena, length + 1) : NULL;
	if (!bytes || !VECTOR_PUSH(&keys->items, ((struct checker_key){ bytes, length, row })))
		abort();
	return bytes;
}

static int compare_keys(const void *left, const void *right)
{
	const struct checker_key *a = left, *b = right;
	int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);

	return order ? order : (a->length > b->length) - (a->length < b->length);
}

void checker_keys_tell(struct checker *checker, struct checker_keys *keys,
		       enum conformance_rule rule, const char *what)
{
	if (keys->items.count)
		qsort(keys->items.items, keys->items.count, sizeof(struct checker_key),
		      compare_keys);
	for (size_t i = 1; i < keys->items.count; i++)
		if (!compare_keys(&keys->items.items[i - 1], &keys->items.items[i]))
			checker_tell(checker, rule, "%s %zu and %zu are equal", what,
				     keys->items.items[i - 1].row, keys->items.items[i].row);
	VECTOR_DEINIT(&keys->items);
	arena_destroy(keys->arena);
	keys->arena = NULL;
}

/* ---- */

bool otlp_conformance_check(struct conformance *conformance, const uint8_t *bytes, size_t length)
{
	Otlp__ExportProfilesServiceRequest *request =
		otlp__export_profiles_service_request__unpack(NULL, length, bytes);
	Otlp__ProfilesDictionary empty;
	struct checker checker = {
		.conformance = conformance,
		.request = request,
		.resource = -1,
		.scope = -1,
		.profile = -1,
		.sample = -1,
	};

	if (!request)
		return false;
	otlp__profiles_dictionary__init(&empty);
	checker.dictionary = request->dictionary ? request->dictionary : &empty;
	check_text(&checker, &otlp__export_profiles_service_request__descriptor, bytes, length);
	if (request->n_resource_profiles) {
		check_resource_profiles(&checker);
		check_dictionary(&checker);
		check_orphans(&checker);
	} else {
		checker_tell(&checker, RULE_RESOURCE_PROFILES, "there are none");
	}
	otlp__export_profiles_service_request__free_unpacked(request, NULL);
	return true;
}
