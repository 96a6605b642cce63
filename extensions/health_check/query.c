// SPDX-License-Identifier: Apache-2.0
#include "query.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static char *decode(const char *text, size_t length)
{
	CLEANUP_FREE char *decoded = malloc(length + 1);

	return decoded && strings_decode_url(text, length, true, decoded) ? TAKE(decoded) : NULL;
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
