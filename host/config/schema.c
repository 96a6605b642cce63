// SPDX-License-Identifier: Apache-2.0
/*
 * A JSON schema (draft 7, which editors know best) of whole configurations. A keyword bounds only
 * values of its type: where `${...}` may stand for a number, "string" is among the types, and
 * `pattern` lets nothing else in. jansson passes NULL through, so that one check at the end is
 * enough; objects keep the order in which keys were set.
 */
#include "config.h"

#include "quantity.h"
#include "service_options.h"

#include "sending/sending.h"

#include "base/base.h"

#include <ctype.h>
#include <float.h>
#include <jansson.h>
#include <string.h>

#define EXPANSION "\\$\\{"
#define UNIT      "(ns|us|\u00b5s|\u03bcs|ms|s|m|h)"
/* None is below zero, but zero itself may have any sign. */
#define DURATION                                                                                   \
	"^\\+?(([0-9]+\\.?[0-9]*|\\.[0-9]+)" UNIT ")+$|^-((0+\\.?0*|\\.0+)" UNIT ")+$|^[-+]?0$"
#define SIZE "^([0-9]+\\.?[0-9]*|\\.[0-9]+)(B|KiB|MiB|GiB|TiB)$|^[0-9]+$"

#define SPLIT_KEY "::"

static json_t *table_schema(const struct profcol_option *table);

/* ["integer", "string", "null"]; what is required cannot be null. */
static json_t *types_of(const struct profcol_option *option, const char *first, const char *second)
{
	json_t *types = json_pack("[s]", first);

	if (second)
		json_array_append_new(types, json_string(second));
	if (!option->required)
		json_array_append_new(types, json_string("null"));
	return types;
}

static json_t *typed(const struct profcol_option *option, const char *first, const char *second,
		     const char *pattern)
{
	json_t *schema = json_pack("{s:o}", "type", types_of(option, first, second));

	if (pattern)
		json_object_set_new(schema, "pattern", json_string(pattern));
	return schema;
}

/* ---- one function for each kind of value ---- */

static json_t *int_schema(const struct profcol_option *option)
{
	json_t *schema = typed(option, "integer", "string", EXPANSION);

	if (option->min != INT64_MIN)
		json_object_set_new(schema, "minimum", json_integer(option->min));
	if (option->max != INT64_MAX)
		json_object_set_new(schema, "maximum", json_integer(option->max));
	return schema;
}

static json_t *double_schema(const struct profcol_option *option)
{
	json_t *schema = typed(option, "number", "string", EXPANSION);

	if (option->double_min > -DBL_MAX)
		json_object_set_new(schema, "minimum", json_real(option->double_min));
	if (option->double_max < DBL_MAX)
		json_object_set_new(schema, "maximum", json_real(option->double_max));
	return schema;
}

/* A bare number is no duration, but for 0. */
static json_t *duration_schema(const struct profcol_option *option)
{
	json_t *schema = typed(option, "string", "integer", DURATION "|" EXPANSION);

	json_object_set_new(schema, "minimum", json_integer(0));
	json_object_set_new(schema, "maximum", json_integer(0));
	return schema;
}

static json_t *bytes_schema(const struct profcol_option *option)
{
	json_t *schema = typed(option, "integer", "string", SIZE "|" EXPANSION);

	json_object_set_new(schema, "minimum", json_integer(option->min));
	if (option->max)
		json_object_set_new(schema, "maximum", json_integer(option->max));
	return schema;
}

static json_t *string_schema(const struct profcol_option *option)
{
	json_t *schema = typed(option, "string", NULL, NULL);

	if (option->required)
		json_object_set_new(schema, "minLength", json_integer(1));
	if (option->type == PROFCOL_OPTION_SECRET)
		json_object_set_new(schema, "writeOnly", json_true());
	return schema;
}

/* Words are accepted in any case. */
static void print_any_case(const char *word, FILE *to)
{
	for (; *word; word++) {
		if (isalpha((unsigned char)*word))
			fprintf(to, "[%c%c]", toupper((unsigned char)*word),
				tolower((unsigned char)*word));
		else
			fprintf(to, "%s%c", strchr(".*+?()[]{}|^$\\", *word) ? "\\" : "", *word);
	}
}

/* "^([Yy][Ee][Ss]|...)$|\$\{" in memory that the caller frees. */
static char *words_pattern(const char *const *words)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (const char *const *word = words; *word; word++) {
		fputs(word == words ? "^(" : "|", to);
		print_any_case(*word, to);
	}
	fputs(")$|" EXPANSION, to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* The words as they are, for an editor to offer, and the pattern, for all other ways to write. */
static json_t *enum_schema(const struct profcol_option *option)
{
	const char *const *words = option->names + (option->names[0][0] == '\0');
	// With the empty word, which is taken, if never offered.
	CLEANUP_FREE char *pattern = words_pattern(option->names);
	json_t *list = json_array(), *schema;

	for (const char *const *word = words; *word; word++)
		json_array_append_new(list, json_string(*word));
	schema = json_pack("{s:[{s:o}, {s:s, s:s}]}", "anyOf", "enum", list, "type", "string",
			   "pattern", pattern ? pattern : "");
	if (!option->required)
		json_array_append_new(json_object_get(schema, "anyOf"),
				      json_pack("{s:s}", "type", "null"));
	if (pattern)
		return schema;
	json_decref(schema);
	return NULL;
}

/* Or one text with commas. */
static json_t *list_schema(const struct profcol_option *option)
{
	return json_pack("{s:o, s:{s:[s, s]}}", "type", types_of(option, "array", "string"),
			 "items", "type", "string", "null");
}

/* Or a list of {name, value}. */
static json_t *map_schema(const struct profcol_option *option)
{
	json_t *types = types_of(option, "object", "array");

	json_array_append_new(types, json_string("string"));
	return json_pack("{s:o, s:s, s:{s:[s, s]}, s:{s:s, s:[s], s:b, s:{s:{s:s}, s:{s:[s, s]}}}}",
			 "type", types, "pattern", EXPANSION, "additionalProperties", "type",
			 "string", "null", "items", "type", "object", "required", "name",
			 "additionalProperties", 0, "properties", "name", "type", "string", "value",
			 "type", "string", "null");
}

/* Is a map of @table never complete when it is empty? */
static bool has_required(const struct profcol_option *table)
{
	for (; table && table->key; table++)
		if (table->required || (table->type == PROFCOL_OPTION_NESTED && !table->named &&
					has_required(table->nested)))
			return true;
	return false;
}

static const struct profcol_option *find_option(const struct profcol_option *table, const char *key)
{
	for (; table->key; table++)
		if (!strcmp(table->key, key))
			return table;
	return NULL;
}

static json_t *nested_schema(const struct profcol_option *option)
{
	json_t *schema = table_schema(option->nested);

	// What is in an empty one is not read.
	if (!option->nested->key) {
		json_decref(schema);
		return json_object();
	}
	// `enabled: false` makes a section that means something by being there absent.
	if (option->named && !find_option(option->nested, "enabled"))
		json_object_set_new(json_object_get(schema, "properties"), "enabled",
				    json_pack("{s:[s, s], s:s, s:s}", "type", "boolean", "string",
					      "pattern", EXPANSION, "description",
					      "false: as if the section were not there"));
	return schema;
}

static json_t *sections_schema(const struct profcol_option *option)
{
	json_t *item = table_schema(option->nested);

	if (option->names)
		item = json_pack("{s:[o, {s:s}]}", "anyOf", item, "type", "string");
	return json_pack("{s:o, s:s, s:o}", "type", types_of(option, "array", "string"), "pattern",
			 EXPANSION, "items", item);
}

/* ---- options and tables ---- */

static json_t *value_schema(const struct profcol_option *option)
{
	switch (option->type) {
	case PROFCOL_OPTION_BOOL:
		return typed(option, "boolean", "string", EXPANSION);
	case PROFCOL_OPTION_INT:
		return int_schema(option);
	case PROFCOL_OPTION_DOUBLE:
		return double_schema(option);
	case PROFCOL_OPTION_DURATION:
		return duration_schema(option);
	case PROFCOL_OPTION_BYTES:
		return bytes_schema(option);
	case PROFCOL_OPTION_STRING:
	case PROFCOL_OPTION_SECRET:
		return string_schema(option);
	case PROFCOL_OPTION_ENUM:
		return enum_schema(option);
	case PROFCOL_OPTION_LIST:
		return list_schema(option);
	case PROFCOL_OPTION_MAP:
		return map_schema(option);
	case PROFCOL_OPTION_NESTED:
		return nested_schema(option);
	case PROFCOL_OPTION_SECTIONS:
		return sections_schema(option);
	case PROFCOL_OPTION_ANY:
		break;
	}
	return json_object();
}

/* The fallback, which is YAML text; NULL where it is no scalar. */
static json_t *default_of(const struct profcol_option *option)
{
	const char *text = option->fallback;
	size_t length = strlen(text);
	json_int_t number;
	char *end;

	switch (option->type) {
	case PROFCOL_OPTION_BOOL:
		return json_boolean(!strcmp(text, "true"));
	case PROFCOL_OPTION_INT:
	case PROFCOL_OPTION_BYTES:
		number = strtoll(text, &end, 10);
		return *end ? json_string(text) : json_integer(number);
	case PROFCOL_OPTION_DOUBLE:
		return json_real(strtod(text, NULL));
	case PROFCOL_OPTION_DURATION:
	case PROFCOL_OPTION_STRING:
	case PROFCOL_OPTION_ENUM:
		if (length >= 2 && text[0] == '"')
			return json_stringn(text + 1, length - 2);
		return json_string(text);
	default:
		return NULL;
	}
}

/* " (100ms to 1h)": of the one type whose bounds no keyword can say. */
static void print_duration_bounds(const struct profcol_option *option, char *to, size_t size)
{
	char low[QUANTITY_TEXT_MAX], high[QUANTITY_TEXT_MAX];

	to[0] = '\0';
	if (option->type != PROFCOL_OPTION_DURATION || (!option->min && !option->max))
		return;
	quantity_print_duration(option->min, low);
	quantity_print_duration(option->max, high);
	if (option->max)
		snprintf(to, size, " (%s to %s)", low, high);
	else
		snprintf(to, size, " (at least %s)", low);
}

/* What an editor shows beside the key. */
static void describe(json_t *schema, const struct profcol_option *option)
{
	char bounds[2 * QUANTITY_TEXT_MAX + 16];
	json_t *fallback = option->fallback ? default_of(option) : NULL;

	print_duration_bounds(option, bounds, sizeof(bounds));
	json_object_set_new(schema, "description", json_sprintf("%s%s", option->doc, bounds));
	if (fallback)
		json_object_set_new(schema, "default", fallback);
}

static json_t *table_schema(const struct profcol_option *table)
{
	json_t *properties = json_object(), *required = json_array(), *schema;

	for (const struct profcol_option *option = table; option && option->key; option++) {
		json_t *value = value_schema(option);

		describe(value, option);
		json_object_set_new(properties, option->key, value);
		if (option->required || (option->type == PROFCOL_OPTION_NESTED && !option->named &&
					 has_required(option->nested)))
			json_array_append_new(required, json_string(option->key));
	}
	schema = json_pack("{s:[s, s], s:s, s:o, s:b}", "type", "object", "string", "pattern",
			   EXPANSION, "properties", properties, "additionalProperties", 0);
	if (json_array_size(required))
		json_object_set(schema, "required", required);
	else
		json_array_append_new(json_object_get(schema, "type"), json_string("null"));
	json_decref(required);
	return schema;
}

/* ---- components ---- */

static const struct {
	enum profcol_kind kind;
	const char *section;
} sections[] = {
	{ PROFCOL_RECEIVER, "receivers" },
	{ PROFCOL_PROCESSOR, "processors" },
	{ PROFCOL_EXPORTER, "exporters" },
	{ PROFCOL_EXTENSION, "extensions" },
};

static json_t *component_schema(const struct profcol_component *component)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	const struct profcol_option *table;
	json_t *schema;
	size_t size;

	if (!memory || !sending_compose(component, memory, &table, &size))
		return NULL;
	schema = table_schema(table);
	json_object_set_new(schema, "description",
			    json_string(component->summary ? component->summary : ""));
	return schema;
}

/* "^\s*(otlp_grpc|otlp)\s*(/.+)?$": a component's id. Types are words. */
static char *id_pattern(const struct profcol_component *component)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fprintf(to, "^\\s*(%s", component->type);
	for (const char *const *alias = component->aliases; alias && *alias; alias++)
		fprintf(to, "|%s", *alias);
	fputs(")\\s*(/.+)?$", to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* Note @component's schema in @definitions, and its ids in @patterns. */
static bool add_component(const struct profcol_component *component, const char *section,
			  json_t *definitions, json_t *patterns)
{
	CLEANUP_FREE char *pattern = id_pattern(component), *name = NULL, *reference = NULL;

	if (asprintf(&name, "%s.%s", section, component->type) < 0) {
		name = NULL;
		return false;
	}
	if (asprintf(&reference, "#/definitions/%s", name) < 0) {
		reference = NULL;
		return false;
	}
	return pattern && !json_object_set_new(definitions, name, component_schema(component)) &&
	       !json_object_set_new(patterns, pattern, json_pack("{s:s}", "$ref", reference));
}

static json_t *section_schema(const struct component_registry *registry, size_t section,
			      json_t *definitions)
{
	json_t *patterns = json_object();

	for (size_t i = 0; i < registry->count; i++) {
		if (registry->components[i]->kind != sections[section].kind)
			continue;
		if (!add_component(registry->components[i], sections[section].section, definitions,
				   patterns)) {
			json_decref(patterns);
			return NULL;
		}
	}
	return json_pack("{s:[s, s, s], s:s, s:o, s:b}", "type", "object", "string", "null",
			 "pattern", EXPANSION, "patternProperties", patterns,
			 "additionalProperties", 0);
}

/* ---- service ---- */

/* A list of references; unlike an option's, no text with commas. */
static json_t *references_schema(const char *description, bool required)
{
	json_t *types = json_pack("[s, s]", "array", "string");

	if (!required)
		json_array_append_new(types, json_string("null"));
	return json_pack("{s:o, s:i, s:s, s:{s:s}, s:s}", "type", types, "minItems", required,
			 "pattern", EXPANSION, "items", "type", "string", "description",
			 description);
}

static json_t *pipelines_schema(void)
{
	json_t *pipeline =
		json_pack("{s:[s, s], s:s, s:b, s:[s, s], s:{s:o, s:o, s:o}}", "type", "object",
			  "string", "pattern", EXPANSION, "additionalProperties", 0, "required",
			  "receivers", "exporters", "properties", "receivers",
			  references_schema("where its profiles come from", true), "processors",
			  references_schema("what they pass through, in order", false), "exporters",
			  references_schema("where they go", true));

	return json_pack("{s:[s, s], s:s, s:i, s:{s:o}, s:b, s:s}", "type", "object", "string",
			 "pattern", EXPANSION, "minProperties", 1, "patternProperties",
			 "^\\s*profiles\\s*(/.+)?$", pipeline, "additionalProperties", 0,
			 "description", "`profiles` or `profiles/NAME`: what flows where");
}

static json_t *service_schema(void)
{
	json_t *schema = table_schema(service_options);
	json_t *properties = json_object_get(schema, "properties");

	json_object_set_new(properties, "extensions",
			    references_schema("extensions that run, in order", false));
	json_object_set_new(properties, "pipelines", pipelines_schema());
	json_object_set_new(schema, "type", json_pack("[s, s]", "object", "string"));
	json_object_set_new(schema, "required", json_pack("[s]", "pipelines"));
	return schema;
}

/* ---- all of it ---- */

/* Keys such as `exporters::debug` may bring a section, so that none needs to be there. */
static json_t *required_sections(void)
{
	return json_pack("[{s:{s:{s:{s:s}}}, s:{s:[s, s, s]}}]", "if", "propertyNames", "not",
			 "pattern", SPLIT_KEY, "then", "required", "receivers", "exporters",
			 "service");
}

static json_t *whole_schema(const struct component_registry *registry)
{
	json_t *definitions = json_object(), *properties = json_object();

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		json_t *section = section_schema(registry, i, definitions);

		if (!section) {
			json_decref(definitions);
			json_decref(properties);
			return NULL;
		}
		json_object_set_new(properties, sections[i].section, section);
	}
	json_object_set_new(properties, "connectors",
			    json_pack("{s:[s, s, s], s:s, s:i, s:s}", "type", "object", "string",
				      "null", "pattern", EXPANSION, "maxProperties", 0,
				      "description", "profcol has none"));
	json_object_set_new(properties, "service", service_schema());
	return json_pack("{s:s, s:s, s:s, s:o, s:{s:{}}, s:b, s:o, s:o}", "$schema",
			 "http://json-schema.org/draft-07/schema#", "title",
			 "configuration of profcol", "type", "object", "properties", properties,
			 "patternProperties", SPLIT_KEY, "additionalProperties", 0, "allOf",
			 required_sections(), "definitions", definitions);
}

bool config_print_schema(const struct component_registry *registry, FILE *to)
{
	json_t *schema = whole_schema(registry);
	bool done = schema && !json_dumpf(schema, to, JSON_INDENT(2));

	json_decref(schema);
	fputc('\n', to);
	return done;
}
