// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include "decode_text.h"
#include "quantity.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void decode_wrong_type(const struct target *target, const struct yaml_node *node,
		       const struct path *path, const char *expected, const char *remedy)
{
	problems_add(target->decoding->problems, node->place, path,
		     "expected type '%s', got unconvertible type '%s'%s%s", expected,
		     yaml_type_name(node), remedy, yaml_hint(node));
}

__attribute__((format(printf, 2, 3))) static void complain(const struct target *target,
							   const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	problems_add(target->decoding->problems, target->node->place, target->path, "%s", text);
}

/* The scalar of the target if it has type @type; else the type is reported. */
static const struct scalar *expect_scalar(const struct target *target, enum scalar_type type,
					  const char *expected, const char *remedy)
{
	const struct yaml_node *node = target->node;

	if (node->kind == YAML_SCALAR && node->scalar.type == type)
		return &node->scalar;
	decode_wrong_type(target, node, target->path, expected, remedy);
	return NULL;
}

static bool is_number(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR &&
	       (node->scalar.type == SCALAR_INT || node->scalar.type == SCALAR_FLOAT);
}

static void decode_bool(const struct target *target)
{
	const struct scalar *scalar =
		expect_scalar(target, SCALAR_BOOL, "bool", "; write true or false");

	if (scalar)
		*(bool *)target->field = scalar->boolean;
}

/* What a message says of a number that was read from @node. */
static const char *show(const struct yaml_node *node, const char *number)
{
	return node->concealed ? "..." : number;
}

static bool is_beyond_integers(const struct scalar *scalar)
{
	return scalar->type == SCALAR_FLOAT && fabs(scalar->number) >= 0x1p63;
}

static int64_t saturate(const struct scalar *scalar)
{
	if (is_beyond_integers(scalar))
		return scalar->number < 0 ? INT64_MIN : INT64_MAX;
	return scalar->type == SCALAR_INT ? scalar->integer : (int64_t)scalar->number;
}

/* A whole number, also one written as 1e3; the nearest one there is for what is beyond. */
static bool take_integer(const struct target *target, int64_t *ret)
{
	const struct scalar *scalar = &target->node->scalar;

	if (!is_number(target->node) ||
	    (scalar->type == SCALAR_FLOAT &&
	     (!isfinite(scalar->number) || scalar->number != floor(scalar->number)))) {
		decode_wrong_type(target, target->node, target->path, "int",
				  "; write a whole number without quotes");
		return false;
	}
	*ret = saturate(scalar);
	return true;
}

static void decode_int(const struct target *target)
{
	const struct profcol_option *option = target->option;
	const struct yaml_node *node = target->node;
	char got[32];
	int64_t value;

	if (!take_integer(target, &value))
		return;
	if (is_beyond_integers(&node->scalar))
		snprintf(got, sizeof(got), "%.17g", node->scalar.number);
	else
		snprintf(got, sizeof(got), "%" PRId64, value);
	if (value < option->min && option->max == INT64_MAX)
		complain(target, "must be at least %" PRId64 ", got %s", option->min,
			 show(node, got));
	else if (value < option->min || value > option->max || is_beyond_integers(&node->scalar))
		complain(target, "must be between %" PRId64 " and %" PRId64 ", got %s", option->min,
			 option->max, show(node, got));
	else
		*(int64_t *)target->field = value;
}

static void decode_double(const struct target *target)
{
	const struct profcol_option *option = target->option;
	double value = target->node->scalar.number;
	char got[32];

	if (!is_number(target->node)) {
		decode_wrong_type(target, target->node, target->path, "float64",
				  "; write a number without quotes");
		return;
	}
	// Written so that NaN fails.
	snprintf(got, sizeof(got), "%.15g", value);
	if (!(value >= option->double_min && value <= option->double_max))
		complain(target, "must be between %.15g and %.15g, got %s", option->double_min,
			 option->double_max, show(target->node, got));
	else
		*(double *)target->field = value;
}

/* For durations and sizes: @print turns bounds and value into text. */
static void take_quantity(const struct target *target, int64_t value,
			  void (*print)(int64_t value, char *to))
{
	int64_t least = target->option->min, most = target->option->max;
	char low[QUANTITY_TEXT_MAX], high[QUANTITY_TEXT_MAX], got[QUANTITY_TEXT_MAX];

	if (value >= least && (!most || value <= most)) {
		*(uint64_t *)target->field = (uint64_t)value;
		return;
	}
	print(least, low);
	print(most, high);
	print(value, got);
	if (most)
		complain(target, "must be between %s and %s, got %s", low, high,
			 show(target->node, got));
	else
		complain(target, "must be at least %s, got %s", low, show(target->node, got));
}

static void print_duration(int64_t value, char *to)
{
	quantity_print_duration(value, to);
}

/* @why quotes the value; from the first quote on it is left out when messages must not show it. */
static const char *conceal(const struct yaml_node *node, char why[QUANTITY_TEXT_MAX])
{
	char *quote = node->concealed ? strchr(why, '"') : NULL;

	if (quote)
		snprintf(quote, QUANTITY_TEXT_MAX - (size_t)(quote - why), "\"...\"");
	return why;
}

static void decode_duration(const struct target *target)
{
	const struct yaml_node *node = target->node;
	char why[QUANTITY_TEXT_MAX];
	int64_t ns;

	if (node->kind != YAML_SCALAR || node->scalar.type == SCALAR_BOOL) {
		decode_wrong_type(target, node, target->path, "time.Duration",
				  "; write it as 300ms, 5s or 1h30m");
		return;
	}
	// The Collector takes a bare 5 for nanoseconds, which nobody ever means.
	if (!quantity_parse_duration(node->text, &ns, why))
		complain(target, "%s; write it as 300ms, 5s or 1h30m", conceal(node, why));
	else
		take_quantity(target, ns, print_duration);
}

static void print_bytes(int64_t value, char *to)
{
	if (value < 0)
		snprintf(to, QUANTITY_TEXT_MAX, "%" PRId64, value);
	else
		quantity_print_bytes((uint64_t)value, to);
}

static void decode_bytes(const struct target *target)
{
	const struct yaml_node *node = target->node;
	char why[QUANTITY_TEXT_MAX];
	uint64_t bytes;
	int64_t value;

	if (is_number(node)) {
		if (!take_integer(target, &value))
			return;
		if (is_beyond_integers(&node->scalar))
			complain(target,
				 "size \"%.40s\" is out of range; write a number of bytes, "
				 "or as 512KiB, 32MiB, 1GiB",
				 yaml_shown(node));
		else
			take_quantity(target, value, print_bytes);
		return;
	}
	if (node->kind != YAML_SCALAR || node->scalar.type != SCALAR_STRING)
		decode_wrong_type(target, node, target->path, "bytes",
				  "; write a number of bytes, or as 512KiB, 32MiB, 1GiB");
	else if (!quantity_parse_bytes(node->text, &bytes, why))
		complain(target, "%s; write a number of bytes, or as 512KiB, 32MiB, 1GiB",
			 conceal(node, why));
	else
		take_quantity(target, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, print_bytes);
}

/* Warns where @path does not lead to what the option is about. */
static void look_at_path(const struct target *target, const char *path)
{
	CLEANUP_FREE char *copy = strdup(path);

	if (!*path || !copy)
		return;
	if (target->option->path == PROFCOL_PATH_READ && access(path, R_OK))
		problems_warn(target->decoding->problems, target->place, target->path,
			      "'%s' cannot be read here: %s; profcol does not start without it",
			      yaml_shown(target->node), strerror(errno));
	else if (target->option->path == PROFCOL_PATH_CREATED && access(path, W_OK) &&
		 (errno != ENOENT || access(dirname(copy), W_OK)))
		problems_warn(target->decoding->problems, target->place, target->path,
			      "'%s' cannot be written here: %s; profcol does not make the "
			      "directories above it",
			      yaml_shown(target->node), strerror(errno));
}

static void decode_string(const struct target *target)
{
	const char *text = decode_take_text(target, target->node, target->path);

	if (!text)
		return;
	*(const char **)target->field = text;
	if (target->decoding->looks_at_paths && target->option->path)
		look_at_path(target, text);
}

static void decode_enum(const struct target *target)
{
	const struct profcol_option *option = target->option;
	const struct yaml_node *node = target->node;
	size_t hidden = option->names[0][0] == '\0', count = 0;
	char valid[256];
	const char *nearest;

	if (node->kind != YAML_SCALAR) {
		decode_wrong_type(target, node, target->path, "string", "");
		return;
	}
	for (; option->names[count]; count++) {
		// The Collector lowers the case of its levels before it looks.
		if (strcasecmp(option->names[count], node->text))
			continue;
		*(int *)target->field = (int)count;
		return;
	}
	nearest = strings_nearest(node->text, option->names + hidden, count - hidden);
	decode_join_words(valid, sizeof(valid), option->names + hidden, " ");
	complain(target, "unknown value \"%.100s\" (valid values: [%s])%s%s%s", yaml_shown(node),
		 valid, nearest ? "; did you mean '" : "", nearest ? nearest : "",
		 nearest ? "'?" : "");
}

static void decode_nested(const struct target *target)
{
	if (!target->option->nested->key)
		return;
	decode_options(target->decoding, target->option->nested, target->node, target->place,
		       target->path, target->field);
}

static void (*const decoders[])(const struct target *target) = {
	[PROFCOL_OPTION_BOOL] = decode_bool,     [PROFCOL_OPTION_INT] = decode_int,
	[PROFCOL_OPTION_DOUBLE] = decode_double, [PROFCOL_OPTION_DURATION] = decode_duration,
	[PROFCOL_OPTION_BYTES] = decode_bytes,   [PROFCOL_OPTION_STRING] = decode_string,
	[PROFCOL_OPTION_SECRET] = decode_string, [PROFCOL_OPTION_ENUM] = decode_enum,
	[PROFCOL_OPTION_LIST] = decode_list,     [PROFCOL_OPTION_MAP] = decode_map,
	[PROFCOL_OPTION_NESTED] = decode_nested, [PROFCOL_OPTION_SECTIONS] = decode_sections,
	[PROFCOL_OPTION_ANY] = decode_any,
};

size_t decode_field_size(enum profcol_option_type type)
{
	switch (type) {
	case PROFCOL_OPTION_BOOL:
		return sizeof(bool);
	case PROFCOL_OPTION_INT:
		return sizeof(int64_t);
	case PROFCOL_OPTION_DOUBLE:
		return sizeof(double);
	case PROFCOL_OPTION_DURATION:
	case PROFCOL_OPTION_BYTES:
		return sizeof(uint64_t);
	case PROFCOL_OPTION_STRING:
	case PROFCOL_OPTION_SECRET:
		return sizeof(const char *);
	case PROFCOL_OPTION_ENUM:
		return sizeof(int);
	case PROFCOL_OPTION_LIST:
		return sizeof(struct profcol_list);
	case PROFCOL_OPTION_MAP:
		return sizeof(struct profcol_map);
	case PROFCOL_OPTION_SECTIONS:
		return sizeof(struct profcol_sections);
	case PROFCOL_OPTION_ANY:
		return sizeof(struct profcol_any);
	case PROFCOL_OPTION_NESTED:
		break;
	}
	return 0;
}

/* The table's default, by the same way as the file's values. */
static void decode_default(struct target *target)
{
	const struct profcol_option *option = target->option;
	// A table is trusted and has its own budget: the file's is for the file.
	struct yaml_source source = { .memory = target->decoding->memory,
				      .problems = target->decoding->problems };

	memset(target->field, 0, decode_field_size(option->type));
	if (option->type == PROFCOL_OPTION_STRING || option->type == PROFCOL_OPTION_SECRET)
		*(const char **)target->field = "";
	if (!option->fallback)
		return;
	target->node = yaml_parse_value(&source, option->fallback, strlen(option->fallback),
					target->place);
	if (!target->node)
		problems_add(target->decoding->problems, target->place, target->path,
			     "the default '%s' is not YAML", option->fallback);
	else if (!yaml_is_null(target->node))
		decoders[option->type](target);
}

/* Nothing is said: the default holds. A variable that is set and empty is empty text. */
static bool is_absent(const struct profcol_option *option, const struct yaml_node *node)
{
	if (!yaml_is_null(node))
		return false;
	return !node || !node->from_variable ||
	       (option->type != PROFCOL_OPTION_STRING && option->type != PROFCOL_OPTION_SECRET);
}

static bool is_empty_text(const struct profcol_option *option, const void *field)
{
	return (option->type == PROFCOL_OPTION_STRING || option->type == PROFCOL_OPTION_SECRET) &&
	       !**(const char *const *)field;
}

static void decode_option(struct target *target, const struct path *parent)
{
	const struct profcol_option *option = target->option;
	const struct yaml_node *given = target->node;
	size_t before = problems_count(target->decoding->problems);

	if (given && given->broken) {
		if (target->decoding->incomplete)
			*target->decoding->incomplete = true;
		return;
	}
	if (given)
		target->place = given->place;
	if (!is_absent(option, given)) {
		decoders[option->type](target);
	} else if (option->type == PROFCOL_OPTION_NESTED) {
		decode_nested(target);
	} else {
		decode_default(target);
	}
	if (!option->required || target->decoding->defaults_only ||
	    problems_count(target->decoding->problems) > before)
		return;
	if (!is_absent(option, given) && !is_empty_text(option, target->field))
		return;
	if (given)
		problems_add(
			target->decoding->problems, target->place, parent,
			"requires a non-empty \"%s\"; its value here is empty (a variable that "
			"is not set?)",
			option->key);
	else
		problems_add(target->decoding->problems, target->place, parent,
			     "requires a non-empty \"%s\"; add '%s: ...' to it", option->key,
			     option->key);
}

static const struct profcol_option *find_option(const struct profcol_option *table, const char *key)
{
	for (; table && table->key; table++)
		if (!strcmp(table->key, key))
			return table;
	return NULL;
}

/* The magic `enabled` of a section that may be absent; NULL when there is none. */
static const struct yaml_node *find_switch(const struct profcol_option *option,
					   const struct yaml_node *body)
{
	if (!option->named || !body || body->kind != YAML_MAP ||
	    find_option(option->nested, "enabled"))
		return NULL;
	return yaml_map_find(body, "enabled");
}

/* Does @body, which may be NULL, name the section? */
static bool is_named(const struct decoding *decoding, const struct profcol_option *option,
		     const struct yaml_node *body, const struct path *path)
{
	const struct yaml_node *value = find_switch(option, body);

	if (!body || (option->null_is_absent && yaml_is_null(body)))
		return false;
	if (!value || value->broken)
		return true;
	if (value->kind == YAML_SCALAR && value->scalar.type == SCALAR_BOOL)
		return value->scalar.boolean;
	problems_add(decoding->problems, value->place, path,
		     "unexpected type %s for 'enabled': value expected 'true' or 'false'",
		     yaml_type_name(value));
	return true;
}

/* A section that is switched off is checked, but what it says is not used. */
static void decode_section(struct target *target, const struct path *parent)
{
	const struct profcol_option *option = target->option;
	const struct decoding *outer = target->decoding;
	bool named = is_named(outer, option, target->node, target->path);
	struct decoding decoding = *outer;

	*(bool *)((char *)target->base + option->named - 1) = named;
	decoding.switched = find_switch(option, target->node) ? option->nested : NULL;
	decoding.defaults_only |= !named;
	target->decoding = &decoding;
	decode_option(target, parent);
	if (!named && !yaml_is_null(target->node)) {
		target->node = NULL;
		decode_option(target, parent);
	}
	target->decoding = outer;
}

static void report_unknown_key(const struct decoding *decoding, const struct profcol_option *table,
			       const struct yaml_node *key, const struct path *path)
{
	CLEANUP_FREE const char **names = NULL;
	char valid[512];
	const char *nearest;
	size_t count = 0;

	if (decoding->unknown_keys)
		++*decoding->unknown_keys;
	if (problems_is_full(decoding->problems)) {
		problems_add(decoding->problems, key->place, path, "has invalid keys");
		return;
	}
	while (table && table[count].key)
		count++;
	names = calloc(count + 1, sizeof(*names));
	if (!names) {
		decoding->problems->no_memory = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		names[i] = table[i].key;
	nearest = strings_nearest(key->text, names, count);
	decode_join_words(valid, sizeof(valid), names, ", ");
	if (nearest)
		problems_add(decoding->problems, key->place, path,
			     "has invalid keys: %s; did you mean '%s'?", key->text, nearest);
	else if (count)
		problems_add(decoding->problems, key->place, path,
			     "has invalid keys: %s; valid keys: %s", key->text, valid);
	else
		problems_add(decoding->problems, key->place, path,
			     "has invalid keys: %s; it has no options", key->text);
}

static void refuse_unknown_keys(const struct decoding *decoding, const struct profcol_option *table,
				const struct yaml_node *body, const struct path *path)
{
	for (size_t i = 0; i < body->count; i++) {
		const struct yaml_node *key = body->entries[i].key;

		if (find_option(table, key->text))
			continue;
		if (decoding->switched != table || strcmp(key->text, "enabled") != 0)
			report_unknown_key(decoding, table, key, path);
	}
}

void decode_options(const struct decoding *decoding, const struct profcol_option *table,
		    const struct yaml_node *body, struct place place, const struct path *path,
		    void *base)
{
	if (body && body->broken) {
		if (decoding->incomplete)
			*decoding->incomplete = true;
		return;
	}
	if (yaml_is_null(body)) {
		body = NULL;
	} else if (body->kind != YAML_MAP) {
		problems_add(decoding->problems, body->place, path, "expected a map, got '%s'%s%s",
			     yaml_type_name(body),
			     table && table->key ? "; write 'key: value' lines below it" : "",
			     yaml_hint(body));
		return;
	} else {
		refuse_unknown_keys(decoding, table, body, path);
	}
	for (const struct profcol_option *option = table; option && option->key; option++) {
		struct path here = { .parent = path, .key = option->key };
		struct target target = {
			.decoding = decoding,
			.option = option,
			.node = body ? yaml_map_find(body, option->key) : NULL,
			.place = place,
			.path = &here,
			.base = base,
			.field = (char *)base + option->offset,
		};

		if (option->named)
			decode_section(&target, path);
		else
			decode_option(&target, path);
	}
}
