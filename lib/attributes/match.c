// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include "base/base.h"
#include "ottl/ottl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a text has to be, or to have in it. */
struct text_rule {
	const char *text; /* borrowed from the configuration */
	size_t length;
	struct ottl_pattern *pattern; /* owned; NULL: the text itself */
};

/* What an attribute has to be. */
struct property {
	const char *key; /* borrowed from the configuration */
	size_t key_length;
	bool has_value;
	struct constant value;        /* with has_value, unless there is a pattern */
	struct ottl_pattern *pattern; /* owned; or NULL */
};

struct properties {
	struct property *items; /* owned */
	size_t count;
};

struct library {
	struct text_rule name, version;
	bool has_version;
};

struct attributes_match {
	bool is_regexp;
	struct properties attributes, resources;
	struct library *libraries; /* owned */
	size_t library_count;
	struct text_rule *services; /* owned */
	size_t service_count;
};

/* Where an error is: "include::attributes". */
struct section {
	const char *key, *part;
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

static struct profcol_error *compile(const struct section *section, size_t index, const char *text,
				     struct ottl_pattern **ret)
{
	return profcol_error_prefix(ottl_pattern_create(text, strlen(text), ret), "%s::%s::%zu",
				    section->key, section->part, index);
}

/* ---- texts ---- */

static struct profcol_error *text_rule_init(struct text_rule *rule, const char *text,
					    bool is_regexp, const struct section *section,
					    size_t index)
{
	*rule = (struct text_rule){ .text = text, .length = strlen(text) };
	return is_regexp ? compile(section, index, text, &rule->pattern) : NULL;
}

/* Of two that both have to be: one that is not settles it, whatever is in doubt. */
static enum ottl_result both(enum ottl_result left, enum ottl_result right)
{
	if (left == OTTL_FALSE || right == OTTL_FALSE)
		return OTTL_FALSE;
	return left == OTTL_TRUE ? right : left;
}

static enum ottl_result result_of(bool boolean)
{
	return boolean ? OTTL_TRUE : OTTL_FALSE;
}

static enum ottl_result text_rule_matches(const struct text_rule *rule, struct profcol_text text,
					  struct ottl_budget *budget)
{
	if (rule->pattern)
		return ottl_pattern_match(rule->pattern, text.bytes, text.length, budget);
	return result_of(text.length == rule->length &&
			 !memcmp(text.bytes, rule->text, text.length));
}

/* ---- properties ---- */

static struct profcol_error *property_init(struct property *property,
					   const struct attributes_property_config *config,
					   bool is_regexp, const struct section *section,
					   size_t index)
{
	static const char *const types[] = {
		[PROFCOL_ANY_NONE] = "Empty",    [PROFCOL_ANY_TEXT] = "Str",
		[PROFCOL_ANY_BOOL] = "Bool",     [PROFCOL_ANY_INT] = "Int",
		[PROFCOL_ANY_DOUBLE] = "Double", [PROFCOL_ANY_LIST] = "Slice",
		[PROFCOL_ANY_MAP] = "Map",
	};

	property->key = config->key;
	property->key_length = strlen(config->key);
	if (!property->key_length)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s::%s::%zu: can't have empty key in the list of "
					    "attributes; add 'key'",
					    section->key, section->part, index);
	if (config->value.type == PROFCOL_ANY_NONE)
		return NULL;
	property->has_value = true;
	if (!is_regexp)
		return constant_init(&property->value, &config->value) ? no_memory() : NULL;
	if (config->value.type != PROFCOL_ANY_TEXT)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s::%s::%zu: match_type=regexp for \"%s\" only "
					    "supports Str, but found %s; put it in quotes",
					    section->key, section->part, index, config->key,
					    types[config->value.type]);
	return compile(section, index, config->value.text, &property->pattern);
}

static struct profcol_error *properties_init(struct properties *properties,
					     const struct profcol_sections *configs, bool is_regexp,
					     const struct section *section)
{
	const struct attributes_property_config *items = configs->items;
	struct profcol_error *error = NULL;

	properties->items = calloc(configs->count + 1, sizeof(*properties->items));
	if (!properties->items)
		return no_memory();
	while (properties->count < configs->count && !error) {
		size_t i = properties->count++;

		error = property_init(&properties->items[i], &items[i], is_regexp, section, i);
	}
	return error;
}

static void properties_deinit(struct properties *properties)
{
	for (size_t i = 0; i < properties->count; i++) {
		constant_deinit(&properties->items[i].value);
		ottl_pattern_destroy(properties->items[i].pattern);
	}
	free(properties->items);
}

static enum ottl_result property_matches(const struct property *property,
					 const struct profcol_batch *batch,
					 const struct profcol_value *value,
					 struct ottl_budget *budget)
{
	char space[ATTRIBUTES_DOUBLE_MAX];
	struct profcol_text text;

	if (!property->has_value)
		return OTTL_TRUE;
	if (!property->pattern)
		return result_of(constant_equals(&property->value, batch, value));
	if (!attributes_value_text(batch, value, space, &text))
		return OTTL_FALSE;
	return ottl_pattern_match(property->pattern, text.bytes, text.length, budget);
}

/* The value of the first attribute called @key in list @list. */
static bool find_value(const struct profcol_batch *batch, uint32_t list, const char *key,
		       size_t key_length, struct profcol_value *ret)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);
		struct profcol_text name = profcol_batch_string(batch, attribute.key);

		if (name.length != key_length || memcmp(name.bytes, key, key_length))
			continue;
		*ret = attribute.value;
		return true;
	}
	return false;
}

static enum ottl_result properties_match(const struct properties *properties,
					 const struct profcol_batch *batch, uint32_t list,
					 struct ottl_budget *budget)
{
	enum ottl_result result = OTTL_TRUE;

	for (size_t i = 0; i < properties->count && result != OTTL_FALSE; i++) {
		const struct property *property = &properties->items[i];
		struct profcol_value value;

		if (!find_value(batch, list, property->key, property->key_length, &value))
			return OTTL_FALSE;
		result = both(result, property_matches(property, batch, &value, budget));
	}
	return result;
}

/* ---- making one ---- */

/* A key of @list has no meaning here, unless it is empty. */
static struct profcol_error *refuse(struct profcol_error *error, const char *key, const char *name,
				    bool is_given, const char *where)
{
	if (!is_given)
		return error;
	return profcol_error_join(error,
				  profcol_error_create(PROFCOL_CONFIG,
						       "%s::%s: %s should not be specified for %s",
						       key, name, name, where));
}

static struct profcol_error *check(const struct attributes_match_config *config,
				   enum attributes_level level, const char *key)
{
	const char *const profiles = "profiles; remove it";
	bool has_parents = level == ATTRIBUTES_RESOURCE || level == ATTRIBUTES_SAMPLE;
	const char *where = has_parents ? "level: resource; remove it, or set level: sample"
					: "locations and mappings, which all samples share; "
					  "remove it, or set level: sample";
	struct profcol_error *error = NULL;

	error = refuse(error, key, "span_names", config->span_names.count, profiles);
	error = refuse(error, key, "span_kinds", config->span_kinds.count, profiles);
	error = refuse(error, key, "log_bodies", config->log_bodies.count, profiles);
	error = refuse(error, key, "log_severity_texts", config->log_severity_texts.count,
		       profiles);
	error = refuse(error, key, "log_severity_number", config->log_severity_number_named,
		       profiles);
	error = refuse(error, key, "metric_names", config->metric_names.count, profiles);
	error = refuse(error, key, "libraries",
		       config->libraries.count && level != ATTRIBUTES_SAMPLE, where);
	error = refuse(error, key, "resources", config->resources.count && !has_parents, where);
	error = refuse(error, key, "services", config->services.count && !has_parents, where);
	if (error)
		return error;
	if (!config->services.count && !config->attributes.count && !config->libraries.count &&
	    !config->resources.count)
		return profcol_error_create(
			PROFCOL_CONFIG,
			"%s: at least one of \"attributes\", \"libraries\",  or "
			"\"resources\" field must be specified",
			key);
	return NULL;
}

/* Is there anything that is compared with a value? Names of attributes alone are not. */
static bool needs_match_type(const struct attributes_match_config *config)
{
	const struct attributes_property_config *attributes = config->attributes.items;
	const struct attributes_property_config *resources = config->resources.items;

	for (size_t i = 0; i < config->attributes.count; i++)
		if (attributes[i].value.type != PROFCOL_ANY_NONE)
			return true;
	for (size_t i = 0; i < config->resources.count; i++)
		if (resources[i].value.type != PROFCOL_ANY_NONE)
			return true;
	return config->libraries.count || config->services.count;
}

static struct profcol_error *take_match_type(struct attributes_match *match,
					     const struct attributes_match_config *config,
					     const char *key)
{
	match->is_regexp = !strcmp(config->match_type, "regexp");
	if (match->is_regexp || !strcmp(config->match_type, "strict") || !needs_match_type(config))
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "%s::match_type: unrecognized match_type: '%s', valid types "
				    "are: [regexp strict]",
				    key, config->match_type);
}

static struct profcol_error *take_libraries(struct attributes_match *match,
					    const struct profcol_sections *configs, const char *key)
{
	const struct attributes_library_config *items = configs->items;
	const struct section section = { key, "libraries" };
	struct profcol_error *error = NULL;

	match->libraries = calloc(configs->count + 1, sizeof(*match->libraries));
	if (!match->libraries)
		return no_memory();
	while (match->library_count < configs->count && !error) {
		size_t i = match->library_count++;
		struct library *library = &match->libraries[i];
		const struct profcol_any *version = &items[i].version;

		error = text_rule_init(&library->name, items[i].name, match->is_regexp, &section,
				       i);
		library->has_version = version->type != PROFCOL_ANY_NONE;
		if (error || !library->has_version)
			continue;
		if (version->type != PROFCOL_ANY_TEXT)
			return profcol_error_create(PROFCOL_CONFIG,
						    "%s::libraries::%zu::version: expected type "
						    "'string'; put it in quotes",
						    key, i);
		error = text_rule_init(&library->version, version->text, match->is_regexp, &section,
				       i);
	}
	return error;
}

static struct profcol_error *take_services(struct attributes_match *match,
					   const struct profcol_list *names, const char *key)
{
	const struct section section = { key, "services" };
	struct profcol_error *error = NULL;

	match->services = calloc(names->count + 1, sizeof(*match->services));
	if (!match->services)
		return no_memory();
	while (match->service_count < names->count && !error) {
		size_t i = match->service_count++;

		error = text_rule_init(&match->services[i], names->items[i], match->is_regexp,
				       &section, i);
	}
	return error;
}

struct profcol_error *attributes_match_create(const struct attributes_match_config *config,
					      enum attributes_level level, const char *key,
					      struct attributes_match **ret)
{
	struct profcol_error *error = check(config, level, key);
	struct attributes_match *match;

	if (error)
		return error;
	match = calloc(1, sizeof(*match));
	if (!match)
		return no_memory();
	error = take_match_type(match, config, key);
	if (!error)
		error = properties_init(&match->attributes, &config->attributes, match->is_regexp,
					&(struct section){ key, "attributes" });
	if (!error)
		error = properties_init(&match->resources, &config->resources, match->is_regexp,
					&(struct section){ key, "resources" });
	if (!error)
		error = take_libraries(match, &config->libraries, key);
	if (!error)
		error = take_services(match, &config->services, key);
	if (error)
		attributes_match_destroy(match);
	else
		*ret = match;
	return error;
}

void attributes_match_destroy(struct attributes_match *match)
{
	if (!match)
		return;
	properties_deinit(&match->attributes);
	properties_deinit(&match->resources);
	for (size_t i = 0; i < match->library_count; i++) {
		ottl_pattern_destroy(match->libraries[i].name.pattern);
		ottl_pattern_destroy(match->libraries[i].version.pattern);
	}
	for (size_t i = 0; i < match->service_count; i++)
		ottl_pattern_destroy(match->services[i].pattern);
	free(match->libraries);
	free(match->services);
	free(match);
}

/* ---- matching ---- */

static enum ottl_result match_service(const struct attributes_match *match,
				      const struct profcol_batch *batch, uint32_t list,
				      struct ottl_budget *budget)
{
	enum ottl_result result = OTTL_FALSE;
	struct profcol_value value;

	if (!match->service_count)
		return OTTL_TRUE;
	if (!find_value(batch, list, "service.name", strlen("service.name"), &value) ||
	    value.type != PROFCOL_VALUE_STRING)
		return OTTL_FALSE;
	for (size_t i = 0; i < match->service_count && result != OTTL_TRUE; i++) {
		enum ottl_result one = text_rule_matches(
			&match->services[i], profcol_batch_string(batch, value.string), budget);

		result = one != OTTL_FALSE ? one : result;
	}
	return result;
}

static enum ottl_result match_library(const struct library *library,
				      const struct profcol_batch *batch,
				      const struct profcol_scope *scope, struct ottl_budget *budget)
{
	enum ottl_result result =
		text_rule_matches(&library->name, profcol_batch_string(batch, scope->name), budget);

	if (result == OTTL_FALSE || !library->has_version)
		return result;
	return both(result, text_rule_matches(&library->version,
					      profcol_batch_string(batch, scope->version), budget));
}

enum ottl_result attributes_match_parents(const struct attributes_match *match,
					  const struct profcol_batch *batch, uint32_t resource,
					  uint32_t scope, struct ottl_budget *budget)
{
	struct profcol_range range;
	uint32_t list = profcol_batch_resource(batch, resource, &range).attributes;
	struct profcol_scope row = profcol_batch_scope(batch, scope, &range);
	enum ottl_result result = OTTL_TRUE;

	for (size_t i = 0; i < match->library_count && result != OTTL_FALSE; i++)
		result = both(result, match_library(&match->libraries[i], batch, &row, budget));
	if (result != OTTL_FALSE)
		result = both(result, match_service(match, batch, list, budget));
	if (result != OTTL_FALSE)
		result = both(result, properties_match(&match->resources, batch, list, budget));
	return result;
}

enum ottl_result attributes_match_list(const struct attributes_match *match,
				       const struct profcol_batch *batch, uint32_t list,
				       struct ottl_budget *budget)
{
	return properties_match(&match->attributes, batch, list, budget);
}
