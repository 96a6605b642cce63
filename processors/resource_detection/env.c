// SPDX-License-Identifier: Apache-2.0
/* The detector `env`: OTEL_RESOURCE_ATTRIBUTES, a=1,b=two%20words. */
#include "detectors.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PART_MAX_BYTES = 256 };

/* As in the query of a URL: %20 and + are blanks. In place; false when a % has no digits. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%') {
			int high = strings_hex_digit(from[1]),
			    low = high < 0 ? -1 : strings_hex_digit(from[2]);

			if (low < 0)
				return false;
			*to++ = (char)(high << 4 | low);
			from += 2;
		} else {
			*to++ = *from == '+' ? ' ' : *from;
		}
	}
	*to = '\0';
	return true;
}

static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

/* One "key = value", which is changed. */
static struct profcol_error *take_pair(char *pair, struct found *found)
{
	char *value = strchr(pair, '='), *key = pair;

	if (!value)
		return profcol_error_create(PROFCOL_CONFIG,
					    "invalid resource format, invalid text: \"%s\"; it has "
					    "to be KEY=VALUE,KEY=VALUE",
					    pair);
	*value++ = '\0';
	key = trim(key);
	value = trim(value);
	if (!key[0] || !is_ascii(key) || !is_ascii(value) || strlen(key) > PART_MAX_BYTES ||
	    strlen(value) > PART_MAX_BYTES)
		return profcol_error_create(PROFCOL_CONFIG,
					    "invalid resource format: \"%s=%s\"; keys and values "
					    "have 1 to 256 characters of ASCII",
					    key, value);
	if (!unescape(value))
		return profcol_error_create(PROFCOL_CONFIG,
					    "invalid resource format in attribute: \"%s=%s\", a %% "
					    "has to be followed by two digits",
					    key, value);
	found_add_named(found, key, value);
	return NULL;
}

struct profcol_error *detect_env(const struct detecting *detecting, struct found *found)
{
	static const char *const variables[] = { "OTEL_RESOURCE_ATTRIBUTES", "OTEL_RESOURCE" };
	CLEANUP_FREE char *text = NULL;
	struct profcol_error *error = NULL;
	const char *name = NULL, *value = NULL;

	(void)detecting;
	for (size_t i = 0; i < 2 && (!value || !value[strspn(value, " \t\n")]); i++) {
		name = variables[i];
		value = getenv(name);
	}
	if (!value || !value[strspn(value, " \t\n")])
		return NULL;
	text = strdup(value);
	if (!text)
		return profcol_error_errno(ENOMEM, "%s", name);
	for (char *at = text, *pair; !error && (pair = strsep(&at, ","));)
		// A comma may stand at the end.
		if (at || pair[strspn(pair, " \t\n")])
			error = take_pair(pair, found);
	return profcol_error_prefix(error, "%s", name);
}
