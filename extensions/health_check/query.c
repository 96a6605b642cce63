// SPDX-License-Identifier: Apache-2.0
#include "query.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* As forms encode: %2F, and + for a blank. */
static char *decode(const char *text, size_t length)
{
	CLEANUP_FREE char *decoded = malloc(length + 1);
	size_t used = 0;

	for (size_t i = 0; decoded && i < length; i++) {
		int high, low;

		if (text[i] != '%') {
			decoded[used++] = text[i] == '+' ? ' ' : text[i];
			continue;
		}
		if (length - i < 3)
			return NULL;
		high = hex_digit(text[i + 1]);
		low = hex_digit(text[i + 2]);
		if (high < 0 || low < 0 || high + low == 0)
			return NULL;
		decoded[used++] = (char)(high << 4 | low);
		i += 2;
	}
	if (decoded)
		decoded[used] = '\0';
	return TAKE(decoded);
}

enum query_result query_value(const char *query, const char *key, char **ret)
{
	size_t key_length = strlen(key);

	*ret = NULL;

	while (*query) {
		size_t length = strcspn(query, "&");

		if (length >= key_length && !memcmp(query, key, key_length)) {
			if (length == key_length)
				*ret = strdup("");
			else if (query[key_length] == '=')
				*ret = decode(query + key_length + 1, length - key_length - 1);
			if (length == key_length || query[key_length] == '=')
				return *ret ? QUERY_FOUND : QUERY_MALFORMED;
		}
		query += length;
		query += *query == '&';
	}
	return QUERY_ABSENT;
}

bool query_is_on(const char *query, const char *key)
{
	CLEANUP_FREE char *value = NULL;

	return query_value(query, key, &value) == QUERY_FOUND && strcmp(value, "false") != 0 &&
	       strcmp(value, "0") != 0;
}
