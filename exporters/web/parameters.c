// SPDX-License-Identifier: Apache-2.0
#include "parameters.h"

#include <profcol/options.h>

#include <errno.h>
#include <string.h>

enum {
	CONDITIONS_MAX = 16,
	VALUE_MAX = 4096, /* a URL is not longer */
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_errno(ENOMEM, "read the query");
}

static void selection_deinit(struct selection *selection)
{
	for (size_t i = 0; i < selection->conditions.count; i++)
		ottl_condition_destroy(selection->conditions.items[i]);
	VECTOR_DEINIT(&selection->conditions);
}

void parameters_deinit(struct parameters *parameters)
{
	free(parameters->type);
	free(parameters->unit);
	free(parameters->group);
	selection_deinit(&parameters->now);
	selection_deinit(&parameters->base);
}

/* ---- values ---- */

static bool decode(const char *from, size_t length, char to[VALUE_MAX + 1])
{
	return length <= VALUE_MAX && strings_decode_url(from, length, true, to);
}

/* All of @text as a number that is not negative. */
static bool parse_number(const char *text, uint64_t *ret)
{
	int64_t number;

	if (!number_parse_int(text, strlen(text), &number) || number < 0)
		return false;
	*ret = (uint64_t)number;
	return true;
}

/* "90s", "5m", "2h", "1d". */
static bool parse_span(const char *text, uint64_t *ret_ns)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t number = 0, unit;

	if (!digits || digits > 9 || strlen(text) != digits + 1)
		return false;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	switch (text[digits]) {
	case 's':
		unit = PROFCOL_SECOND;
		break;
	case 'm':
		unit = PROFCOL_MINUTE;
		break;
	case 'h':
		unit = PROFCOL_HOUR;
		break;
	case 'd':
		unit = 24 * PROFCOL_HOUR;
		break;
	default:
		return false;
	}
	*ret_ns = number < UINT64_MAX / unit ? number * unit : UINT64_MAX;
	return true;
}

/* Unix milliseconds, "now", or "now-5m". */
static struct profcol_error *parse_time(const char *key, const char *text, uint64_t now_ns,
					uint64_t *ret)
{
	uint64_t ms, span = 0;

	if (!strncmp(text, "now", 3)) {
		if (!text[3] || (text[3] == '-' && parse_span(text + 4, &span))) {
			*ret = span < now_ns ? now_ns - span : 0;
			return NULL;
		}
	} else if (parse_number(text, &ms)) {
		*ret = ms < UINT64_MAX / 1000000 ? ms * 1000000 : UINT64_MAX;
		return NULL;
	}
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "%s: '%.100s' is no time; use milliseconds since 1970, 'now', "
				    "or a time before it such as 'now-5m'",
				    key, text);
}

/* ---- conditions ---- */

static struct profcol_error *take_condition(struct selection *selection,
					    struct ottl_condition *condition)
{
	if (selection->conditions.count < CONDITIONS_MAX) {
		if (VECTOR_PUSH(&selection->conditions, condition))
			return NULL;
		ottl_condition_destroy(condition);
		return no_memory();
	}
	ottl_condition_destroy(condition);
	return profcol_error_create(PROFCOL_BAD_DATA, "at most %d conditions at once",
				    CONDITIONS_MAX);
}

static struct profcol_error *add_where(struct selection *selection, const char *key,
				       const char *text)
{
	struct ottl_condition *condition;
	struct profcol_error *error;

	if (!text[strspn(text, " ")])
		return NULL;
	error = ottl_compile_inferred(text, &condition);
	if (!error)
		return take_condition(selection, condition);
	// It may be the fault of whoever asks, whatever its code is.
	error = profcol_error_prefix(error, "%s", key);
	if (profcol_error_code(error) != PROFCOL_NO_MEMORY) {
		struct profcol_error *bad =
			profcol_error_create(PROFCOL_BAD_DATA, "%s", profcol_error_message(error));

		profcol_error_destroy(error);
		error = bad;
	}
	return error;
}

struct profcol_error *parameters_narrow(struct parameters *parameters, const char *condition)
{
	return add_where(&parameters->now, "where", condition);
}

/* @text as a literal of OTTL. */
static void write_literal(FILE *stream, const char *text)
{
	putc('"', stream);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else if (byte < ' ' || byte == 0x7f)
			fprintf(stream, "\\x%02x", byte);
		else
			putc(byte, stream);
	}
	putc('"', stream);
}

/* Words for what people look for, and the attributes that may have it. */
static const struct shorthand {
	const char *key;
	bool is_number;
	const char *attributes[4];
} shorthands[] = {
	{ "pid", true, { "process.pid" } },
	{ "tid", true, { "thread.id" } },
	{ "comm", false, { "process.executable.name", "thread.name" } },
	{ "container", false, { "container.id", "container.name", "k8s.container.name" } },
	{ "pod", false, { "k8s.pod.name", "k8s.pod.uid" } },
	{ "namespace", false, { "k8s.namespace.name" } },
	{ "service", false, { "service.name" } },
};

static void write_shorthand(FILE *stream, const struct shorthand *shorthand, const char *value)
{
	static const char *const levels[] = { "resource", "profilesample" };
	const char *separator = "";

	for (size_t i = 0; i < 4 && shorthand->attributes[i]; i++) {
		for (size_t level = 0; level < 2; level++) {
			fprintf(stream, "%s%s.attributes[\"%s\"] == ", separator, levels[level],
				shorthand->attributes[i]);
			if (shorthand->is_number)
				fputs(value, stream);
			else
				write_literal(stream, value);
			separator = " or ";
		}
	}
}

static struct profcol_error *add_shorthand(struct selection *selection,
					   const struct shorthand *shorthand, const char *value)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	uint64_t number;
	FILE *stream;

	if (shorthand->is_number && !parse_number(value, &number))
		return profcol_error_create(PROFCOL_BAD_DATA, "%s: '%.100s' is no number",
					    shorthand->key, value);
	stream = open_memstream(&text, &length);
	if (!stream)
		return no_memory();
	write_shorthand(stream, shorthand, value);
	if (fclose(stream))
		return no_memory();
	return add_where(selection, shorthand->key, text);
}

/* ---- keys ---- */

/* "samples", or with its unit: "samples:count". */
static struct profcol_error *take_type(struct parameters *parameters, const char *value)
{
	const char *colon = strchr(value, ':');

	free(parameters->type);
	free(parameters->unit);
	parameters->type = parameters->unit = NULL;
	if (!value[0])
		return NULL;
	parameters->type = colon ? strndup(value, (size_t)(colon - value)) : strdup(value);
	parameters->unit = colon ? strdup(colon + 1) : NULL;
	return parameters->type && (!colon || parameters->unit) ? NULL : no_memory();
}

static struct profcol_error *take_group(struct parameters *parameters, const char *value)
{
	free(parameters->group);
	parameters->group = value[0] ? strdup(value) : NULL;
	return parameters->group || !value[0] ? NULL : no_memory();
}

static struct profcol_error *take_number(const char *key, const char *value, uint64_t least,
					 uint64_t most, uint64_t *ret)
{
	uint64_t number;

	if (!parse_number(value, &number) || number < least || number > most)
		return profcol_error_create(
			PROFCOL_BAD_DATA, "%s: a number from %llu to %llu, not '%.100s'", key,
			(unsigned long long)least, (unsigned long long)most, value);
	*ret = number;
	return NULL;
}

/* Whether @key is a time is in *@known_ret. */
static struct profcol_error *take_range(struct parameters *parameters, const char *key,
					const char *value, uint64_t now_ns, bool *known_ret)
{
	bool is_base = !strncmp(key, "base_", 5);
	struct history_range *range = is_base ? &parameters->base.range : &parameters->now.range;
	const char *bare = is_base ? key + 5 : key;
	uint64_t *time = !strcmp(bare, "from") ? &range->from_ns
			 : !strcmp(bare, "to") ? &range->to_ns
					       : NULL;

	*known_ret = time;
	if (!time || !value[0])
		return NULL;
	if (is_base)
		parameters->has_base = true;
	else
		parameters->has_range = true;
	return parse_time(key, value, now_ns, time);
}

static struct profcol_error *take(struct parameters *parameters, const char *key, const char *value,
				  uint64_t now_ns)
{
	uint64_t number;
	struct profcol_error *error;
	bool known;

	error = take_range(parameters, key, value, now_ns, &known);
	if (known)
		return error;
	if (!strcmp(key, "type"))
		return take_type(parameters, value);
	if (!strcmp(key, "group"))
		return take_group(parameters, value);
	if (!strcmp(key, "where"))
		return add_where(&parameters->now, key, value);
	if (!strcmp(key, "base_where")) {
		parameters->has_base |= value[strspn(value, " ")] != '\0';
		return add_where(&parameters->base, key, value);
	}
	if (!strcmp(key, "seconds")) {
		parameters->has_seconds = true;
		return take_number(key, value, 1, PARAMETERS_SECONDS_MAX, &parameters->seconds);
	}
	if (!strcmp(key, "nodes")) {
		error = take_number(key, value, 1, PARAMETERS_NODES_MAX, &number);
		if (!error)
			parameters->nodes_max = number;
		return error;
	}
	for (size_t i = 0; i < sizeof(shorthands) / sizeof(shorthands[0]); i++)
		if (!strcmp(key, shorthands[i].key))
			return add_shorthand(&parameters->now, &shorthands[i], value);
	return NULL; // of the page, or of a client that knows more words
}

/* What was not given of the base is as in the query itself. */
static struct profcol_error *complete(struct parameters *parameters, bool base_has_range)
{
	if (parameters->has_base && !base_has_range)
		parameters->base.range = parameters->now.range;
	if (parameters->now.range.from_ns >= parameters->now.range.to_ns ||
	    parameters->base.range.from_ns >= parameters->base.range.to_ns)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "from: must be before 'to'; the range is empty");
	return NULL;
}

static struct profcol_error *parse(struct parameters *parameters, const char *query,
				   uint64_t now_ns)
{
	char key[VALUE_MAX + 1], value[VALUE_MAX + 1];
	struct profcol_error *error = NULL;
	bool base_has_range = false;

	while (*query && !error) {
		size_t length = strcspn(query, "&");
		const char *equals = memchr(query, '=', length);
		size_t key_length = equals ? (size_t)(equals - query) : length;

		if (!decode(query, key_length, key) ||
		    !decode(equals ? equals + 1 : "", equals ? length - key_length - 1 : 0, value))
			return profcol_error_create(PROFCOL_BAD_DATA,
						    "the query has a '%%' that is none");
		error = take(parameters, key, value, now_ns);
		base_has_range |= !strcmp(key, "base_from") || !strcmp(key, "base_to");
		query += length + (query[length] == '&');
	}
	return error ? error : complete(parameters, base_has_range);
}

struct profcol_error *parameters_init(struct parameters *parameters, const char *query,
				      uint64_t now_unix_ns)
{
	struct profcol_error *error;

	*parameters = (struct parameters){
		.now.range = { 0, UINT64_MAX },
		.base.range = { 0, UINT64_MAX },
		.seconds = PARAMETERS_SECONDS_DEFAULT,
		.nodes_max = PARAMETERS_NODES_DEFAULT,
	};
	error = parse(parameters, query, now_unix_ns);
	if (error)
		parameters_deinit(parameters);
	return error;
}
