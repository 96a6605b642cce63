// SPDX-License-Identifier: Apache-2.0
/* From the options of actions to actions, with the Collector's checks in the Collector's words. */
#include "action.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ACTION struct attributes_action_config

const struct profcol_option attributes_action_options[] = {
	PROFCOL_OPTION_STRING("key", ACTION, key, NULL, "the attribute to act on"),
	PROFCOL_OPTION_STRING("action", ACTION, action, NULL,
			      "insert, update, upsert, delete, hash, extract or convert"),
	PROFCOL_OPTION_ANY("value", ACTION, value, "insert, update, upsert: the value to set"),
	PROFCOL_OPTION_STRING("from_attribute", ACTION, from_attribute, NULL,
			      "insert, update, upsert: the attribute to take the value from"),
	PROFCOL_OPTION_STRING("from_context", ACTION, from_context, NULL,
			      "insert, update, upsert: no effect, profiles have no context"),
	PROFCOL_OPTION_ANY("default_value", ACTION, default_value,
			   "insert, update, upsert: the value when there is no other"),
	PROFCOL_OPTION_STRING("pattern", ACTION, pattern, NULL,
			      "extract: pattern with named groups, matched with the value of key; "
			      "delete, hash: pattern of further keys"),
	PROFCOL_OPTION_STRING("converted_type", ACTION, converted_type, NULL,
			      "convert: string, int or double"),
	PROFCOL_OPTION_END,
};

static const char *const kind_names[] = {
	[ACTION_INSERT] = "insert",   [ACTION_UPDATE] = "update", [ACTION_UPSERT] = "upsert",
	[ACTION_DELETE] = "delete",   [ACTION_HASH] = "hash",     [ACTION_EXTRACT] = "extract",
	[ACTION_CONVERT] = "convert",
};

/* Longest action to be shown as it is written. */
enum { SHOWN_MAX = 64 };

/* One action and its place, for messages. */
struct parsing {
	const struct attributes_action_config *config;
	const char *section;
	size_t index;
};

#define ERROR_WITH_KEY "%s::%zu: error with key \"%s\" (%zu-th action): error creating AttrProc"

__attribute__((format(printf, 2, 3))) static struct profcol_error *
complain(const struct parsing *parsing, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return profcol_error_create(PROFCOL_CONFIG, ERROR_WITH_KEY "%s", parsing->section,
				    parsing->index, parsing->config->key, parsing->index, text);
}

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

static bool is_given(const char *text)
{
	return *text != '\0';
}

static size_t count_sources(const struct attributes_action_config *config)
{
	return (config->value.type != PROFCOL_ANY_NONE) + is_given(config->from_attribute) +
	       is_given(config->from_context);
}

/* Keys of other actions. */
static struct profcol_error *refuse_field(const struct parsing *parsing, const char *field)
{
	return complain(parsing,
			". Action \"%s\" does not use the \"%s\" field. This must not be specified",
			parsing->config->action, field);
}

static struct profcol_error *parse_pattern(const struct parsing *parsing, struct action *action)
{
	const char *text = parsing->config->pattern;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		ottl_pattern_create(text, strlen(text), &action->pattern);

	if (!error)
		return NULL;
	if (profcol_error_code(error) == PROFCOL_NO_MEMORY)
		return no_memory();
	return complain(parsing, ". Field \"pattern\" has invalid pattern: \"%s\": %s", text,
			profcol_error_message(error));
}

static struct profcol_error *parse_put(const struct parsing *parsing, struct action *action)
{
	const struct attributes_action_config *config = parsing->config;
	size_t sources = count_sources(config);

	action->has_value = config->value.type != PROFCOL_ANY_NONE;
	action->has_fallback = config->default_value.type != PROFCOL_ANY_NONE;
	action->from_attribute = config->from_attribute;
	if (!sources && !action->has_fallback)
		return complain(parsing,
				". Either field \"value\", \"from_attribute\", \"from_context\", "
				"or \"default_value\" must be specified");
	if (sources > 1)
		return complain(parsing, " due to multiple value sources being set; keep one of "
					 "\"value\", \"from_attribute\" and \"from_context\"");
	if (is_given(config->pattern))
		return refuse_field(parsing, "pattern");
	if (is_given(config->converted_type))
		return refuse_field(parsing, "converted_type");
	if (action->has_value && constant_init(&action->value, &config->value))
		return no_memory();
	if (action->has_fallback && constant_init(&action->fallback, &config->default_value))
		return no_memory();
	return NULL;
}

static struct profcol_error *parse_removal(const struct parsing *parsing, struct action *action)
{
	const struct attributes_action_config *config = parsing->config;

	if (config->value.type != PROFCOL_ANY_NONE || is_given(config->from_attribute))
		return complain(parsing,
				". Action \"%s\" does not use \"value\" or \"from_attribute\" "
				"field. These must not be specified",
				config->action);
	if (is_given(config->converted_type))
		return refuse_field(parsing, "converted_type");
	return is_given(config->pattern) ? parse_pattern(parsing, action) : NULL;
}

/* Capturing groups without a name: '(' that is neither escaped nor in a class, nor followed by '?'.
 */
static bool has_unnamed_group(const char *pattern)
{
	bool in_class = false;

	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && c[1] == 'Q') {
			const char *end = strstr(c, "\\E");

			if (!end)
				return false;
			c = end + 1;
		} else if (*c == '\\' && c[1]) {
			c++;
		} else if (*c == '[' && !in_class) {
			in_class = true;
			// A ']' that comes first is itself.
			c += c[1] == '^';
			c += c[1] == ']';
		} else if (*c == '[' && c[1] == ':') {
			const char *end = strstr(c, ":]");

			c = end ? end + 1 : c;
		} else if (*c == ']') {
			in_class = false;
		} else if (*c == '(' && !in_class && c[1] != '?') {
			return true;
		}
	}
	return false;
}

static struct profcol_error *parse_extraction(const struct parsing *parsing, struct action *action)
{
	const struct attributes_action_config *config = parsing->config;
	struct profcol_error *error;
	bool has_unnamed;

	if (count_sources(config))
		return complain(parsing,
				". Action \"%s\" does not use a value source field. These must not "
				"be specified",
				config->action);
	if (!is_given(config->pattern))
		return complain(parsing,
				" due to missing required field \"pattern\" for action \"%s\"",
				config->action);
	if (is_given(config->converted_type))
		return refuse_field(parsing, "converted_type");
	error = parse_pattern(parsing, action);
	if (error)
		return error;
	has_unnamed = has_unnamed_group(config->pattern);
	if (!ottl_pattern_group_count(action->pattern) && !has_unnamed)
		return complain(parsing, ". Field \"pattern\" contains no named matcher groups; "
					 "write them as (?P<name>...)");
	if (has_unnamed)
		return complain(parsing, ". Field \"pattern\" contains at least one unnamed "
					 "matcher group; write (?P<name>...) or (?:...)");
	return NULL;
}

static struct profcol_error *parse_conversion(const struct parsing *parsing, struct action *action)
{
	static const char *const types[] = {
		[VALUE_TO_STRING] = "string",
		[VALUE_TO_INT] = "int",
		[VALUE_TO_DOUBLE] = "double",
	};
	const struct attributes_action_config *config = parsing->config;

	if (count_sources(config) || is_given(config->pattern))
		return complain(parsing,
				". Action \"%s\" does not use value sources or \"pattern\" field. "
				"These must not be specified",
				config->action);
	if (!is_given(config->converted_type))
		return complain(
			parsing,
			" due to missing required field \"converted_type\" for action \"%s\"",
			config->action);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i], config->converted_type))
			continue;
		action->conversion = (enum value_conversion)i;
		return NULL;
	}
	return complain(parsing,
			" due to invalid value \"%.*s\" in field \"converted_type\" for action "
			"\"%s\"; it is string, int or double",
			SHOWN_MAX, config->converted_type, config->action);
}

static struct profcol_error *check_key(const struct parsing *parsing, bool takes_pattern)
{
	const struct attributes_action_config *config = parsing->config;

	if (is_given(config->key) || (takes_pattern && is_given(config->pattern)))
		return NULL;
	if (takes_pattern)
		return profcol_error_create(
			PROFCOL_CONFIG,
			"%s::%zu: error creating AttrProc due to missing required field (at least "
			"one of \"key\" and \"pattern\" have to be used) at the %zu-th action",
			parsing->section, parsing->index, parsing->index);
	return profcol_error_create(PROFCOL_CONFIG,
				    "%s::%zu: error creating AttrProc due to missing required "
				    "field \"key\" at the %zu-th action",
				    parsing->section, parsing->index, parsing->index);
}

/* False when there is no such action. */
static bool find_kind(const char *name, enum action_kind *ret)
{
	for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++) {
		if (strcasecmp(kind_names[i], name))
			continue;
		*ret = (enum action_kind)i;
		return true;
	}
	return false;
}

static struct profcol_error *parse_action(const struct parsing *parsing, struct action *action)
{
	const struct attributes_action_config *config = parsing->config;
	bool is_known = find_kind(config->action, &action->kind);
	struct profcol_error *error =
		check_key(parsing, is_known && (action->kind == ACTION_DELETE ||
						action->kind == ACTION_HASH));
	const char *nearest;

	action->key = config->key;
	if (error)
		return error;
	if (!is_known) {
		nearest = strings_nearest(config->action, kind_names,
					  sizeof(kind_names) / sizeof(kind_names[0]));
		return complain(parsing, " due to unsupported action \"%.*s\"; %s %s", SHOWN_MAX,
				config->action, nearest ? "did you mean" : "the actions are",
				nearest ? nearest
					: "insert, update, upsert, delete, hash, extract, convert");
	}
	switch (action->kind) {
	case ACTION_INSERT:
	case ACTION_UPDATE:
	case ACTION_UPSERT:
		return parse_put(parsing, action);
	case ACTION_DELETE:
	case ACTION_HASH:
		return parse_removal(parsing, action);
	case ACTION_EXTRACT:
		return parse_extraction(parsing, action);
	case ACTION_CONVERT:
		break;
	}
	return parse_conversion(parsing, action);
}

static struct profcol_error *take_action(struct attributes_actions *actions,
					 const struct parsing *parsing)
{
	struct action *action = &actions->items[actions->count++];
	struct profcol_error *error = parse_action(parsing, action);
	size_t groups = action->pattern ? ottl_pattern_group_count(action->pattern) : 0;

	if (groups > actions->group_count)
		actions->group_count = groups;
	actions->use_context |= is_given(parsing->config->from_context);
	return error;
}

struct profcol_error *attributes_actions_create(const struct profcol_sections *configs,
						const char *key, struct attributes_actions **ret)
{
	struct attributes_actions *actions = calloc(1, sizeof(*actions));
	struct parsing parsing = { .config = configs->items, .section = key };
	struct profcol_error *error = NULL;

	if (actions)
		actions->items = calloc(configs->count + 1, sizeof(*actions->items));
	if (!actions || !actions->items) {
		attributes_actions_destroy(actions);
		return no_memory();
	}
	for (; parsing.index < configs->count; parsing.index++, parsing.config++)
		error = profcol_error_join(error, take_action(actions, &parsing));
	if (error)
		attributes_actions_destroy(actions);
	else
		*ret = actions;
	return error;
}

void attributes_actions_destroy(struct attributes_actions *actions)
{
	if (!actions)
		return;
	for (size_t i = 0; i < actions->count; i++) {
		constant_deinit(&actions->items[i].value);
		constant_deinit(&actions->items[i].fallback);
		ottl_pattern_destroy(actions->items[i].pattern);
	}
	free(actions->items);
	free(actions);
}

bool attributes_actions_use_context(const struct attributes_actions *actions)
{
	return actions->use_context;
}

bool attributes_actions_hide(const struct attributes_actions *actions)
{
	for (size_t i = 0; i < actions->count; i++)
		if (actions->items[i].kind == ACTION_DELETE ||
		    actions->items[i].kind == ACTION_HASH)
			return true;
	return false;
}
