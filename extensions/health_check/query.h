/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an address behind '?': "verbose&pipeline=profiles%2Fraw". Pure. */
#pragma once

#include <stdbool.h>

enum query_result {
	QUERY_FOUND,
	QUERY_ABSENT,
	QUERY_MALFORMED, /* or no memory */
};

/* The decoded value of the first @key in *@ret: the caller's, and NULL unless it is found. */
enum query_result query_value(const char *query, const char *key, char **ret);

/* Is @key there, and neither "false" nor "0"? */
bool query_is_on(const char *query, const char *key);
