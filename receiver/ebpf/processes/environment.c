// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include "printable.h"

#include "base/base.h"

#include <string.h>

/* Each is compared with all before it, so their number is bounded too. */
enum { MAX_PAIRS = 256 };

/* A piece of the text; no NUL at its end. */
struct slice {
	const char *at;
	size_t length;
};

static bool slice_is(struct slice slice, const char *text)
{
	return slice.length == strlen(text) && !memcmp(slice.at, text, slice.length);
}

static struct slice slice_trim(struct slice slice)
{
	while (slice.length && (*slice.at == ' ' || *slice.at == '\t')) {
		slice.at++;
		slice.length--;
	}
	while (slice.length &&
	       (slice.at[slice.length - 1] == ' ' || slice.at[slice.length - 1] == '\t'))
		slice.length--;
	return slice;
}

/* Split @slice at its first @separator; false when there is none. */
static bool slice_cut(struct slice slice, char separator, struct slice *before, struct slice *after)
{
	const char *found = slice.length ? memchr(slice.at, separator, slice.length) : NULL;

	if (!found)
		return false;
	*before = (struct slice){ slice.at, (size_t)(found - slice.at) };
	*after = (struct slice){ found + 1, slice.length - before->length - 1 };
	return true;
}

/* What the kernel and the platform know of a process, others say: see environment.h. */
static bool is_reserved(const char *key)
{
	static const char *const spaces[] = {
		"cloud.", "container.", "cpu.", "host.", "k8s.", "process.", "profcol.", "thread.",
	};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (!strncmp(key, spaces[i], strlen(spaces[i])))
			return true;
	return false;
}

static bool has_key(const struct environment_attributes *attributes, const char *key)
{
	const char *at = attributes->bytes, *end = at + attributes->length;

	while (at < end) {
		if (!strcmp(at, key))
			return true;
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	return false;
}

/* The first to come holds; @value is cut, and what is not UTF-8 in it, or no text, replaced. */
static void add(struct environment_attributes *attributes, const char *key, struct slice value)
{
	size_t key_size = strlen(key) + 1;
	size_t length = value.length < ENVIRONMENT_MAX_VALUE ? value.length : ENVIRONMENT_MAX_VALUE;
	size_t left = sizeof(attributes->bytes) - attributes->length;
	char *to = attributes->bytes + attributes->length;

	if (key_size + length + 1 > left || has_key(attributes, key))
		return;
	memcpy(to, key, key_size);
	strings_sanitize_utf8(to + key_size, value.at, length);
	printable_strip_controls(to + key_size, length);
	attributes->length += key_size + length + 1;
}

/*
 * Decode the %XX in @from to at most @size bytes at @to, the rest is cut; false when a '%' is
 * followed by something else.
 */
static bool percent_decode(struct slice from, char *to, size_t size, size_t *length_ret)
{
	size_t length = 0;

	for (size_t i = 0; i < from.length; i++) {
		char c = from.at[i];

		if (c == '%') {
			int high, low;

			if (from.length - i < 3)
				return false;
			high = strings_hex_digit(from.at[i + 1]);
			low = strings_hex_digit(from.at[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (length < size)
			to[length++] = c;
	}
	*length_ret = length;
	return true;
}

/* One "key=value" of the list. False when it is none. */
static bool add_resource_attribute(struct environment_attributes *attributes, struct slice pair)
{
	char key[ENVIRONMENT_MAX_KEY + 2], value[ENVIRONMENT_MAX_VALUE];
	size_t key_length, value_length;
	struct slice before, after;

	if (!slice_cut(pair, '=', &before, &after))
		return false;
	if (!percent_decode(slice_trim(before), key, ENVIRONMENT_MAX_KEY + 1, &key_length) ||
	    !key_length || !percent_decode(slice_trim(after), value, sizeof(value), &value_length))
		return false;
	strings_sanitize_utf8(key, key, key_length);
	printable_strip_controls(key, key_length);
	if (is_reserved(key))
		attributes->claims++;
	else if (key_length <= ENVIRONMENT_MAX_KEY)
		add(attributes, key, (struct slice){ value, value_length });
	return true;
}

/* From the last to the first: of several values for one key the last one holds. */
static void add_resource_attributes(struct environment_attributes *attributes, struct slice list)
{
	size_t before = attributes->length;

	for (int count = 0; list.length && count < MAX_PAIRS; count++) {
		const char *comma = memrchr(list.at, ',', list.length);
		size_t begin = comma ? (size_t)(comma - list.at) + 1 : 0;
		struct slice pair =
			slice_trim((struct slice){ list.at + begin, list.length - begin });

		// Nothing between two commas means nothing.
		if (pair.length && !add_resource_attribute(attributes, pair)) {
			attributes->length = before;
			attributes->malformed = true;
			return;
		}
		list.length = comma ? begin - 1 : 0;
	}
}

/* The variables the user asks for. As getenv(3): of several of one name the first one holds. */
static void add_variables(struct environment_attributes *attributes, struct slice rest,
			  const struct profcol_list *variables)
{
	static const char prefix[] = "process.environment_variable.";
	char key[sizeof(prefix) + ENVIRONMENT_MAX_KEY];
	struct slice entry, name, value;

	while (variables->count && slice_cut(rest, '\0', &entry, &rest)) {
		if (!slice_cut(entry, '=', &name, &value) || !name.length ||
		    name.length > ENVIRONMENT_MAX_KEY)
			continue;
		for (size_t i = 0; i < variables->count; i++) {
			if (!slice_is(name, variables->items[i]))
				continue;
			memcpy(key, prefix, sizeof(prefix) - 1);
			strings_sanitize_utf8(key + sizeof(prefix) - 1, name.at, name.length);
			printable_strip_controls(key + sizeof(prefix) - 1, name.length);
			add(attributes, key, value);
			break;
		}
	}
}

void environment_parse(const char *text, size_t length, const struct profcol_list *variables,
		       struct environment_attributes *ret)
{
	struct slice rest = { text, length }, service = { 0 }, list = { 0 };
	struct slice entry, name, value;

	ret->length = 0;
	ret->malformed = false;
	ret->claims = 0;
	while (slice_cut(rest, '\0', &entry, &rest)) {
		if (!slice_cut(entry, '=', &name, &value))
			continue;
		if (!service.at && slice_is(name, "OTEL_SERVICE_NAME"))
			service = slice_trim(value);
		else if (!list.at && slice_is(name, "OTEL_RESOURCE_ATTRIBUTES"))
			list = value;
	}
	// It takes precedence over a service.name in the list; empty is as good as not set.
	if (service.length)
		add(ret, "service.name", service);
	add_variables(ret, (struct slice){ text, length }, variables);
	add_resource_attributes(ret, list);
}
